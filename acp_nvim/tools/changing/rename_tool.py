"""Tool `nvim_rename`: rename a symbol everywhere."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.tools.asking.places import more_line, position
from acp_nvim.tools.changing.changes import Changes, real_path
from acp_nvim.tools.changing.server_edits import ServerEdit, ServerEdits, places
from acp_nvim.tools.files import display_path
from acp_nvim.tools.ports import LanguageServers, Position
from acp_nvim.tools.server.fields import Limit, Line, Path
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult

PREPARE: Final = "textDocument/prepareRename"


class RenameArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_rename`."""

    path: Path
    line: Line
    symbol: Annotated[str, Meta(description="The symbol as written on that line.", min_length=1)]
    new_name: Annotated[str, Meta(description="Its new name.", min_length=1)]
    dry_run: Annotated[
        bool, Meta(description="List the lines that would change; change nothing.")
    ] = False
    limit: Limit = 100


DESCRIPTION: Final = (
    "Rename a symbol everywhere with the language server: definition, uses and imports in all "
    "files, including unsaved text. Prefer this to search and replace, which changes other "
    "things of that name and misses some. The user is asked with a diff of all files, and "
    "reviews the changes afterwards. All files are changed, or none. "
    'Example: {"path": "app.py", "line": 12, "symbol": "load", "new_name": "load_config"}'
)


class RenameTool:
    """Tool that renames with the language servers of a file."""

    def __init__(self, servers: LanguageServers, edits: ServerEdits, changes: Changes) -> None:
        self._servers = servers
        self._edits = edits
        self._changes = changes

    async def run(self, call: Call, arguments: RenameArguments) -> ToolResult:
        """Rename a symbol after the user agrees, or list the lines that would change."""
        session = call.session
        path = real_path(session, arguments.path)

        async def ask() -> ServerEdit:
            return await self._ask(call, path, arguments)

        changes = await self._edits.changes(session, ask)
        if arguments.dry_run:
            guarded = [
                change.path
                for change in changes
                if not await self._changes.may_quote(session, change.path)
            ]
            return _list_changed_lines(call, changes, guarded, arguments.limit)
        title = f"Rename {arguments.symbol} to {arguments.new_name}"
        return await self._changes.ask_and_make(call, title, changes)

    async def _ask(self, call: Call, path: str, arguments: RenameArguments) -> ServerEdit:
        session, name = call.session, display_path(call.session, path)
        text = await self._changes.read(session, arguments.path)
        at = position(text, name, arguments.line, arguments.symbol, None)
        client = await self._find_server(call, path, at)
        params = {"newName": arguments.new_name}
        answers = await self._servers.ask(
            session, path, "textDocument/rename", params, at=at, client=client
        )
        for answer in answers:
            if answer.result:
                return ServerEdit(answer.client, answer.encoding, answer.result)
        raise ToolError(f"the language server finds nothing to rename at {name}:{arguments.line}")

    async def _find_server(self, call: Call, path: str, at: Position) -> int | None:
        """Return the server that can rename there, or None if no server supports the check.

        Raise ToolError if there is nothing to rename.
        """
        try:
            answers = await self._servers.ask(call.session, path, PREPARE, {}, at=at)
        except ToolError:
            return None  # the rename itself reports the reason
        able = [answer.client for answer in answers if answer.result]
        if not able:
            raise ToolError(f"there is nothing to rename at {display_path(call.session, path)}")
        return able[0]


def _list_changed_lines(
    call: Call, changes: Sequence[FileChange], guarded: Container[str], limit: int
) -> ToolResult:
    """Return the changed lines. Lines of guarded files have no text."""
    every = places(call.session, changes, guarded)
    listed, more = every[:limit], max(len(every) - limit, 0)
    files = len({change.path for change in changes})
    lines = [f"{len(every)} lines in {files} files would change; nothing has been changed"]
    for place in listed:
        at = f"{place['path']}:{place['line']}:{place['column']}"
        lines.append(f"{at} {place['text'].strip()}".rstrip())
    text = "\n".join([*lines, *more_line(more)])
    return ToolResult(text, {"places": listed, "more": more}, summary=f"{files} files")


def rename_tool(
    servers: LanguageServers, edits: ServerEdits, changes: Changes
) -> Tool[RenameArguments]:
    return Tool(
        name="nvim_rename",
        title="Rename",
        description=DESCRIPTION,
        arguments=RenameArguments,
        run=RenameTool(servers, edits, changes).run,
        writes=True,
        timeout_s=None,
    )
