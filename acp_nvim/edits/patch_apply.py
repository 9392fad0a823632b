"""Application of patches.

Each hunk is applied at its place or near it. If one does not fit, the whole patch is refused.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final

from acp_nvim.edits.patch import FilePatch, PatchHunk, quote_line
from acp_nvim.edits.text import EMPTY, Text, from_lines

MAX_WORK: Final = 500_000
"""Maximum number of line comparisons in a search for the places of hunks. They take about 0.3 s."""


class PatchConflict(ValueError):
    """Failure to apply a patch to a text. The message names the hunk and the reason in one line."""


def apply(patch: FilePatch, text: Text | None) -> Text | None:
    """Return the file's text after the patch, or None for no file.

    `text` is the file's text before it, or the origin's for a move or copy. Raise PatchConflict.
    """
    if patch.is_binary:
        raise PatchConflict("the patch is for a binary file")
    if patch.kind == "created":
        if text is not None and text != EMPTY and not patch.may_replace:
            raise PatchConflict("the file that the patch creates already exists")
        return _apply_hunks(EMPTY, patch.hunks)
    if text is None:
        raise PatchConflict("there is no such file")
    after = _apply_hunks(text, patch.hunks)
    if patch.kind == "deleted":
        if patch.hunks and after != EMPTY:
            raise PatchConflict("the file that the patch deletes contains more than the patch")
        return None
    return after


def _apply_hunks(text: Text, hunks: Sequence[PatchHunk]) -> Text:
    lines = [] if text == EMPTY else list(text.lines)
    places = _Places(lines)
    after: list[str] = []
    row = drift = 0
    eol = text.eol or not lines
    for number, hunk in enumerate(hunks, 1):
        at = places.find(hunk, row, drift)
        if at is None or not _has_fitting_end(lines, hunk, at, text.eol):
            why = places.conflict_reason(hunk, row, drift)
            raise PatchConflict(f"hunk {number} of {len(hunks)} does not apply: {why}")
        after += lines[row:at]
        after += _with_present_context(lines[at : at + len(hunk.old)], hunk)
        row = at + len(hunk.old)
        drift = at - hunk.row if hunk.row is not None else drift
        if row == len(lines) and (not hunk.old_eol or not hunk.new_eol):
            eol = hunk.new_eol
    return from_lines([*after, *lines[row:]], eol)


def _has_fitting_end(lines: Sequence[str], hunk: PatchHunk, at: int, eol: bool) -> bool:
    """Return whether a hunk that requires a missing final newline fits."""
    return hunk.old_eol or (at + len(hunk.old) == len(lines) and not eol)


def _with_present_context(present: Sequence[str], hunk: PatchHunk) -> list[str]:
    """Return the new lines. If a hunk matched loosely, its context lines keep the file's form."""
    if tuple(present) == hunk.old:
        return list(hunk.new)
    head = 0
    while head < min(len(hunk.old), len(hunk.new)) and hunk.old[head] == hunk.new[head]:
        head += 1
    tail = 0
    limit = min(len(hunk.old), len(hunk.new)) - head
    while tail < limit and hunk.old[-1 - tail] == hunk.new[-1 - tail]:
        tail += 1
    middle = hunk.new[head : len(hunk.new) - tail]
    return [*present[:head], *middle, *present[len(present) - tail :]]


_NORMALIZERS: Final[tuple[Callable[[str], str], ...]] = (lambda line: line, str.rstrip, str.strip)
"""Normalizations of compared lines, strictest first. Models often lose blanks at the ends."""


class _Places:
    """Finder of the places of hunks in a text.

    The work is bounded: a patch may have thousands of hunks, each with as many candidates.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._work = MAX_WORK

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        """Return the rows of each line, ignoring blanks at both ends."""
        rows: dict[str, list[int]] = {}
        for row, line in enumerate(self._lines):
            rows.setdefault(line.strip(), []).append(row)
        return rows

    def find(self, hunk: PatchHunk, start: int, drift: int) -> int | None:
        """Return the row from `start` on where a hunk fits, nearest to the one that it names."""
        below = self._row_below(hunk.anchors, start)
        if below is None:
            return None
        if not hunk.old:
            return self._place_for_lines(hunk, below, drift)
        wanted = None if hunk.row is None else hunk.row + drift
        if wanted is not None and wanted >= below and self._fits(hunk.old, wanted, _NORMALIZERS[0]):
            return wanted
        rows = self._candidates(hunk, below, wanted)
        tries = ((row, normalize) for normalize in _NORMALIZERS for row in rows)
        return next((row for row, normalize in tries if self._fits(hunk.old, row, normalize)), None)

    def _candidates(self, hunk: PatchHunk, below: int, wanted: int | None) -> list[int]:
        """Return the rows of the hunk's first line, those nearest to row `wanted` first."""
        last = len(self._lines) - len(hunk.old)
        if hunk.is_at_end and last >= below:
            return [last]
        rows = self._rows.get(hunk.old[0].strip(), [])
        rows = rows[bisect_left(rows, below) : bisect_right(rows, last)]
        self._work -= len(rows)
        return rows if wanted is None else sorted(rows, key=lambda row: abs(row - wanted))

    def _fits(self, old: Sequence[str], row: int, normalize: Callable[[str], str]) -> bool:
        self._work -= len(old)
        if self._work < 0:
            raise PatchConflict("the patch has too many possible places")
        if row < 0 or row + len(old) > len(self._lines):
            return False
        return all(
            normalize(self._lines[row + at]) == normalize(line) for at, line in enumerate(old)
        )

    def _place_for_lines(self, hunk: PatchHunk, below: int, drift: int) -> int | None:
        """Return the row for added lines without context, or None."""
        if hunk.row is None:
            return below if hunk.anchors else len(self._lines)
        row = hunk.row + drift if self._lines else 0
        return row if below <= row <= len(self._lines) else None

    def _row_below(self, anchors: Iterable[str], row: int) -> int | None:
        """Return the row below these lines, found in order from `row` on, or None."""
        for anchor in anchors:
            rows = self._rows.get(anchor.strip(), [])
            at = bisect_left(rows, row)
            if at == len(rows):
                return None
            row = rows[at] + 1
        return row

    def conflict_reason(self, hunk: PatchHunk, start: int, drift: int) -> str:
        """Return why a hunk cannot be applied, in a few words."""
        count = len(self._lines)
        if self._row_below(hunk.anchors, start) is None:
            return f"there is no line {quote_line(hunk.anchors[-1])}"
        if not hunk.old:
            return f"the file has {count} lines"
        if not hunk.old_eol:
            return "the file ends differently"
        row = None if hunk.row is None else hunk.row + drift
        for at, wanted in enumerate(hunk.old, row or 0):
            if row is not None and at >= count:
                return f"the file has {count} lines, but the patch is for line {at + 1}"
            if row is not None and self._lines[at].strip() != wanted.strip():
                own = quote_line(self._lines[at])
                return f"line {at + 1} is {own}, but the patch has {quote_line(wanted)}"
        return f"its lines are not in the file, from {quote_line(hunk.old[0])} on"
