"""Event streams of a connection over Streamable HTTP (rfds/streamable-http-websocket-transport).

A stream is reopened as long as its connection exists.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Final

import anyio
import httpx

from acp_nvim import wording
from acp_nvim.agent.transport import bodies, failures
from acp_nvim.agent.transport.addresses import display_address
from acp_nvim.agent.transport.base import TransportError
from acp_nvim.agent.transport.remote import Address
from acp_nvim.agent.transport.sse import Event, EventReader

CONTENT_TYPE: Final = "text/event-stream"
OPENING_S: Final = 2.0
"""Maximum time that a message waits for the stream of its answer to open, in seconds.

Some servers send the headers of a stream only with its first event.
"""
RETRY_PAUSES: Final = (0.1, 0.4, 1.0, 2.0)
"""Pauses before the attempts to reopen the stream, in seconds."""
QUIET_S, LONGEST_S = 0.1, 5.0
"""Time without events after which a stream counts as drained, and longest wait for it (seconds)."""
STEADY_S: Final = 5.0
"""Minimum age in seconds at which a broken stream restarts with the shortest pause.

A stream that has delivered an event with an id always does.
"""
KEEPALIVE: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""TCP keepalive options, which detect a lost peer of a silent stream after about a minute."""


class EventStream:
    """Events of one GET request, and of the requests that continue it."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        url: Callable[[], str],
        headers: Mapping[str, str],
        address: Address,
        on_event: Callable[[Event], Awaitable[None]],
        on_end: Callable[[TransportError], None],
    ) -> None:
        """`on_event` is awaited with each event; `on_end` is called after a permanent failure."""
        self._client = client
        self._url = url
        self._headers = headers
        self._address = address
        self._on_event = on_event
        self._on_end = on_end
        self._last_id: str | None = None
        self._opened = asyncio.Event()
        """Set once the stream is open or cannot be opened, or `OPENING_S` have passed."""
        self.is_open = False
        self.is_over = False
        self._event_count = 0
        """Number of events received."""

    async def wait_open(self) -> None:
        """Wait until the stream is open, for at most `OPENING_S`. Later calls return at once."""
        with anyio.move_on_after(OPENING_S):
            await self._opened.wait()
        self._opened.set()

    async def wait_quiet(self) -> None:
        """Wait until no event has arrived for `QUIET_S`, for at most `LONGEST_S`."""
        with anyio.move_on_after(LONGEST_S):
            before = -1
            while self.is_open and before != self._event_count:
                before = self._event_count
                await anyio.sleep(QUIET_S)

    async def run(self) -> None:
        """Read the stream, and reopen it until a failure is permanent."""
        try:
            await self._run()
        except TransportError as error:
            self.is_over = True
            self._on_end(error)
        finally:
            self.is_over = True
            self.is_open = False
            self._opened.set()

    async def _run(self) -> None:
        attempts = iter(RETRY_PAUSES)
        while True:
            began, last_id = time.monotonic(), self._last_id
            failure = await self._read()
            if self._last_id != last_id or time.monotonic() - began >= STEADY_S:
                attempts = iter(RETRY_PAUSES)
            pause = next(attempts, None)
            if pause is None or not failure.again:
                raise failure
            self._address.remark(f"event stream: {failure}")
            await anyio.sleep(max(pause, failure.after))

    async def _read(self) -> TransportError:
        """Read one response to its end. Return the reason for the end.

        Raise TransportError if no retry can help.
        """
        headers = {"Accept": CONTENT_TYPE, "Cache-Control": "no-store", **self._headers}
        if self._last_id is not None:
            headers["Last-Event-ID"] = self._last_id
        request = self._client.build_request(
            "GET",
            self._url(),
            headers=httpx.Headers(headers, encoding="utf-8"),
            timeout=httpx.Timeout(None, connect=10),
        )
        try:
            response = await self._client.send(request, stream=True)
        except httpx.HTTPError as error:
            return failures.unreachable(self._url(), error)
        try:
            return await self._read_events(response)
        except httpx.HTTPError as error:
            return TransportError(str(error) or type(error).__name__)
        finally:
            self.is_open = False
            await response.aclose()

    async def _read_events(self, response: httpx.Response) -> TransportError:
        if (failure := self._check(response)) is not None:
            return failure
        _keep_alive(response)
        self.is_open = True
        self._opened.set()
        reader = EventReader(self._address.message_bytes)
        async with aclosing(bodies.pieces(response)) as body:
            async for piece in body:
                for event in reader.feed(piece):
                    self._last_id = event.id if event.id is not None else self._last_id
                    self._event_count += 1
                    await self._on_event(event)
        return TransportError(wording.WHY_CONNECTION_ENDED)

    def _check(self, response: httpx.Response) -> TransportError | None:
        """Return the reason why a response is not a stream, if a retry may help.

        Raise TransportError if no retry can help.
        """
        if response.status_code == 404:
            raise TransportError(wording.WHY_CONNECTION_UNKNOWN)
        if not response.is_success:
            return failures.status_error(self._url(), response.status_code, response.headers)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != CONTENT_TYPE:
            text = wording.WHY_NOT_SPOKEN.format(
                url=display_address(self._url()),
                reason=wording.WHY_NO_STREAM.format(kind=kind or "nothing"),
            )
            raise TransportError(text, again=False)
        return None


class Streams:
    """Event streams of one connection, by session id.

    The connection's own stream has the key None.
    """

    def __init__(self, open_stream: Callable[[str | None], EventStream]) -> None:
        self._open_stream = open_stream
        self._streams: dict[str | None, EventStream] = {}

    def of(self, session: str | None) -> EventStream:
        """Return the stream of a session. Open it if necessary."""
        stream = self._streams.get(session)
        if stream is None or stream.is_over:
            stream = self._streams[session] = self._open_stream(session)
        return stream


def _keep_alive(response: httpx.Response) -> None:
    """Enable TCP keepalive for the connection of a response."""
    network = response.extensions.get("network_stream")
    raw = network.get_extra_info("socket") if network is not None else None
    if raw is None:
        return
    with contextlib.suppress(OSError):
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE.items():
            if hasattr(socket, name):
                raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
