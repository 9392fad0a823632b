"""Where a symbol stands that a call names by a line and a text on it."""

from __future__ import annotations

import re

from acp_nvim.edits.text import Text
from acp_nvim.tools.ports import Position
from acp_nvim.tools.tool import ToolError


def row_of(name: str, text: Text, line: int) -> int:
    """The 0-based row of a line. ToolError where the file has no such one."""
    if not 1 <= line <= len(text.lines):
        raise ToolError(f"{name} has {len(text.lines)} lines, so there is no line {line}")
    return line - 1


def find_symbol(name: str, text: Text, line: int, symbol: str) -> Position:
    """The first place of a symbol on a line, a whole word before a part of one. ToolError."""
    row = row_of(name, text, line)
    found = text.lines[row]
    whole = re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", found)
    column = whole.start() if whole else found.find(symbol)
    if not symbol or column < 0:
        raise ToolError(
            f"{symbol!r} does not stand on line {line} of {name}: {found.strip()[:200]}"
        )
    return Position(row, column)
