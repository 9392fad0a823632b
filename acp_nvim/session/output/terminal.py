"""State of one terminal of a session: command, output (bounded in bytes), exit."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any, Final, Protocol

from msgspec import Struct

from acp_nvim.session.output.ansi import Ansi, Newlines, plain
from acp_nvim.session.output.tail import Tail

REPLAY_BYTES: Final = 256 << 10
"""Number of bytes stored for a terminal's buffer. Neovim processes them in about 0.1 s."""


class Output:
    """Last part of a text: at most `limit` bytes of UTF-8, whole characters only.

    (v1/terminals: `outputByteLimit`.) Offsets count bytes from the beginning of the stream. They
    stay valid while the beginning is dropped.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.end = 0
        """Number of bytes ever added."""
        self._data = bytearray()

    def add(self, text: str) -> None:
        """Append text. Lone surrogates become `?`."""
        data = text.encode("utf-8", "replace")
        self.end += len(data)
        self._data += data[-self.limit - 4 :] if len(data) > self.limit + 4 else data
        # Trimmed rarely, so many small pieces cost as little as one large one.
        if len(self._data) > 2 * self.limit + 4096:
            self._trim()

    def shrink(self, limit: int) -> None:
        """Lower the limit."""
        self.limit = min(limit, self.limit)
        self._trim()

    def clear(self) -> None:
        """Drop all text. Offsets continue."""
        self._data.clear()

    @property
    def start(self) -> int:
        """Return the offset of the first stored byte."""
        self._trim()
        return self.end - len(self._data)

    @property
    def is_truncated(self) -> bool:
        """Return whether the beginning was dropped."""
        return self.start > 0

    def text(self) -> str:
        """Return all stored text."""
        self._trim()
        return self._data.decode()

    def since(self, offset: int, limit: int) -> tuple[str, int]:
        """Return about `limit` bytes from `offset` on, and the offset after them."""
        start = self.start
        first = max(offset - start, 0)
        last = min(first + limit, len(self._data))
        while last < len(self._data) and self._data[last] & 0xC0 == 0x80:
            last += 1
        return self._data[first:last].decode("utf-8", "replace"), start + last

    def line_after(self, offset: int) -> int:
        """Return the offset of the first line at or after `offset`, or else `offset` itself."""
        start = self.start
        first = max(offset - start, 0)
        at = self._data.find(b"\n", first)
        return start + first if at < 0 else start + at + 1

    def _trim(self) -> None:
        over = len(self._data) - self.limit
        if over <= 0:
            return
        while over < len(self._data) and self._data[over] & 0xC0 == 0x80:
            over += 1
        del self._data[:over]


class Launch(Struct, frozen=True):
    """Launch of a terminal: command line, directory and variables.

    The directory is absent if it is the session's. The variables are additions to the agent's, with
    secret values hidden.
    """

    command: str
    cwd: str | None = None
    env: Sequence[tuple[str, str]] = ()


class TerminalObserver(Protocol):
    """Observer of terminals, called at once."""

    def on_output(self, terminal: Terminal) -> None:
        """Handle new output of the terminal."""

    def on_status_changed(self, terminal: Terminal) -> None:
        """Handle the end or a restart of the terminal."""


class Terminal:
    """Terminal of a session. It remains visible after its process has exited."""

    def __init__(
        self,
        id: str,
        launch: Launch,
        limit: int,
        *,
        is_hosted: bool,
        outlives_call: bool = False,
        observer: TerminalObserver | None = None,
    ) -> None:
        """`limit` is the maximum size of the output for the agent, in bytes.

        `is_hosted` means that the host started the terminal.
        """
        self.id = id
        self.launch = launch
        self.is_hosted = is_hosted
        self.running = True
        self.exit_code: int | None = None
        self.signal: str | None = None
        self.released = False
        self.outlives_call = outlives_call
        """Whether the agent reports the end, which then does not depend on the tool call's."""
        self.cancellable = False
        """Whether the agent can end the terminal on request."""
        self.resets = 0
        """Number of times that the output was replaced."""
        self._begin = 0
        """Offset at which the current output begins."""
        self.output = Output(limit)
        """Output for the agent: plain text, with newlines as the program wrote them."""
        self.replay = Output(REPLAY_BYTES)
        """Output for the buffer: safe sequences are kept, lines end in `\\r\\n`."""
        self._observer = observer
        self._tail = Tail()
        self._ends_with_return = False
        """Whether the last byte of `feed_lines` was a carriage return."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ansi = Ansi()
        self._newlines = Newlines()

    def feed(self, data: bytes) -> None:
        """Add bytes from the terminal device."""
        self._add_text(self._decoder.decode(data))

    def feed_reported(self, text: str) -> None:
        """Add text reported by an agent, with plain newlines."""
        self._add_text(text.replace("\r\n", "\n").replace("\n", "\r\n"))

    def feed_lines(self, data: bytes) -> None:
        """Add bytes whose lines may end without a carriage return."""
        text = self._decoder.decode(data)
        parts = text.split("\n")
        bare = [not part.endswith("\r") for part in parts[:-1]]
        if bare and not parts[0] and self._ends_with_return:
            bare[0] = False
        if text:
            self._ends_with_return = text.endswith("\r")
        lines = (
            part + ("\r\n" if is_bare else "\n") for part, is_bare in zip(parts, bare, strict=False)
        )
        self._add_text("".join([*lines, parts[-1]]))

    def replace(self, data: bytes) -> None:
        """Replace the whole output."""
        self._decoder.reset()
        self._ansi, self._newlines = Ansi(), Newlines()
        self._tail = Tail()
        self._ends_with_return = False
        self.replay.clear()
        self._begin = self.replay.end
        self.resets += 1
        self.feed_lines(data)

    def shrink(self, limit: int) -> None:
        """Reduce the output stored for the buffer to `limit` bytes."""
        self.replay.shrink(limit)

    def set_cancellable(self, offered: bool) -> None:
        """Set whether the agent can end the terminal on request."""
        self.cancellable = offered

    def set_command(self, command: str, cwd: str | None) -> None:
        self.launch = Launch(command, cwd, self.launch.env)

    def end(self, exit_code: int | None, signal: str | None) -> None:
        """Mark the process as ended.

        Both values are None while the exit is unknown. A later call may supply them.
        """
        is_known = (self.exit_code, self.signal) != (None, None)
        if not self.running and (is_known or (exit_code, signal) == (None, None)):
            return
        self._add_text(self._decoder.decode(b"", True))
        self.output.add(self._newlines.end())
        self.running, self.exit_code, self.signal = False, exit_code, signal
        self._status_changed()

    def release(self) -> None:
        """Mark the terminal as released by the agent. It remains visible."""
        self.released = True
        self.output.shrink(0)

    def restore_output(
        self, lines: Sequence[str], count: int, exit_code: int | None, signal: str | None
    ) -> None:
        """Restore the end of an output that had `count` newlines, and the exit of its process."""
        self.replay.add("".join(f"{line}\r\n" for line in lines))
        self._tail = Tail.of(lines, count)
        self.running, self.exit_code, self.signal = False, exit_code, signal

    def restart(self) -> None:
        """Handle a restart with the same id. The earlier output stays above the new one."""
        if not self.running:
            self.running, self.exit_code, self.signal = True, None, None
            self._status_changed()

    def lines(self) -> list[str]:
        """Return the newest lines, plain."""
        return self._tail.lines()

    @property
    def line_count(self) -> int:
        """Return the number of lines written so far."""
        return self._tail.count

    @property
    def written(self) -> int:
        """Return the number of bytes of the output, including those no longer stored."""
        return self.replay.end - self._begin

    @property
    def ended(self) -> str:
        """Return the exit in words, or an empty string if there is none or it is unknown."""
        if self.signal is not None:
            return self.signal
        return "" if self.running or self.exit_code is None else f"exit code {self.exit_code}"

    def snapshot(self) -> dict[str, Any]:
        """Return `{id, command, running, exit_code, signal}` for `state()`."""
        return {
            "id": self.id,
            "command": self.launch.command,
            "running": self.running,
            "exit_code": self.exit_code,
            "signal": self.signal,
        }

    def set_cwd(self, cwd: str) -> None:
        self.launch = Launch(self.launch.command, cwd)

    def _status_changed(self) -> None:
        if self._observer is not None:
            self._observer.on_status_changed(self)

    def _add_text(self, text: str) -> None:
        if not text:
            return
        safe = self._ansi.feed(text)
        if self.is_hosted and not self.released:
            self.output.add(self._newlines.feed(plain(safe)))
        self.replay.add(safe)
        self._tail.add(safe)
        if self._observer is not None:
            self._observer.on_output(self)
