"""The answer to one request over HTTP: one JSON text, or a stream of events."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import msgspec

from acp_nvim.protocol import errors
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.jsonrpc import Id, Peer
from acp_nvim.tools.http_headers import HEADER_MISMATCH
from acp_nvim.tools.http_wire import BadRequest, HttpConnection
from acp_nvim.tools.mcp_methods import Subscription, Work
from acp_nvim.tools.mcp_types import UNSUPPORTED_VERSION

JSON: Final = "application/json"
STREAM: Final = "text/event-stream"
PING_S: Final = 15.0
"""How long a client that waits for a call hears nothing, in seconds: some give up after a while."""
BACKLOG: Final = 256
"""Notifications that wait for a slow client; earlier ones make room for the latest."""
STATUS: Final = {
    errors.PARSE_ERROR: 400,
    errors.INVALID_REQUEST: 400,
    errors.INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_VERSION: 400,
    errors.METHOD_NOT_FOUND: 404,
}
"""Of errors in the era without a handshake; before it all are 200."""


class Answer:
    """A stream as soon as there is something to tell before the result, else JSON."""

    def __init__(self, connection: HttpConnection, peer: Peer, *, streams: bool) -> None:
        """``peer`` has read the request; ``streams`` says whether the client takes a stream."""
        self.peer = peer
        self.headers: dict[str, str] = {}
        self._connection = connection
        self._streams = streams
        self._began = False
        self._lines: deque[bytes] = deque(maxlen=BACKLOG)
        self._news = anyio.Event()
        self._over = False

    def tell(self, method: str, params: msgspec.Struct) -> None:
        """Send a notification, where the client takes any."""
        if self._streams:
            self._lines.append(self.peer.notify(method, params))
            self._news.set()

    async def give(self, status: int, line: bytes) -> None:
        """Answer with a message. ConnectionError."""
        if self._began:
            await self._event(line)
            await self._connection.finish()
        else:
            headers = {"content-type": JSON, **self.headers}
            await self._connection.respond(status, line.rstrip(b"\n"), headers)

    async def refuse(self, id: Id, error: RequestError, *, modern: bool) -> None:
        """Answer with an error. ConnectionError."""
        status = STATUS.get(error.code, 200) if modern else 200
        await self.give(status, self.peer.refuse(id, error.code, error.message, error.data))

    async def work(self, id: Id, work: Work, scope: anyio.CancelScope, *, modern: bool) -> None:
        """Answer with what a call gives; ``scope`` takes it back. It ends when the client goes:
        nobody could be told of it later, since no stream can be taken up again. ConnectionError.
        """
        if isinstance(work, Subscription) and not self._streams:
            raise BadRequest(406, f"the answer is {STREAM}")
        outcome: list[RequestError | bytes] = []

        async def run() -> None:
            with scope:
                try:
                    outcome.append(self.peer.respond(id, await work.run()))
                except RequestError as error:
                    outcome.append(error)

        rests = isinstance(work, Subscription) or not self._streams
        await self._until_done(run, math.inf if rests else PING_S)
        found = outcome[0] if outcome else RequestError(errors.REQUEST_CANCELLED, "cancelled")
        if isinstance(found, RequestError):
            await self.refuse(id, found, modern=modern)
        else:
            await self.give(200, found)

    async def stream(self, run: Callable[[], Awaitable[None]]) -> None:
        """Answer with nothing but what ``run`` tells. ConnectionError."""
        await self._begin()
        await self._until_done(run, math.inf)
        await self._connection.finish()

    async def _until_done(self, run: Callable[[], Awaitable[None]], ping_s: float) -> None:
        """Send what is told while something runs, which ends with the client. ConnectionError."""
        gone = False

        async def watch() -> None:
            nonlocal gone
            await self._connection.gone()
            gone = True
            group.cancel_scope.cancel()

        async def work() -> None:
            await run()
            self._over = True
            self._news.set()

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            group.start_soon(work)
            try:
                await self._pass_on(ping_s)
            except ConnectionError:
                gone = True
            group.cancel_scope.cancel()
        if gone:
            raise ConnectionResetError("the client is gone")

    async def _pass_on(self, ping_s: float) -> None:
        """Send what is told until all is over."""
        while self._lines or not self._over:
            if self._lines:
                await self._event(self._lines.popleft())
                continue
            self._news = anyio.Event()
            with anyio.move_on_after(ping_s) as timer:
                await self._news.wait()
            if timer.cancelled_caught:
                await self._begin()
                await self._connection.write(b": still at it\n\n")

    async def _event(self, line: bytes) -> None:
        await self._begin()
        await self._connection.write(b"event: message\ndata: " + line.rstrip(b"\n") + b"\n\n")

    async def _begin(self) -> None:
        if not self._began:
            self._began = True
            stream = {
                "content-type": STREAM,
                "cache-control": "no-cache",
                "x-accel-buffering": "no",
            }
            await self._connection.begin(200, {**stream, **self.headers})
