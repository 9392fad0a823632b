"""Hunks as a unified diff, for those who read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from acp_nvim.edits.hunks import Hunk, diff
from acp_nvim.edits.text import EMPTY, Text

CONTEXT: Final = 3
"""Lines around a change."""
NO_NEWLINE: Final = "\n\\ No newline at end of file"


def unified(old: Text, new: Text) -> list[str]:
    """The rows of a unified diff of two texts, without its head; none where they are the same."""
    before, after = _lines(old), _lines(new)
    rows: list[str] = []
    for group in _groups(diff(before, after)):
        rows += _rows(before, after, group)
    return rows


def _lines(text: Text) -> list[str]:
    """The lines; one that no newline ends says so, and so is another one."""
    if text == EMPTY:
        return []
    lines = list(text.lines)
    if not text.eol:
        lines[-1] += NO_NEWLINE
    return lines


def _groups(hunks: Sequence[Hunk]) -> Iterator[list[Hunk]]:
    """Hunks whose surroundings touch go together."""
    group = list(hunks[:1])
    for above, hunk in pairwise(hunks):
        if hunk.start - above.end > 2 * CONTEXT:
            yield group
            group = []
        group.append(hunk)
    if group:
        yield group


def _rows(before: Sequence[str], after: Sequence[str], group: Sequence[Hunk]) -> Iterator[str]:
    first, last = group[0], group[-1]
    start, end = max(first.start - CONTEXT, 0), min(last.end + CONTEXT, len(before))
    new_start = first.new_start - (first.start - start)
    new_end = last.new_start + len(last.lines) + (end - last.end)
    yield f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@"
    at = start
    for hunk in group:
        yield from _marked(" ", before[at : hunk.start])
        yield from _marked("-", before[hunk.start : hunk.end])
        yield from _marked("+", hunk.lines)
        at = hunk.end
    yield from _marked(" ", before[at:end])


def _range(start: int, end: int) -> str:
    """Rows [start, end) as diffs count: from 1, an empty range by the row above it."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _marked(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield from (sign + line).split("\n")
