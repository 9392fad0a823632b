"""An agent behind a WebSocket, with servers that use all freedoms of the protocol."""

from __future__ import annotations

import asyncio
import http
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar
from typing import Any
from unittest.mock import Mock, call

import anyio
import anyio.lowlevel
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.client import ClientProtocol
from websockets.http11 import Request, Response
from websockets.uri import parse_uri
from websockets.utils import accept_key

from acp_nvim.agent.transport import websocket
from acp_nvim.agent.transport.base import TransportError
from acp_nvim.agent.transport.remote import Address
from acp_nvim.agent.transport.websocket import WebSocketTransport
from acp_nvim.protocol.jsonrpc import Event, Notification, Peer, Violation
from tests.support.remote_client import reached
from tests.support.waiting import PATIENCE_S

BIG = 64 << 20


@asynccontextmanager
async def served(
    life: Callable[[ServerConnection], Awaitable[None]], **options: Any
) -> AsyncIterator[str]:
    """Run a server with that function for each client, and yield its address."""
    async with serve(life, "127.0.0.1", 0, max_size=None, compression=None, **options) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}/acp"


async def echo(socket: ServerConnection) -> None:
    async for message in socket:
        await socket.send(message)


async def test_messages_pass_in_order_in_one_line_each() -> None:
    async with served(echo) as url, reached(url) as client:
        for n in range(100):
            client.send(id=n)
        assert [(await client.message())["id"] for _ in range(100)] == [*range(100)]


async def test_binary_messages_are_ignored_fragments_joined_and_line_ends_are_spaces() -> None:
    async def life(socket: ServerConnection) -> None:
        await socket.send(b"\x00binary")
        await socket.send(['{"id"', ":\r\n", "1}"])
        await socket.send('{\n "id": 2\n}')
        await socket.wait_closed()

    async with served(life) as url, reached(url) as client:
        assert await client.message() == {"id": 1}
        assert await client.message() == {"id": 2}
        assert "binary messages are ignored" in "".join(client.remarks)


async def test_a_message_of_64_mib_comes_in_one_piece() -> None:
    text = "x" * (BIG - 2)

    async def life(socket: ServerConnection) -> None:
        await socket.send(f'"{text}"')
        await socket.wait_closed()

    async with served(life) as url, reached(url, message_bytes=BIG) as client:
        assert len(await client.line(within=50)) == BIG


@pytest.mark.parametrize("in_fragments", [False, True])
async def test_a_message_beyond_the_limit_is_refused_and_the_next_one_read(
    in_fragments: bool,
) -> None:
    """The same holds for a long line of a process."""
    long = json.dumps({"id": 7, "method": "_a", "params": {"p": "x" * (8 << 20)}})

    async def life(socket: ServerConnection) -> None:
        await socket.send([long[:100], long[100:]] if in_fragments else long)
        await socket.send('{"method":"_b"}')
        await socket.wait_closed()

    async with served(life) as url, reached(url, message_bytes=1000) as client:
        peer, events = Peer(1000), list[Event]()
        while len(events) < 2:
            events += peer.receive(await client.transport.receive())
        skipped, after = events
        assert isinstance(skipped, Violation)
        assert skipped.kind == "oversize"
        assert f"{len(long)} bytes" in skipped.detail
        assert skipped.reply is not None
        assert json.loads(skipped.reply)["id"] == 7
        assert isinstance(after, Notification)
        assert client.transport.lost is None


async def test_the_server_must_wait_for_a_slow_receiver() -> None:
    sent = 0

    async def flood(socket: ServerConnection) -> None:
        nonlocal sent
        while True:
            await socket.send("x" * 100_000)
            sent += 1

    async with served(flood) as url, reached(url) as client:
        await client.line()
        assert await client.is_held_back(lambda: sent)


async def test_the_end_has_the_close_reason_of_the_server() -> None:
    async def life(socket: ServerConnection) -> None:
        await socket.close(1012, "restart")

    async with served(life) as url, reached(url) as client:
        assert await client.end() == "the connection was closed (1012 restart)"
        assert client.transport.lost is not None
        assert client.transport.lost.again


@pytest.mark.parametrize("status", [401, 403, 404, 503])
async def test_a_refused_handshake_has_a_reason(status: int) -> None:
    def refuse(socket: ServerConnection, request: Request) -> Response:
        response = socket.respond(http.HTTPStatus(status), "no")
        response.headers["Retry-After"] = "9"
        return response

    async with served(echo, process_request=refuse) as url:
        with pytest.raises(TransportError) as refused:
            async with reached(url, {"Authorization": "Bearer s3cret"}):
                pass
    assert f"HTTP {status}" in str(refused.value)
    assert "s3cret" not in str(refused.value)
    assert refused.value.again is (status in (404, 503))
    assert refused.value.after == (0 if status in (401, 403) else 9)


async def test_headers_are_sent_and_cookies_return_with_the_next_connection() -> None:
    seen: list[tuple[str | None, str | None]] = []

    def note(socket: ServerConnection, request: Request) -> None:
        seen.append((request.headers.get("X-Key"), request.headers.get("Cookie")))

    def bake(socket: ServerConnection, request: Request, response: Response) -> None:
        response.headers["Set-Cookie"] = "node=7; Path=/"

    cookies: dict[str, CookieJar] = {}
    async with served(echo, process_request=note, process_response=bake) as url:
        for _ in range(2):
            async with reached(url, {"X-Key": "k"}, cookies=cookies):
                pass
    assert seen == [("k", None), ("k", "node=7")]


async def test_a_redirect_is_followed_only_within_the_origin() -> None:
    seen: list[str] = []

    def move(socket: ServerConnection, request: Request) -> Response | None:
        seen.append(request.path)
        if request.path == "/here":
            return None
        response = socket.respond(http.HTTPStatus.TEMPORARY_REDIRECT, "")
        response.headers["Location"] = "/here" if request.path == "/acp" else "ws://localhost:9/x"
        return response

    async with served(echo, process_request=move) as url:
        async with reached(url) as client:
            client.send(id=1)
            await client.message()
        with pytest.raises(TransportError, match="redirects to ws://localhost:9/x"):
            async with reached(url.replace("/acp", "/away"), {"Authorization": "s3cret"}):
                pass
    assert seen == ["/acp", "/here", "/away"]


async def test_garbage_in_place_of_a_handshake_is_a_remote_error() -> None:
    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\xffgarbage\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(garbage, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(TransportError, match="does not speak the protocol"):
            async with reached(f"ws://127.0.0.1:{port}/acp"):
                pass


async def test_an_unreachable_server_is_reported_in_plain_words() -> None:
    server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    with pytest.raises(TransportError, match=f"ws://127.0.0.1:{port}/acp: Connection refused"):
        async with reached(f"ws://user:pass@127.0.0.1:{port}/acp?t=s3cret"):
            pass


@pytest.mark.parametrize(
    ("last", "reason", "ping_s"),
    [
        (b"", "went silent", 0.05),
        (b"\x88\x07\x03\xf4again", "closed .1012 again", 60),
        (b"\xc1\x02{}", "the connection ended", 60),
    ],
    ids=["silent", "close frame", "broken frame"],
)
async def test_a_server_that_stays_connected_without_serving_is_left(
    last: bytes, reason: str, ping_s: float
) -> None:
    frozen = asyncio.Event()

    async def life(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from websockets.server import ServerProtocol

        protocol = ServerProtocol()
        protocol.receive_data(await reader.readuntil(b"\r\n\r\n"))
        for request in protocol.events_received():
            assert isinstance(request, Request)
            protocol.send_response(protocol.accept(request))
        writer.write(b"".join(protocol.data_to_send()) + last)
        await frozen.wait()  # reads and answers nothing from now on
        writer.close()

    server = await asyncio.start_server(life, "127.0.0.1", 0)
    async with server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/acp"
        address = Address(url, {}, 1 << 20, CookieJar(), lambda text: None)
        way = WebSocketTransport(address, ping_s=ping_s, pong_s=0.1)
        await way.start()
        try:
            with anyio.fail_after(PATIENCE_S), pytest.raises(TransportError, match=reason):
                await way.receive()
        finally:
            await way.aclose()
            frozen.set()


def connected(written: bytearray) -> tuple[websocket.SplittingConnection, Mock]:
    """Return a connection after the handshake, with a transport that writes to `written`."""
    protocol = ClientProtocol(parse_uri("ws://host/"))
    connection, transport = websocket.SplittingConnection(protocol), Mock()
    transport.write.side_effect = written.extend
    connection.connection_made(transport)
    head = "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    protocol.send_request(protocol.connect())
    key = f"Sec-WebSocket-Accept: {accept_key(protocol.key)}\r\n\r\n"
    transport.get_write_buffer_size.side_effect = lambda: 0
    connection.data_received((head + key).encode())
    return connection, transport


async def test_pings_of_a_server_that_reads_no_answers_end_the_connection() -> None:
    """Otherwise the answers would fill the memory."""
    written = bytearray()
    connection, transport = connected(written)
    transport.get_write_buffer_size.side_effect = lambda: len(written)
    pings = (b"\x89\x7d" + b"a" * 125) * 1000
    while not transport.abort.called:
        connection.data_received(pings)
        await anyio.lowlevel.checkpoint()
        assert len(written) < 2 * websocket.MAX_UNREAD_PONGS
    assert len(written) > websocket.MAX_UNREAD_PONGS


async def test_other_tasks_run_during_a_flood_of_small_frames() -> None:
    written = bytearray()
    connection, transport = connected(written)
    connection.data_received(b"\x89\0" * 20_000)
    turns = 0
    while written.count(b"\x8a\x80") < 20_000:
        assert transport.method_calls[-1] == call.pause_reading()
        await anyio.lowlevel.checkpoint()
        turns += 1
    assert transport.method_calls[-1] == call.resume_reading()
    assert turns > 5


async def test_messages_right_before_the_end_arrive() -> None:
    got: list[str] = []

    async def life(socket: ServerConnection) -> None:
        got.extend([str(message) async for message in socket])

    async with served(life) as url, reached(url) as client:
        client.send(id=1, result={})
    assert [json.loads(one)["id"] for one in got] == [1]
