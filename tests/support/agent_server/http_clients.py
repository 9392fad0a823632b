"""Server side of Streamable HTTP: POST, GET and DELETE at one address, with h11."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final

import h11

from tests.support.agent_server.event_streams import EventStreams, Outbox

CHUNK: Final = 1 << 16
BODY_BYTES: Final = 128 << 20
INITIALIZE_S: Final = 30.0
KEEP_ALIVE_S: Final = 15.0
"""Seconds between comments on a silent stream, because proxies end silent connections."""
JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"


class RefusedError(Exception):
    """Refusal of a request with this status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class HttpClient:
    """Client with its `Acp-Connection-Id`: its messages, and the streams to it."""

    def __init__(self, serve: Callable[..., Awaitable[None]]) -> None:
        """Begin to serve the client."""
        self.id = secrets.token_hex(16)
        self.streams = EventStreams()
        self._inbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._serving = asyncio.ensure_future(serve(self._inbox.get, self.streams.write))

    def receive(self, message: dict[str, Any], session: str | None) -> None:
        """Pass a message to the agent. Raise RefusedError."""
        self.streams.expect(message, session)
        self._inbox.put_nowait(json.dumps(message).encode() + b"\n")

    async def end(self) -> None:
        """End the connection, the agent's work for it, and its streams."""
        self._inbox.put_nowait(b"")
        self.streams.end()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._serving, 5)


class HttpClients:
    """All clients of a server."""

    def __init__(self, serve: Callable[..., Awaitable[None]]) -> None:
        """Begin without clients."""
        self._serve = serve
        self._clients: dict[str, HttpClient] = {}

    async def connected(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve the requests of one TCP connection, which has begun with ``head``. Raise
        ConnectionError.
        """
        http = _Http(head, reader, writer)
        while (request := await http.request()) is not None:
            try:
                await self._answer(http, request)
            except RefusedError as refused:
                await http.respond(refused.status, f"{refused}\n".encode(), "text/plain")
            if not http.may_continue():
                return

    async def _answer(self, http: _Http, request: h11.Request) -> None:
        headers = {name.decode(): value.decode("latin-1") for name, value in request.headers}
        # read all of the body, otherwise the connection cannot be used again
        body = await http.body()
        if "origin" in headers:
            raise RefusedError(403, "web pages are not served")
        match request.method:
            case b"POST":
                await self._post(http, headers, body)
            case b"GET":
                await self._get(http, headers)
            case b"DELETE":
                client = self._client(headers)
                del self._clients[client.id]
                await client.end()
                await http.respond(202)
            case _:
                raise RefusedError(405, "POST, GET and DELETE are served")

    def _client(self, headers: dict[str, str]) -> HttpClient:
        name = headers.get("acp-connection-id")
        if name is None:
            raise RefusedError(400, "Acp-Connection-Id is missing")
        if name not in self._clients:
            raise RefusedError(404, "this connection is unknown")
        return self._clients[name]

    async def _post(self, http: _Http, headers: dict[str, str], body: bytes) -> None:
        if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise RefusedError(415, f"the content has to be {JSON}")
        try:
            message = json.loads(body)
        except ValueError as error:
            raise RefusedError(400, f"not JSON: {error}") from error
        if isinstance(message, list):
            raise RefusedError(501, "batches are not served")
        if not isinstance(message, dict):
            raise RefusedError(400, "no message")
        if message.get("method") == "initialize" and "acp-connection-id" not in headers:
            await self._initialize(http, message)
            return
        self._client(headers).receive(message, headers.get("acp-session-id"))
        await http.respond(202)

    async def _initialize(self, http: _Http, message: dict[str, Any]) -> None:
        client = HttpClient(self._serve)
        answer = client.streams.answer_to(message)
        client.receive(message, None)
        try:
            line = await asyncio.wait_for(answer, INITIALIZE_S)
        except TimeoutError:
            await client.end()
            raise RefusedError(504, "the agent does not answer") from None
        self._clients[client.id] = client
        await http.respond(200, line, JSON, {"Acp-Connection-Id": client.id})

    async def _get(self, http: _Http, headers: dict[str, str]) -> None:
        client = self._client(headers)
        accepts = headers.get("accept", "")
        if EVENTS not in accepts and "*/*" not in accepts:
            raise RefusedError(406, f"only {EVENTS} is served")
        outbox = client.streams.get(headers.get("acp-session-id"))
        if outbox.has_reader:
            raise RefusedError(409, "somebody else reads this stream")
        last = headers.get("last-event-id", "")
        with outbox.open_reader(int(last) if last.isdigit() else None):
            await _events(http, outbox)


async def _events(http: _Http, outbox: Outbox) -> None:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    await http.begin(200, EVENTS, headers)
    closed = asyncio.ensure_future(http.wait_closed())
    try:
        while not (outbox.ended or closed.done()):
            message = asyncio.ensure_future(outbox.wait_for_message())
            await asyncio.wait(
                [message, closed], timeout=KEEP_ALIVE_S, return_when=asyncio.FIRST_COMPLETED
            )
            message.cancel()
            data = b"".join(outbox.pop_events()) or b": still here\n\n"
            await http.write(data)
    finally:
        closed.cancel()
    await http.finish()


class _Http:
    """One TCP connection with h11. All methods may raise ConnectionError."""

    def __init__(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER)
        self._http.receive_data(head)

    async def request(self) -> h11.Request | None:
        """Return the next request; None at the end or for invalid input."""
        event = await self._event()
        return event if isinstance(event, h11.Request) else None

    async def body(self) -> bytes:
        """Return the body of the request."""
        pieces: list[bytes] = []
        size = 0
        while isinstance(event := await self._event(), h11.Data):
            pieces.append(bytes(event.data))
            size += len(event.data)
            if size > BODY_BYTES:
                raise RefusedError(413, f"a message has {BODY_BYTES} bytes at most")
        return b"".join(pieces)

    async def wait_closed(self) -> None:
        """Wait until the client has disconnected."""
        while await self._reader.read(CHUNK):
            pass

    async def _event(self) -> Any:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(CHUNK))
        except h11.RemoteProtocolError:
            return None
        return event

    async def respond(
        self,
        status: int,
        body: bytes = b"",
        kind: str = JSON,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Answer the request with the whole body."""
        length = {"Content-Length": str(len(body)), **(headers or {})}
        await self.begin(status, kind, length)
        await self.write(body)
        await self.finish()

    async def begin(self, status: int, kind: str, headers: dict[str, str]) -> None:
        """Begin an answer."""
        fields = [("Content-Type", kind), *headers.items()]
        await self._send(h11.Response(status_code=status, headers=fields))

    async def write(self, data: bytes) -> None:
        """Continue it."""
        await self._send(h11.Data(data=data))

    async def finish(self) -> None:
        """End it."""
        await self._send(h11.EndOfMessage())

    def may_continue(self) -> bool:
        """Return whether there may be another request."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def _send(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            self._writer.write(data)
            await self._writer.drain()
