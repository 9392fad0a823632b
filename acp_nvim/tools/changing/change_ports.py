"""What the tools that change files need of an editor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import msgspec

from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.session import Session


class Run(msgspec.Struct, frozen=True):
    """Commands that the user is asked about, as permission rules name them:
    `lsp:{server}:{command}`, `conform:{formatter}`. ``told`` is what the card shows beside them.
    """

    commands: Sequence[str]
    told: Mapping[str, Any] = {}


class Proposed(msgspec.Struct, frozen=True):
    """Changes of files that the user is asked about, under a title of ours."""

    title: str
    changes: Sequence[FileChange] = ()
    guarded: Mapping[str, str] = {}
    """Files that are always asked about, with the reason: `outside`, `secret` or `executed`."""
    path: str | None = None
    """The file that it is about, if the changes are not known yet."""
    runs: Run | None = None
    """The commands that compute the changes; they run once the user agrees."""
    shown: ToolCall | None = None
    """The agent's own tool call, where that is known: the question is shown in its place."""


class Permissions(Protocol):
    """Asks the user for changes, by a question like those of the agent's own permissions."""

    def asked(self, session: Session, proposed: Proposed) -> AbstractAsyncContextManager[str]:
        """Ask, by the user's rules first. Yields why not, empty when they are allowed; the body
        then makes them. What it raises is shown as the failure of the call.
        """
        ...

    def forbidden(self, session: Session, changes: Sequence[FileChange]) -> str:
        """Return why a rule of the user forbids these changes, empty if none does."""
        ...


class Document(msgspec.Struct, frozen=True):
    """A loaded file: its changedtick, the version that servers were told last (None: there
    are none), and Neovim's ids of those servers.
    """

    tick: int
    version: int | None = None
    clients: Sequence[int] = ()


class Formatters(msgspec.Struct, frozen=True):
    """What the user has for a file: ``conform`` are formatters of conform.nvim, ``option`` is the
    one of 'formatexpr' and 'equalprg' that counts, as `option:value`; ``options`` are the file's
    as LSP's FormattingOptions.
    """

    options: Mapping[str, Any]
    conform: Sequence[str] = ()
    option: str = ""


class Formatted(msgspec.Struct, frozen=True):
    """``lines``: the text as the user's formatters have it, None if there are none any more;
    ``ranged``: they have left the rest as it was.
    """

    lines: Sequence[str] | None = None
    ranged: bool = False


class Documents(Protocol):
    """The loaded files of the editor, by real path. Nothing blocks it, prompts, or moves the
    focus.
    """

    async def loaded(self) -> Mapping[str, Document]:
        """All of them."""
        ...

    async def diagnostics(self, path: str, first: int, last: int) -> Sequence[Any]:
        """The diagnostics of language servers on these rows (0-based), as they sent them."""
        ...

    async def formatters(self, session: Session, path: str) -> Formatters:
        """Return what formats a file; nothing runs. ToolError."""
        ...

    async def format(
        self, session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
    ) -> Formatted:
        """Format a text of the file by the user's formatters. ToolError."""
        ...

    async def format_by_options(
        self, session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
    ) -> Formatted:
        """Format a text as the file's options say ('formatexpr', 'equalprg'), where they say
        something. ToolError.
        """
        ...

    async def run(
        self, session: Session, client: int, path: str, command: Mapping[str, Any]
    ) -> Sequence[Any]:
        """Have a server run a command of its own; returns the WorkspaceEdits that it sent
        meanwhile, which are not applied. ToolError.
        """
        ...
