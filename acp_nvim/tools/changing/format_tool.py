"""Tool `nvim_format`: format a file, or some of its lines, with the user's formatters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import anyio
import msgspec
from msgspec import Meta

from acp_nvim.edits.hunks import apply, diff
from acp_nvim.edits.text import Text, from_lines
from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.session.session import Session
from acp_nvim.tools.changing.change_ports import Documents, FormattedText, Run
from acp_nvim.tools.changing.changes import Changes, real_path, row_of
from acp_nvim.tools.changing.workspace_edit import apply as apply_edits
from acp_nvim.tools.changing.workspace_edit import text_edits
from acp_nvim.tools.files import display_path
from acp_nvim.tools.ports import LanguageServers, Position
from acp_nvim.tools.server.fields import Path
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult

TIME_LIMIT_S: Final = 10.0
"""Time limit of the user's formatters, in seconds."""
Rows = tuple[int, int]
"""First and last row, 0-based."""
Work = Callable[[Session, str, Sequence[str], Rows | None], Awaitable[FormattedText]]
"""Function that formats the lines of a file for a session."""


class FormatArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_format`."""

    path: Path
    line: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="First line to format, from 1 (default: the whole file)."),
    ] = None
    end_line: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Last line to format (default: `line`)."),
    ] = None


DESCRIPTION: Final = (
    "Format a file, or some of its lines, as the user's editor does: with their formatters "
    "(conform.nvim), the language server or their options. Prefer this to running a formatter "
    "yourself: it uses the user's settings and their unsaved text. The user is asked first, and "
    "reviews the changes afterwards. "
    'Example: {"path": "app.py"}'
)


class FormatTool:
    """Tool that formats texts. It changes no buffer before the user agrees."""

    def __init__(self, servers: LanguageServers, documents: Documents, changes: Changes) -> None:
        self._servers = servers
        self._documents = documents
        self._changes = changes

    async def run(self, call: Call, arguments: FormatArguments) -> ToolResult:
        """Format with the user's formatters, else a language server, else the user's options.

        Change the file after the user agrees. Raise ToolError if there is no formatter.
        """
        session = call.session
        path = real_path(session, arguments.path)
        name = display_path(session, path)
        text = await self._changes.read(session, arguments.path)
        rows = _rows(name, text, arguments)
        title = f"Format {name}"
        formatters = await self._documents.formatters(session, path)
        if formatters.conform:
            runs = Run([f"conform:{formatter}" for formatter in formatters.conform])
            return await self._ask_and_format(call, title, path, runs, rows, self._documents.format)
        try:
            after = await self._format_with_server(call, path, text, rows, formatters.options)
        except ToolError as error:
            if not formatters.option:
                raise ToolError(f"no formatter for this file: {error}") from error
            runs = Run([formatters.option])
            return await self._ask_and_format(
                call, title, path, runs, rows, self._documents.format_by_options
            )
        return await self._changes.ask_and_make(call, title, [FileChange(path, text, after)])

    async def _ask_and_format(
        self, call: Call, title: str, path: str, runs: Run, rows: Rows | None, work: Work
    ) -> ToolResult:
        """Ask to run the user's formatters, which are programs or code, and run them."""

        async def run_formatters() -> Sequence[FileChange]:
            text = (await self._changes.current(path)).text
            if text is None or (rows is not None and rows[1] >= len(text.lines)):
                raise ToolError("the file has changed since the request; try again")
            with anyio.move_on_after(TIME_LIMIT_S):
                formatted = await work(call.session, path, text.lines, rows)
                after = _merge_formatted(text, formatted, rows)
                return [FileChange(path, text, after)] if after != text else []
            raise ToolError(f"the formatter took more than {TIME_LIMIT_S:g} s")

        return await self._changes.ask_and_run(call, title, path, runs, run_formatters)

    async def _format_with_server(
        self, call: Call, path: str, text: Text, rows: Rows | None, options: Mapping[str, Any]
    ) -> Text:
        method = "textDocument/formatting"
        at: tuple[Position, Position] | None = None
        if rows is not None:
            method = "textDocument/rangeFormatting"
            at = Position(rows[0], 0), Position(rows[1], len(text.lines[rows[1]]))
        params = {"options": dict(options)}
        answers = await self._servers.ask(call.session, path, method, params, at=at)
        answer = answers[0]
        if (await self._changes.current(path)).text != text:
            raise ToolError("the user is typing in this file; try again")
        return apply_edits(text, text_edits(answer.result or []), answer.encoding)


def _rows(name: str, text: Text, arguments: FormatArguments) -> Rows | None:
    if arguments.line is None:
        return None
    first = row_of(name, text, arguments.line)
    last = first if arguments.end_line is None else row_of(name, text, arguments.end_line)
    if last < first:
        raise ToolError("`end_line` comes before `line`")
    return first, last


def _merge_formatted(text: Text, formatted: FormattedText, rows: Rows | None) -> Text:
    """Return the formatted text. If the formatters ignored the range, keep only hunks in `rows`.

    Without `rows`, return the whole formatted text.
    """
    lines = text.lines if formatted.lines is None else formatted.lines
    if rows is None or formatted.ranged:
        return from_lines(lines, text.eol)
    hunks = [
        hunk
        for hunk in diff(text.lines, tuple(lines))
        if hunk.start <= rows[1] and max(hunk.end, hunk.start + 1) > rows[0]
    ]
    return from_lines(apply(text.lines, hunks), text.eol)


def format_tool(
    servers: LanguageServers, documents: Documents, changes: Changes
) -> Tool[FormatArguments]:
    return Tool(
        name="nvim_format",
        title="Format",
        description=DESCRIPTION,
        arguments=FormatArguments,
        run=FormatTool(servers, documents, changes).run,
        writes=True,
        timeout_s=None,
    )
