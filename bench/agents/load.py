"""`python -m bench.agents.load [KIND COUNT]`: an agent that sends very much of one kind.

The prompt selects the kind: `permissions 20000`, `plan 100000`, `work 3`. The arguments select data
in the answer to `initialize`, `session/new` or `session/list`.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]
numbers = itertools.count(1)


def line(message: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def update(session: str, told: str, /, **fields: Any) -> bytes:
    params = {"sessionId": session, "update": {"sessionUpdate": told, **fields}}
    return line({"method": "session/update", "params": params})


# -- turns -----------------------------------------------------------------------------------------


def option(n: int) -> Message:
    kinds = ("allow_once", "allow_always", "reject_once", "reject_always")
    return {"optionId": f"o{n}", "name": f"Option number {n}", "kind": kinds[n % 4]}


def ask(session: str, n: int, options: int = 4, /, **call: Any) -> bytes:
    tool = {"toolCallId": f"c{n}", "title": f"Run command number {n}", "kind": "execute", **call}
    asked = {"sessionId": session, "toolCall": tool, "options": [*map(option, range(options))]}
    return line({"id": f"ask-{n}", "method": "session/request_permission", "params": asked})


def form(session: str, n: int, fields: int) -> bytes:
    properties = {f"f{i}": {"type": "string", "title": f"Field {i}"} for i in range(fields)}
    schema = {"type": "object", "properties": properties}
    params = {"sessionId": session, "mode": "form", "message": "Fill in", "requestedSchema": schema}
    return line({"id": f"form-{n}", "method": "elicitation/create", "params": params})


def tool(session: str, id: str | None = None, /, **fields: Any) -> bytes:
    id = id or f"call-{next(numbers)}"
    head = {"toolCallId": id, "title": f"Read file {id}", "kind": "read"}
    done = update(session, "tool_call_update", toolCallId=id, status="completed")
    return update(session, "tool_call", status="in_progress", **head, **fields) + done


def terminal(session: str, n: int) -> bytes:
    output = {"terminal_id": f"t{n}", "data": "x\n"}
    meta = {"terminal_info": {"terminal_id": f"t{n}"}, "terminal_output": output}
    head = {"toolCallId": f"c{n}", "title": f"make {n}", "kind": "execute", "status": "in_progress"}
    return update(session, "tool_call", **head, _meta=meta)


def text(n: int) -> Message:
    return {"type": "content", "content": {"type": "text", "text": f"line {n} of the output"}}


def diff(n: int) -> Message:
    return {"type": "diff", "path": f"/tmp/file{n}.py", "oldText": "a\n", "newText": f"b{n}\n"}


def place(n: int) -> Message:
    return {"path": f"/tmp/f{n}", "line": n}


def embedded(n: int) -> Message:
    return {"type": "terminal", "terminalId": f"t{n}"}


def step(n: int) -> Message:
    return {"content": f"Step number {n}", "priority": "medium", "status": "pending"}


def command(n: int) -> Message:
    return {"name": f"c{n}", "description": f"Command {n}"}


def config(options: int, choices: int = 2) -> list[Message]:
    values = [{"value": f"v{n}", "name": f"Value {n}"} for n in range(choices)]
    head = {"type": "select", "currentValue": "v0", "options": values}
    return [{"id": f"o{n}", "name": f"Option {n}", **head} for n in range(options)]


def listed(make: Callable[[int], Message], count: int) -> list[Message]:
    return [make(n) for n in range(count)]


def each(make: Callable[[str, int], bytes]) -> Callable[[str, int], bytes]:
    return lambda session, count: b"".join(make(session, n) for n in range(count))


def work(session: str, count: int) -> bytes:
    said = {"type": "text", "text": "It is done, and all of it is well.\n"}
    calls = b"".join(tool(session) for _ in range(count))
    return calls + update(session, "agent_message_chunk", content=said)


TURNS: dict[str, Callable[[str, int], bytes]] = {
    "permissions": each(ask),
    "options": lambda s, n: ask(s, 0, n),
    "diffs": lambda s, n: ask(s, 0, content=listed(diff, n)),
    "form": lambda s, n: form(s, 0, n),
    "forms": each(lambda s, n: form(s, n, 1)),
    "contents": lambda s, n: tool(s, "one", content=listed(text, n)),
    "locations": lambda s, n: tool(s, "one", locations=listed(place, n)),
    "embedded": lambda s, n: tool(s, "one", content=listed(embedded, n)),
    "terminals": each(terminal),
    "calls": each(lambda s, n: tool(s)),
    "plan": lambda s, n: update(s, "plan", entries=listed(step, n)),
    "commands": lambda s, n: update(
        s, "available_commands_update", availableCommands=listed(command, n)
    ),
    "config": lambda s, n: update(s, "config_option_update", configOptions=config(n)),
    "choices": lambda s, n: update(s, "config_option_update", configOptions=config(1, n)),
    "work": work,
}
ASKING = {"permissions", "options", "diffs", "form", "forms"}
"""Turns that end when all questions are answered."""


# -- the agent -------------------------------------------------------------------------------------


def mode(n: int) -> Message:
    return {"id": f"m{n}", "name": f"Mode {n}"}


def stored(n: int) -> Message:
    return {"sessionId": f"stored-{n}", "cwd": "/tmp", "title": f"Session {n}"}


class Agent:
    """Agent that answers the requests of the client."""

    def __init__(self, kind: str, count: int) -> None:
        self.kind, self.count = kind, count
        self.sessions = self.waiting = 0
        self.turn: Any = None
        self.cancelled = 0.0

    def listed(self, kind: str, make: Callable[[int], Message]) -> list[Message]:
        return listed(make, self.count if kind == self.kind else 0)

    def take(self, message: Message) -> bytes:
        method = message.get("method")
        if method == "session/prompt":
            return self.prompt(message)
        if method == "session/cancel":
            self.cancelled = time.monotonic()
            return b""
        if method is None:
            return self.answered()
        return (
            line({"id": message["id"], "result": self.result(method)}) if "id" in message else b""
        )

    def result(self, method: str) -> Message:
        if method == "initialize":
            able = {"sessionCapabilities": {"list": {}, "close": {}}, "loadSession": True}
            methods = self.listed("methods", lambda n: {"id": f"a{n}", "name": f"Method {n}"})
            return {"protocolVersion": 1, "agentCapabilities": able, "authMethods": methods}
        if method == "session/list":
            return {"sessions": self.listed("sessions", stored)}
        if method == "session/new":
            self.sessions += 1
            modes = self.listed("modes", mode)
            more = {"modes": {"currentModeId": "m0", "availableModes": modes}} if modes else {}
            return {"sessionId": f"s-{self.sessions:07}", **more}
        return {}

    def prompt(self, message: Message) -> bytes:
        what, _, number = message["params"]["prompt"][0]["text"].partition(" ")
        count, self.turn = int(number or 0), message["id"]
        self.waiting = 0
        if what in ASKING:
            self.waiting = count if what in ("permissions", "forms") else 1
        data = TURNS[what](message["params"]["sessionId"], count)
        return data if self.waiting else data + self.end("end_turn")

    def answered(self) -> bytes:
        self.waiting -= 1
        if self.waiting:
            return b""
        took = (time.monotonic() - self.cancelled) * 1000
        Path("answered").write_text(f"{took:.0f} ms")
        return self.end("cancelled")

    def end(self, reason: str) -> bytes:
        return line({"id": self.turn, "result": {"stopReason": reason}})


def main(kind: str = "", count: str = "0") -> None:
    agent = Agent(kind, int(count))
    for raw in sys.stdin.buffer:
        sys.stdout.buffer.write(agent.take(json.loads(raw)))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:3])
