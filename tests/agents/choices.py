"""Agents with choices (config options, modes, models), and extensions of the protocol."""

from __future__ import annotations

import json

from tests.agents.agent import Agent, Frame
from tests.agents.loop import handshake, new_session, run_turn, scenario, script, whole_life


@whole_life
def chooser(agent: Agent, *refused: str) -> None:
    """Set options, modes and models, except the refused values. `quiet`: send no update."""
    handshake(agent)
    while True:
        frame = agent.next()
        params = frame.get("params") or {}
        wanted = params.get("modeId") or params.get("modelId") or params.get("value")
        match frame["method"]:
            case "session/new":
                new_session(agent, frame)
            case "session/prompt":
                run_turn(agent, frame, script, [])
            case _ if wanted in refused:
                agent.refuse(frame, -32602, f"no {wanted} today")
            case "session/set_config_option":
                options = _with(agent, params["configId"], params["value"])
                agent.reply(frame, {"configOptions": options})
            case "session/set_mode" | "session/set_model":
                agent.reply(frame, {})
            case method if "id" in frame:
                agent.refuse(frame, -32601, f"no method {method}")


def _with(agent: Agent, id: str, value: str | bool) -> list[Frame]:
    """Set an option and return all options."""
    options: list[Frame] = agent.new_session["configOptions"]
    for option in options:
        if option["id"] == id:
            option["currentValue"] = value
    return options


@scenario
def extension(agent: Agent, method: str, params: str = "{}") -> None:
    """Send the request METHOD with those params (JSON) and print its outcome."""
    frame = agent.ask(method, json.loads(params))
    outcome = frame.get("result", frame.get("error"))
    agent.say(json.dumps(outcome, sort_keys=True) + "\n")


@scenario
def extension_told(agent: Agent, method: str, params: str = "{}") -> None:
    """Send the notification METHOD with those params (JSON)."""
    agent.notify(method, {"sessionId": agent.session, **json.loads(params)})
