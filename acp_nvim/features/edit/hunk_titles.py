"""Instructions of inline edits as titles of the hunks that they made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from acp_nvim.edits.hunks import Hunk, diff
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text, rows
from acp_nvim.files.ports import AgentSession

MAX_SPANS: Final = 500
"""Limit of titled places in one file. The oldest are dropped."""
BETWEEN: Final = " · "


class Span(msgspec.Struct, frozen=True):
    """Rows that a write has changed, 0-based and half-open. If empty, it removed lines there."""

    start: int
    end: int
    title: str
    """Empty for a write that was no inline edit."""


class TitledText(msgspec.Struct, frozen=True):
    """Lines of a file after an agent's write, and the places that agents have changed.

    Later spans replace the title of earlier ones.
    """

    lines: tuple[str, ...]
    spans: tuple[Span, ...] = ()

    def after_change(self, lines: tuple[str, ...], title: str | None = None) -> TitledText:
        """Return the text after a change. With a title, the change becomes a span of its own."""
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
        found: dict[int, str] = {}
        for span in self.spans:
            shared = range(max(start, span.start), min(end, span.end))
            found |= dict.fromkeys(shared, span.title)
        titles = (found[row] for row in sorted(found))
        return BETWEEN.join(dict.fromkeys(filter(None, titles)))


class HunkTitles:
    """Titles of all hunks. Changes of the user are not stored: an undo restores a title."""

    def __init__(self) -> None:
        self._running: dict[int, str] = {}
        """Instructions of the running edits by session."""
        self._files: dict[str, TitledText] = {}

    def begin(self, session: int, title: str) -> None:
        """Give the writes of a session this title from now on."""
        self._running[session] = title

    def end(self, session: int) -> None:
        self._running.pop(session, None)

    def on_write(
        self, session: AgentSession, path: str, before: Text | None, agents: Text, after: Text
    ) -> None:
        """Record a write. Differences between ``agents`` and ``after`` are the user's."""
        title = self._running.get(session.n)
        known = self._files.get(path)
        if known is None and title is None:
            return
        lines = () if before is None else rows(before)
        known = (known or TitledText(lines)).after_change(lines)
        self._files[path] = known.after_change(rows(agents), title or "").after_change(rows(after))

    def of(self, entry: Pending) -> Sequence[str]:
        """Return the titles of a file's pending hunks, or nothing if no hunk can have one."""
        known = self._files.get(entry.path)
        if known is None or entry.live is None:
            return ()
        now = known.after_change(rows(entry.live))
        return [now.title(hunk) for hunk in entry.hunks]


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
