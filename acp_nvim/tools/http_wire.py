"""One connection of HTTP/1.1, the server's end (RFC 9112, by h11): a head, a body, an answer.

Nothing here knows what is asked for. It is loaded where option `tools_http` is set, and so is h11.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import anyio
import h11
import msgspec

PIECE: Final = 1 << 16
HEAD_BYTES: Final = 16 << 10
REST_S: Final = 1.0
"""How long a client may still send that was told to go, in seconds."""


class BadRequest(Exception):
    """What came is no request that is served: the ``status`` says why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Head(msgspec.Struct, frozen=True):
    """A request without its body. Names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, Sequence[str]]

    def one(self, name: str) -> str | None:
        """The header's value; None where it is absent, or there more than once."""
        values = self.headers.get(name, ())
        return values[0] if len(values) == 1 else None

    def accepts(self, kind: str) -> bool:
        """Whether the client takes answers of that media type; one that is silent takes all."""
        ranges = ",".join(self.headers.get("accept", ["*/*"])).lower().split(",")
        family = kind.partition("/")[0]
        return any(it.partition(";")[0].strip() in (kind, f"{family}/*", "*/*") for it in ranges)


class HttpConnection:
    """A client's connection: requests one after the other, each with its answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Nothing has come yet."""
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, HEAD_BYTES)
        self._early = b""

    # -- what comes -------------------------------------------------------------------------------

    async def head(self) -> Head | None:
        """The next request; None when the client is gone. BadRequest, ConnectionError."""
        event = await self._event()
        if not isinstance(event, h11.Request):
            return None
        headers: dict[str, list[str]] = {}
        for name, value in event.headers:
            headers.setdefault(name.decode("ascii"), []).append(value.decode("latin-1"))
        path = event.target.decode("ascii").partition("?")[0]
        return Head(event.method.decode("ascii"), path, headers)

    async def body(self, most: int) -> bytes:
        """The body of the request, of so many bytes. BadRequest, ConnectionError."""
        if self._http.they_are_waiting_for_100_continue:
            await self._send(h11.InformationalResponse(status_code=100, headers=[]))
        pieces: list[bytes] = []
        size = 0
        while isinstance(event := await self._event(), h11.Data):
            pieces.append(bytes(event.data))
            size += len(event.data)
            if size > most:
                raise BadRequest(413, f"a body has {most} bytes at most")
        if not isinstance(event, h11.EndOfMessage):
            raise ConnectionResetError("the client is gone")
        return b"".join(pieces)

    async def gone(self) -> None:
        """Wait until the client is gone. What it sends meanwhile is read later."""
        while len(self._early) < PIECE:
            with suppress(ConnectionError):
                if data := await self._reader.read(PIECE):
                    self._early += data
                    continue
            return
        await anyio.sleep_forever()

    async def _event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                data, self._early = self._early or await self._reader.read(PIECE), b""
                if not data:
                    return h11.ConnectionClosed()
                self._http.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise BadRequest(error.error_status_hint, str(error)) from error
        return event

    # -- what goes --------------------------------------------------------------------------------

    async def respond(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer the request with all of the body. ConnectionError."""
        await self.begin(status, {"content-length": str(len(body)), **(headers or {})})
        if body:
            await self.write(body)
        await self.finish()

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin an answer; without `content-length` it goes on until `finish`. ConnectionError."""
        await self._send(h11.Response(status_code=status, headers=list(headers.items())))

    async def write(self, data: bytes) -> None:
        """Go on with an answer. ConnectionError."""
        await self._send(h11.Data(data=data))

    async def finish(self) -> None:
        """End the answer. ConnectionError."""
        await self._send(h11.EndOfMessage())

    async def refuse(self, status: int, text: str, headers: Mapping[str, str]) -> None:
        """Answer, unless that has begun, and let the client go."""
        with suppress(ConnectionError):
            if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                plain = {"content-type": "text/plain; charset=utf-8", "connection": "close"}
                await self.respond(status, f"{text}\n".encode(), {**plain, **headers})
            # A socket that is closed with data in it takes the answer along.
            self._writer.write_eof()
            with anyio.move_on_after(REST_S):
                while await self._reader.read(PIECE):
                    pass

    def again(self) -> bool:
        """Whether there may be another request on this connection."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()
