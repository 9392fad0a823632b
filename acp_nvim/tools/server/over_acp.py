"""Tools for agents that speak MCP over their ACP connection (rfds/mcp-over-acp).

There is no process and no socket. A message contains a request and the id of the server, which
cannot be guessed. The inner protocol is from the era without a handshake.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import INVALID_PARAMS, RequestError
from acp_nvim.session.session import Session
from acp_nvim.tools.server.session_tools import SessionTools
from acp_nvim.tools.server.toolbox import Enabled, Toolbox

if TYPE_CHECKING:
    from acp_nvim.tools.server.mcp_methods import Json, Notify

UNKNOWN_SERVER: Final = -33001
Send = Callable[[schema.MessageMcpNotification], None]


class McpOverAcp:
    """Servers of all sessions whose agents support MCP over ACP."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self._servers: dict[str, tuple[Session, SessionTools]] = {}
        self._active: set[tuple[str, str]] = set()
        """Requests being answered, each by server and id."""

    def admit(self, session: Session, enabled: Enabled) -> str | None:
        """Create a server for a session and return its id. The session's earlier server ends.

        Return None if the session has no tools.
        """
        self.withdraw(session)
        tools = SessionTools(self._toolbox, session, enabled)
        if not tools.has_any():
            return None
        id = os.urandom(32).hex()
        self._servers[id] = session, tools
        tools.offer()
        return id

    def refresh(self) -> None:
        """Notify sessions and listening agents that the tools have changed."""
        for _, tools in self._servers.values():
            tools.refresh()

    def withdraw(self, session: Session) -> None:
        """End the session's server and its calls."""
        ids = [id for id, (owner, _) in self._servers.items() if owner is session]
        for id in ids:
            _, tools = self._servers.pop(id)
            tools.changes.close()
            self._toolbox.cancel(session)
            if session.tools is not None:
                session.tools.connect(0)
                session.change("tools")

    async def message(
        self, request: schema.MessageMcpRequest, send: Send
    ) -> schema.MessageMcpResponse:
        """Answer `mcp/message`. Raise RequestError for the outer request only.

        Errors of the inner request are part of the answer.
        """
        key = request.server_id, request.request_id
        tools = self._tools(request.server_id)
        if key in self._active:
            raise RequestError(INVALID_PARAMS, f"request {request.request_id[:200]} is active")
        self._active.add(key)
        try:
            return await _response(tools, request, send)
        finally:
            self._active.discard(key)

    def _tools(self, server_id: str) -> SessionTools:
        served = self._servers.get(server_id)
        if served is None:
            raise RequestError(UNKNOWN_SERVER, "unknown serverId")
        session, tools = served
        if session.tools is not None and not session.tools.connected:
            session.tools.connect(1)
            session.change("tools")
        return tools


async def _response(
    tools: SessionTools, request: schema.MessageMcpRequest, send: Send
) -> schema.MessageMcpResponse:
    from acp_nvim.tools.server import mcp_methods

    params: Json = {} if request.params is UNSET else request.params or {}
    raw = msgspec.Raw(msgspec.json.encode(params))
    try:
        notify = _notifier(request, send)
        response = mcp_methods.answer(tools, request.request_id, request.method, raw, notify)
        result: Any = await response.run() if isinstance(response, mcp_methods.Work) else response
    except RequestError as error:
        inner = schema.McpError(error.code, error.message, error.data)
        return schema.MessageMcpResponse(error=inner)
    return schema.MessageMcpResponse(result)


def _notifier(request: schema.MessageMcpRequest, send: Send) -> Notify:
    """Return a function that sends notifications with the ids of a request."""

    def notify(method: str, params: msgspec.Struct) -> None:
        inner: Json = msgspec.to_builtins(params)
        send(schema.MessageMcpNotification(request.server_id, request.request_id, method, inner))

    return notify
