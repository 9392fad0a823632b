"""Rows: the output of the render ring, one tuple for each screen line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from acp_nvim.render.markdown import Span

Target = dict[str, Any]
"""Action of `<CR>` on a row: `{kind = 'file'|'url'|'tool'|'terminal'|'content'|'turn'|'fold', …}`.
"""

Row = tuple[str, tuple[Span, ...], Target | int | None]
"""Text, spans in bytes, target.

A number is short for the target `{kind = 'tool', call = number}`, of which there may be very many.
"""

MAX_WIDTH = 4000
"""Maximum number of characters in a row. Only the beginning and end of a longer line are drawn.

`<CR>` opens it in full.
"""
TAIL_LENGTH = 1000
"""Number of characters from the end of a line that are drawn."""


def width(text: str) -> int:
    """Return the number of bytes of `text`. Neovim counts columns in bytes."""
    return len(text) if text.isascii() else len(text.encode())


def cut_middle(text: str) -> str:
    """Return beginning and end of a line, with the number of characters between them."""
    if len(text) <= MAX_WIDTH:
        return text
    first, last = text[: MAX_WIDTH - TAIL_LENGTH], text[-TAIL_LENGTH:]
    return f"{first} … {len(text) - MAX_WIDTH} characters … {last}"


def row(text: str, group: str | None = None, target: Target | int | None = None) -> Row:
    """Return a row highlighted as a whole, or plain."""
    if len(text) > MAX_WIDTH:
        text = cut_middle(text)
    return text, ((0, width(text), group),) if group and text else (), target


def row_of_pieces(
    parts: Sequence[tuple[str, str | None]], target: Target | int | None = None
) -> Row:
    """Return a row of pieces with a highlight group each."""
    spans: list[Span] = []
    whole, column = "", 0
    for text, group in parts:
        end = column + (len(text) if text.isascii() else len(text.encode()))
        if group and text:
            spans.append((column, end, group))
        whole, column = whole + text, end
    return whole, tuple(spans), target


def indent(rows: Iterable[Row], prefix: str) -> list[Row]:
    """Return the rows indented by `prefix`."""
    shift = width(prefix)
    return [
        (
            prefix + text,
            tuple([(a + shift, b + shift, group) for a, b, group in spans]) if spans else (),
            target,
        )
        for text, spans, target in rows
    ]


def decor(rows: Sequence[Row]) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return spans `{row, col, end_col, group}` and targets `{row, data}`, by relative row."""
    spans = [[at, a, b, group] for at, (_, marks, _) in enumerate(rows) for a, b, group in marks]
    targets = [[at, target] for at, (_, _, target) in enumerate(rows) if target is not None]
    return spans, targets


def decor_op(spans: Iterable[Sequence[Any]], targets: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Return spans and targets in the form of the chat's operations, three flat lists.

    These are highlights (column, end column and group of each span of a row), rows (row and number
    of its highlights, from 1), and targets (row and data).
    """
    by_row: dict[int, list[Any]] = {}
    for at, start, end, group in spans:
        by_row.setdefault(at, []).extend((start, end, group))
    highlights: dict[tuple[Any, ...], int] = {}
    rows: list[int] = []
    for at, spans_of_row in by_row.items():
        rows += (at, highlights.setdefault(tuple(spans_of_row), len(highlights) + 1))
    return [list(highlights), rows, [value for target in targets for value in target]]
