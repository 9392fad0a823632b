"""Splits long frames of a WebSocket into fragments, before they are read (RFC 6455, section 5.4):
a library that reads a frame as a whole holds all of it, however long the server makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

PIECE: Final = 1 << 20
"""The most bytes of a fragment."""
HANDSHAKE_END: Final = b"\r\n\r\n"
HANDSHAKE_BYTES: Final = 1 << 20
"""The most bytes that are held of an answer to the handshake: more than the library reads of it."""

_FIN, _MASKED = 0x80, 0x80
_OPCODE, _LENGTH = 0x0F, 0x7F
_WIDTHS: Final = {126: 2, 127: 8}
"""Bytes of the length that follows, by what stands in its place."""


class FrameSplitter:
    """The bytes of one connection, the server's answer to the handshake first."""

    def __init__(self, piece: int = PIECE) -> None:
        """Nothing has come yet."""
        self._piece = piece
        self._held = bytearray()
        """The beginning of what is not complete: the handshake, or the head of a frame."""
        self._agreed: bool | None = None
        """Whether frames follow; None before the handshake is over."""
        self._last = 0
        """The first byte that the last fragment of this frame has."""
        self._in_piece = self._in_frame = 0
        """Bytes that lack of the fragment, and of the frame behind that."""

    def feed(self, data: bytes) -> bytes:
        """Return what has come, in frames of at most `PIECE` bytes."""
        if self._agreed is None:
            return self._shake(data)
        if not self._agreed:
            return data
        if self._in_piece > len(data):
            self._in_piece -= len(data)
            return data
        return b"".join(self._frames(data))

    def _shake(self, data: bytes) -> bytes:
        """Return what may pass: all of it, once the handshake is there."""
        searched = max(len(self._held) - len(HANDSHAKE_END), 0)
        self._held += data
        end = self._held.find(HANDSHAKE_END, searched)
        if end < 0 and len(self._held) <= HANDSHAKE_BYTES:
            return b""
        if end < 0:  # refused by the library
            held, self._held, self._agreed = bytes(self._held), bytearray(), False
            return held
        self._agreed = self._held.startswith(b"HTTP/1.1 101")
        answer, rest = self._held[: end + 4], bytes(self._held[end + 4 :])
        self._held = bytearray()
        return bytes(answer) + (self.feed(rest) if self._agreed else rest)

    def _frames(self, data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            if self._in_piece:
                taken = data[at : at + self._in_piece]
                self._in_piece -= len(taken)
                at += len(taken)
                yield taken
            elif self._in_frame:
                yield self._go_on(0)
            else:
                self._held.append(data[at])
                at += 1
                yield self._begin()

    def _begin(self) -> bytes:
        """Return the head of a frame, once all of it is there."""
        head = self._held
        if len(head) < 2:
            return b""
        width = _WIDTHS.get(head[1] & _LENGTH, 0)
        if len(head) < 2 + width:
            return b""
        size = int.from_bytes(head[2:]) if width else head[1] & _LENGTH
        self._held = bytearray()
        if size <= self._piece or head[1] & _MASKED:  # a mask, which no server may use, counts too
            self._in_piece, self._in_frame = size + (4 if head[1] & _MASKED else 0), 0
            return bytes(head)
        self._last, self._in_frame = head[0] & _FIN, size
        return self._go_on(head[0] & ~_FIN)

    def _go_on(self, first: int) -> bytes:
        """Return the head of the next fragment; ``first`` is its first byte, unless it is the last
        one.
        """
        self._in_piece = min(self._piece, self._in_frame)
        self._in_frame -= self._in_piece
        first |= 0 if self._in_frame else self._last
        return bytes([first, 127]) + self._in_piece.to_bytes(8)
