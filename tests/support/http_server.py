"""Small HTTP server whose every answer the test decides.

async with HttpServer(answer) as server:      # answer(request) -> Reply, or a coroutine of one
    server.url
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import h11


@dataclass
class Request:
    """One request; names of headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Reply:
    """One answer; `pieces` follow the body as they become available. `abort` cuts the rest."""

    status: int = 202
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: AsyncIterator[bytes] | None = None
    abort: bool = False


class HttpServer:
    """Server on a free port of the loopback interface, which records the requests."""

    def __init__(self, answer: Callable[[Request], Reply | Awaitable[Reply]]) -> None:
        self.requests: list[Request] = []
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        """Return the address."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/acp"

    def of(self, method: str) -> list[Request]:
        return [request for request in self.requests if request.method == method]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        http = h11.Connection(h11.SERVER)

        async def event() -> Any:
            while (came := http.next_event()) is h11.NEED_DATA:
                http.receive_data(await reader.read(1 << 16))
            return came

        while isinstance(head := await event(), h11.Request):
            body = b""
            while isinstance(piece := await event(), h11.Data):
                body += bytes(piece.data)
            headers = {name.decode(): value.decode("latin-1") for name, value in head.headers}
            request = Request(head.method.decode(), head.target.decode(), headers, body)
            self.requests.append(request)
            reply = self._answer(request)
            if not isinstance(reply, Reply):
                reply = await reply
            await self._reply(http, writer, reply)
            if reply.abort or http.our_state is not h11.DONE:
                return
            http.start_next_cycle()

    async def _reply(
        self, http: h11.Connection, writer: asyncio.StreamWriter, reply: Reply
    ) -> None:
        def put(event: h11.Event) -> None:
            writer.write(http.send(event) or b"")

        length = {} if reply.pieces else {"Content-Length": str(len(reply.body))}
        put(h11.Response(status_code=reply.status, headers=[*{**length, **reply.headers}.items()]))
        put(h11.Data(data=reply.body))
        await writer.drain()
        if reply.pieces is not None:
            async for piece in reply.pieces:
                put(h11.Data(data=piece))
                await writer.drain()
        if reply.abort:
            writer.transport.abort()
            return
        with contextlib.suppress(h11.LocalProtocolError):
            put(h11.EndOfMessage())
        await writer.drain()
