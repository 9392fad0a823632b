"""Agents that take a text into a running turn, by the extension `_session/steering`."""

from __future__ import annotations

from tests.agents.agent import Agent
from tests.agents.loop import handshake, prompt_text, serve, whole_life
from tests.agents.permissions import permission

METHOD = "_session/steering"


@whole_life
def steered(agent: Agent, outcome: str = "injected") -> None:
    """Ask in a turn with the prompt `ask`, answer one steering request with this OUTCOME, and end.

    OUTCOME may also be `error`, `nothing` (an empty answer), `ends` (the turn ends before the
    answer `promptRequired`), and `dies`. Other prompts are echoed.
    """
    agent.initialized["_meta"] = {"steering": {"supported": True}}
    handshake(agent)
    serve(agent, _turn, [outcome])


def _turn(agent: Agent, outcome: str) -> None:
    assert agent.turn is not None
    text = prompt_text(agent.turn)
    if text != "ask":
        agent.say(f"heard {text}")
        return
    permission(agent)
    request = agent.expect(METHOD)
    match outcome:
        case "error":
            agent.refuse(request, -32603, "no")
        case "nothing":
            agent.reply(request, {})
        case "ends":
            agent.end()
            agent.reply(request, {"outcome": "promptRequired", "reason": "noRunningTurn"})
        case "dies":
            agent.exit(3)
        case _:
            agent.reply(request, {"outcome": outcome})
            agent.say("steered")
