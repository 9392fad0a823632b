"""Bodies of HTTP responses that are endless or compressed."""

from __future__ import annotations

import asyncio
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio.lowlevel
import pytest

from tests.support.http_server import HttpServer, Reply, Request
from tests.support.remote_client import reached
from tests.support.streaming_agent import (
    CONNECTION,
    EVENTS,
    JSON,
    StreamingAgent,
    prompt,
    shake_hands,
)
from tests.support.waiting import eventually

LIMIT = 4 << 20
ENDLESS = {
    "plain": ({}, b"x" * 65536),
    "lines": ({}, b"x\r\n" * 20000),
    "gzip": ({"Content-Encoding": "gzip"}, b""),
    "deflate": ({"Content-Encoding": "deflate"}, b""),
    "data": (EVENTS, b"data: " + b"x" * 65536 + b"\n"),
    "line": (EVENTS, b"x" * 65536),
    "small events": (EVENTS, b"data: {}\n\n" * 5000),
}


async def without_end(piece: bytes, coding: str) -> AsyncIterator[bytes]:
    """Yield an endless body. Each compressed piece contains 16 MiB."""
    squeeze = zlib.compressobj(9, wbits=31 if coding == "gzip" else 15)
    while True:
        await anyio.lowlevel.checkpoint()  # the client is on the same loop
        if coding:
            yield squeeze.compress(bytes(16 << 20)) + squeeze.flush(zlib.Z_SYNC_FLUSH)
        else:
            yield piece


def endless(kind: str, status: int = 200) -> Reply:
    said, piece = ENDLESS[kind]
    pieces = without_end(piece, said.get("Content-Encoding", ""))
    named = {CONNECTION: "c1", "Location": "/other"}
    return Reply(status, headers={**JSON, **said, **named}, pieces=pieces)


@pytest.fixture
def bounded() -> Iterator[None]:
    """Check that memory grows by little more than two messages and the server."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * LIMIT + (20 << 20), peak


@pytest.mark.parametrize("kind", ENDLESS)
async def test_an_endless_body_fails_its_request_with_a_reason(kind: str, bounded: None) -> None:
    agent = StreamingAgent()
    agent.posts = lambda request, message: endless(kind) if message.get("id") == 2 else None
    async with HttpServer(agent) as server, reached(server.url, message_bytes=LIMIT) as client:
        await shake_hands(client)
        prompt(client, 2)
        error = (await client.message())["error"]["message"]
        assert error == f"the answer is longer than {LIMIT} bytes (limits.message_bytes)"
        assert len(await client.line()) > LIMIT  # refused, logged and shown by the endpoint
        assert client.transport.lost is None


@pytest.mark.parametrize("kind", ["plain", "gzip"])
async def test_an_endless_handshake_is_not_a_connection(kind: str, bounded: None) -> None:
    agent = StreamingAgent()
    agent.posts = lambda request, message: endless(kind)
    async with HttpServer(agent) as server, reached(server.url, message_bytes=LIMIT) as client:
        client.send(id=1, method="initialize", params={"protocolVersion": 1})
        assert await client.end() == (
            f"the answer is longer than {LIMIT} bytes (limits.message_bytes)"
        )


@pytest.mark.parametrize("status", [307, 400, 500])
async def test_an_endless_refusal_or_redirect_is_not_read(status: int, bounded: None) -> None:
    agent = StreamingAgent()

    def posts(request: Request, message: dict[str, Any]) -> Reply | None:
        again = request.path != "/acp"
        return endless("plain", status) if message.get("id") == 2 and not again else None

    agent.posts = posts
    async with HttpServer(agent) as server, reached(server.url, message_bytes=LIMIT) as client:
        await shake_hands(client)
        prompt(client, 2)
        if status == 307:
            await eventually(lambda: agent.posted[-1].get("id") == 2)
        else:
            assert f"HTTP {status}" in (await client.message())["error"]["message"]


@pytest.mark.parametrize("kind", ["data", "line", "gzip"])
async def test_an_endless_event_uses_no_memory(kind: str, bounded: None) -> None:
    agent = StreamingAgent()
    sent = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal sent
        async for piece in without_end(ENDLESS[kind][1], "gzip" if kind == "gzip" else ""):
            yield piece
            sent += 16 << 20 if kind == "gzip" else len(piece)

    headers = {**EVENTS, **ENDLESS[kind][0]}
    agent.gets = lambda request: Reply(200, headers=headers, pieces=pieces())
    async with HttpServer(agent) as server, reached(server.url, message_bytes=LIMIT) as client:
        await shake_hands(client)
        await eventually(lambda: sent > 10 * LIMIT)
        assert client.transport.lost is None


async def test_a_compressed_stream_is_read_and_another_coding_is_reported() -> None:
    agent = StreamingAgent()
    squeeze = zlib.compressobj(wbits=31)

    async def pieces() -> AsyncIterator[bytes]:
        yield squeeze.compress(b'data: {"method":"_a"}\n\n') + squeeze.flush(zlib.Z_SYNC_FLUSH)
        await asyncio.Event().wait()

    coding = "gzip"
    agent.gets = lambda request: Reply(
        200, headers={**EVENTS, "Content-Encoding": coding}, pieces=pieces()
    )
    async with HttpServer(agent) as server:
        async with reached(server.url) as client:
            await shake_hands(client)
            assert (await client.message())["method"] == "_a"
        coding = "br"
        async with reached(server.url) as client:
            await shake_hands(client)
            assert (await client.end()).endswith("its answer is compressed (br)")
