"""Traffic log of a connection for `:Acp log`, with a maximum size in bytes.

Writing is cheap: pieces of the streams are stored unparsed. Lines, messages and latencies are
computed when the log is opened. When the host is idle, entries are compressed (`pack`), which makes
JSON messages many times smaller.
"""

from __future__ import annotations

import time
import zlib
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import starmap
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from acp_nvim.agent.wire.redact import Redactor, SecretsOnly
from acp_nvim.agent.wire.traffic_view import Level, Line, render

Direction = Literal["in", "out", "err"]

LIMIT_BYTES: Final = 8 << 20
LINE_BYTES: Final = 64 << 10
ENTRY_BYTES: Final = 150
"""Overhead of an entry, in bytes: a tuple, a float, an object header."""
BLOCK_BYTES: Final = 64 << 10
"""Size of the entries that are compressed, and later dropped, as one block, in bytes."""
ERR_DIVISOR: Final = 8
"""Divisor of the limit that gives the share of stderr. Beyond it, stderr displaces only its own
lines.
"""


Entry: TypeAlias = tuple[float, Direction, bytes]
"""Time in seconds on the log's clock, stream, and a piece of the stream."""


class Traffic:
    """Log of one connection.

    `level` selects the lines shown; 'off' records nothing. `secrets` are values to remove from
    every redacted line.
    """

    def __init__(
        self,
        limit_bytes: int = LIMIT_BYTES,
        level: Level = "info",
        secrets: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.level = level
        self.secrets = list(secrets)
        self._clock = clock
        self._wire = _Ring(limit_bytes - limit_bytes // ERR_DIVISOR)
        self._err = _Ring(limit_bytes // ERR_DIVISOR)
        self._cutters = {"in": _Cutter(), "out": _Cutter(), "err": _Cutter()}

    def configure(self, level: Level, limit_bytes: int) -> None:
        """Set the level and the maximum number of bytes."""
        self.level = level
        self._wire.set_limit(limit_bytes - limit_bytes // ERR_DIVISOR)
        self._err.set_limit(limit_bytes // ERR_DIVISOR)

    def add_secrets(self, secrets: Iterable[str]) -> None:
        """Add values to remove from redacted lines."""
        self.secrets += [secret for secret in secrets if secret not in self.secrets]

    @property
    def size(self) -> int:
        """Return the size of the log in bytes, with its overhead. It never exceeds the limit."""
        return self._wire.size + self._err.size

    def add(self, direction: Direction, data: bytes) -> None:
        """Record the next piece of a stream, in lines cut to `LINE_BYTES`."""
        if self.level == "off" or not data:
            return
        data = self._cutters[direction].feed(data)
        (self._err if direction == "err" else self._wire).add((self._clock(), direction, data))

    def pack(self) -> bool:
        """Compress a block of recent entries. Return False if there is less than a block.

        This takes well under a millisecond.
        """
        return self._wire.pack() or self._err.pack()

    def copy(self) -> Recorded:
        """Return a snapshot of the entries, which a worker thread can turn into lines."""
        wire, err = self._wire, self._err
        parts = [(list(ring.blocks), list(ring.entries)) for ring in (wire, err)]
        return Recorded(parts, wire.torn | err.torn, self.level, tuple(self.secrets))

    def lines(self, *, redact: bool = False) -> list[str]:
        """Return the log as shown (`Recorded.lines`)."""
        return list(self.copy().lines(redact=redact))

    def redacted(self) -> Iterator[str]:
        """Yield the log as saved (`Recorded.redacted`)."""
        return self.copy().redacted()

    def __repr__(self) -> str:
        return f"<Traffic [{self.level}, {self.size} bytes]>"


class _Block(Struct, frozen=True):
    """Compressed entries."""

    times: array[float]
    directions: tuple[Direction, ...]
    lengths: array[int]
    data: bytes
    size: int
    """Size of the entries before compression."""
    torn: frozenset[Direction]
    """Directions whose last line continues in a later entry."""

    @classmethod
    def of(cls, entries: list[Entry], size: int) -> _Block:
        times, directions, pieces = zip(*entries, strict=True)
        ended = {direction: data.endswith(b"\n") for _, direction, data in entries}
        return cls(
            array("d", times),
            directions,
            array("L", map(len, pieces)),
            zlib.compress(b"".join(pieces), 1),
            size,
            frozenset(direction for direction, whole in ended.items() if not whole),
        )

    def entries(self) -> Iterator[Entry]:
        data, at = zlib.decompress(self.data), 0
        for when, direction, length in zip(self.times, self.directions, self.lengths, strict=True):
            yield when, direction, data[at : at + length]
            at += length


class Recorded(Struct, frozen=True):
    """Snapshot of a log's entries."""

    parts: list[tuple[list[_Block], list[Entry]]]
    """For the wire and for stderr: older entries in blocks, then newer ones."""
    torn: frozenset[Direction]
    level: Level
    secrets: tuple[str, ...]

    def lines(self, *, redact: bool = False) -> Iterator[str]:
        """Yield the log as shown: one line per message.

        Answers have the method of the request and their latency in milliseconds. Configured secrets
        are never shown, regardless of `redact`.
        """
        redactor: Redactor | None = None
        if redact:
            redactor = self._redactor()
        elif self.secrets:
            redactor = SecretsOnly(self.secrets)
        return render(self.messages(), self.level, redactor)

    def redacted(self) -> Iterator[str]:
        """Yield the full log without its secrets, as `:Acp log save` writes it."""
        return render(self.messages(), "debug", self._redactor())

    def _redactor(self) -> Redactor:
        redactor = Redactor(self.secrets)
        redactor.scan(line.data for line in self.messages())
        return redactor

    def messages(self) -> Iterator[Line]:
        """Yield the transmitted lines and the lines of stderr, ordered by time."""
        torn = self.torn
        open_lines: dict[Direction, list[bytes]] = {"in": [], "out": [], "err": []}
        last = 0.0
        for last, direction, data in merge(*starmap(_entries, self.parts), key=_time_of):
            first, *whole = data.split(b"\n")
            waiting = open_lines[direction]
            waiting.append(first)
            if not whole:
                continue
            complete = [b"".join(waiting), *whole[:-1]]
            waiting[:] = [whole[-1]]
            for line in complete:
                if direction in torn:
                    torn = torn - {direction}
                elif line.strip():
                    yield Line(last, direction, line)
        for direction, waiting in open_lines.items():
            rest = b"".join(waiting)
            if rest.strip() and direction not in torn:
                yield Line(last, direction, rest, is_whole=False)


def _entries(blocks: Iterable[_Block], entries: Iterable[Entry]) -> Iterator[Entry]:
    for block in blocks:
        yield from block.entries()
    yield from entries


def _time_of(entry: Entry) -> float:
    return entry[0]


class _Ring:
    """Entries with a maximum size in bytes. The oldest are dropped first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.blocks: deque[_Block] = deque()
        """The oldest entries, compressed."""
        self.entries: deque[Entry] = deque()
        self.torn: frozenset[Direction] = frozenset()
        """Directions whose first line has lost its beginning."""

    def set_limit(self, limit: int) -> None:
        """Set the maximum number of bytes. The next entry drops the excess."""
        self.limit = limit

    def add(self, entry: Entry) -> None:
        when, direction, data = entry
        room = max(self.limit - ENTRY_BYTES, 0)
        is_cut = len(data) > room
        if is_cut:  # a read may exceed the whole log; keep its end
            data = data[len(data) - room :]
        self.entries.append((when, direction, data))
        self.size += len(data) + ENTRY_BYTES
        while self.size > self.limit and self.blocks:
            self._drop_block()
        while self.size > self.limit and self.entries:
            self._drop_entry()
        if is_cut and self.entries:
            self.torn |= {direction}

    def pack(self) -> bool:
        """Compress a block of entries, if there are enough.

        A small log is not compressed, because dropping a block would remove too much of it.
        """
        if self.limit < 8 * BLOCK_BYTES:
            return False
        size = count = 0
        for _, _, data in self.entries:
            if size >= BLOCK_BYTES:
                break
            size += len(data) + ENTRY_BYTES
            count += 1
        if size < BLOCK_BYTES:
            return False
        self.blocks.append(_Block.of([self.entries.popleft() for _ in range(count)], size))
        return True

    def _drop_block(self) -> None:
        block = self.blocks.popleft()
        self.size -= block.size
        self.torn = (self.torn - set(block.directions)) | block.torn

    def _drop_entry(self) -> None:
        _, direction, data = self.entries.popleft()
        self.size -= len(data) + ENTRY_BYTES
        if not data.endswith(b"\n"):
            self.torn |= {direction}
        elif direction in self.torn:
            self.torn -= {direction}


class _Cutter:
    """Cutter of one stream's lines to `LINE_BYTES`, with a mark at each cut.

    The stream may be split anywhere.
    """

    def __init__(self) -> None:
        self._open = 0
        """Number of bytes in the current line so far."""

    def feed(self, data: bytes) -> bytes:
        if self._open + len(data) <= LINE_BYTES:
            end = data.rfind(b"\n")
            self._open = self._open + len(data) if end < 0 else len(data) - end - 1
            return data
        first = data.find(b"\n") + 1
        if first and self._open + first <= LINE_BYTES >= len(data) - first:
            self._open = len(data) - data.rfind(b"\n") - 1
            return data
        return self._cut(data.split(b"\n"))

    def _cut(self, pieces: list[bytes]) -> bytes:
        lines = []
        for number, piece in enumerate(pieces, 1):
            room = max(LINE_BYTES - self._open, 0)
            self._open += len(piece)
            if number < len(pieces):
                mark = b"" if self._open <= LINE_BYTES else b" \xe2\x80\xa6[%d bytes]" % self._open
                lines.append(piece[:room] + mark)
                self._open = 0
            else:
                lines.append(piece[:room])
        return b"\n".join(lines)
