"""Splits a stream of bytes into lines; each byte is read once, memory is bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_BYTES: Final = 2 << 10
TAIL_BYTES: Final = 1 << 9


class Oversize(Struct, frozen=True, gc=False):
    """A line longer than the limit, skipped: its first bytes (`SHOWN_BYTES`), its last ones
    (`TAIL_BYTES`) and its whole size.
    """

    head: bytes
    tail: bytes
    size: int


class LineSplitter:
    """Collects bytes and gives them back in blocks of whole lines.

    `limit` bounds one line, without its newline. Of the unfinished line the pieces are kept as they
    came and joined once, at its newline; past the limit only its head and its tail are kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._tail = b""

    def bound(self, limit: int) -> None:
        """Bound lines by so many bytes from now on."""
        self.limit = limit

    @property
    def held(self) -> int:
        """Bytes kept of the unfinished line: at most the limit, or the ends of a longer one."""
        return sum(map(len, self._pieces)) + len(self._tail)

    def feed(self, data: bytes) -> Iterator[bytes | Oversize]:
        """Return blocks of lines that end in a newline; an `Oversize` for each line past the
        limit.
        """
        end = data.rfind(b"\n") + 1
        if not end:
            self._hold(data)
            return
        if self._size:
            start = data.find(b"\n") + 1
            self._hold(data[: start - 1])
            yield self._take()
        else:
            start = 0
        if start < end:
            yield from self._legal(data[start:end])
        self._hold(data[end:])

    def rest(self) -> bytes | Oversize | None:
        """Return the unfinished line at the end of the stream, None when there is none."""
        if not self._size:
            return None
        taken = self._take()
        return taken if isinstance(taken, Oversize) else taken[:-1]

    def _hold(self, piece: bytes) -> None:
        if not piece:
            return
        self._size += len(piece)
        if self._size <= self.limit:
            self._pieces.append(piece)
        else:
            self._hold_ends(piece)

    def _hold_ends(self, piece: bytes) -> None:
        """Keep head and tail of a line past the limit."""
        if self._size - len(piece) <= self.limit:
            self._pieces, self._tail = [self._start(SHOWN_BYTES)], self._end(TAIL_BYTES)
        missing = SHOWN_BYTES - len(self._pieces[0])
        if missing:
            self._pieces = [self._pieces[0] + piece[:missing]]
        self._tail = (self._tail + piece[-TAIL_BYTES:])[-TAIL_BYTES:]

    def _start(self, size: int) -> bytes:
        """Return the first bytes of the pieces, which are not joined for that."""
        start = b""
        for piece in self._pieces:
            start += piece[: size - len(start)]
            if len(start) == size:
                break
        return start

    def _end(self, size: int) -> bytes:
        """Return the last bytes of the pieces."""
        end = b""
        for piece in reversed(self._pieces):
            end = piece[-(size - len(end)) :] + end
            if len(end) == size:
                break
        return end

    def _take(self) -> bytes | Oversize:
        pieces, tail, size = self._pieces, self._tail, self._size
        self._pieces, self._tail, self._size = [], b"", 0
        if size > self.limit:
            return Oversize(b"".join(pieces), tail, size)
        return b"".join([*pieces, b"\n"])

    def _legal(self, block: bytes) -> Iterator[bytes | Oversize]:
        if len(block) <= self.limit + 1:
            yield block
            return
        for line in block[:-1].split(b"\n"):
            if len(line) > self.limit:
                yield Oversize(line[:SHOWN_BYTES], line[-TAIL_BYTES:], len(line))
            else:
                yield line + b"\n"
