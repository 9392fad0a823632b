"""An agent built with a Go package for ACP.

It reads each request into typed structs, as strictly as `encoding/json` does, one request at a
time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.agents.agent import Agent, Frame
from tests.agents.loop import whole_life

Type = Any
"""A Go type:

`str`, `bool`, `int`, `[type]` for a slice, `{"*": type}` for a map of strings, and `{name: type}`
for a struct, whose fields may be in any case.
"""

INITIALIZE: Type = {
    "protocolVersion": str,
    "clientInfo": {"name": str, "version": str},
    "capabilities": {"terminal": bool, "fs.readTextFile": bool, "fs.writeTextFile": bool},
}
NEW_SESSION: Type = {"metadata": {"*": str}}
PROMPT: Type = {
    "sessionId": str,
    "prompt": [{"type": str, "text": str, "data": str, "mimeType": str}],
    "command": {"name": str, "input": str},
}
NAMES = {str: "string", bool: "bool", int: "int"}


class Unmarshal(ValueError):
    """A value does not fit its field."""


def unmarshal(value: Any, kind: Type, where: str) -> Any:
    """Return a value as the Go type has it.

    Unknown members are ignored, null leaves the zero value, other values of another type are an
    error.
    """
    if value is None:
        return _zero(kind)
    if isinstance(kind, list) and isinstance(value, list):
        return [unmarshal(item, kind[0], where) for item in value]
    if isinstance(kind, Mapping) and isinstance(value, dict):
        return _fields(value, kind, where)
    if isinstance(kind, type) and type(value) is kind:
        return value
    name = NAMES.get(kind, "struct") if isinstance(kind, type) else "struct"
    found = {int: "number", float: "number", str: "string", bool: "bool", list: "array"}
    go_type = found.get(type(value), "object")
    raise Unmarshal(f"json: cannot unmarshal {go_type} into Go struct field {where} of type {name}")


def _fields(value: Frame, kind: Mapping[str, Type], where: str) -> Any:
    if "*" in kind:
        return {key: unmarshal(item, kind["*"], where) for key, item in value.items()}
    folded = {name.lower(): name for name in kind}
    read = {name: _zero(inner) for name, inner in kind.items()}
    for key, item in value.items():
        name = folded.get(key.lower())
        if name is not None:
            read[name] = unmarshal(item, kind[name], f"{where}.{name}")
    return read


def _zero(kind: Type) -> Any:
    return kind() if isinstance(kind, type) else None


@whole_life
def strict_go(agent: Agent, refusal: str = "-32602") -> None:
    """Refuse a value in place of a string with the code REFUSAL.

    Or `unread`: like a line that is not JSON; `fatal`: exit; `silent`: do not answer. `number`:
    accept a numeric version.
    """
    while True:
        frame = agent.next()
        if refusal == "number" and frame["method"] == "initialize":
            frame["params"]["protocolVersion"] = str(frame["params"]["protocolVersion"])
        try:
            _answer(agent, frame)
        except Unmarshal as error:
            if refusal == "fatal":
                agent.stderr(f"acp: {error}")
                agent.exit(1)
            if refusal == "silent":
                agent.exit(1)
            if refusal == "unread":
                agent.refuse({"id": None}, -32700, "Parse error")
            else:
                bare = {"-32602": "Invalid params", "-32600": "Invalid Request"}
                why = bare.get(refusal, str(error))
                agent.refuse(frame, int(refusal), why)


def _answer(agent: Agent, frame: Frame) -> None:
    params = frame.get("params")
    match frame["method"]:
        case "initialize":
            unmarshal(params, INITIALIZE, "InitializeRequest")
            info = {"name": "gopher", "version": "0.2.0"}
            offered = {"promptCapabilities": {"image": True, "embeddedContext": True}}
            answer = {"agentInfo": info, "capabilities": offered}
            agent.reply(frame, {"protocolVersion": "2025-01-01", **answer})
        case "session/new":
            metadata = unmarshal(params, NEW_SESSION, "NewSessionRequest")["metadata"]
            agent.session = "session-1"
            agent.reply(frame, {"session": {"id": agent.session, "metadata": metadata}})
        case "session/prompt":
            _turn(agent, frame, unmarshal(params, PROMPT, "PromptRequest"))
        case _:
            # The package also answers notifications, with a null id.
            agent.refuse({"id": frame.get("id")}, -32601, "Method not found")


def _turn(agent: Agent, frame: Frame, prompt: Frame) -> None:
    parts, command = prompt["prompt"], prompt["command"]
    if command and command["name"] == "wait":
        agent.update({"type": "messageChunk", "role": "assistant", "chunk": "waiting\n"})
        cancel = agent.expect("session/cancel")
        agent.reply(cancel, {})  # KeyError if it is a notification
        agent.reply(frame, {"stopReason": "cancelled"})
        return
    agent.update({"type": "planUpdate", "entries": [{"title": "Search", "status": "completed"}]})
    for chunk in ("First search, ", {"type": "text", "text": "then mend."}):
        agent.update({"type": "planUpdate", "chunk": chunk})
    for status, more in (("running", {"input": "/w"}), ("completed", {"output": "three hits"})):
        call = {"id": "g1", "name": "search", "status": status, **more}
        agent.update({"type": "toolCall", "toolCall": call})
    kinds = " ".join(part["type"] for part in parts)
    summary = f"command {command['name']}: {command['input']}" if command else "no command"
    size = sum(len(part["data"]) for part in parts if part["mimeType"] == "image/png")
    for chunk in (f"parts {kinds}\n", f"{summary}\n", f"image of {size}\n"):
        agent.update({"type": "messageChunk", "role": "assistant", "chunk": chunk})
    agent.reply(frame, {"stopReason": "endTurn"})
