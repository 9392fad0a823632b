"""The ports to those who answer requests of an agent, besides the user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import METHOD_NOT_FOUND, RequestError
from acp_nvim.session.session import Session

Handler = Callable[[Session, Any, IncomingCall], Awaitable[Any] | None]
"""Starts to answer a request of a session; its code before the first wait runs in wire order."""


class FileServer(Protocol):
    """Serves `fs/*` from live buffers (`files/writes/agent_files.py`)."""

    async def read(
        self, session: Session, params: schema.ReadTextFileRequest
    ) -> schema.ReadTextFileResponse:
        """Answer `fs/read_text_file`."""
        ...

    async def write(
        self,
        session: Session,
        params: schema.WriteTextFileRequest,
        answer: Callable[[schema.WriteTextFileResponse], None],
    ) -> schema.WriteTextFileResponse:
        """Answer `fs/write_text_file`, as soon as possible by `answer`."""
        ...


class TerminalServer(Protocol):
    """Serves `terminal/*` (`agent/serving/terminals.py`)."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By method."""
        ...

    def forget(self, session: Session) -> None:
        """Begin to end the terminals of a session."""
        ...


class OwnServer(Struct, frozen=True):
    """The MCP server with the editor's own tools, and the values in it that must not be logged."""

    server: schema.McpServerStdio | schema.McpServerAcp
    secrets: Sequence[str]


Way = Literal["relay", "acp"]
"""How an agent reaches that server: by a process that it starts, or by its connection."""


class OwnTools(Protocol):
    """Offers the editor's own tools to sessions (`features/tools/tools.py`)."""

    def offer(self, session: Session, wanted: bool | Sequence[str], way: Way) -> OwnServer | None:
        """The server for a session that is being opened; None: it gets none. ``wanted`` is option
        `tools`. What the session was offered before ends.
        """
        ...

    def withdraw(self, session: Session) -> None:
        """End what the session was offered: its agent refuses it."""
        ...

    def message(
        self,
        request: schema.MessageMcpRequest,
        send: Callable[[schema.MessageMcpNotification], None],
    ) -> Awaitable[schema.MessageMcpResponse]:
        """Answer `mcp/message`; ``send`` tells of progress. RequestError."""
        ...


class NoTools:
    """An editor without tools of its own."""

    def offer(self, session: Session, wanted: bool | Sequence[str], way: Way) -> OwnServer | None:
        return None

    def withdraw(self, session: Session) -> None:
        """There is nothing to end."""

    async def message(
        self,
        request: schema.MessageMcpRequest,
        send: Callable[[schema.MessageMcpNotification], None],
    ) -> schema.MessageMcpResponse:
        """No session has such a server."""
        raise RequestError(METHOD_NOT_FOUND, "there are no servers of type acp")
