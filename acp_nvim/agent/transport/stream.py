"""A byte stream to a peer: the three methods an endpoint needs, and the queues behind them."""

import asyncio
from collections import deque
from typing import Protocol

import anyio
import anyio.lowlevel

AT_ONCE = 64 << 10
"""Bytes after which `ByteQueue.get` adds no more pieces: enough for one pass of the loop."""
LAST_S = 0.5
"""How long `Outbox.flush` waits for messages that are still to leave, in seconds."""


class Transport(Protocol):
    """A byte stream to a peer: one reader, any number of senders, on one loop."""

    async def receive(self) -> bytes:
        """The next bytes in the order they came; `b''` at the end, and for ever after. Cancelling
        loses nothing.
        """

    def send(self, data: bytes) -> None:
        """Queue `data` and return at once. Once the peer is gone it is dropped: the end is told by
        `receive`, only there.
        """

    async def aclose(self) -> None:
        """Close both directions. Idempotent, may be called at any time and concurrently."""


class ByteQueue:
    """Bytes put by callbacks, got by one task. The queue behind every transport whose source can't
    be awaited.
    """

    def __init__(self) -> None:
        self.size = 0
        """Bytes that wait to be got."""
        self.ended = False
        self._chunks: deque[bytes] = deque()
        self._news: asyncio.Future[None] | None = None

    def put(self, data: bytes) -> None:
        """Add `data` at the end; after `end` it is dropped."""
        if self.ended or not data:
            return
        self._chunks.append(data)
        self.size += len(data)
        self._wake()

    def end(self) -> None:
        """No more will come: once the queue is empty, `get` returns `b''`."""
        self.ended = True
        self._wake()

    async def get(self) -> bytes:
        """Return queued bytes, oldest first, some `AT_ONCE` of them; `b''` at the end.

        Always lets other tasks run, so that a flood can't starve them.
        """
        if self._chunks or self.ended:
            await anyio.lowlevel.checkpoint()
        while not self._chunks and not self.ended:
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        if not self._chunks:
            return b""
        data = self._chunks.popleft()
        if self._chunks and len(data) < AT_ONCE:
            data = self._join(data)
        self.size -= len(data)
        return data

    def _join(self, data: bytes) -> bytes:
        pieces, size = [data], len(data)
        while self._chunks and size < AT_ONCE:
            pieces.append(self._chunks.popleft())
            size += len(pieces[-1])
        return b"".join(pieces)

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


class Outbox:
    """Messages of ours in the order in which they leave: put by anybody, taken by one task."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._flushed = asyncio.Event()
        self._flushed.set()

    def put(self, message: bytes) -> None:
        """Add a message at the end."""
        self._waiting.append(message)
        self._flushed.clear()
        self._news.set()

    async def get(self) -> bytes:
        """Return the next message; those before it have left."""
        while not self._waiting:
            self._flushed.set()
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()

    def end(self) -> None:
        """No more will leave: nobody waits for that."""
        self._flushed.set()

    async def flush(self) -> None:
        """Wait until all messages have left, but no longer than `LAST_S`."""
        with anyio.move_on_after(LAST_S):
            await self._flushed.wait()
