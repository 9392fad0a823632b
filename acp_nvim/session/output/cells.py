"""Text as cells of a terminal: one for each column, with the characters that combine in it.

A wide character has a cell and an empty one behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final
from unicodedata import category, east_asian_width

from acp_nvim.patterns import late
from acp_nvim.session.output.looks import PLAIN, Look

Cells = Sequence[str]
Span = tuple[int, int, Look]
"""First byte, byte after the last, look."""
Line = tuple[str, tuple[Span, ...]]
"""Text without the blanks at its end, and the spans that do not look plain."""

DEEPEST: Final = 12
"""The most characters in one cell."""

_NARROW: Final = late(
    "[ -~\xa1-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2190-\u2319\u2500-\u25fc]*"
)
"""Characters of one column, each in a cell of its own."""


@lru_cache(4096)
def width(character: str) -> int:
    """Return the columns of a character: 2 if it is wide, 0 if it combines with others, -1 if it
    is for no screen, as marks of direction are.
    """
    kind = category(character)
    if kind in ("Mn", "Me") or character in "\u200c\u200d":
        return 0
    if kind in ("Cc", "Cf", "Cs", "Zl", "Zp") and character != "\xad":
        return -1
    if "\u1160" <= character <= "\u11ff":  # vowels and finals of a Hangul syllable
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def cells_of(text: str) -> tuple[Cells, str]:
    """Return the cells of printable text, and what combines with the character before it."""
    if text.isascii() or _NARROW.fullmatch(text):
        return text, ""
    cells: list[str] = []
    before = ""
    for character in text:
        columns = width(character)
        if columns > 0:
            cells += (character, "") if columns == 2 else (character,)
        elif columns == 0 and cells:
            join(cells, len(cells) - 1, character)
        elif columns == 0:
            before += character
    return cells, before


def join(cells: list[str], at: int, more: str) -> None:
    """Let characters combine with the one in a cell, or before that in a wide one."""
    if cells[at] == "" and at > 0:
        at -= 1
    if len(cells[at]) < DEEPEST:
        cells[at] += more[:DEEPEST]


class Row:
    """A row of the screen, as far as it was written, and the look of the blanks behind that."""

    __slots__ = ("_line", "cells", "looks", "tail")

    def __init__(self, tail: Look = PLAIN) -> None:
        self.cells: list[str] = []
        self.looks: list[Look] = []
        self.tail = tail
        self._line: Line | None = None

    @classmethod
    def of(cls, text: str, look: Look) -> Row:
        """Return a row with text of one column for each character."""
        row = cls()
        row.cells, row.looks = list(text), [look] * len(text)
        return row

    @property
    def blank(self) -> bool:
        """Whether it looks as if nothing had been written."""
        return not self.cells and self.tail == PLAIN

    def put(self, at: int, cells: Cells, look: Look) -> None:
        """Overwrite cells from a column on."""
        end = at + len(cells)
        if at < len(self.cells):
            self._part(at)
            self._part(end)
        elif at > len(self.cells):
            self._reach(at)
        self.cells[at:end] = cells
        self.looks[at:end] = [look] * len(cells)
        self._line = None

    def combine(self, at: int, more: str) -> None:
        """Add characters to the one in a column."""
        if 0 <= at < len(self.cells):
            join(self.cells, at, more)
            self._line = None

    def clear(self, look: Look) -> None:
        """Make all of it blank."""
        if self.cells or self.tail != look:
            self.cells, self.looks, self.tail, self._line = [], [], look, None

    def erase(self, start: int, end: int, look: Look, columns: int) -> None:
        """Make some of its `columns` blank."""
        self._reach(start)
        self._part(start)
        if end >= columns:
            del self.cells[start:], self.looks[start:]
            self.tail = look
        else:
            self._reach(end)
            self._part(end)
            self.cells[start:end] = [" "] * (end - start)
            self.looks[start:end] = [look] * (end - start)
        self._line = None

    def insert(self, at: int, count: int, look: Look, columns: int) -> None:
        """Move what is right of a column further to the right."""
        self._reach(at)
        self._part(at)
        self.cells[at:at] = [" "] * count
        self.looks[at:at] = [look] * count
        self.cut(columns)

    def delete(self, at: int, count: int, look: Look, columns: int) -> None:
        """Take columns out; what follows moves to the left, blanks come in at the right."""
        if look != self.tail:
            self._reach(columns)
        self._part(at)
        self._part(at + count)
        del self.cells[at : at + count], self.looks[at : at + count]
        if look != self.tail:
            self.tail = look
        self._line = None

    def cut(self, columns: int) -> None:
        """Forget what lies behind so many columns."""
        self._part(columns)
        del self.cells[columns:], self.looks[columns:]
        self._line = None

    def line(self, columns: int) -> Line:
        """Return the row, which has so many columns, as text."""
        if self._line is None:
            if self.tail != PLAIN:
                self._reach(columns)
            self._line = _line(self.cells, self.looks)
        return self._line

    def _reach(self, columns: int) -> None:
        missing = columns - len(self.cells)
        if missing > 0:
            self.cells += [" "] * missing
            self.looks += [self.tail] * missing

    def _part(self, at: int) -> None:
        """A wide character that a change would halve is gone."""
        if 0 < at < len(self.cells) and self.cells[at] == "":
            self.cells[at - 1] = self.cells[at] = " "


def _line(cells: list[str], looks: list[Look]) -> Line:
    if looks.count(PLAIN) == len(looks):
        return "".join(cells).rstrip(" "), ()
    end = len(cells)
    while end and cells[end - 1] == " " and looks[end - 1] == PLAIN:
        end -= 1
    spans, texts, at, column = [], [], 0, 0
    for look, same in groupby(looks[:end]):
        after = at + sum(1 for _ in same)
        text = "".join(cells[at:after])
        until = column + (len(text) if text.isascii() else len(text.encode("utf-8", "replace")))
        if look != PLAIN:
            spans.append((column, until, look))
        texts.append(text)
        at, column = after, until
    return "".join(texts), tuple(spans)
