"""What the tools need of an editor (`nvim/language_servers.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from acp_nvim.session.session import Session
from acp_nvim.tools.asking.positions import Encoding


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

    async def resolve(
        self, client: int, path: str, method: str, params: Any, session: Session | None = None
    ) -> Any:
        """Send a request of these very params to one server: `codeAction/resolve`, a command. With
        a session the file is loaded for it where it is not.
        """
        ...


class Diagnostic(msgspec.Struct, frozen=True):
    """What a language server or linter says; lines and columns from 1, columns in characters."""

    path: str
    severity: str
    message: str
    line: int = 1
    column: int = 1
    end_line: int = 1
    source: str | None = None
    code: str | None = None


class Diagnostics(msgspec.Struct, frozen=True):
    """What is said now, or what a turn has added (``items``) and removed."""

    items: list[Diagnostic]
    silent: list[str]
    """Servers that have not spoken on the last change."""
    served: bool
    """Whether a server was there to speak."""
    counts: dict[str, int] = {}
    """How many there are, by severity."""
    removed: list[Diagnostic] = []
    added: int = 0
    gone: int = 0
    """How many a turn has added, and removed."""
    unknown: list[str] = []
    """Files that were not open when the turn began: all of theirs count as added."""


class Range(msgspec.Struct, frozen=True):
    """Lines and columns from 1, both ends included; no columns: whole lines."""

    line: int
    end_line: int
    column: int | None = None
    end_column: int | None = None


class Cursor(msgspec.Struct, frozen=True):
    """From 1, in characters."""

    line: int
    column: int


class OpenBuffer(msgspec.Struct, frozen=True):
    """A listed buffer of a file, by its resolved path."""

    path: str
    modified: bool
    current: bool
    cursor: Cursor | None = None
    visible: Range | None = None
    selection: Range | None = None


class QuickfixItem(msgspec.Struct, frozen=True):
    """A place with a word about it, from 1."""

    path: str
    line: int
    column: int | None = None
    text: str = ""


class Quickfix(msgspec.Struct, frozen=True):
    """The user's quickfix list."""

    title: str
    items: list[QuickfixItem]


class Editor(Protocol):
    """What the tools see and show in the editor. No method opens a window or moves the focus."""

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
        """What is said of a file (resolved path), or of all in the session's directories: at least
        of ``severity`` (1 error … 4 hint), once the servers have spoken on the last change or
        ``wait_ms`` are over. ``turn``: beside what was said when the turn began. ToolError: no
        server and nothing said, or no such file.
        """
        ...

    async def buffers(self) -> list[OpenBuffer]:
        """The files that are open."""
        ...

    async def quickfix(self) -> Quickfix:
        """The quickfix list."""
        ...

    async def set_quickfix(self, items: Sequence[QuickfixItem], title: str) -> None:
        """Set a new one."""
        ...

    async def show(self, session: Session, path: str, first: int, last: int, text: str) -> None:
        """Mark these lines (from 1) until the session's next turn begins, and say ``text`` there; a
        window that follows goes there.
        """
        ...
