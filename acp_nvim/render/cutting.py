"""Texts and rows that are too long: the first ones, or beginning and end, with the rest said."""

from __future__ import annotations

from collections.abc import Sequence

from acp_nvim.render.rows import Row, Target, ends, row
from acp_nvim.render.text import visible

FIRST, LAST = 60, 30
"""Lines of a text on a card that stand for all of it, where there are more than both."""
MOST_FIRST = 200
"""Rows of all that a card tells; half as many at the end of it."""


def more(count: int, whole: Target | int) -> Row:
    """Return the row that stands for lines that are left out below; `<CR>` shows all."""
    return row(f"… +{count} line{'s' if count > 1 else ''}", "AcpMuted", whole)


def between(count: int, whole: Target | int) -> Row:
    """Return the row that stands for lines that are left out between others."""
    lines = f"{count} line{'s' if count > 1 else ''}"
    return row(f"… {lines} between, <CR> shows all", "AcpMuted", whole)


def head(text: str, lines: int) -> str:
    """Return the first lines of a text without splitting all of it."""
    at = -1
    for _ in range(lines):
        at = text.find("\n", at + 1)
        if at < 0:
            return text
    return text[:at]


def _tail(text: str, lines: int) -> str:
    at = len(text)
    for _ in range(lines):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return text
    return text[at + 1 :]


def both_ends(text: str) -> tuple[list[str], int, list[str]]:
    """Return a text as visible lines: all of them, or the first ones, the number of those left
    out, and the last ones. What it costs does not grow with the text.
    """
    count = text.count("\n") + 1
    if count <= FIRST + LAST + 1:
        return _lines(text), 0, []
    return _lines(head(text, FIRST)), count - FIRST - LAST, _lines(_tail(text, LAST))


def _lines(text: str) -> list[str]:
    """Each line is cut before it is looked at: it may have millions of characters."""
    return [visible(ends(line)) for line in text.replace("\r\n", "\n").split("\n")]


def folded(
    rows: Sequence[Row], whole: Target | int, first: int = MOST_FIRST, left: int = 0
) -> list[Row]:
    """Return the rows, of very many the first and the last ones. `left`: how many were left out in
    the middle before.
    """
    last = first // 2
    if not left and len(rows) <= first + last + 1:
        return list(rows)
    tail = max(len(rows) - last, first)
    return [*rows[:first], between(tail - first + left, whole), *rows[tail:]]
