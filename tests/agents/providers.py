"""An agent whose providers the user can set (rfds/custom-llm-endpoint)."""

from __future__ import annotations

from tests.agents.agent import Agent, Frame
from tests.agents.loop import SCENARIOS, handshake, new_session, run_turn, whole_life


@whole_life
def has_providers(agent: Agent) -> None:
    """Offer `main`, which is required, and `spare`, which may be disabled."""
    agent.capabilities["providers"] = {}
    now: dict[str, Frame | None] = {
        "main": {"apiType": "anthropic", "baseUrl": "https://api.example.com"},
        "spare": {"apiType": "openai", "baseUrl": "https://spare.example.com"},
    }
    handshake(agent)
    while True:
        frame = agent.next()
        params = frame.get("params") or {}
        match frame["method"]:
            case "session/new":
                new_session(agent, frame)
            case "session/prompt":
                run_turn(agent, frame, SCENARIOS["hello"].run, [])
            case "providers/list":
                agent.reply(frame, {"providers": [_info(name, now[name]) for name in now]})
            case "providers/set":
                now[params["providerId"]] = {k: params[k] for k in ("apiType", "baseUrl")}
                agent.reply(frame, {})
            case "providers/disable":
                now[params["providerId"]] = None
                agent.reply(frame, {})
            case _ if "id" in frame:
                agent.reply(frame, {})


def _info(name: str, now: Frame | None) -> Frame:
    supported = ["anthropic", "openai"] if name == "main" else ["openai"]
    return {"providerId": name, "supported": supported, "required": name == "main", "current": now}
