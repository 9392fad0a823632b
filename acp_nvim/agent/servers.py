"""The ports to those who answer requests of an agent, besides the user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from acp_nvim.agent.wire.calls import IncomingCall
from acp_nvim.protocol import schema
from acp_nvim.session.session import Session

Handler = Callable[[Session, Any, IncomingCall], Awaitable[Any] | None]
"""Starts to answer a request of a session; its code before the first wait runs in wire order."""


class FileServer(Protocol):
    """Serves `fs/*` from live buffers (`workspace/agent_files.py`)."""

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
    """Serves `terminal/*` (`agent/terminals.py`)."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By method."""
        ...

    def forget(self, session: Session) -> None:
        """Begin to end the terminals of a session."""
        ...
