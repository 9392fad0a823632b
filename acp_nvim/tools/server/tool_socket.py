"""Unix socket for relays: authentication and connections.

A token gives access to the tools of one session. Only the environment of the relay contains it. The
token and its connections end with the session.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from anyio.abc import TaskGroup

from acp_nvim.files.bytes import private_files
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from acp_nvim.tools.server.session_tools import SessionTools
from acp_nvim.tools.server.toolbox import Enabled, Toolbox

TOKEN_S: Final = 5.0
"""Time for a client to send its token, in seconds."""
TOKEN_BYTES: Final = 256
MAX_CONNECTIONS: Final = 8
"""Maximum number of connections per session. Some agents connect twice."""
MAX_UNAUTHENTICATED: Final = 64
"""Maximum number of clients that have not sent a token yet."""
PATH_BYTES: Final = 100
"""Maximum length of the socket's path. The system's limit is 108 bytes on Linux, 104 on macOS."""
DRAIN_S: Final = 1.0
"""Seconds that calls may still run after their client has closed its sending end."""
NAME_BYTES: Final = 28
"""Maximum length of a socket's name, including its slash."""
CHUNK_BYTES: Final = 1 << 16
BACKLOG_BYTES: Final = 16 << 20
"""Number of bytes of unread answers above which a client's requests are not read."""


class SocketAccess(msgspec.Struct, frozen=True):
    """Address of the socket, and the token that a session's relay sends."""

    address: str
    token: str


class Grant:
    """Access of one session to its tools: the token, and the connections that use it."""

    def __init__(self, session: Session, tools: SessionTools) -> None:
        self.session = session
        self.tools = tools
        self.token = os.urandom(32).hex()
        self.connections: set[anyio.CancelScope] = set()

    def set_connected(self, connected: int) -> None:
        """Set the session's number of clients."""
        use = self.session.tools
        if use is not None and use.connected != connected:
            use.connect(connected)
            self.session.change("tools")


class ToolSocket:
    """Socket of the relays. It listens from the first session with tools until `close`."""

    def __init__(
        self, toolbox: Toolbox, tasks: Tasks, runtime_dir: Callable[[], str | None]
    ) -> None:
        """`runtime_dir` returns the user's directory for sockets, or None."""
        self.refused: Counter[str] = Counter()
        """Refused clients, and faults of accepted ones, by kind."""
        self._toolbox = toolbox
        self._grants: dict[str, Grant] = {}
        self._tasks = tasks
        self._runtime_dir = runtime_dir
        self._socket: socket.socket | None = None
        self._path: Path | None = None
        self._own_directory: Path | None = None
        self._unauthenticated = 0
        self._scope = anyio.CancelScope()

    def admit(self, session: Session, enabled: Enabled) -> SocketAccess | None:
        """Create a new token for a session. The session's earlier token becomes invalid.

        Return None if the session has no tools. Raise OSError.
        """
        self.withdraw(session)
        tools = SessionTools(self._toolbox, session, enabled)
        if not tools.has_any():
            return None
        address = self._listen()
        grant = self._grants[session.key] = Grant(session, tools)
        tools.offer()
        return SocketAccess(address, grant.token)

    def refresh(self) -> None:
        """Notify sessions and listening clients that the tools have changed."""
        for grant in self._grants.values():
            grant.tools.refresh()

    def withdraw(self, session: Session) -> None:
        """End the session's token and connections."""
        grant = self._grants.pop(session.key, None)
        if grant is not None:
            grant.tools.changes.close()
            for scope in list(grant.connections):
                scope.cancel()

    def close(self) -> None:
        """End all connections and remove the socket."""
        for grant in list(self._grants.values()):
            self.withdraw(grant.session)
        self._scope.cancel()
        self._socket = None
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None
        if self._own_directory is not None:
            self._own_directory.rmdir()
            self._own_directory = None

    # -- the socket -------------------------------------------------------------------------------

    def _listen(self) -> str:
        """Start listening if necessary. Return the address."""
        if self._socket is None:
            self._path = path = self._directory() / f"{os.getpid()}-{os.urandom(4).hex()}.sock"
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.setblocking(False)
            listener.bind(str(path))
            path.chmod(private_files.FILE)
            listener.listen()
            self._socket = listener
            self._scope = anyio.CancelScope()
            self._tasks.start_soon(self._accept, listener, self._scope)
        return str(self._path)

    def _directory(self) -> Path:
        """Return the first suitable private directory among the usual ones.

        If there is none, create one that is removed with the socket.
        """
        run = self._runtime_dir()
        if run is not None and _is_usable(usual := Path(run) / "acp.nvim"):
            return usual
        import tempfile  # not needed if the first one is suitable

        temporary = Path(tempfile.gettempdir())
        if _is_usable(usual := temporary / f"acp.nvim-{os.getuid()}"):
            return usual
        is_short = len(os.fsencode(temporary)) + 2 * NAME_BYTES < PATH_BYTES
        created = tempfile.mkdtemp(prefix="acp-", dir=temporary if is_short else "/tmp")
        self._own_directory = Path(created)
        return self._own_directory

    async def _accept(self, listener: socket.socket, scope: anyio.CancelScope) -> None:
        loop = asyncio.get_running_loop()
        with scope, listener:
            while True:
                client, _ = await loop.sock_accept(listener)
                if self._unauthenticated >= MAX_UNAUTHENTICATED or not _is_users_process(client):
                    self.refused["stranger"] += 1
                    client.close()
                else:
                    self._unauthenticated += 1
                    self._tasks.start_soon(self._serve_client, client, scope)

    # -- a client ---------------------------------------------------------------------------------

    async def _serve_client(self, client: socket.socket, scope: anyio.CancelScope) -> None:
        """Serve one client until it disconnects or its session ends."""
        client.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=client)
        try:
            try:
                grant, rest = await self._identify(reader)
            finally:
                self._unauthenticated -= 1
            if grant is not None and not scope.cancel_called:
                with anyio.CancelScope() as scope:
                    grant.connections.add(scope)
                    grant.set_connected(len(grant.connections))
                    try:
                        await self._serve(grant, reader, writer, rest)
                    finally:
                        grant.connections.discard(scope)
                        grant.set_connected(len(grant.connections))
        finally:
            writer.transport.abort()

    async def _identify(self, reader: asyncio.StreamReader) -> tuple[Grant | None, bytes]:
        """Return the grant of the token in the first line, and the data after that line.

        Return None and count the reason in `refused` if the client may not connect.
        """
        data = b""
        with anyio.move_on_after(TOKEN_S), suppress(ConnectionError):
            while b"\n" not in data and len(data) <= TOKEN_BYTES:
                chunk = await reader.read(CHUNK_BYTES)
                if not chunk:
                    break
                data += chunk
        token, newline, rest = data.partition(b"\n")
        if not newline or len(token) > TOKEN_BYTES:
            self.refused["no token"] += 1
            return None, b""
        grant = self._grant_of(token)
        if grant is None:
            self.refused["wrong token"] += 1
        elif len(grant.connections) >= MAX_CONNECTIONS:
            self.refused["too many connections"] += 1
            grant = None
        return grant, rest

    async def _serve(
        self,
        grant: Grant,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        data: bytes,
    ) -> None:
        """Serve a client until it disconnects. It has already sent `data`."""
        from acp_nvim.tools.server.mcp_server import (
            McpServer,  # not needed before a client connects
        )

        async with anyio.create_task_group() as group:
            start = partial(_start, group)
            server = McpServer(grant.tools, writer.write, start, self._on_violation)
            writer.transport.set_write_buffer_limits(high=BACKLOG_BYTES)
            try:
                while True:
                    await writer.drain()
                    server.receive(data)
                    if server.has_too_many_faults or not (data := await reader.read(CHUNK_BYTES)):
                        break
                with anyio.move_on_after(DRAIN_S):
                    await server.idle()
                    writer.close()
                    await writer.wait_closed()
            except ConnectionError:
                pass
            group.cancel_scope.cancel()

    def _grant_of(self, token: bytes) -> Grant | None:
        """Return the grant of a token, compared in constant time."""
        import hmac  # not needed before a client connects

        match = None
        for grant in self._grants.values():
            if hmac.compare_digest(token, grant.token.encode()):
                match = grant
        return match

    def _on_violation(self, kind: str) -> None:
        self.refused[f"bad message: {kind}"] += 1


def _start(group: TaskGroup, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
    group.start_soon(call)


def _is_users_process(client: socket.socket) -> bool:
    """Return whether the user owns the client's process. Assume so if the system cannot tell."""
    credentials = getattr(socket, "SO_PEERCRED", None)
    if credentials is None:
        return True
    size = struct.calcsize("3i")
    packed = client.getsockopt(socket.SOL_SOCKET, credentials, size)
    uid: int = struct.unpack("3i", packed)[1]
    return uid == os.getuid()


def _is_usable(path: Path) -> bool:
    """Return whether sockets can be created in this directory. Remove sockets of killed hosts."""
    is_usable = len(os.fsencode(path)) + NAME_BYTES < PATH_BYTES and _is_private(path)
    if is_usable:
        _remove_dead_sockets(path)
    return is_usable


def _is_private(path: Path) -> bool:
    """Return whether the user owns this directory. Create it if necessary.

    A link is refused, because other users may have placed it in a shared directory.
    """
    try:
        if path.is_symlink() or (path.exists() and path.stat().st_uid != os.getuid()):
            return False
        return private_files.directory(path).is_dir()
    except OSError:
        return False


def _remove_dead_sockets(directory: Path) -> None:
    """Remove sockets whose host was killed."""
    for path in directory.glob("*.sock"):
        if _is_alive(path.name.partition("-")[0]):
            continue
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
            except OSError:
                continue  # in use, or just being removed by another host


def _is_alive(pid: str) -> bool:
    """Return whether there is a process with that id."""
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True
