"""Agents that let one choose (config options, modes, models), and what is beyond the protocol."""

from __future__ import annotations

import json

from tests.agents.agent import Agent, Frame
from tests.agents.loop import handshake, new_session, run_turn, scenario, script, whole_life


@whole_life
def chooser(agent: Agent, *refused: str) -> None:
    """Sets options, modes and models, but for the values that it refuses; `quiet`: without any
    update.
    """
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
    """The options with that value; the agent keeps them."""
    options: list[Frame] = agent.new_session["configOptions"]
    for option in options:
        if option["id"] == id:
            option["currentValue"] = value
    return options


@scenario
def extension(agent: Agent, method: str, params: str = "{}") -> None:
    """Ask for METHOD with those params (JSON), and say what came back."""
    frame = agent.ask(method, json.loads(params))
    outcome = frame.get("result", frame.get("error"))
    agent.say(json.dumps(outcome, sort_keys=True) + "\n")


@scenario
def extension_told(agent: Agent, method: str, params: str = "{}") -> None:
    """Tell METHOD with those params (JSON)."""
    agent.notify(method, {"sessionId": agent.session, **json.loads(params)})
