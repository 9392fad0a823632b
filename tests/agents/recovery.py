"""Agents that lose a session, reach a limit, or stop responding."""

from __future__ import annotations

import json

from tests.agents.agent import Agent
from tests.agents.loop import (
    SCENARIOS,
    handshake,
    new_session,
    prompt_text,
    run_turn,
    scenario,
    whole_life,
)


@whole_life
def loses(agent: Agent, how: str = "new", times: str = "1") -> None:
    """Lose the session at each prompt `lose` and at each switch of the mode to `lost`, TIMES in a
    row. It can be opened again by `resume`, `load` or a `new` session, or `never`.
    """
    if how == "resume":
        agent.capabilities["sessionCapabilities"] = {"resume": {}}
    agent.capabilities["loadSession"] = how == "load"
    handshake(agent)
    left = 0
    while True:
        frame = agent.next()
        method, params = frame["method"], frame.get("params") or {}
        asks = (method == "session/prompt" and prompt_text(frame).endswith("lose")) or (
            method == "session/set_mode" and params["modeId"] == "lost"
        )
        if asks:
            left = left + 1 if left < int(times) else 0
        if asks and left:
            agent.refuse(frame, -32002, "session not found", {"sessionId": params["sessionId"]})
        elif method in ("session/resume", "session/load"):
            agent.reply(frame, dict(agent.new_session))
        elif method == "session/new" and (how != "never" or not agent.sessions):
            new_session(agent, frame)
        elif method == "session/new":
            agent.refuse(frame, -32603, "no more sessions")
        elif method == "session/prompt":
            agent.session = params["sessionId"]
            run_turn(agent, frame, SCENARIOS["hello"].run, [])
        elif "id" in frame:
            agent.reply(frame, {})


@scenario
def refuses_with(agent: Agent, code: str, answer: str) -> None:
    """Refuse this prompt with CODE. ANSWER is `{"message": …, "data": …}`."""
    assert agent.turn is not None
    given = json.loads(answer)
    agent.refuse(agent.turn, int(code), given["message"], given.get("data"))
    agent.turn = None
