"""Puts the token into the requests of programs that cannot be given one, and nothing else: what
they say of `Host` and `Origin` goes through, with the port behind in place of this one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

HEAD_BYTES = 1 << 16


class TokenProxy:
    """A port of its own before a server's. Each connection carries one request."""

    def __init__(self, port: int, token: str) -> None:
        self._behind = port
        self._token = token
        self.port = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            behind, onward = await asyncio.open_connection("127.0.0.1", self._behind)
            onward.write(self._with_token(head))
            ways = [_pipe(reader, onward), _pipe(behind, writer)]
            running = [asyncio.create_task(way) for way in ways]
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for way in running:
                way.cancel()
            onward.transport.abort()
        writer.close()

    def _with_token(self, head: bytes) -> bytes:
        first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        kept = [it for it in lines if not it.lower().startswith(b"connection:")]
        ours, theirs = f":{self.port}".encode(), f":{self._behind}".encode()
        kept = [
            it.replace(ours, theirs) if it.lower().startswith((b"host:", b"origin:")) else it
            for it in kept
        ]
        own = [f"Authorization: Bearer {self._token}".encode(), b"Connection: close"]
        return b"\r\n".join([first, *kept, *own, b"", b""])


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(HEAD_BYTES):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def token_proxy(port: int, token: str) -> AsyncIterator[int]:
    """The port of a proxy before that one."""
    proxy = TokenProxy(port, token)
    server = await asyncio.start_server(proxy.carry, "127.0.0.1", 0, limit=HEAD_BYTES)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy.port
    finally:
        server.close()
