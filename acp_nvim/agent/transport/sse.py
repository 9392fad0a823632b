"""Server-sent events, read as they come (WHATWG HTML, section 9.2): bytes in, events out."""

from __future__ import annotations

from typing import NamedTuple

_LONGEST_FIELD = 16
"""Bytes that stand before the value of a field, at most: `event: `, `retry: `."""


class Event(NamedTuple):
    """An event with data. Of data that is longer than the limit one byte more than that is kept."""

    data: bytes
    id: str | None
    """The id that the stream has reached with it; None where it has told none."""


class EventReader:
    """The events of one stream; memory is bounded whatever comes."""

    def __init__(self, limit: int) -> None:
        """``limit`` is the most bytes of the data of one event."""
        self._limit = limit
        self._line = bytearray()
        self._data = bytearray()
        self._has_data = False
        self._after_cr = False
        self._first = True
        self._id: str | None = None
        """The last id that was named; it holds for the events after it as well."""

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that end in `chunk`; any split of the bytes gives the same ones."""
        events: list[Event] = []
        *ended, rest = self._normal(chunk).split(b"\n")
        for piece in ended:
            self._grow(piece)
            self._read_line(events)
        self._grow(rest)
        return events

    def _normal(self, chunk: bytes) -> bytes:
        """With one kind of line end."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" not in chunk:
            return chunk
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _grow(self, piece: bytes) -> None:
        left = self._limit + 1 + _LONGEST_FIELD - len(self._line)
        self._line += piece[:left] if len(piece) > left else piece

    def _read_line(self, events: list[Event]) -> None:
        line, self._line = self._line, bytearray()
        if self._first:
            self._first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            self._dispatch(events)
            return
        name, colon, value = line.partition(b":")
        if colon and value.startswith(b" "):
            del value[:1]
        if name == b"data":
            self._add(value)
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")

    def _add(self, value: bytearray) -> None:
        if not self._has_data:
            self._has_data, self._data = True, value
        else:
            self._data += b"\n"
            self._data += value
        del self._data[self._limit + 1 :]

    def _dispatch(self, events: list[Event]) -> None:
        if self._has_data:
            events.append(Event(bytes(self._data), self._id))
        self._data, self._has_data = bytearray(), False
