"""MCP over ACP (rfds/mcp-over-acp), in its current form and in the form of schema 1.21 and earlier.

A message in the current form names a server and a request. In the earlier form, which released SDKs
still use, the agent opens a connection with `mcp/connect`, and a message names the connection. The
answer is the inner result or error itself.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Final

import anyio
import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from acp_nvim.protocol import codec, schema
from acp_nvim.protocol.errors import INVALID_PARAMS, METHOD_NOT_FOUND, DecodeError, RequestError

Message = Callable[
    [schema.MessageMcpRequest, Callable[[schema.MessageMcpNotification], None]],
    Awaitable[schema.MessageMcpResponse],
]
MAX_CONNECTIONS: Final = 64
"""Maximum number of open connections of one agent."""


class ConnectMcpRequest(Struct, frozen=True, rename="camel"):
    """Request parameters for `mcp/connect`."""

    server_id: str


class ConnectMcpResponse(Struct, frozen=True, rename="camel"):
    """Response to `mcp/connect`."""

    connection_id: str


class DisconnectMcpRequest(Struct, frozen=True, rename="camel"):
    """Request parameters for `mcp/disconnect`."""

    connection_id: str


class ConnectedMessage(Struct, frozen=True, rename="camel"):
    """Parameters for `mcp/message` in a connection, from either side."""

    connection_id: str
    method: str
    params: dict[str, Any] | UnsetType | None = UNSET


class _Envelope(Struct, frozen=True, rename="camel"):
    connection_id: Any = UNSET


class McpMessages:
    """MCP requests from one agent to the editor's tools."""

    def __init__(self, message: Message, notify: Callable[[Struct], None]) -> None:
        """`message` answers a request. `notify` sends a notification `mcp/message`."""
        self._message = message
        self._notify = notify
        self._servers: dict[str, str] = {}
        """Servers by connection."""
        self._numbers = count(1)

    def send(self, request: schema.MessageMcpRequest) -> Awaitable[schema.MessageMcpResponse]:
        """Answer a message in the current form. Raise RequestError."""
        return self._message(request, self._notify)

    def answer_earlier(self, method: str, params: Raw) -> Awaitable[Any] | None:
        """Answer a request in the earlier form. Return None for any other request.

        Raise RequestError.
        """
        if method == "mcp/connect":
            return self._connect(_read(ConnectMcpRequest, params))
        if method == "mcp/disconnect":
            return self._disconnect(_read(DisconnectMcpRequest, params))
        if method != "mcp/message" or not _has_connection(params):
            return None
        return self._send_connected(_read(ConnectedMessage, params))

    async def _connect(self, request: ConnectMcpRequest) -> ConnectMcpResponse:
        if len(self._servers) >= MAX_CONNECTIONS:
            await self._drop_ended()
        if len(self._servers) >= MAX_CONNECTIONS:
            raise RequestError(INVALID_PARAMS, f"{MAX_CONNECTIONS} connections are open; close one")
        await self._check_server(request.server_id)
        connection = os.urandom(16).hex()
        self._servers[connection] = request.server_id
        return ConnectMcpResponse(connection)

    async def _check_server(self, server: str) -> None:
        """Raise RequestError if there is no such server."""
        ping = schema.MessageMcpRequest(server, self._next_request(), "ping")
        await self._message(ping, self._notify)

    async def _drop_ended(self) -> None:
        """Drop connections to servers that have ended, which some agents leave open."""
        async with anyio.create_task_group() as group:
            for server in set(self._servers.values()):
                group.start_soon(self._drop_if_ended, server)

    async def _drop_if_ended(self, server: str) -> None:
        try:
            await self._check_server(server)
        except RequestError:
            for connection in [it for it, named in self._servers.items() if named == server]:
                del self._servers[connection]

    async def _disconnect(self, request: DisconnectMcpRequest) -> dict[str, Any]:
        if self._servers.pop(request.connection_id, None) is None:
            raise _unknown_connection()
        return {}

    async def _send_connected(self, message: ConnectedMessage) -> Any:
        server = self._servers.get(message.connection_id)
        if server is None:
            raise _unknown_connection()
        request = schema.MessageMcpRequest(
            server, self._next_request(), message.method, message.params
        )

        def notify(note: schema.MessageMcpNotification) -> None:
            self._notify(ConnectedMessage(message.connection_id, note.method, note.params))

        answer = await self._message(request, notify)
        if isinstance(answer.error, schema.McpError):
            raise RequestError(answer.error.code, answer.error.message, answer.error.data)
        return answer.result

    def _next_request(self) -> str:
        return f"connected-{next(self._numbers)}"


async def no_servers(request: schema.MessageMcpRequest, send: Any) -> schema.MessageMcpResponse:
    """Refuse a message to an MCP server, because none was offered."""
    raise RequestError(METHOD_NOT_FOUND, "there are no servers of type acp")


def _unknown_connection() -> RequestError:
    return RequestError(INVALID_PARAMS, "unknown connectionId")


def _has_connection(params: Raw) -> bool:
    try:
        return msgspec.json.decode(params, type=_Envelope).connection_id is not UNSET
    except (msgspec.DecodeError, RecursionError):
        return False


def _read(target: type[Any], params: Raw) -> Any:
    """Decode params. Raise RequestError."""
    try:
        return codec.decode(target, params, name="params")
    except DecodeError as error:
        raise RequestError(error.code, str(error)) from error
