"""One terminal of a session: command, output, exit. Pure state."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any, Final, Protocol

from msgspec import Struct

from acp_nvim.session.output.ansi import Ansi, Newlines, plain
from acp_nvim.session.output.bounded import Output
from acp_nvim.session.output.tail import Tail

REPLAY: Final = 256 << 10
"""Bytes kept for a terminal's buffer: as much as Neovim's terminal takes in about 0.1 s."""


class Launch(Struct, frozen=True):
    """How a terminal was started: the command line; its directory, if not the session's; the
    variables added to the agent's, as they may be shown (values that look secret are hidden).
    """

    command: str
    cwd: str | None = None
    env: Sequence[tuple[str, str]] = ()


class TerminalObserver(Protocol):
    """Whoever shows terminals; told at once."""

    def written(self, terminal: Terminal) -> None:
        """The terminal has new output."""

    def status_changed(self, terminal: Terminal) -> None:
        """It has ended, or runs again."""


class Terminal:
    """One terminal; it outlives its process and its release, for display."""

    def __init__(
        self,
        id: str,
        launch: Launch,
        limit: int,
        *,
        ours: bool,
        outlives_call: bool = False,
        observer: TerminalObserver | None = None,
    ) -> None:
        """`limit`: bytes of output kept for the agent; `ours`: we started the process."""
        self.id = id
        self.launch = launch
        self.ours = ours
        self.running = True
        self.exit_code: int | None = None
        self.signal: str | None = None
        self.released = False
        self.outlives_call = outlives_call
        """The agent tells of its end; no tool call's end is its."""
        self.cancellable = False
        """The agent ends it on its own when asked to."""
        self.resets = 0
        """How often its output was replaced."""
        self._begin = 0
        """Where its output begins since then."""
        self.output = Output(limit)
        """For the agent: plain text with newlines as the program wrote them."""
        self.replay = Output(REPLAY)
        """For the buffer: safe sequences kept, lines end in `\\r\\n`."""
        self._observer = observer
        self._tail = Tail()
        self._returned = False
        """The last byte of `feed_lines` was a carriage return."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ansi = Ansi()
        self._newlines = Newlines()

    def feed(self, data: bytes) -> None:
        """Take bytes as the terminal device gives them."""
        self._take(self._decoder.decode(data))

    def tell(self, text: str) -> None:
        """Take text as an agent tells it, with plain newlines."""
        self._take(text.replace("\r\n", "\n").replace("\n", "\r\n"))

    def feed_lines(self, data: bytes) -> None:
        """Take bytes that may end lines without a carriage return."""
        text = self._decoder.decode(data)
        parts = text.split("\n")
        ends = [not part.endswith("\r") for part in parts[:-1]]
        if ends and not parts[0] and self._returned:
            ends[0] = False
        if text:
            self._returned = text.endswith("\r")
        ended = (part + ("\r\n" if bare else "\n") for part, bare in zip(parts, ends, strict=False))
        self._take("".join([*ended, parts[-1]]))

    def replace(self, data: bytes) -> None:
        """Take all bytes anew."""
        self._decoder.reset()
        self._ansi, self._newlines = Ansi(), Newlines()
        self._tail = Tail()
        self._returned = False
        self.replay.clear()
        self._begin = self.replay.end
        self.resets += 1
        self.feed_lines(data)

    def shrink(self, limit: int) -> None:
        """Keep little of its output, at most so many bytes for its buffer."""
        self.replay.shrink(limit)

    def may_cancel(self, offered: bool) -> None:
        """Whether the agent ends it when asked to."""
        self.cancellable = offered

    def describe(self, command: str, cwd: str | None) -> None:
        """Take another command and directory."""
        self.launch = Launch(command, cwd, self.launch.env)

    def end(self, exit_code: int | None, signal: str | None) -> None:
        """The process is gone; both are None while the exit is unknown, which a later call may
        tell.
        """
        known = (self.exit_code, self.signal) != (None, None)
        if not self.running and (known or (exit_code, signal) == (None, None)):
            return
        self._take(self._decoder.decode(b"", True))
        self.output.add(self._newlines.end())
        self.running, self.exit_code, self.signal = False, exit_code, signal
        self._status_changed()

    def release(self) -> None:
        """The agent has released it; the display stays."""
        self.released = True
        self.output.shrink(0)

    def recall(
        self, lines: Sequence[str], count: int, exit_code: int | None, signal: str | None
    ) -> None:
        """Take the end of an output that had `count` newlines, and the exit of a process that has
        ended.
        """
        self.replay.add("".join(f"{line}\r\n" for line in lines))
        self._tail = Tail.of(lines, count)
        self.running, self.exit_code, self.signal = False, exit_code, signal

    def restart(self) -> None:
        """The agent uses the same id for a new run; the former output stays above it."""
        if not self.running:
            self.running, self.exit_code, self.signal = True, None, None
            self._status_changed()

    def lines(self) -> list[str]:
        """The newest lines, plain."""
        return self._tail.lines()

    @property
    def line_count(self) -> int:
        """Lines ever written."""
        return self._tail.count

    @property
    def written(self) -> int:
        """Bytes of its output, those included that are not kept."""
        return self.replay.end - self._begin

    @property
    def ended(self) -> str:
        """Its exit for the user; empty while it runs or where the exit is unknown."""
        if self.signal is not None:
            return self.signal
        return "" if self.running or self.exit_code is None else f"exit code {self.exit_code}"

    def snapshot(self) -> dict[str, Any]:
        """`{id, command, running, exit_code, signal}` as `state()` shows it."""
        return {
            "id": self.id,
            "command": self.launch.command,
            "running": self.running,
            "exit_code": self.exit_code,
            "signal": self.signal,
        }

    def move(self, cwd: str) -> None:
        """It runs there."""
        self.launch = Launch(self.launch.command, cwd)

    def _status_changed(self) -> None:
        if self._observer is not None:
            self._observer.status_changed(self)

    def _take(self, text: str) -> None:
        if not text:
            return
        safe = self._ansi.feed(text)
        if self.ours and not self.released:
            self.output.add(self._newlines.feed(plain(safe)))
        self.replay.add(safe)
        self._tail.add(safe)
        if self._observer is not None:
            self._observer.written(self)
