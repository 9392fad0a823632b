"""Agents of several versions of the protocol, and scenarios that only version 2 has."""

from __future__ import annotations

import json
from typing import Any

from tests.agents.agent import Agent
from tests.agents.loop import (
    SCENARIOS,
    handshake,
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
    """Run lines like `script`, but send updates of version 2 without a change."""
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
    """Ask for a permission with these parameters beside its options, and print the choice."""
    id = agent.request("session/request_permission", {**json.loads(text), "options": OPTIONS})
    agent.say(chosen(agent.answer(id)))


@scenario
def takes_one_more(agent: Agent) -> None:
    """Insert the next prompt into the current turn."""
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
    """Speak only versions 7 and 8."""
    request = agent.expect("initialize")
    data = {"requested": request["params"]["protocolVersion"], "supported": [7, 8]}
    agent.refuse(request, -32022, "unsupported protocol version", data)
    agent.listen()


@scenario
def ends_alone(agent: Agent) -> None:
    """Run a tool call and a terminal that the client may end, one after the other."""
    assert isinstance(agent, Agent2)
    offer: Any = {"capabilities": {"cancel": {}}}
    call = {"toolCallId": "c", "title": "Long work", "kind": "execute", "status": "in_progress"}
    agent.update2({"sessionUpdate": "tool_call_update", **call, **offer})
    terminal = {"sessionUpdate": "terminal_update", "terminalId": "t", "command": "sleep 9"}
    agent.update2({**terminal, **offer})
    agent.reply(agent.expect("tool_call/cancel"), {})
    agent.update2({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "cancelled"})
    agent.reply(agent.expect("terminal/cancel"), {})
    ended = {"exitCode": None, "signal": "SIGTERM"}
    agent.update2({"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": ended})


@whole_life
def works_at_once(agent: Agent) -> None:
    """Work before `session/new` is answered, and send commands in the answer.

    Insert the prompt afterwards.
    """
    assert isinstance(agent, Agent2)
    handshake(agent)
    request = agent.expect("session/new")
    agent.update2({"sessionUpdate": "state_update", "state": "running"}, "s1")
    listed = [{"type": "command", "name": "at-once", "description": "There from the start"}]
    agent.reply(request, {"sessionId": "s1", "availableCommands": listed})
    agent.update2({"sessionUpdate": "state_update", "state": "idle"}, "s1")
    serve(agent, _says_both, [])


def _says_both(agent: Agent) -> None:
    agent.say("done with both")


@whole_life
def drafted(agent: Agent) -> None:
    """Speak the draft of version 2: no `info`, and an empty object as the answer to a prompt."""
    assert isinstance(agent, Agent2)
    agent.keep_old()
    request = agent.expect("initialize")
    agent.reply(request, {"protocolVersion": 2, "capabilities": {"session": {}}})
    agent.reply(agent.expect("session/new"), {"sessionId": "s1"})
    while True:
        prompt = agent.expect("session/prompt")
        agent.reply(prompt, {})
        content = prompt["params"]["prompt"]
        agent.update({"sessionUpdate": "user_message", "messageId": "u", "content": content})
        agent.update({"sessionUpdate": "state_update", "state": "running"})
        content = [{"type": "text", "text": "heard"}]
        agent.update({"sessionUpdate": "agent_message", "messageId": "a", "content": content})
        agent.update({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"})


@whole_life
def only_version_2(agent: Agent, how: str = "answers") -> None:
    """Speak only version 2, and report that to a client that asks for 1, by an answer or a
    refusal.
    """
    request = agent.expect("initialize")
    if request["params"]["protocolVersion"] != 2 and how == "refuses":
        agent.refuse(request, -32022, "unsupported protocol version", {"supported": [2]})
        agent.listen()
    capabilities = {"session": {}, "teleport": {"range": 7}}
    info = {"name": "newer", "version": "1"}
    agent.reply(request, {"protocolVersion": 2, "info": info, "capabilities": capabilities})
    agent.reply(agent.expect("session/new"), {"sessionId": "s1"})
    agent.session = "s1"
    while True:
        prompt = agent.expect("session/prompt")
        agent.reply(prompt, {"messageId": "u"})
        content = prompt["params"]["prompt"]
        agent.update({"sessionUpdate": "user_message", "messageId": "u", "content": content})
        agent.update({"sessionUpdate": "state_update", "state": "running"})
        text = {"type": "text", "text": "heard in version 2"}
        agent.update({"sessionUpdate": "agent_message_chunk", "messageId": "a", "content": text})
        agent.update({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"})
