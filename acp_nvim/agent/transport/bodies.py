"""Bodies of HTTP responses, which are decompressed in small pieces and read up to a limit."""

from __future__ import annotations

import time
import zlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Final, NamedTuple, Protocol, cast

import anyio.lowlevel
import httpx

from acp_nvim import wording
from acp_nvim.agent.transport.addresses import display_address
from acp_nvim.agent.transport.base import TransportError
from acp_nvim.agent.transport.sse import HEAD

PIECE: Final = 64 << 10
"""Maximum number of bytes that are decompressed at once."""
TURN_S: Final = 0.01
"""Maximum time for which other tasks wait while a body is read, in seconds."""
CODINGS: Final = ("gzip", "x-gzip", "deflate")
"""Content codings that are decoded. Some proxies compress although `identity` is requested."""


class Inflater(Protocol):
    """Decompressor of module `zlib`, whose type has no public name."""

    @property
    def unconsumed_tail(self) -> bytes:
        """Return the data that was not read."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return at most `max_length` bytes."""


class Body(NamedTuple):
    """Body of a response, or its first `HEAD` bytes if it is longer than the limit."""

    data: bytes
    is_whole: bool


async def read(response: httpx.Response, limit: int) -> Body:
    """Return a body up to `limit` bytes. Raise TransportError or httpx.HTTPError."""
    read_pieces: list[bytes] = []
    head, size = b"", 0
    async with aclosing(pieces(response)) as body:
        async for piece in body:
            read_pieces.append(piece)
            head += piece[: HEAD - len(head)]
            size += len(piece)
            if size > limit:
                return Body(head, is_whole=False)
    return Body(b"".join(read_pieces), is_whole=True)


async def pieces(response: httpx.Response) -> AsyncGenerator[bytes]:
    """Yield a decompressed body in pieces. Raise TransportError or httpx.HTTPError.

    Other tasks run every `TURN_S`, even if the server sends many small pieces at once.
    """
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in (*CODINGS, "identity", ""):
        raise _unreadable(response, wording.WHY_COMPRESSED.format(coding=coding))
    # 32: detect the header of gzip or zlib
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32) if coding in CODINGS else None
    began = time.monotonic()
    # httpx declares an iterator, but this is a generator, which has to be closed.
    raw = cast("AsyncGenerator[bytes]", response.aiter_raw())
    async with aclosing(raw):
        async for data in raw:
            for piece in [data] if inflater is None else _inflate(response, inflater, data):
                if time.monotonic() - began >= TURN_S:
                    await anyio.lowlevel.checkpoint()
                    began = time.monotonic()
                yield piece


def _inflate(response: httpx.Response, inflater: Inflater, data: bytes) -> Iterator[bytes]:
    rest, piece = data, b""
    while rest or len(piece) == PIECE:
        try:
            piece = inflater.decompress(rest, PIECE)
        except zlib.error as error:
            raise _unreadable(response, str(error)) from error
        rest = inflater.unconsumed_tail
        if piece:
            yield piece


def _unreadable(response: httpx.Response, reason: str) -> TransportError:
    text = wording.WHY_NOT_SPOKEN.format(url=display_address(str(response.url)), reason=reason)
    return TransportError(text, again=False)
