"""The port at which agents arrive that take MCP servers over HTTP (option `tools_http`).

It is on the loopback interface alone, where the system chooses its number. Each request shows a
token, which opens the tools of one session and ends with it; `Host` and `Origin` are those of this
port, so that no page in a browser gets in by a name of its own (MCP, basic/transports, DNS
rebinding).
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import anyio
import msgspec

from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from acp_nvim.tools.door import STRANGERS, TOKEN_S
from acp_nvim.tools.grants import AnyDoor, Grant
from acp_nvim.tools.http_mcp import PATH, StreamableHttp
from acp_nvim.tools.http_wire import BadRequest, Head, HttpConnection
from acp_nvim.tools.toolbox import AT_ONCE, Toolbox

HOST: Final = "127.0.0.1"
CONNECTIONS: Final = 256
"""Of all sessions at the same time, also those that rest."""
REQUESTS: Final = AT_ONCE + 16
"""Of a session at the same time: its calls, and streams that tell of changes."""
CHALLENGE: Final = MappingProxyType({"www-authenticate": "Bearer"})


class Refusal(msgspec.Struct, frozen=True):
    """Why a client is not let in: under what it is counted, and what it is told."""

    kind: str
    status: int
    text: str
    headers: Mapping[str, str] = MappingProxyType({})


class Visit(msgspec.Struct):
    """A client's connection, and whether it has shown a token."""

    connection: HttpConnection
    known: bool = False

    def shows(self) -> None:
        """It has shown one."""
        self.known = True


class HttpDoor(AnyDoor):
    """The door of agents that are offered their tools over HTTP."""

    def __init__(self, toolbox: Toolbox, tasks: Tasks) -> None:
        """Nothing listens yet."""
        super().__init__(toolbox)
        self._tasks = tasks
        self._servers: dict[str, StreamableHttp] = {}
        self._port: int | None = None
        self._visits: set[anyio.CancelScope] = set()
        self._strangers = 0
        self._ends = anyio.CancelScope()

    def withdraw(self, session: Session) -> Grant | None:
        """End the session's token and what it was used for."""
        self._servers.pop(session.key, None)
        grant = super().withdraw(session)
        if grant is not None:
            grant.tell(0)
        return grant

    def close(self) -> None:
        """End all connections, and listen no more."""
        super().close()
        self._ends.cancel()
        for scope in list(self._visits):
            scope.cancel()
        self._port = None

    # -- the port ---------------------------------------------------------------------------------

    def _listen(self) -> str:
        """The address; listens from now on."""
        if self._port is None:
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                listener.setblocking(False)
                listener.bind((HOST, 0))
                listener.listen()
            except OSError:
                listener.close()
                raise
            self._port = int(listener.getsockname()[1])
            self._ends = anyio.CancelScope()
            self._tasks.start_soon(self._accept, listener, self._ends)
        return f"http://{HOST}:{self._port}{PATH}"

    async def _accept(self, listener: socket.socket, ends: anyio.CancelScope) -> None:
        loop = asyncio.get_running_loop()
        with ends, listener:
            while True:
                client, _ = await loop.sock_accept(listener)
                if self._strangers >= STRANGERS or len(self._visits) >= CONNECTIONS:
                    self.refused["stranger"] += 1
                    client.close()
                else:
                    self._strangers += 1
                    scope = anyio.CancelScope()
                    self._visits.add(scope)
                    self._tasks.start_soon(self._welcome, client, scope)

    # -- a connection -----------------------------------------------------------------------------

    async def _welcome(self, client: socket.socket, scope: anyio.CancelScope) -> None:
        """Serve one client until it goes, or is told to."""
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader, writer = await asyncio.open_connection(sock=client)
        writer.transport.set_write_buffer_limits(high=0)
        visit = Visit(HttpConnection(reader, writer))
        try:
            with scope:
                await self._serve(visit)
        finally:
            self._strangers -= not visit.known
            self._visits.discard(scope)
            writer.transport.abort()

    async def _serve(self, visit: Visit) -> None:
        connection = visit.connection
        try:
            while await self._next(visit):
                pass
        except BadRequest as error:
            self.refused[f"bad request: {error.status}"] += 1
            await connection.refuse(error.status, str(error), {})
        except ConnectionError:
            pass  # it is gone, and so are its calls

    async def _next(self, visit: Visit) -> bool:
        """Serve one request. Returns whether there may be another."""
        with anyio.move_on_after(math.inf if visit.known else TOKEN_S) as timer:
            head = await visit.connection.head()
        if timer.cancelled_caught:
            self.refused["no token"] += 1
            return False
        if head is None:
            return False
        found = self._judged(head)
        if isinstance(found, Refusal):
            self.refused[found.kind] += 1
            await visit.connection.refuse(found.status, found.text, found.headers)
            return False
        if not visit.known:
            visit.shows()
            self._strangers -= 1
        return await self._answered(found, head, visit.connection)

    def _judged(self, head: Head) -> Grant | Refusal:
        """The grant that a request opens, or why it opens none."""
        ours = [f"{name}:{self._port}" for name in (HOST, "localhost")]
        if head.one("host") not in ours:
            return Refusal("foreign host", 421, "no such host")
        if "origin" in head.headers and head.one("origin") not in [f"http://{it}" for it in ours]:
            return Refusal("foreign origin", 403, "no requests of pages")
        scheme, _, token = (head.one("authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return Refusal("no token", 401, "a token is needed", CHALLENGE)
        grant = self._opened_by(token.strip().encode("utf-8", "replace"))
        if grant is None:
            return Refusal("wrong token", 401, "no such token", CHALLENGE)
        if len(grant.connections) >= REQUESTS:
            return Refusal("too many requests", 503, "too many requests at the same time")
        return grant

    async def _answered(self, grant: Grant, head: Head, connection: HttpConnection) -> bool:
        """Serve a request until it is answered or its session ends."""
        server = self._servers.setdefault(
            grant.session.key, StreamableHttp(grant.tools, grant.tell)
        )
        with anyio.CancelScope() as scope:
            grant.connections.add(scope)
            try:
                await server.serve(head, connection)
            finally:
                grant.connections.discard(scope)
        return not scope.cancelled_caught and connection.again()
