"""An agent that works on the prompts of several sessions at once, by orders of the test."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from tests.agents.agent import Agent, Frame
from tests.agents.loop import SCENARIOS, handshake, new_session, whole_life


@whole_life
def many_turns(agent: Agent, home: str) -> None:
    """Run the scenarios in the files HOME/1.json, 2.json, …: `[session, name, argument, …]`.

    A session is called by its id. Each scenario runs in the session's turn and is noted as
    `done N`. The scenario `end` ends the turn, with the reason in its argument; a cancel does too.
    An agent that is started again skips the files that are there.
    """
    agent.capabilities["sessionCapabilities"] = {"close": {}}
    handshake(agent)
    turns: dict[str, Frame] = {}
    for n in itertools.count(1 + len(list(Path(home).glob("*.json")))):
        order = Path(home, f"{n}.json")
        while not order.exists():
            _attend(agent, turns)
        session, name, *args = json.loads(order.read_text(encoding="utf-8"))
        agent.session, agent.turn = session, turns.get(session)
        if name == "end":
            turns.pop(session, None)
            agent.end(*args)
        else:
            SCENARIOS[name].run(agent, *args)
        agent.note(f"done {n}")


def _attend(agent: Agent, turns: dict[str, Frame]) -> None:
    """Handle the next frame of the client, if there is one."""
    frame = agent.poll(0.002)
    if frame is None:
        return
    match frame["method"]:
        case "session/new":
            new_session(agent, frame)
        case "session/prompt":
            turns[frame["params"]["sessionId"]] = frame
        case "session/cancel":
            turn = turns.pop(frame["params"]["sessionId"], None)
            if turn is not None:
                agent.reply(turn, {"stopReason": "cancelled"})
        case "session/close":
            agent.reply(frame, {})
        case method:
            if "id" in frame:
                agent.refuse(frame, -32601, f"no method {method}")
