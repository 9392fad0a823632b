"""Ports to the components that answer an agent's requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import METHOD_NOT_FOUND, RequestError
from acp_nvim.session.session import Session

Handler = Callable[[Session, Any, IncomingCall], Awaitable[Any] | None]
"""Function that starts answering a session's request, in wire order up to its first await."""


class OwnServer(Struct, frozen=True):
    """MCP server with the editor's own tools, and the values in it that must not be logged."""

    server: schema.McpServerStdio | schema.McpServerAcp
    secrets: Sequence[str]


Route = Literal["relay", "acp"]
"""Agent's route to the server of the editor's tools: a process that it starts, or ACP itself."""


class OwnTools(Protocol):
    """Provider of the editor's own tools, which offers them to sessions."""

    def offer(
        self, session: Session, wanted: bool | Sequence[str], route: Route
    ) -> OwnServer | None:
        """Return the server for a session that is being opened, or None.

        `wanted` is the option `tools`. End an earlier offer to the session.
        """
        ...

    def withdraw(self, session: Session) -> None:
        """End an offer that the agent refused."""
        ...

    def message(
        self,
        request: schema.MessageMcpRequest,
        send: Callable[[schema.MessageMcpNotification], None],
    ) -> Awaitable[schema.MessageMcpResponse]:
        """Answer `mcp/message`. `send` sends notifications of progress. Raise RequestError."""
        ...


class NoTools:
    """Editor without tools of its own."""

    def offer(
        self, session: Session, wanted: bool | Sequence[str], route: Route
    ) -> OwnServer | None:
        return None

    def withdraw(self, session: Session) -> None: ...

    async def message(
        self,
        request: schema.MessageMcpRequest,
        send: Callable[[schema.MessageMcpNotification], None],
    ) -> schema.MessageMcpResponse:
        raise RequestError(METHOD_NOT_FOUND, "there are no servers of type acp")
