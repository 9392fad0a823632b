"""Titles of an agent's changes: the instructions of inline edits, by the rows that they changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from acp_nvim.edits.hunks import Hunk, diff

MAX_SPANS: Final = 500
"""Maximum number of titled spans in one file. The oldest are dropped."""
SEPARATOR: Final = " · "


class Span(msgspec.Struct, frozen=True):
    """Rows that a write has changed, 0-based and half-open. An empty span marks removed lines."""

    start: int
    end: int
    title: str
    """Empty for a write that was not an inline edit."""


class TitledText(msgspec.Struct, frozen=True):
    """Lines of a file after an agent's write, and the spans that agents have changed.

    Later spans replace the title of earlier ones.
    """

    lines: tuple[str, ...]
    spans: tuple[Span, ...] = ()

    def after_change(self, lines: tuple[str, ...], title: str | None = None) -> TitledText:
        """Return the text after a change. With a title, the change becomes a separate span."""
        if lines == self.lines:
            return self
        hunks = diff(self.lines, lines)
        spans = [_move_span(span, hunks) for span in self.spans]
        if title is not None:
            spans += [Span(hunk.new_start, hunk.new_end, title) for hunk in hunks]
        return TitledText(lines, tuple(spans[-MAX_SPANS:]))

    def title(self, hunk: Hunk) -> str:
        """Return the titles of a hunk's lines or, if it has none, of the removal at its place."""
        start, end = hunk.new_start, hunk.new_end
        if start == end:
            touching = [span for span in self.spans if span.start <= start <= span.end]
            return touching[-1].title if touching else ""
        by_row: dict[int, str] = {}
        for span in self.spans:
            shared = range(max(start, span.start), min(end, span.end))
            by_row |= dict.fromkeys(shared, span.title)
        titles = (by_row[row] for row in sorted(by_row))
        return SEPARATOR.join(dict.fromkeys(filter(None, titles)))


def _move_span(span: Span, hunks: Sequence[Hunk]) -> Span:
    """Return the span after changes by others."""
    start = _move_row(span.start, hunks)
    end = _move_row(span.end, [hunk for hunk in hunks if hunk.start < span.end])
    return Span(start, max(start, end), span.title)


def _move_row(row: int, hunks: Sequence[Hunk]) -> int:
    """Return the new position of a row."""
    shift = 0
    for hunk in hunks:
        if row < hunk.start:
            break
        if row < hunk.end:
            return hunk.new_start + min(row - hunk.start, len(hunk.lines))
        shift += hunk.growth
    return row + shift
