"""Agent side of a stdio pipe, for sequential code: send something, wait for something.

Nothing runs concurrently. A frame for which no code waits yet stays in `waiting`.
"""

from __future__ import annotations

import os
import select
import sys
import time

from tests.agents import quick_json as json

TYPE_CHECKING = False
if TYPE_CHECKING:  # the import would be a tenth of the start of an agent
    from collections.abc import Callable
    from typing import Any, NoReturn

Frame = dict[str, "Any"]


class End(Exception):
    """The client closed the agent's input."""


class Cancelled(Exception):
    """`session/cancel` came while a scenario looked for it. The turn ends as cancelled."""


class Agent:
    """A scripted agent: frames in and out, and the behaviour that all agents share."""

    def __init__(self, log: str | None = None) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._log = os.open(log, flags, 0o666) if log else None
        self._buffer = b""
        self._next = 0
        self.waiting: list[Frame] = []
        self.session = "s1"
        self.sessions = 0
        self.turn: Frame | None = None  # the current session/prompt
        self.client: Frame = {}  # clientCapabilities
        self.capabilities: Frame = {
            "promptCapabilities": {"embeddedContext": True, "image": True},
            "mcpCapabilities": {},
        }
        self.initialized: Frame = {}  # further keys of the initialize result
        self.new_session: Frame = {}  # further keys of the session/new result
        self.servers: dict[str, list[Frame]] = {}  # mcpServers of each session
        self.note(f"start {os.getpid()}")

    # ---- output

    def raw(self, data: bytes, *, newline: bool = True) -> None:
        """Write bytes without a change."""
        self._write(data + (b"\n" if newline else b""))
        try:
            self._record("out", frame=json.loads(data))
        except ValueError:
            self._record("out", raw=data[:1000].decode(errors="backslashreplace"))

    def raw_part(self, data: bytes) -> None:
        """Write a part of a line, which is not logged."""
        self._write(data)

    def send(self, frame: Any) -> None:
        """Write one JSON value as a line."""
        self._record("out", frame=frame)
        try:
            line = json.dumps(frame, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            line = json.dumps(frame).encode()  # escapes a lone surrogate
        self._write(line + b"\n")

    def send_together(self, *frames: Frame) -> None:
        """Write several frames at once, so that the client reads them at once."""
        for frame in frames:
            self._record("out", frame=frame)
        self._write(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def update(self, update: Frame, session: str | None = None) -> None:
        """Send a `session/update` for the current session."""
        self.notify("session/update", {"sessionId": session or self.session, "update": update})

    def say(self, text: str, **more: Any) -> None:
        """Send one `agent_message_chunk` of text."""
        content = {"type": "text", "text": text}
        self.update({"sessionUpdate": "agent_message_chunk", "content": content, **more})

    def request(self, method: str, params: Frame, *, id: Any = None) -> Any:
        """Send a request and return its id without waiting. `sessionId` is added."""
        if id is None:
            id, self._next = self._next, self._next + 1
        params = {"sessionId": self.session, **params}
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id

    def answer(self, id: Any) -> Frame:
        """Wait for the response to that request."""
        return self._take(lambda f: "method" not in f and f.get("id") == id)

    def ask(self, method: str, params: Frame) -> Frame:
        """Send a request and wait for its response: `{result}` or `{error}`."""
        return self.answer(self.request(method, params))

    def cancel_request(self, id: Any) -> None:
        """Cancel one of the agent's requests."""
        self.notify("$/cancel_request", {"requestId": id})

    def reply(self, request: Frame, result: Any) -> None:
        """Answer a request of the client."""
        params = request.get("params") or {}
        if "mcpServers" in params:
            id = result.get("sessionId") or params.get("sessionId", "")
            self.servers[id] = params["mcpServers"]
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def refuse(self, request: Frame, code: int, message: str, data: Any = None) -> None:
        """Answer a request of the client with an error."""
        error = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def end(self, reason: str = "end_turn", **more: Any) -> None:
        """Answer the current prompt, unless it has been answered."""
        if self.turn is not None:
            self.reply(self.turn, {"stopReason": reason, **more})
            self.turn = None

    # ---- input

    def expect(self, *methods: str) -> Frame:
        """Wait for a frame of one of those methods. Other frames stay in `waiting`."""
        return self._take(lambda f: f.get("method") in methods)

    def next(self) -> Frame:
        """Wait for the next frame with a method. Responses stay in `waiting`."""
        return self._take(lambda f: "method" in f)

    def poll(self, seconds: float) -> Frame | None:
        """Return the next frame with a method, or None if none comes within this time."""
        end = time.monotonic() + seconds
        while True:
            for index, frame in enumerate(self.waiting):
                if "method" in frame:
                    return self.waiting.pop(index)
            if not self._ready(max(0.0, end - time.monotonic())):
                return None
            self.waiting.append(self._read())

    def wait_for_cancel(self) -> NoReturn:
        """Wait until the user cancels, then end the turn as cancelled."""
        self._take(self._is_cancel)
        raise Cancelled

    def check_cancel(self, seconds: float = 0.0) -> None:
        """Look for a cancel for this time. Raise Cancelled if there is one."""
        end = time.monotonic() + seconds
        while True:
            if any(self._is_cancel(frame) for frame in self.waiting):
                self.wait_for_cancel()
            left = max(0.0, end - time.monotonic())
            if not self._ready(left):
                return
            self.waiting.append(self._read())

    def listen(self) -> None:
        """Read frames without answering. Raise End at the end of the input."""
        while True:
            self.waiting.append(self._read())

    # ---- ending and side effects

    def exit(self, code: int = 0) -> NoReturn:
        """Exit at once with that code."""
        self.note(f"exit {code}")
        os._exit(code)

    def die(self, name: str = "SIGKILL") -> NoReturn:
        """Exit by a signal."""
        import signal

        self.note(f"die {name}")
        number = signal.Signals[name]
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        raise AssertionError("alive after a deadly signal")

    def stderr(self, text: str) -> None:
        """Write a line to stderr."""
        print(text, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Write a note to the log for the test."""
        self._record("note", note=text)

    # ---- the pipe

    def _take(self, wanted: Callable[[Frame], bool]) -> Frame:
        for index, frame in enumerate(self.waiting):
            if wanted(frame):
                return self.waiting.pop(index)
        while not wanted(frame := self._read()):
            self.waiting.append(frame)
        return frame

    def _is_cancel(self, frame: Frame) -> bool:
        return frame.get("method") == "session/cancel"

    def _ready(self, seconds: float) -> bool:
        return b"\n" in self._buffer or bool(select.select([0], [], [], seconds)[0])

    def _read(self) -> Frame:
        while b"\n" not in self._buffer:
            data = os.read(0, 1 << 16)
            if not data:
                self.note("eof")
                raise End
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            frame = json.loads(line)
        except ValueError:
            self._record("in", raw=line[:1000].decode(errors="backslashreplace"))
            raise
        self._record("in", frame=frame)
        assert isinstance(frame, dict), line
        return frame

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(1, view) :]
        except BrokenPipeError as error:
            self.note("broken pipe")
            raise End from error

    def _record(self, direction: str, **what: Any) -> None:
        if self._log is not None:
            entry = {"t": time.monotonic(), "dir": direction, **what}
            os.write(self._log, json.dumps(entry).encode() + b"\n")
