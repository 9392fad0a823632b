"""Ports of the tools that change files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import msgspec

from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.session import Session


class Run(msgspec.Struct, frozen=True):
    """Commands that the user must allow, by their names in permission rules.

    The names are `lsp:{server}:{command}` and `conform:{formatter}`. `details` are for the
    question.
    """

    commands: Sequence[str]
    details: Mapping[str, Any] = {}


class ProposedChanges(msgspec.Struct, frozen=True):
    """File changes to ask the user about, with a title."""

    title: str
    changes: Sequence[FileChange] = ()
    guarded: Mapping[str, str] = {}
    """Files that always require a question, with the reason `outside`, `secret` or `executed`."""
    path: str | None = None
    """The affected file, if the changes are still unknown."""
    runs: Run | None = None
    """Commands that compute the changes. They run after the user agrees."""
    agent_call: ToolCall | None = None
    """The tool call that the agent reported, if known. The question replaces it in the chat."""


class Permissions(Protocol):
    """Questions to the user about changes, in the form of permission requests."""

    def ask(self, session: Session, proposed: ProposedChanges) -> AbstractAsyncContextManager[str]:
        """Apply the user's rules, then ask if necessary.

        Yield the reason for a refusal. If it is empty, the body makes the changes. An error in the
        body is shown as the failure of the call.
        """
        ...

    def forbidden(self, session: Session, changes: Sequence[FileChange]) -> str:
        """Return why one of the user's rules forbids these changes, or an empty string."""
        ...


class Document(msgspec.Struct, frozen=True):
    """Loaded file: its changedtick, its LSP version, and Neovim's ids of its language clients.

    The version is the last one sent to servers, or None if there are none.
    """

    tick: int
    version: int | None = None
    clients: Sequence[int] = ()


class Formatters(msgspec.Struct, frozen=True):
    """The user's formatters for a file.

    `conform` are formatters of conform.nvim. `option` is the effective one of 'formatexpr' and
    'equalprg', as `option:value`. `options` are the file's as LSP's FormattingOptions.
    """

    options: Mapping[str, Any]
    conform: Sequence[str] = ()
    option: str = ""


class FormattedText(msgspec.Struct, frozen=True):
    """Text formatted by the user's formatters.

    `lines` is None if the formatters no longer exist. `ranged` is true if they changed only the
    requested range.
    """

    lines: Sequence[str] | None = None
    ranged: bool = False


class Documents(Protocol):
    """Loaded files of the editor, by real path.

    No method blocks the editor, prompts the user, or moves the focus.
    """

    async def loaded(self) -> Mapping[str, Document]: ...

    async def diagnostics(self, path: str, first: int, last: int) -> Sequence[Any]:
        """Return the diagnostics of language servers on these rows (0-based), unchanged."""
        ...

    async def formatters(self, session: Session, path: str) -> Formatters:
        """Return the formatters for a file without running any. Raise ToolError."""
        ...

    async def format(
        self, session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
    ) -> FormattedText:
        """Format the lines of a file with the user's formatters. Raise ToolError."""
        ...

    async def format_by_options(
        self, session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
    ) -> FormattedText:
        """Format the lines of a file with its 'formatexpr' or 'equalprg'. Raise ToolError."""
        ...

    async def run(
        self, session: Session, client: int, path: str, command: Mapping[str, Any]
    ) -> Sequence[Any]:
        """Let a server run a command. Raise ToolError.

        Return the WorkspaceEdits that the server sent while the command ran. They are not applied.
        """
        ...
