"""`python -m bench.agents.load [KIND COUNT]`: an agent that sends very much of one kind.

The prompt says what: `permissions 20000`, `plan 100000`, `work 3`. What comes with the answer to
`initialize`, `session/new` or `session/list` is told by the arguments instead.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

Message = dict[str, Any]
SESSION = "s-0000001"


def line(message: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def update(session: str, told: str, /, **fields: Any) -> bytes:
    params = {"sessionId": session, "update": {"sessionUpdate": told, **fields}}
    return line({"method": "session/update", "params": params})


def option(n: int) -> Message:
    kinds = ("allow_once", "allow_always", "reject_once", "reject_always")
    return {"optionId": f"o{n}", "name": f"Option number {n}", "kind": kinds[n % 4]}


def ask(session: str, n: int, options: int = 4, /, **call: Any) -> bytes:
    tool = {"toolCallId": f"c{n}", "title": f"Run command number {n}", "kind": "execute", **call}
    asked = {"sessionId": session, "toolCall": tool, "options": [*map(option, range(options))]}
    return line({"id": f"ask-{n}", "method": "session/request_permission", "params": asked})


def text(n: int) -> Message:
    return {"type": "content", "content": {"type": "text", "text": f"line {n} of the output"}}


def diff(n: int) -> Message:
    return {"type": "diff", "path": f"/tmp/file{n}.py", "oldText": "a\n", "newText": f"b{n}\n"}


def many(session: str, kind: str, count: int) -> bytes:
    """All bytes of a turn."""
    numbers = range(count)
    match kind:
        case "permissions":
            return b"".join(ask(session, n) for n in numbers)
        case "options":
            return ask(session, 0, count)
        case "diffs":
            return ask(session, 0, content=[diff(n) for n in numbers])
        case "contents":
            return tool(session, content=[text(n) for n in numbers])
        case "locations":
            return tool(session, locations=[{"path": f"/tmp/f{n}", "line": n} for n in numbers])
        case "embedded":
            return tool(
                session, content=[{"type": "terminal", "terminalId": f"t{n}"} for n in numbers]
            )
        case "terminals":
            return b"".join(terminal(session, n) for n in numbers)
        case "calls":
            return b"".join(tool(session, n) for n in numbers)
        case "plan":
            entry = {"priority": "medium", "status": "pending"}
            entries = [{"content": f"Step number {n}", **entry} for n in numbers]
            return update(session, "plan", entries=entries)
        case "commands":
            commands = [{"name": f"c{n}", "description": f"Command {n}"} for n in numbers]
            return update(session, "available_commands_update", availableCommands=commands)
        case "config":
            return update(session, "config_option_update", configOptions=config(count))
        case "choices":
            return update(session, "config_option_update", configOptions=config(1, count))
        case "form":
            fields = {f"f{n}": {"type": "string", "title": f"Field {n}"} for n in numbers}
            schema = {"type": "object", "properties": fields}
            params = {
                "sessionId": session,
                "mode": "form",
                "message": "Fill in",
                "requestedSchema": schema,
            }
            return line({"id": "form", "method": "elicitation/create", "params": params})
        case "forms":
            schema = {"type": "object", "properties": {"a": {"type": "string"}}}
            params = {
                "sessionId": session,
                "mode": "form",
                "message": "Fill",
                "requestedSchema": schema,
            }
            return b"".join(
                line({"id": f"form-{n}", "method": "elicitation/create", "params": params})
                for n in numbers
            )
        case "work":
            say = {"type": "text", "text": "It is done, and all of it is well.\n"}
            return b"".join(tool(session, n) for n in numbers) + update(
                session, "agent_message_chunk", content=say
            )
    return b""


calls = 0


def tool(session: str, n: int | None = None, /, **fields: Any) -> bytes:
    global calls
    calls += n is not None
    id = "one" if n is None else f"call-{calls}"
    head = {"toolCallId": id, "title": f"Read file {id}", "kind": "read"}
    return update(session, "tool_call", status="in_progress", **head, **fields) + update(
        session, "tool_call_update", toolCallId=id, status="completed"
    )


def terminal(session: str, n: int) -> bytes:
    meta = {
        "terminal_info": {"terminal_id": f"t{n}"},
        "terminal_output": {"terminal_id": f"t{n}", "data": "x\n"},
    }
    head = {"toolCallId": f"c{n}", "title": f"make {n}", "kind": "execute", "status": "in_progress"}
    return update(session, "tool_call", **head, _meta=meta)


def config(options: int, choices: int = 2) -> list[Message]:
    values = [{"value": f"v{n}", "name": f"Value {n}"} for n in range(choices)]
    head = {"type": "select", "currentValue": "v0", "options": values}
    return [{"id": f"o{n}", "name": f"Option {n}", **head} for n in range(options)]


def modes(count: int) -> Message:
    available = [{"id": f"m{n}", "name": f"Mode {n}"} for n in range(count)]
    return {"currentModeId": "m0", "availableModes": available}


def listed(count: int) -> list[Message]:
    return [
        {"sessionId": f"stored-{n}", "cwd": "/tmp", "title": f"Session {n}"} for n in range(count)
    ]


def methods(count: int) -> list[Message]:
    return [{"id": f"a{n}", "name": f"Method {n}"} for n in range(count)]


WAITS = ("permissions", "options", "diffs", "form", "forms")


def main(kind: str = "", count: int = 0) -> None:
    out = sys.stdout.buffer
    waiting, turn, session, sessions = 0, None, SESSION, 0
    cancelled = 0.0

    def say(data: bytes) -> None:
        out.write(data)
        out.flush()

    for raw in sys.stdin.buffer:
        message = json.loads(raw)
        method, id = message.get("method"), message.get("id")
        if method == "initialize":
            able = {"sessionCapabilities": {"list": {}, "close": {}}, "loadSession": True}
            auth = methods(count) if kind == "methods" else []
            say(
                line(
                    {
                        "id": id,
                        "result": {
                            "protocolVersion": 1,
                            "agentCapabilities": able,
                            "authMethods": auth,
                        },
                    }
                )
            )
        elif method == "session/new":
            sessions += 1
            session = f"s-{sessions:07}"
            result = {"sessionId": session} | ({"modes": modes(count)} if kind == "modes" else {})
            say(line({"id": id, "result": result}))
        elif method == "session/list":
            say(
                line(
                    {"id": id, "result": {"sessions": listed(count) if kind == "sessions" else []}}
                )
            )
        elif method == "session/prompt":
            what, _, number = message["params"]["prompt"][0]["text"].partition(" ")
            session, turn = message["params"]["sessionId"], id
            say(many(session, what, int(number or 0)))
            waiting = int(number) if what in ("permissions", "forms") else int(what in WAITS)
            if not waiting:
                say(line({"id": turn, "result": {"stopReason": "end_turn"}}))
        elif method == "session/cancel":
            cancelled = time.monotonic()
        elif method is None:
            waiting -= 1
            if not waiting:
                Path("answered").write_text(f"{(time.monotonic() - cancelled) * 1000:.0f} ms")
                say(line({"id": turn, "result": {"stopReason": "cancelled"}}))
        elif id is not None:
            say(line({"id": id, "result": {}}))


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
