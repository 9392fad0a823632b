"""Splitting of a stream of bytes into lines, with bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_BYTES: Final = 2 << 10
TAIL_BYTES: Final = 1 << 9


class Oversize(Struct, frozen=True, gc=False):
    """Skipped line that exceeds the limit: its whole size, and its first and last bytes.

    `head` has `SHOWN_BYTES`, `tail` has `TAIL_BYTES`.
    """

    head: bytes
    tail: bytes
    size: int


class LineSplitter:
    """Splitter of a stream into blocks of whole lines.

    `limit` applies to a line without its newline. Pieces of an unfinished line are joined once, at
    its newline. Only the head and the tail of a line above the limit are kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._tail = b""

    def set_limit(self, limit: int) -> None:
        """Set the maximum number of bytes in a line."""
        self.limit = limit

    @property
    def held(self) -> int:
        """Return the number of bytes held for the unfinished line.

        This is at most the limit, or the size of both ends of a longer line.
        """
        return sum(map(len, self._pieces)) + len(self._tail)

    def feed(self, data: bytes) -> Iterator[bytes | Oversize]:
        """Yield blocks of lines with their newlines, and an `Oversize` for each overlong line."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._hold(data)
            return
        if self._size:
            start = data.find(b"\n") + 1
            self._hold(data[: start - 1])
            yield self._pop_line()
        else:
            start = 0
        if start < end:
            yield from self._within_limit(data[start:end])
        self._hold(data[end:])

    def rest(self) -> bytes | Oversize | None:
        """Return the unfinished line at the end of the stream, or None."""
        if not self._size:
            return None
        line = self._pop_line()
        return line if isinstance(line, Oversize) else line[:-1]

    def _hold(self, piece: bytes) -> None:
        if not piece:
            return
        self._size += len(piece)
        if self._size <= self.limit:
            self._pieces.append(piece)
        else:
            self._hold_head_and_tail(piece)

    def _hold_head_and_tail(self, piece: bytes) -> None:
        """Keep only the head and the tail of a line that exceeds the limit."""
        if self._size - len(piece) <= self.limit:
            self._pieces, self._tail = [self._start(SHOWN_BYTES)], self._end(TAIL_BYTES)
        missing = SHOWN_BYTES - len(self._pieces[0])
        if missing:
            self._pieces = [self._pieces[0] + piece[:missing]]
        self._tail = (self._tail + piece[-TAIL_BYTES:])[-TAIL_BYTES:]

    def _start(self, size: int) -> bytes:
        """Return the first bytes of the pieces, without joining all of them."""
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

    def _pop_line(self) -> bytes | Oversize:
        pieces, tail, size = self._pieces, self._tail, self._size
        self._pieces, self._tail, self._size = [], b"", 0
        if size > self.limit:
            return Oversize(b"".join(pieces), tail, size)
        return b"".join([*pieces, b"\n"])

    def _within_limit(self, block: bytes) -> Iterator[bytes | Oversize]:
        if len(block) <= self.limit + 1:
            yield block
            return
        for line in block[:-1].split(b"\n"):
            if len(line) > self.limit:
                yield Oversize(line[:SHOWN_BYTES], line[-TAIL_BYTES:], len(line))
            else:
                yield line + b"\n"
