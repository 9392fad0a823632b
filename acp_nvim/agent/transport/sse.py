"""Incremental parser of server-sent events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

from typing import Final, NamedTuple

from acp_nvim.patterns import late

HEAD: Final = 2 << 10
"""Number of bytes kept of data longer than the limit."""
_LONGEST_FIELD: Final = 16
"""Maximum length of a field's name with the colon, in bytes."""

_ID: Final = late(rb"[^\x00-\x1f\x7f]{0,4096}")
"""Event id that can be sent in a header. Servers refuse longer headers."""


class Event(NamedTuple):
    """Event with data, or the data's first `HEAD` bytes if it is longer than the limit."""

    data: bytes
    id: str | None
    """Last event id of the stream so far, or None."""
    is_whole: bool = True


class EventReader:
    """Parser of one stream. Its memory is bounded."""

    def __init__(self, limit: int) -> None:
        """`limit` is the maximum size of one event's data, in bytes."""
        self._limit = limit
        self._line = bytearray()
        self._data = bytearray()
        self._has_data = False
        self._is_cut = False
        """Whether the current line is longer than the limit."""
        self._is_whole = True
        """Whether the current data is within the limit."""
        self._after_cr = False
        self._first = True
        self._id: str | None = None
        """Last id received, which also applies to the events after it."""

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that end in `chunk`. The stream may be split anywhere."""
        events: list[Event] = []
        *ended, rest = self._normalize(chunk).split(b"\n")
        for piece in ended:
            self._add_piece(piece)
            self._read_line(events)
        self._add_piece(rest)
        return events

    def _normalize(self, chunk: bytes) -> bytes:
        """Return the chunk with all line endings as newlines."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" not in chunk:
            return chunk
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _add_piece(self, piece: bytes) -> None:
        if self._is_cut:
            return
        self._line += piece
        if len(self._line) > self._limit + _LONGEST_FIELD:
            self._is_cut = True
            del self._line[HEAD:]

    def _read_line(self, events: list[Event]) -> None:
        line, self._line = self._line, bytearray()
        is_cut, self._is_cut = self._is_cut, False
        if self._first:
            self._first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            self._dispatch(events)
            return
        colon = line.find(b":")
        name = bytes(line if colon < 0 else line[:colon]) if colon < _LONGEST_FIELD else b""
        del line[: len(line) if colon < 0 else colon + 1]
        if line.startswith(b" "):
            del line[:1]
        if name == b"data":
            self._add_data(line, is_cut=is_cut)
        elif name == b"id" and not is_cut and _ID.fullmatch(line):
            self._id = line.decode("utf-8", "replace")

    def _add_data(self, value: bytearray, *, is_cut: bool) -> None:
        if not self._has_data:
            self._has_data, self._data = True, value
        elif self._is_whole:
            self._data += b"\n"
            self._data += value
        if is_cut or len(self._data) > self._limit:
            self._is_whole = False
            del self._data[HEAD:]

    def _dispatch(self, events: list[Event]) -> None:
        """Add the event that an empty line completes to `events`."""
        if self._has_data:
            events.append(Event(bytes(self._data), self._id, self._is_whole))
        self._data, self._has_data, self._is_whole = bytearray(), False, True
