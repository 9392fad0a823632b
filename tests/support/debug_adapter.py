"""Scripted debug adapter over stdio: a program that has stopped in line 2 of its file. No
dependencies.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

VARIABLES = {
    1: [
        {"name": "total", "type": "int", "value": "3", "variablesReference": 0},
        {"name": "box", "type": "Box", "value": "<Box>", "variablesReference": 2},
    ],
    2: [
        {"name": "size", "type": "int", "value": "7", "variablesReference": 0},
        {"name": "lazy", "value": "", "variablesReference": 3, "presentationHint": {"lazy": True}},
    ],
}


def send(message: dict[str, Any]) -> None:
    """Send one message to the client."""
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def event(name: str, **body: Any) -> None:
    send({"type": "event", "event": name, "seq": 0, "body": body})


def answer(path: str, command: str, arguments: dict[str, Any]) -> Any:
    """Return the body of a response."""
    source = {"path": path, "name": os.path.basename(path)}  # noqa: PTH119
    frames = [
        {"id": 10, "name": "add", "line": 2, "column": 1, "source": source},
        {"id": 11, "name": "main", "line": 5, "column": 3, "source": source},
    ]
    if command == "setBreakpoints":
        return {
            "breakpoints": [
                {"verified": True, "line": it["line"]} for it in arguments["breakpoints"]
            ]
        }
    return {
        "threads": {"threads": [{"id": 1, "name": "main"}]},
        "stackTrace": {"stackFrames": frames, "totalFrames": 2},
        "scopes": {"scopes": [{"name": "Locals", "variablesReference": 1, "expensive": False}]},
        "variables": {"variables": VARIABLES.get(arguments.get("variablesReference", 0), [])},
    }.get(command, {})


def main() -> None:
    """Serve until the client disconnects."""
    path = ""
    while (line := sys.stdin.buffer.readline()).startswith(b"Content-Length"):
        sys.stdin.buffer.readline()
        request = json.loads(sys.stdin.buffer.read(int(line.split(b":")[1])))
        command, arguments = request["command"], request.get("arguments") or {}
        path = arguments.get("program", path)
        reply = {"type": "response", "seq": 0, "request_seq": request["seq"], "command": command}
        send({**reply, "success": True, "body": answer(path, command, arguments)})
        if command == "launch":
            event("initialized")
            event("stopped", threadId=1, reason="breakpoint", allThreadsStopped=True)


if __name__ == "__main__":
    main()
