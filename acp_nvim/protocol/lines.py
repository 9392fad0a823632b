"""Lines out of a stream of bytes, each byte looked at once, memory bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_BYTES: Final = 2 << 10


class Oversize(Struct, frozen=True, gc=False):
    """A line longer than the limit, skipped: its first bytes (`SHOWN_BYTES`) and its whole size."""

    head: bytes
    size: int


class LineSplitter:
    """Collects bytes and gives them back in blocks of whole lines.

    `limit` bounds one line, without its newline. Of the unfinished line the pieces are kept as they
    came and joined once, at its newline; past the limit only its head is kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def held(self) -> int:
        """Bytes kept of the unfinished line; never more than the limit, or `SHOWN_BYTES`."""
        return sum(map(len, self._pieces))

    def feed(self, data: bytes) -> Iterator[bytes | Oversize]:
        """Blocks that end in a newline, lines of legal size; an `Oversize` where one was not."""
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
        """The unfinished line at the end of the stream, None when there is none."""
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
        elif len(self._pieces) != 1 or len(self._pieces[0]) != SHOWN_BYTES:
            self._pieces = [b"".join([*self._pieces, piece[:SHOWN_BYTES]])[:SHOWN_BYTES]]

    def _take(self) -> bytes | Oversize:
        pieces, size = self._pieces, self._size
        self._pieces, self._size = [], 0
        if size > self.limit:
            return Oversize(b"".join(pieces), size)
        return b"".join([*pieces, b"\n"])

    def _legal(self, block: bytes) -> Iterator[bytes | Oversize]:
        if len(block) <= self.limit + 1:
            yield block
            return
        for line in block[:-1].split(b"\n"):
            if len(line) > self.limit:
                yield Oversize(line[:SHOWN_BYTES], len(line))
            else:
                yield line + b"\n"
