"""Agent behind Streamable HTTP whose every answer a test may change.

agent = StreamingAgent()
async with HttpServer(agent) as server, reached(server.url) as client:
    await shake_hands(client)
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from tests.support.http_server import Reply, Request
from tests.support.remote_client import RemoteClient

EVENTS = {"Content-Type": "text/event-stream"}
CONNECTION = "Acp-Connection-Id"
JSON = {"Content-Type": "application/json"}


class StreamingAgent:
    """Server that follows the proposal.

    `streams` are the answers to GET requests by session, in order; the last one is repeated.
    """

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []
        self.posted_at: list[float] = []
        self.said: dict[str | None, asyncio.Queue[bytes | None]] = {None: asyncio.Queue()}
        self.posts: Callable[[Request, dict[str, Any]], Reply | None] = lambda request, message: (
            None
        )
        self.gets: Callable[[Request], Reply | Awaitable[Reply] | None] = lambda request: None
        self.initialized = Reply(200, headers={**JSON, CONNECTION: "c1"})

    def __call__(self, request: Request) -> Reply | Awaitable[Reply]:
        if request.method == "GET":
            session = request.headers.get("acp-session-id")
            reply = self.gets(request)
            return reply or Reply(200, headers=EVENTS, pieces=self.events(session))
        if request.method == "DELETE":
            self.end(None)
            return Reply(202)
        message = json.loads(request.body)
        if reply := self.posts(request, message):
            return reply
        self.posted.append(message)
        self.posted_at.append(time.monotonic())
        if message.get("method") == "initialize":
            first = self.initialized
            body = first.body or answer(message["id"], {"protocolVersion": 1})
            return Reply(first.status, body, first.headers)
        return Reply(202)

    def say(self, text: str | bytes, session: str | None = None, id: str = "") -> None:
        data = text.encode() if isinstance(text, str) else text
        number = f"id: {id}\n".encode() if id else b""
        self._queue(session).put_nowait(number + b"data: " + data + b"\n\n")

    def end(self, session: str | None) -> None:
        self._queue(session).put_nowait(None)

    def _queue(self, session: str | None) -> asyncio.Queue[bytes | None]:
        return self.said.setdefault(session, asyncio.Queue())

    async def events(self, session: str | None) -> AsyncIterator[bytes]:
        while (piece := await self._queue(session).get()) is not None:
            yield piece


def answer(id: object, result: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()


async def shake_hands(client: RemoteClient) -> None:
    client.send(id=1, method="initialize", params={"protocolVersion": 1})
    assert (await client.message())["id"] == 1


def prompt(client: RemoteClient, id: int, session: str = "s1") -> None:
    client.send(id=id, method="session/prompt", params={"sessionId": session, "prompt": []})
