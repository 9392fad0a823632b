"""Splitting of long WebSocket frames into fragments before they are read (RFC 6455, section 5.4).

The library reads whole frames. Without this, a server could fill the memory with one frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

PIECE: Final = 1 << 20
"""Maximum number of bytes in a fragment."""
HANDSHAKE_END: Final = b"\r\n\r\n"
HANDSHAKE_BYTES: Final = 1 << 20
"""Maximum number of buffered bytes of the handshake response. The library's own limit is lower."""

_FIN, _MASKED = 0x80, 0x80
_OPCODE, _LENGTH = 0x0F, 0x7F
_WIDTHS: Final = {126: 2, 127: 8}
"""Width of the extended length in bytes, by the value of the length field."""


class FrameSplitter:
    """Splitter for the bytes of one connection, which begin with the handshake response."""

    def __init__(self, piece: int = PIECE) -> None:
        self._piece = piece
        self._incomplete = bytearray()
        """Beginning of an incomplete handshake response or frame header."""
        self._is_upgraded: bool | None = None
        """Whether frames follow, or None during the handshake."""
        self._fin_bit = 0
        """FIN bit of the current frame, for its last fragment."""
        self._in_piece = self._in_frame = 0
        """Bytes still missing from the fragment, and from the frame after it."""

    @property
    def missing(self) -> int:
        """Return the number of bytes still missing from the current fragment."""
        return self._in_piece

    def feed(self, data: bytes) -> bytes:
        """Return the received data in frames of at most `PIECE` bytes."""
        if self._is_upgraded is None:
            return self._handshake(data)
        if not self._is_upgraded:
            return data
        if self._in_piece > len(data):
            self._in_piece -= len(data)
            return data
        return b"".join(self._frames(data))

    def _handshake(self, data: bytes) -> bytes:
        """Return the handshake response and the data after it, once the response is complete."""
        searched = max(len(self._incomplete) - len(HANDSHAKE_END), 0)
        self._incomplete += data
        end = self._incomplete.find(HANDSHAKE_END, searched)
        if end < 0 and len(self._incomplete) <= HANDSHAKE_BYTES:
            return b""
        if end < 0:  # too long: the library refuses it
            held, self._incomplete, self._is_upgraded = bytes(self._incomplete), bytearray(), False
            return held
        self._is_upgraded = self._incomplete.startswith(b"HTTP/1.1 101")
        answer, rest = self._incomplete[: end + 4], bytes(self._incomplete[end + 4 :])
        self._incomplete = bytearray()
        return bytes(answer) + (self.feed(rest) if self._is_upgraded else rest)

    def _frames(self, data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            if self._in_piece:
                piece = data[at : at + self._in_piece]
                self._in_piece -= len(piece)
                at += len(piece)
                yield piece
            elif self._in_frame:
                yield self._next_fragment(0)
            else:
                self._incomplete.append(data[at])
                at += 1
                yield self._begin()

    def _begin(self) -> bytes:
        """Return the header of a frame once it is complete, or no bytes before that."""
        head = self._incomplete
        if len(head) < 2:
            return b""
        width = _WIDTHS.get(head[1] & _LENGTH, 0)
        if len(head) < 2 + width:
            return b""
        size = int.from_bytes(head[2:]) if width else head[1] & _LENGTH
        self._incomplete = bytearray()
        is_masked = bool(head[1] & _MASKED)
        if size <= self._piece or is_masked:
            # A mask is part of the data. Servers must not use one.
            self._in_piece, self._in_frame = size + (4 if is_masked else 0), 0
            return bytes(head)
        self._fin_bit, self._in_frame = head[0] & _FIN, size
        return self._next_fragment(head[0] & ~_FIN)

    def _next_fragment(self, first: int) -> bytes:
        """Return the header of the next fragment; `first` is its first byte without FIN bit."""
        self._in_piece = min(self._piece, self._in_frame)
        self._in_frame -= self._in_piece
        first |= 0 if self._in_frame else self._fin_bit
        return bytes([first, 127]) + self._in_piece.to_bytes(8)
