"""Byte stream to a peer: the port that an endpoint needs, and queues for transports."""

import asyncio
from collections import deque
from typing import Protocol

import anyio
import anyio.lowlevel

CHUNK_BYTES = 64 << 10
"""Number of bytes at which `ByteQueue.get` stops adding pieces: enough for one iteration."""
READ_AHEAD = 1 << 20
"""Number of unread bytes at which reading from a peer pauses, so that the peer has to wait."""
FLUSH_S = 0.5
"""Maximum time that `Outbox.flush` waits for unsent messages, in seconds."""


class Transport(Protocol):
    """Byte stream to a peer: one reader, any number of senders, on one event loop."""

    async def receive(self) -> bytes:
        """Return the next bytes in order. At the end, and in later calls, return `b''`.

        A cancelled call loses no data.
        """

    def send(self, data: bytes) -> None:
        """Queue `data` and return at once.

        Data for a closed peer is dropped, since `receive` reports the end.
        """

    async def aclose(self) -> None:
        """Close both directions. Idempotent, and safe to call concurrently at any time."""


class ByteQueue:
    """Bytes added by callbacks and read by one task, for sources that cannot be awaited."""

    def __init__(self) -> None:
        self.size = 0
        """Number of unread bytes."""
        self.ended = False
        self.error: Exception | None = None
        """Reason for the end, if it is an error."""
        self._chunks: deque[bytes] = deque()
        self._news: asyncio.Future[None] | None = None
        self._room = asyncio.Event()

    def put(self, data: bytes) -> None:
        """Append `data`, or drop it after `end`."""
        if self.ended or not data:
            return
        self._chunks.append(data)
        self.size += len(data)
        self._wake()

    def end(self, error: Exception | None = None) -> None:
        """Mark the end: once the queue is empty, `get` returns `b''` or raises the first error."""
        self.ended = True
        self.error = self.error or error
        self._wake()
        self._room.set()

    async def wait_for_room(self) -> None:
        """Wait while `READ_AHEAD` bytes or more are unread and the end is not marked."""
        while self.size >= READ_AHEAD and not self.ended:
            self._room.clear()
            await self._room.wait()

    async def get(self) -> bytes:
        """Return about `CHUNK_BYTES` queued bytes, oldest first.

        At the end return `b''`, or raise the error of `end`. Each call lets other tasks run, even
        if bytes are always queued.
        """
        if self._chunks or self.ended:
            await anyio.lowlevel.checkpoint()
        while not self._chunks and not self.ended:
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        if not self._chunks:
            if self.error is not None:
                raise self.error
            return b""
        data = self._chunks.popleft()
        if self._chunks and len(data) < CHUNK_BYTES:
            data = self._join(data)
        self.size -= len(data)
        if self.size < READ_AHEAD:
            self._room.set()
        return data

    def _join(self, data: bytes) -> bytes:
        pieces, size = [data], len(data)
        while self._chunks and size < CHUNK_BYTES:
            pieces.append(self._chunks.popleft())
            size += len(pieces[-1])
        return b"".join(pieces)

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


class Outbox:
    """Outgoing messages in order, added by any caller and sent by one task."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._flushed = asyncio.Event()
        self._flushed.set()

    def put(self, message: bytes) -> None:
        self._waiting.append(message)
        self._flushed.clear()
        self._news.set()

    async def get(self) -> bytes:
        """Return the next message. Each call confirms that the earlier messages have been sent."""
        while not self._waiting:
            self._flushed.set()
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()

    def end(self) -> None:
        """Release the callers of `flush`, since no further message will be sent."""
        self._flushed.set()

    async def flush(self) -> None:
        """Wait until all messages have been sent, for at most `FLUSH_S`."""
        with anyio.move_on_after(FLUSH_S):
            await self._flushed.wait()
