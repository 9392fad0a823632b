"""Tools for the user's view: open buffers, quickfix list, highlighted lines."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from acp_nvim.files.bytes.paths import Place, place
from acp_nvim.session.session import Session
from acp_nvim.tools import files
from acp_nvim.tools.asking.places import count_with_noun, more_line
from acp_nvim.tools.files import ToolFiles
from acp_nvim.tools.ports import Editor, OpenBuffer, QuickfixItem, Range
from acp_nvim.tools.server.fields import Limit, Line, Path
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult

TEXT_WIDTH = 200
"""Maximum number of characters in the text beside highlighted lines."""


class BuffersArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_buffers`."""

    limit: Limit = 100


class Item(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Entry of the quickfix list."""

    path: Path
    line: Line = 1
    column: Annotated[int, Meta(ge=1)] | None = None
    text: str = ""


class QuickfixArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_quickfix`."""

    items: Annotated[
        Annotated[list[Item], Meta(max_length=1000)] | None,
        Meta(description="Places to list for the user; without them, the list is read"),
    ] = None
    title: Annotated[str, Meta(max_length=200, description="Title of the list")] = ""
    limit: Limit = 100


class ShowArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_show`."""

    path: Path
    line: Line
    end_line: Annotated[Line | None, Meta(description="Last line (default: `line`)")] = None
    text: Annotated[str, Meta(description="A few words to show beside the first line")] = ""


class ViewTools:
    """Tools for the user's view."""

    def __init__(self, editor: Editor, files: ToolFiles) -> None:
        self._editor = editor
        self._files = files

    async def buffers(self, call: Call, args: BuffersArguments) -> ToolResult:
        """Return the open files of the session's directories."""
        session = call.session
        every = await self._editor.buffers()
        listed = [buffer for buffer in every if self._files.may_list(session, buffer.path)]
        lines = [_buffer_line(session, buffer) for buffer in listed[: args.limit]]
        more = len(listed) - len(lines)
        lines += more_line(more)
        if len(listed) < len(every):
            lines.append(f"({len(every) - len(listed)} outside of the session's directories)")
        structured = {
            "buffers": [_buffer_table(session, buffer) for buffer in listed[: args.limit]],
            "more": more,
        }
        text = "\n".join(lines) or "no file is open"
        return ToolResult(text, structured, count_with_noun(len(listed), "file"))

    async def quickfix(self, call: Call, args: QuickfixArguments) -> ToolResult:
        """Return the quickfix list, or replace it."""
        if args.items is not None:
            return await self._set_quickfix(
                call.session, args.items, args.title or call.session.agent
            )
        session, current = call.session, await self._editor.quickfix()
        items = [item for item in current.items if self._files.may_list(session, item.path)]
        places = [_place_table(session, item) for item in items[: args.limit]]
        lines = [
            f"{place['path']}:{place['line']}:{place['column']} {place['text']}".rstrip()
            for place in places
        ]
        more = len(items) - len(places)
        text = "\n".join([*lines, *more_line(more)]) or "the quickfix list is empty"
        structured = {"title": current.title, "places": places, "more": more}
        return ToolResult(text, structured, count_with_noun(len(items), "place"))

    async def _set_quickfix(self, session: Session, items: list[Item], title: str) -> ToolResult:
        given = [
            QuickfixItem(
                place(files.absolute(session, item.path)).real,
                item.line,
                item.column,
                files.cut_line(item.text),
            )
            for item in items
        ]
        await self._editor.set_quickfix(given, files.cut_line(title))
        count = count_with_noun(len(given), "place")
        structured = {
            "title": files.cut_line(title),
            "places": [_place_table(session, place) for place in given],
        }
        return ToolResult(f"the user has {count} in the quickfix list now", structured, count)

    async def show(self, call: Call, args: ShowArguments) -> ToolResult:
        """Highlight lines for the user."""
        session, last = call.session, args.end_line or args.line
        where, text = await self._files.read(session, args.path)
        name = files.display_path(session, where.real)
        if last < args.line:
            raise ToolError(f"end_line {last} is before line {args.line}")
        if last > len(text.lines):
            raise ToolError(f"{name} has {len(text.lines)} lines; there is no line {last}")
        label = files.cut_line(args.text.replace("\n", " "))[:TEXT_WIDTH]
        await self._editor.show(session, where.real, args.line, last, label)
        shown = Range(args.line, last)
        return _shown_result(name, where, shown, label)


def _shown_result(name: str, where: Place, shown: Range, label: str) -> ToolResult:
    first, last = shown.line, shown.end_line
    lines = str(first) if last == first else f"{first}-{last}"
    text = f"{name}:{lines} is marked for the user until your next turn"
    structured = {"path": name, "line": first, "end_line": last, "text": label}
    return ToolResult(text, structured, f"{name}:{lines}", where.real, first)


def _buffer_table(session: Session, buffer: OpenBuffer) -> dict[str, Any]:
    table: dict[str, Any] = msgspec.to_builtins(buffer)
    table["path"] = files.display_path(session, buffer.path)
    places = {key: table.pop(key) for key in ("cursor", "visible", "selection")}
    shown = {key: _without_none(value) for key, value in places.items() if value is not None}
    return table | shown


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def _place_table(session: Session, item: QuickfixItem) -> dict[str, Any]:
    path, column = files.display_path(session, item.path), item.column or 1
    return {"path": path, "line": item.line, "column": column, "text": files.cut_line(item.text)}


def _buffer_line(session: Session, buffer: OpenBuffer) -> str:
    parts = [files.display_path(session, buffer.path)]
    parts += ["current"] if buffer.current else []
    parts += ["modified"] if buffer.modified else []
    parts += [f"cursor {buffer.cursor.line}:{buffer.cursor.column}"] if buffer.cursor else []
    parts += [f"visible {_range_text(buffer.visible)}"] if buffer.visible else []
    parts += [f"selected {_range_text(buffer.selection)}"] if buffer.selection else []
    return parts[0] + (f" ({', '.join(parts[1:])})" if len(parts) > 1 else "")


def _range_text(lines: Range) -> str:
    first = f"{lines.line}:{lines.column}" if lines.column else str(lines.line)
    last = f"{lines.end_line}:{lines.end_column}" if lines.end_column else str(lines.end_line)
    return f"{first}-{last}"


def view_tools(editor: Editor, files: ToolFiles) -> list[Tool[Any]]:
    tools = ViewTools(editor, files)
    return [
        Tool(
            "nvim_buffers",
            "Buffers",
            "Files that the user has open: which is current, where the cursor is, which lines "
            "are selected and visible, and which files have unsaved changes. Call this when the "
            'user says "here" or "this". '
            "Example: {}",
            BuffersArguments,
            tools.buffers,
        ),
        Tool(
            "nvim_quickfix",
            "Quickfix",
            "Read the user's list of places (build errors, search results). With items, set a "
            "list for the user to step through: better than many paths in a message. "
            'Example: {"title": "Callers", "items": [{"path": "app.py", "line": 3, "text": "x"}]}',
            QuickfixArguments,
            tools.quickfix,
        ),
        Tool(
            "nvim_show",
            "Show",
            "Show lines to the user: mark them in the editor, with a few words beside them. "
            "Better than quoting code. This opens nothing, and the marks disappear at your next "
            "turn. "
            'Example: {"path": "app.py", "line": 12, "end_line": 20, "text": "the leak is here"}',
            ShowArguments,
            tools.show,
            timeout_s=None,
        ),
    ]
