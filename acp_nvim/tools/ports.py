"""Ports of the tools to an editor (`nvim/language_servers.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

from acp_nvim.session.session import Session

Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""Unit of a language server's columns."""


class Answer(msgspec.Struct, frozen=True):
    """Answer of one language server. `result` is as in LSP, with columns in `encoding`."""

    client: int
    """Neovim's id of the client."""
    name: str
    encoding: Encoding
    result: Any = None
    version: int | None = None
    """Changedtick of the buffer at the request."""


class Position(msgspec.Struct, frozen=True):
    """0-based row, and column in characters."""

    row: int
    column: int


class LanguageServers(Protocol):
    """Language servers of a file.

    No method blocks the editor, prompts the user, or moves the focus.
    """

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
        """Ask all servers of a file (real path) that support `method`, or only `client`.

        Without a path, ask all servers in the session's directories. `textDocument` is added to
        `params`, and `position` or `range` for `at` in each server's encoding. A file without a
        window is loaded hidden and unloaded after the turn. Wait up to `wait_ms` for a server to
        attach. Raise ToolError if there is no server, if none supports the method, or if the
        request fails.
        """
        ...

    async def resolve(
        self, client: int, path: str, method: str, params: Any, session: Session | None = None
    ) -> Any:
        """Send a request, such as `codeAction/resolve`, to one server with exactly these params.

        With a session, load the file if necessary.
        """
        ...


class Diagnostic(msgspec.Struct, frozen=True):
    """Diagnostic of a language server or linter. Lines and columns count from 1, in characters."""

    path: str
    severity: str
    message: str
    line: int = 1
    column: int = 1
    end_line: int = 1
    source: str | None = None
    code: str | None = None


class Diagnostics(msgspec.Struct, frozen=True):
    """Current diagnostics in `items`, or the ones that a turn has added and removed."""

    items: list[Diagnostic]
    silent: list[str]
    """Servers that have not reported on the last change."""
    has_server: bool
    """Whether a server is attached to the file."""
    counts: dict[str, int] = {}
    """Number of diagnostics by severity."""
    removed: list[Diagnostic] = []
    added_count: int = 0
    """Number of diagnostics that a turn has added, including those beyond the limit."""
    removed_count: int = 0
    """Number of diagnostics that a turn has removed."""
    unknown: list[str] = []
    """Files that were not open when the turn began. All their diagnostics count as added."""


class Range(msgspec.Struct, frozen=True):
    """Range of lines and columns from 1, both ends included.

    Without columns, it covers whole lines.
    """

    line: int
    end_line: int
    column: int | None = None
    end_column: int | None = None


class Cursor(msgspec.Struct, frozen=True):
    """Position of the cursor, from 1, in characters."""

    line: int
    column: int


class OpenBuffer(msgspec.Struct, frozen=True):
    """Listed buffer of a file, by its resolved path."""

    path: str
    modified: bool
    current: bool
    cursor: Cursor | None = None
    visible: Range | None = None
    selection: Range | None = None


class QuickfixItem(msgspec.Struct, frozen=True):
    """Entry of a quickfix list. Lines and columns count from 1."""

    path: str
    line: int
    column: int | None = None
    text: str = ""


class Quickfix(msgspec.Struct, frozen=True):
    """The user's quickfix list."""

    title: str
    items: list[QuickfixItem]


class Editor(Protocol):
    """Data and display of the editor for tools. No method opens a window or moves the focus."""

    async def diagnostics(
        self,
        session: Session,
        path: str | None,
        *,
        severity: int,
        turn: bool,
        wait_ms: int,
        limit: int,
    ) -> Diagnostics:
        """Return the diagnostics of a file, or of all files in the session's directories.

        `path` is resolved. Diagnostics below `severity` (1 error … 4 hint) are left out. Wait up to
        `wait_ms` until the servers have reported on the last change. `turn` compares with the
        diagnostics at the start of the turn. Raise ToolError if there is no server and no
        diagnostic, or no such file.
        """
        ...

    async def buffers(self) -> list[OpenBuffer]: ...

    async def quickfix(self) -> Quickfix: ...

    async def set_quickfix(self, items: Sequence[QuickfixItem], title: str) -> None:
        """Set a new quickfix list."""
        ...

    async def show(self, session: Session, path: str, first: int, last: int, text: str) -> None:
        """Highlight these lines (from 1) with `text` until the session's next turn begins.

        A window that follows the agent moves there.
        """
        ...
