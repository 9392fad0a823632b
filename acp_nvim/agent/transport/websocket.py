"""Transport over a WebSocket (rfds/streamable-http-websocket-transport).

A text message is one protocol message; binary messages are ignored. Messages are passed on in
pieces: as on stdio, the reader of lines limits their length. Pings detect a lost peer. They are
sent here, because the library's own pings fail while the connection is not read, for example
because the user's screen is busy.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable
from email.message import Message
from http.cookiejar import CookieJar
from typing import Any, Final, cast
from urllib.request import Request

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidMessage,
    InvalidProxy,
    InvalidStatus,
    WebSocketException,
)
from websockets.protocol import State

from acp_nvim import __version__, wording
from acp_nvim.agent.transport import failures, tls
from acp_nvim.agent.transport.addresses import display_address, is_loopback
from acp_nvim.agent.transport.base import TransportError
from acp_nvim.agent.transport.frame_splitter import FrameSplitter
from acp_nvim.agent.transport.remote import Address, address_of
from acp_nvim.agent.transport.stream import ByteQueue, Outbox

OPEN_S: Final = 15.0
"""Time for the handshake, in seconds."""
PING_S: Final = 20.0
"""Pause between two pings, in seconds. Proxies keep silent connections open for longer."""
PONG_S: Final = 20.0
"""Time for the answer to a ping while no other data arrives, in seconds."""
CLOSE_S: Final = 0.5
"""Time for each step of closing, in seconds. Neovim gives its host two seconds in total."""
MAX_UNREAD_PONGS: Final = 4 << 20
"""Maximum number of bytes of answers to pings that a server has not read."""
SLICE_S: Final = 0.005
"""Time after which other tasks run while received data is read, in seconds."""
PART: Final = 1024
"""Maximum number of bytes between two checks of the clock, except within a large fragment."""

_SILENT: Final = logging.getLogger("acp_nvim.websocket")
"""Disabled logger for the library, which would log headers."""
_SILENT.setLevel(logging.CRITICAL + 1)


class WebSocketTransport:
    """`RemoteTransport` for `ws` and `wss`."""

    def __init__(self, address: Address, ping_s: float = PING_S, pong_s: float = PONG_S) -> None:
        self._address = address
        self._ping_s, self._pong_s = ping_s, pong_s
        self._socket: ClientConnection | None = None
        self._outbox = Outbox()
        self._tasks: list[asyncio.Task[None]] = []
        self._inbox = ByteQueue()
        self._has_timed_out = False
        self._waits_since: float | None = None
        """Time at which the current wait for data began, or None."""
        self._binary_count = 0

    async def start(self) -> None:
        """Connect. Raise TransportError."""
        url = address_of(self._address)
        if not is_loopback(url):
            failures.check_proxies()
        try:
            self._socket = await self._handshake(url)
        except InvalidStatus as error:
            response = error.response
            _store_cookies(self._address.cookies, url, response.headers.get_all("Set-Cookie"))
            raise failures.status_error(url, response.status_code, response.headers) from error
        except InvalidMessage as error:
            raise _not_spoken(url, error, again=True) from error
        except OSError as error:  # first, since a refused certificate is also a ValueError
            raise failures.unreachable(url, error) from error
        except (ImportError, InvalidProxy) as error:
            raise failures.unusable_proxy(error) from error
        except (WebSocketException, ValueError) as error:
            raise _not_spoken(url, error, again=False) from error
        assert self._socket.response is not None
        headers = self._socket.response.headers.get_all("Set-Cookie")
        _store_cookies(self._address.cookies, url, headers)
        work = (self._read(), self._write(), self._watch())
        self._tasks = [asyncio.create_task(coroutine) for coroutine in work]

    async def _handshake(self, url: str) -> ClientConnection:
        headers = dict(self._address.headers)
        cookie = _cookie_header(self._address.cookies, url)
        if cookie and not any(name.lower() == "cookie" for name in headers):
            headers["Cookie"] = cookie
        here, secure = is_loopback(url), url.lower().startswith("wss")
        agent = None if any(name.lower() == "user-agent" for name in headers) else USER_AGENT
        return await _Connect(
            url,
            additional_headers=headers,
            user_agent_header=agent,
            compression=None,
            create_connection=SplittingConnection,
            max_size=None,
            open_timeout=OPEN_S,
            close_timeout=CLOSE_S,
            ping_interval=None,
            logger=_SILENT,
            proxy=None if here else True,
            ssl=tls.context() if secure else None,
        )

    async def receive(self) -> bytes:
        """Return the next bytes of the messages. Raise TransportError at the end."""
        return await self._inbox.get()

    async def _read(self) -> None:
        """Read messages until the connection ends."""
        try:
            while True:
                await self._read_message()
        except ConnectionClosed as error:
            self._inbox.end(self._error_of(error))
        except Exception as error:  # internal error, here or in the library
            self._address.remark(f"{type(error).__name__}: {error}")
            self._inbox.end(TransportError(wording.WHY_TRANSPORT_FAULT))
        finally:
            self._inbox.end()

    async def _read_message(self) -> None:
        assert self._socket is not None
        size, is_text = 0, False
        self._waits_since = time.monotonic()
        async for piece in self._socket.recv_streaming():
            self._waits_since = None
            is_text = isinstance(piece, str)
            size += len(piece)
            if isinstance(piece, str):
                # In JSON, line endings can only be white space.
                self._inbox.put(piece.replace("\r", " ").replace("\n", " ").encode())
            await self._inbox.wait_for_room()
            self._waits_since = time.monotonic()
        if is_text:
            self._inbox.put(b"\n")
        else:
            self._on_binary(size)

    def _on_binary(self, size: int) -> None:
        self._binary_count += 1
        if self._binary_count == 1:
            self._address.remark(f"binary messages are ignored; the first has {size} bytes")

    def _error_of(self, error: ConnectionClosed) -> TransportError:
        if self._has_timed_out:
            return TransportError(wording.WHY_CONNECTION_SILENT)
        if error.rcvd is None:
            return TransportError(wording.WHY_CONNECTION_ENDED)
        reason = f"{error.rcvd.code} {error.rcvd.reason}".strip()
        return TransportError(wording.WHY_CONNECTION_CLOSED.format(reason=reason))

    def send(self, data: bytes) -> None:
        self._outbox.put(data)

    async def aclose(self) -> None:
        """Close the connection, within a second. The server keeps running."""
        self._inbox.end()
        if self._socket is not None:
            await self._outbox.flush()
            await self._socket.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _write(self) -> None:
        assert self._socket is not None
        try:
            while True:
                message = await self._outbox.get()
                await self._socket.send(message.rstrip(b"\n"), text=True)
        except ConnectionClosed:
            return  # `receive` reports it
        finally:
            self._outbox.end()

    async def _watch(self) -> None:
        """Send pings, and abort a connection whose peer does not answer."""
        assert self._socket is not None
        with contextlib.suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(self._ping_s)
                pong = asyncio.ensure_future(await self._socket.ping())
                while not pong.done():
                    await asyncio.wait([pong], timeout=self._pong_s)
                    if not pong.done() and self._is_silent():
                        self._has_timed_out = True
                        self._socket.transport.abort()
                await pong

    def _is_silent(self) -> bool:
        since = self._waits_since
        return since is not None and time.monotonic() - since >= self._pong_s


USER_AGENT: Final = f"acp.nvim/{__version__}"


class SplittingConnection(ClientConnection):
    """Connection that limits the memory for one frame, and for the answers to pings.

    It reads received data in slices, so that a flood of small frames does not delay other tasks.
    It ends `CLOSE_S` after a close frame or a broken frame, even if the server stays connected.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._splitter = FrameSplitter()
        self._unread_pongs = 0
        """Number of bytes that the library has written since the write buffer was last empty."""
        self._is_closing = False
        self._unread = bytearray()
        """Received data after the current slice. Meanwhile, receiving is paused."""

    def data_received(self, data: bytes) -> None:
        is_reading = bool(self._unread)
        self._unread += data
        if not is_reading:
            self._read_slice()

    def _read_slice(self) -> None:
        end = time.monotonic() + SLICE_S
        while self._unread and time.monotonic() < end:
            self._read_part(max(PART, self._splitter.missing))
        if self._unread:
            self.transport.pause_reading()
            self.loop.call_soon(self._read_slice)
        elif not self.recv_messages.paused:
            self.transport.resume_reading()

    def _read_part(self, size: int) -> None:
        part = bytes(self._unread[:size])
        del self._unread[:size]
        before = self.transport.get_write_buffer_size()
        super().data_received(self._splitter.feed(part))
        after = self.transport.get_write_buffer_size()
        self._unread_pongs = self._unread_pongs + max(after - before, 0) if after else 0
        if self._unread_pongs > MAX_UNREAD_PONGS:
            self.transport.abort()
        if self.protocol.state is State.CLOSING and not self._is_closing:
            self._is_closing = True
            self.loop.call_later(CLOSE_S, self.transport.abort)

    def eof_received(self) -> None:
        self._read_part(len(self._unread))
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread.clear()
        super().connection_lost(exc)


class _Connect(connect):
    """Connector that follows redirects only within the same origin."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Return the address of a redirect, or the error."""
        if isinstance(exc, InvalidStatus) and exc.response.status_code in failures.REDIRECTS:
            location = exc.response.headers.get("Location")
            if location is not None:
                return failures.redirect_target(self.uri, location)
        return exc


def _not_spoken(url: str, error: Exception, *, again: bool) -> TransportError:
    reason: Any = error.__cause__ or error
    text = wording.WHY_NOT_SPOKEN.format(url=display_address(url), reason=reason)
    return TransportError(text, again=again)


# -- cookies of the handshake, in the jar that HTTP requests use too -------------------------------


def _cookie_header(jar: CookieJar, url: str) -> str | None:
    """Return the value of the header `Cookie` for a handshake, or None without cookies."""
    request = _http_request(url)
    jar.add_cookie_header(request)
    return request.get_header("Cookie")


def _store_cookies(jar: CookieJar, url: str, values: Iterable[str]) -> None:
    """Store the cookies of the received `Set-Cookie` headers."""
    jar.extract_cookies(cast("Any", _CookieAnswer(values)), _http_request(url))


def _http_request(url: str) -> Request:
    return Request("http" + url[2:])  # ws -> http, wss -> https


class _CookieAnswer:
    """Part of a response that a cookie jar reads."""

    def __init__(self, values: Iterable[str]) -> None:
        self._message = Message()
        for value in values:
            self._message["Set-Cookie"] = value

    def info(self) -> Message:
        return self._message
