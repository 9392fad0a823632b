"""`python -m bench.agents.fast WORKLOAD [N]`: answer each prompt with a prepared workload.

All bytes of a turn are made when its session is opened. Workloads with their own measurement
(`reads`, `flight`, `write`, `cold`, `calls`) send nanoseconds as the text of their turn. `cold N`
needs N milliseconds to start.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.agents.relay import timed
from bench.workloads import ask, chunks, code, long_message, notification, output, say, source

Message = dict[str, Any]
PLACE = "s-0000000"
SOURCE = 20_000
"""Number of lines of the file of `grow write`."""
IN_FLIGHT = 50
"""Number of reads that `flight` keeps open."""


def _burst(count: int) -> list[bytes]:
    return [b"".join(say(PLACE, text) for text in chunks(count))]


def _trickle(count: int) -> list[bytes]:
    return [say(PLACE, text) for text in chunks(count)]


def _line(count: int) -> list[bytes]:
    return [b"".join(say(PLACE, text.replace("\n", " ")) for text in chunks(count))]


def _message(lines: int) -> list[bytes]:
    return [say(PLACE, long_message(lines))]


def _tool(n: int, title: str, text: str, status: str, kind: str = "tool_call") -> bytes:
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    head = {"sessionUpdate": kind, "toolCallId": f"c{n}", "status": status}
    return notification(PLACE, head | {"title": title, "kind": "execute", "content": content})


def _updates(count: int) -> list[bytes]:
    start = _tool(0, "make", "", "in_progress")
    step = 2000 // count
    grown = [
        _tool(0, "make", output(n * step), "in_progress", "tool_call_update")
        for n in range(1, count + 1)
    ]
    return [start + b"".join(grown)]


def _tools(count: int) -> list[bytes]:
    made = [
        _tool(n, f"read file {n}", "", "in_progress")
        + _tool(n, f"read file {n}", f"one\ntwo {n}\n", "completed", "tool_call_update")
        for n in range(count)
    ]
    return [b"".join(made)]


def _permissions(count: int) -> list[bytes]:
    return [b"".join(ask(PLACE, n) for n in range(count))]


def _code(language: str) -> Callable[[int], list[bytes]]:
    return lambda count: [say(PLACE, code(language, count))]


PREPARED: dict[str, Callable[[int], list[bytes]]] = {
    "burst": _burst,
    "trickle": _trickle,
    "line": _line,
    "message": _message,
    "updates": _updates,
    "tools": _tools,
    "permissions": _permissions,
    "code_lua": _code("lua"),
    "code_python": _code("python"),
}


class Agent:
    """One process that reads requests and writes lines."""

    def __init__(self, workload: str, count: int) -> None:
        self.workload = workload
        self.count = count
        self.pieces = PREPARED[workload](count) if workload in PREPARED else []
        self.sessions = 0
        self.calls = 0
        self.ready: dict[str, list[bytes]] = {}
        self.servers: dict[str, list[Message]] = {}
        self.lines = self._read()

    def _read(self) -> Iterator[Message]:
        for line in sys.stdin.buffer:
            yield json.loads(line)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    def reply(self, request: Message, result: Message) -> None:
        message = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        self.write(json.dumps(message).encode() + b"\n")

    def ask(self, id: int, method: str, **params: Any) -> Message:
        """Send a request and wait for its answer. Nothing else may arrive in between."""
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.write(json.dumps(message).encode() + b"\n")
        answer = next(self.lines)
        assert answer.get("id") == id, answer
        result: Message = answer["result"]
        return result

    def run(self) -> None:
        for message in self.lines:
            match message.get("method"):
                case "initialize":
                    self.reply(message, {"protocolVersion": 1, "agentCapabilities": {}})
                case "session/new":
                    self._open(message)
                case "session/prompt":
                    self._turn(message, time.monotonic_ns())

    def _open(self, message: Message) -> None:
        self.sessions += 1
        session = f"s-{self.sessions:07d}"
        own = session.encode()
        self.ready[session] = [piece.replace(PLACE.encode(), own) for piece in self.pieces]
        self.servers[session] = message["params"]["mcpServers"]
        self.reply(message, {"sessionId": session})

    def _turn(self, message: Message, now: int) -> None:
        session = message["params"]["sessionId"]
        text = message["params"]["prompt"][0]["text"]
        match self.workload:
            case "trickle" if text == "go":
                self._trickle(session)
            case "trickle":
                self.write(b"".join(say(session, part) for part in chunks(int(text.split()[1]))))
            case "reads" | "flight":
                in_flight = IN_FLIGHT if self.workload == "flight" else 1
                self.write(say(session, str(self._reads(session, text, in_flight))))
            case "write":
                self.write(say(session, str(self._write(session, text))))
            case "calls":
                tool, count, arguments = text.split(" ", 2)
                (own,) = self.servers[session]
                self.write(say(session, timed(own, tool, int(count), json.loads(arguments))))
            case "grow":
                self._grow(session, *text.split())
            case "cold":
                self.write(say(session, str(now)))
            case "permissions":
                self.reply(message, {"stopReason": self._permissions(session)})
                return
            case _:
                for piece in self.ready[session]:
                    self.write(piece)
        self.reply(message, {"stopReason": "end_turn"})

    def _permissions(self, session: str) -> str:
        """Ask everything at once, and end the turn when each question is cancelled once."""
        self.write(self.ready[session][0])
        asked, cancelled = set(range(self.count)), False
        while asked:
            message = next(self.lines)
            if message.get("method") == "session/cancel":
                cancelled = True
                continue
            assert message["result"] == {"outcome": {"outcome": "cancelled"}}, message
            asked.remove(message["id"])
        while not cancelled:
            cancelled = next(self.lines).get("method") == "session/cancel"
        self.write(say(session, f"{self.count} cancelled"))
        return "cancelled"

    def _trickle(self, session: str) -> None:
        """Send 100 chunks per second at a fixed rate."""
        start = time.monotonic()
        for n, piece in enumerate(self.ready[session]):
            time.sleep(max(0.0, start + n / 100 - time.monotonic()))
            self.write(piece)

    def _reads(self, session: str, path: str, in_flight: int) -> int:
        """Keep this number of reads open, and compare each answer with the text of the buffer."""
        expected = Path(f"{path}.expected").read_text(encoding="utf-8")
        start = time.monotonic_ns()
        for n in range(in_flight):
            self._begin_read(n, session, path)
        for n in range(self.count):
            answer = next(self.lines)
            assert answer["result"]["content"] == expected
            if n + in_flight < self.count:
                self._begin_read(n + in_flight, session, path)
        return time.monotonic_ns() - start

    def _begin_read(self, id: int, session: str, path: str) -> None:
        params = {"sessionId": session, "path": path}
        message = {"jsonrpc": "2.0", "id": id, "method": "fs/read_text_file", "params": params}
        self.write(json.dumps(message).encode() + b"\n")

    def _grow(self, session: str, kind: str, count: str, *more: str) -> None:
        """Run one kind of growing work.

        `say N`: N chunks. `calls N`: N tool calls with different ids. `write HUNKS PATH ROUND`: a
        file of `SOURCE` lines with this number of changed lines, the last one by the round; sends
        nanoseconds. `files N DIRECTORY HUNKS`: N files there with this number of changed lines in
        each. `rewrites N PATH…`: N writes to these files in turn, each of another round.
        """
        if kind == "files":
            self._write_many(session, int(count), *more)
        elif kind == "rewrites":
            self._rewrite(session, int(count), more)
        elif kind == "say":
            self.write(b"".join(say(session, part) for part in chunks(int(count))))
        elif kind == "calls":
            made = range(self.calls, self.calls + int(count))
            self.calls += int(count)
            piece = b"".join(_tool(n, f"read file {n}", "two\n", "completed") for n in made)
            self.write(piece.replace(PLACE.encode(), session.encode()))
        else:
            path, round_ = more
            content = source(SOURCE, 1, int(count)) + f"round {round_}\n"
            if round_ == "0":
                self.ask(1, "fs/read_text_file", sessionId=session, path=path)
            start = time.monotonic_ns()
            self.ask(2, "fs/write_text_file", sessionId=session, path=path, content=content)
            self.write(say(session, str(time.monotonic_ns() - start)))

    def _write_many(self, session: str, files: int, directory: str, hunks: str) -> None:
        for n in range(files):
            path = f"{directory}/file{n}.py"
            self.ask(1, "fs/read_text_file", sessionId=session, path=path)
            content = source(200, 1, int(hunks))
            self.ask(2, "fs/write_text_file", sessionId=session, path=path, content=content)
        self.write(say(session, "done"))

    def _rewrite(self, session: str, count: int, paths: tuple[str, ...]) -> None:
        for n in range(self.calls, self.calls + count):
            path = paths[n % len(paths)]
            if n < len(paths):
                self.ask(1, "fs/read_text_file", sessionId=session, path=path)
            content = source(500, 1, 8) + f"round {n}\n"
            self.ask(2, "fs/write_text_file", sessionId=session, path=path, content=content)
        self.calls += count
        self.write(say(session, "done"))

    def _write(self, session: str, text: str) -> int:
        path, edition = text.rsplit(" ", 1)
        self.ask(1, "fs/read_text_file", sessionId=session, path=path)
        content = source(self.count, int(edition), 50)
        start = time.monotonic_ns()
        self.ask(2, "fs/write_text_file", sessionId=session, path=path, content=content)
        return time.monotonic_ns() - start


if __name__ == "__main__":
    workload, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if workload == "cold":
        time.sleep(count / 1000)
    Agent(workload, count).run()
