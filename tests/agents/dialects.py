"""Agents built to other descriptions of ACP."""

from __future__ import annotations

import json

from tests.agents.agent import Agent, Frame
from tests.agents.loop import handshake, prompt_text, whole_life

MODELS: Frame = {
    "currentModelId": "small",
    "availableModels": [
        {"modelId": "small", "name": "Small"},
        {"modelId": "large", "name": "Large"},
    ],
}


@whole_life
def dialect_message(agent: Agent, *_args: str) -> None:
    """Use `serverInfo`, updates of kind `message`, and `content` beside the stop reason."""
    request = agent.expect("initialize")
    server = {"name": "messenger", "title": "Messenger", "version": "3"}
    agent.reply(request, {"protocolVersion": 1, "serverInfo": server, "capabilities": {}})
    agent.reply(agent.expect("session/new"), {"sessionId": "m1"})
    agent.session = "m1"
    while True:
        prompt = agent.expect("session/prompt")
        text = prompt_text(prompt)
        content = [{"type": "text", "text": f"You said {text}."}]
        if text != "silent":
            agent.update({"sessionUpdate": "message", "role": "assistant", "content": content})
        agent.reply(prompt, {"stopReason": "end_turn", "content": content})


@whole_life
def dialect_messages(agent: Agent, *_args: str) -> None:
    """Send several whole messages in a turn, and another one beside the stop reason."""
    request = agent.expect("initialize")
    server = {"name": "messenger", "version": "3"}
    agent.reply(request, {"protocolVersion": 1, "serverInfo": server, "capabilities": {}})
    agent.reply(agent.expect("session/new"), {"sessionId": "m1"})
    agent.session = "m1"
    while True:
        prompt = agent.expect("session/prompt")
        for text in ("I am looking.", "I have found it."):
            content = [{"type": "text", "text": text}]
            agent.update({"sessionUpdate": "message", "role": "assistant", "content": content})
        last = (
            "It is mended." if prompt_text(prompt) == "mend" else "I am looking. I have found it."
        )
        end = {"stopReason": "end_turn", "content": [{"type": "text", "text": last}]}
        agent.reply(prompt, end)


@whole_life
def dialect_withdrawn(agent: Agent, *_args: str) -> None:
    """Answer a prompt with the error that means cancelled."""
    handshake(agent)
    agent.reply(agent.expect("session/new"), {"sessionId": "w1"})
    while True:
        agent.refuse(agent.expect("session/prompt"), -32800, "Request cancelled")


@whole_life
def dialect_tokens(agent: Agent, members: str) -> None:
    """Send the turn's tokens in the members TOLD (JSON) of the answer."""
    handshake(agent)
    agent.reply(agent.expect("session/new"), {"sessionId": "k1"})
    while True:
        end = {"stopReason": "end_turn", **json.loads(members)}
        agent.reply(agent.expect("session/prompt"), end)


@whole_life
def dialect_asks(agent: Agent, *_args: str) -> None:
    """Ask about a tool call that has `id`, `name` and `input`."""
    request = agent.expect("initialize")
    info = {"name": "asker", "version": "1"}
    agent.reply(request, {"protocolVersion": "1.0", "agentInfo": info, "capabilities": {}})
    agent.reply(agent.expect("session/new"), {"session": {"id": "a1"}})
    while True:
        prompt = agent.expect("session/prompt")
        call = {"id": "g1", "name": "shell", "input": {"command": "make deploy"}}
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        params = {"sessionId": "a1", "toolCall": call, "options": options}
        agent.ask("session/request_permission", params)
        agent.reply(prompt, {"stopReason": "endTurn"})


@whole_life
def dialect_typed(agent: Agent, *_args: str) -> None:
    """Use a string version, `session.id` and updates with a `type`; take cancel as a request."""
    request = agent.expect("initialize")
    info = {"name": "typed", "version": "1"}
    capabilities = {"promptCapabilities": {"embeddedContext": True}}
    agent.reply(
        request, {"protocolVersion": "1.0", "agentInfo": info, "capabilities": capabilities}
    )
    agent.reply(agent.expect("session/new"), {"session": {"id": "t1"}})
    agent.session = "t1"
    while True:
        prompt = agent.expect("session/prompt")
        _typed_turn(agent, prompt, prompt_text(prompt))


def _typed_turn(agent: Agent, prompt: Frame, text: str) -> None:
    if text == "wait":
        agent.update({"type": "messageChunk", "role": "assistant", "chunk": "waiting\n"})
        cancel = agent.expect("session/cancel")
        agent.reply(cancel, {})
        agent.reply(prompt, {"stopReason": "cancelled"})
        return
    if text == "fail":
        agent.reply(prompt, {"stopReason": "error", "error": {"message": "out of tokens"}})
        return
    agent.update({"type": "planUpdate", "entries": [{"title": "Search", "status": "running"}]})
    call = {"id": "g1", "name": "grep", "status": "running", "input": {"pattern": "x"}}
    agent.update({"type": "toolCall", "toolCall": call})
    done = {"id": "g1", "name": "grep", "status": "completed", "output": "three hits"}
    agent.update({"type": "toolCall", "toolCall": done})
    failed = {"id": "g2", "name": "sed", "status": "error", "error": "no such file"}
    agent.update({"type": "toolCall", "toolCall": failed})
    for word in ("Typed ", "words."):
        chunk = {"type": "text", "text": word}
        agent.update({"type": "messageChunk", "role": "assistant", "chunk": chunk})
    agent.reply(prompt, {"stopReason": "endTurn"})


@whole_life
def dialect_late(agent: Agent, *_args: str) -> None:
    """Follow the protocol in the handshake, and another dialect from the first update on."""
    handshake(agent)
    agent.reply(agent.expect("session/new"), {"sessionId": "l1"})
    agent.session = "l1"
    while True:
        prompt = agent.expect("session/prompt")
        for word in ("late ", "words"):
            agent.update({"type": "messageChunk", "role": "assistant", "chunk": word})
        agent.reply(prompt, {"stopReason": "end_turn"})


@whole_life
def dialect_models(agent: Agent, *_args: str) -> None:
    """Offer the removed `models`, set by `session/set_model`, and modes with `modeId`."""
    handshake(agent)
    modes = {"modeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]}
    agent.reply(agent.expect("session/new"), {"sessionId": "o1", "models": MODELS, "modes": modes})
    agent.session = "o1"
    while True:
        frame = agent.expect("session/prompt", "session/set_model")
        if frame["method"] == "session/set_model":
            agent.note(f"model {frame['params']['modelId']}")
            agent.reply(frame, {})
            agent.update({"sessionUpdate": "current_mode_update", "modeId": "ask"})
        else:
            agent.say("old words")
            agent.reply(frame, {"stopReason": "end_turn"})
