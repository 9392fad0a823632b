"""Newest part of a stream of text, bounded in bytes."""

from __future__ import annotations


class Output:
    """End of a text: at most `limit` bytes of UTF-8, whole characters only.

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
        """Return the offset of the first byte that is stored."""
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

    def since(self, offset: int, most: int) -> tuple[str, int]:
        """Return about `most` bytes from `offset` on, and the offset after them."""
        start = self.start
        first = max(offset - start, 0)
        last = min(first + most, len(self._data))
        while last < len(self._data) and self._data[last] & 0xC0 == 0x80:
            last += 1
        return self._data[first:last].decode("utf-8", "replace"), start + last

    def line_after(self, offset: int) -> int:
        """Return the offset of the first line that begins at or after `offset`, or else
        `offset`.
        """
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
