"""Agents of several versions of the protocol, and scenarios that only version 2 has."""

from __future__ import annotations

import json

from tests.agents.agent import Agent
from tests.agents.loop import (
    SCENARIOS,
    prompt_text,
    scenario,
    serve,
    split,
    whole_life,
)
from tests.agents.permissions import OPTIONS, chosen
from tests.agents.version2 import Agent2


@scenario
def script2(agent: Agent) -> None:
    """As `script`, but updates are those of version 2 as they are."""
    assert agent.turn is not None
    assert isinstance(agent, Agent2)
    for line in prompt_text(agent.turn).split("\n"):
        words = split(line.strip())
        if words and words[0] == "update":
            agent.update2(json.loads(words[1]))
        elif words:
            SCENARIOS[words[0]].run(agent, *words[1:])


@scenario
def asks2(agent: Agent, text: str) -> None:
    """A permission with these parameters beside its options; say what was chosen."""
    id = agent.request("session/request_permission", {**json.loads(text), "options": OPTIONS})
    agent.say(chosen(agent.answer(id)))


@scenario
def takes_one_more(agent: Agent) -> None:
    """Insert the next prompt into the running turn."""
    assert isinstance(agent, Agent2)
    agent.insert_more()
    agent.say("taken")


@whole_life
def answers_version(agent: Agent, version: str) -> None:
    """Answer `initialize` with this version, in the shape of version 1."""
    if isinstance(agent, Agent2):
        agent.keep_old()
    request = agent.expect("initialize")
    asked = request["params"]["protocolVersion"]
    number = asked if asked == 1 else int(version)
    info = {"name": "scripted", "title": "Scripted", "version": "1"}
    agent.reply(request, {"protocolVersion": number, "agentCapabilities": {}, "agentInfo": info})
    serve(agent, SCENARIOS["hello"].run, [])


@whole_life
def refuses_version(agent: Agent) -> None:
    """Speak versions 7 and 8 alone."""
    request = agent.expect("initialize")
    data = {"requested": request["params"]["protocolVersion"], "supported": [7, 8]}
    agent.refuse(request, -32022, "unsupported protocol version", data)
    agent.listen()
