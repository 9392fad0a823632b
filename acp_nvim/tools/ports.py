"""What the tools need of an editor (`editor/language_servers.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from acp_nvim.session.session import Session
from acp_nvim.tools.positions import Encoding


class Answer(msgspec.Struct, frozen=True):
    """What one language server said: ``result`` as in LSP, its columns in ``encoding``."""

    client: int
    """Neovim's id of the client."""
    name: str
    encoding: Encoding
    result: Any = None
    version: int | None = None
    """Changedtick of the buffer the server was asked about."""


class Position(msgspec.Struct, frozen=True):
    """0-based row, and column in characters."""

    row: int
    column: int


class LanguageServers(Protocol):
    """The language servers of a file. Nothing blocks the editor, prompts, or moves the focus."""

    async def ask(
        self,
        session: Session,
        path: str | None,
        method: str,
        params: dict[str, Any],
        *,
        at: Position | tuple[Position, Position] | None = None,
        wait_ms: int = 1500,
        client: int | None = None,
    ) -> Sequence[Answer]:
        """Ask all servers of a file (real path) that know ``method``, or ``client`` alone; without
        a path all that work in the session's directories.

        `textDocument` is added to ``params``, and `position` or `range` for ``at`` in each server's
        encoding. A file that no window shows is loaded hidden and let go after the turn. Waits
        ``wait_ms`` for a server to attach. ToolError: no server, none that knows the method, or it
        failed.
        """
        ...

    async def resolve(self, client: int, path: str, method: str, params: Any) -> Any:
        """Send a request of these very params to one server: `codeAction/resolve`, a command."""
        ...
