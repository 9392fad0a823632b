"""The screen of a terminal whose size is known, line by line into a buffer of Neovim's: what has
changed since the last frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final

from acp_nvim.editor.plain import legible
from acp_nvim.session.output.cells import Line, Span
from acp_nvim.session.output.emulator import Emulator
from acp_nvim.session.output.looks import NOTE

LINES: Final = 500
"""The most lines in one frame of those that have left the screen."""
ALL: Final = -1
"""In place of a number of lines: the buffer is to be emptied."""


class ScreenView:
    """What a buffer has of an emulator's lines."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self._first: int | None = None
        """The number of the line at the top of the buffer; None before there is any."""
        self._settled = 0
        """The number of the first line that may change in it."""
        self._tail: list[Line] = []
        """The lines from that one on."""

    def next(self, note: str) -> tuple[list[Any] | None, bool]:
        """Return what the buffer lacks, and whether there is more than fits into one frame: lines
        to drop at its top, row from which on all is replaced, lines, their looks. `note` stands
        below all others.
        """
        screen = self.emulator.screen()
        back = self.emulator.scrollback
        dropped = self._drop(back.start)
        end = min(back.end, self._settled + LINES)
        lines = back.part(self._settled, end)
        settled = len(lines)
        if end == back.end:
            lines += screen
            lines += [(f"[{note}]", ((0, len(note) + 2, NOTE),))] if note else []
        same = sum(1 for _ in takewhile(_equal, zip(self._tail, lines, strict=False)))
        row = self._settled - (self._first or 0) + same
        changed = dropped or same < max(len(lines), len(self._tail))
        self._settled, self._tail = end, lines[settled:]
        op = [dropped, row, *_drawn(lines[same:])] if changed else None
        return op, end < back.end

    def _drop(self, start: int) -> int:
        """Lines before `start` are no longer kept."""
        if self._first is None or start > self._settled:
            self._first = self._settled = start
            self._tail = []
            return ALL
        dropped = start - self._first
        self._first = start
        return dropped


def _equal(pair: tuple[Line, Line]) -> bool:
    return pair[0] == pair[1]


def _drawn(lines: Sequence[Line]) -> tuple[list[str], list[list[Any]], list[int]]:
    """Lines as Neovim wants them: texts; looks (column, end column, colours and style of each
    span); rows (row and number of its look, from 1).
    """
    looks: dict[tuple[Any, ...], int] = {}
    rows: list[int] = []
    for at, (_, spans) in enumerate(lines):
        if spans:
            look = tuple([part for span in spans for part in _named(span)])
            rows += (at, looks.setdefault(look, len(looks) + 1))
    return [legible(text) for text, _ in lines], [list(look) for look in looks], rows


def _named(span: Span) -> tuple[int, int, str]:
    """A span whose look is a word, of which Neovim makes a highlight group."""
    first, last, (foreground, background, style) = span
    return first, last, f"{foreground},{background},{style}"
