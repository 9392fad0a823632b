"""Agent behind a socket, as in the protocol's proposal (rfds/streamable-http-websocket-transport):
WebSocket and Streamable HTTP at one address, a separate service for each client.

It is meant for experiments: no TLS, hence no HTTP/2, and no accounts. It listens on the loopback
interface by default, and serves no web page (a request with `Origin`).
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from acp_nvim.tutor.connection import Connection
from tests.support.agent_server.http_clients import HttpClients
from tests.support.agent_server.shared_tutor import SharedTutor
from tests.support.agent_server.web_socket import serve_web_socket

if TYPE_CHECKING:
    from acp_nvim.tutor.session import Session

PATH: Final = "/acp"
LOOPBACK: Final = "127.0.0.1"
HEAD_BYTES: Final = 16 << 10

Serve = Callable[[Callable[[], Awaitable[bytes]], Callable[[bytes], None]], Awaitable[None]]
"""Serves one client, given a function that reads bytes of its messages, `b''` at the end, and one
that writes a line.
"""


async def serve_tutors(where: str) -> None:
    """Serve tutors forever, at `HOST:PORT` or a port. Their sessions outlive connections."""
    sessions: dict[str, Session] = {}

    async def serve(read: Callable[[], Awaitable[bytes]], write: Callable[[bytes], None]) -> None:
        connection = Connection(write)
        await connection.run(SharedTutor(connection, sessions), read)

    host, _, port = where.rpartition(":")
    if not port.isdigit():
        raise ValueError(f"HOST:PORT or a port is expected, not {where!r}")
    server = await listening(serve, host.strip("[]") or LOOPBACK, int(port))
    for address in addresses(server):
        sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    await server.serve_forever()


async def listening(serve: Serve, host: str, port: int) -> asyncio.Server:
    """Listen, with ``serve`` for each client. Raise OSError."""
    clients = HttpClients(serve)
    return await asyncio.start_server(partial(_accepted, serve, clients), host, port)


def addresses(server: asyncio.Server) -> list[str]:
    """Return the addresses of the agents there, one for each transport."""
    host, port = server.sockets[0].getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    return [f"{scheme}://{name}:{port}{PATH}" for scheme in ("ws", "http")]


async def _accepted(
    serve: Serve,
    clients: HttpClients,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    try:
        head = await _head(reader)
        if head is None:
            return
        upgrades = b"\nupgrade: websocket" in head.lower().replace(b"\r", b"")
        if upgrades and b"\norigin:" not in head.lower():
            await serve_web_socket(serve, head, reader, writer)
        else:
            await clients.connected(head, reader, writer)
    except (ConnectionError, TimeoutError):
        return
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError, TimeoutError):
            await writer.wait_closed()


async def _head(reader: asyncio.StreamReader) -> bytes | None:
    """Return the first bytes with the whole head of a request, or None."""
    head = b""
    while b"\r\n\r\n" not in head:
        data = await reader.read(HEAD_BYTES)
        if not data or len(head) > HEAD_BYTES:
            return None
        head += data
    return head
