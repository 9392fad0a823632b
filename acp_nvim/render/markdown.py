"""Markdown highlights for text that is still arriving.

The cost of a full parser would grow with the chat. This one scans each finished line once, in two
passes of a regular expression. It supports fences, headings, quotes, list markers, inline code,
strong, emphasis and links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from acp_nvim.patterns import late

Span = tuple[int, int, str]
"""Byte column, end byte column, highlight group."""

Mark = tuple[int, int, int, str]
"""Row, followed by a span."""

MAX_LENGTH = 2000
"""Maximum number of characters in a line with highlights."""

# Patterns begin with a literal or a set, so the engine skips ahead instead of trying each position.
_OPENS = late(r"\n {0,3}(?P<fence>`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})[^\n]*")
_BLOCK = late(
    # Most lines match none of these, so check their beginning first. The possessive quantifiers
    # prevent useless backtracking.
    r"\n(?=[ \t]*+(?:[-#*_>|+]|\d{1,9}+[.)]))"
    r"(?: {0,3}(?:(?P<AcpHeading>\#{1,6}(?:[^\S\n][^\n]*)?(?=\n|\Z))"
    r"|(?P<AcpRule>(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})(?=\n|\Z)))"
    r"|[ \t]*(?:(?P<AcpQuote>>[^\n]*)|(?P<AcpTable>\|[^\n]*)"
    r"|(?P<AcpListMarker>(?:[-*+]|\d{1,9}[.)])(?=[ \t]))))"
)
# Agents write `__init__` and `__pycache__` far more often than one word in `__`.
_NO_DUNDER = r"(?![^\W_]+(?:_[^\W_]+)*__)"
_INLINE = (
    r"(?P<AcpCode>(?<=`)(?<!``)(`*)(?!`).+?(?<!`)`\2(?!`))"
    r"|(?P<AcpStrong>(?<=\*)\*(?=\S).+?(?<=\S)\*\*"
    rf"|(?<=_)(?<!\w_)_(?=\S){_NO_DUNDER}.+?(?<=\S)__(?!\w))"
    r"|(?P<AcpEmphasis>(?<=\*)(?<![*\w]\*)(?=[^\s*]).+?(?<=[^\s*])\*(?![*\w])"
    r"|(?<=_)(?<![_\w]_)(?=[^\s_]).+?(?<=[^\s_])_(?![_\w]))"
    r"|(?P<AcpLink>(?<=\[)[^\]\n]+\]\([^)\s]+\)|(?<=<)https?://[^\s<>)]+>?"
)
_SPANS = late(rf"[`*_\[](?:{_INLINE}))")
_SPANS_AND_LINKS = late(rf"[`*_\[<h](?:{_INLINE}|(?<=h)ttps?://[^\s<>)]+))")
_WHOLE_LINE = ("AcpHeading", "AcpRule", "AcpQuote", "AcpTable")
"""Groups that begin at the start of the line."""
_WITHOUT_SPANS = ("AcpHeading", "AcpRule")
"""Groups of lines in which no other group is marked."""


class Highlighter:
    """Highlights of one message. The only state is the open code fence."""

    __slots__ = ("_fence",)

    def __init__(self) -> None:
        self._fence = ""

    def lines(self, lines: list[str]) -> list[Mark]:
        """Return the marks of finished lines and advance past them."""
        if not lines:
            return []
        if max(map(len, lines)) > MAX_LENGTH:
            lines = [line if len(line) <= MAX_LENGTH else "" for line in lines]
        marks: list[Mark] = []
        row = 0
        for text, group in self._split("\n" + "\n".join(lines)):
            marks += _mark_whole_lines(text, row, group) if group else _mark_prose(text, row)
            row += text.count("\n")
        return marks

    def peek(self, line: str) -> list[Mark]:
        """Return the marks of a line that may still grow, without changing the state."""
        fence = self._fence
        marks = self.lines([line]) if line else []
        self._fence = fence
        return marks

    def _split(self, text: str) -> Iterator[tuple[str, str]]:
        """Split text, in which each line begins with its newline, into prose, fences and code.

        Fences and code have a group, prose has none.
        """
        at = 0
        while at < len(text):
            fence, group = self._fence, "AcpCodeBlock" if self._fence else ""
            edge = _closing(fence).search(text, at) if fence else _opening(text, at)
            end = edge.start() if edge else len(text)
            if end > at:
                yield text[at:end], group
            if edge:
                self._fence = "" if fence else edge["fence"]
                yield edge.group(), "AcpFence"
                end = edge.end()
            at = end


def groups_of(lines: Sequence[str]) -> list[str]:
    """Return AcpFence, AcpCodeBlock or an empty name for each line."""
    groups: list[str] = []
    for text, group in Highlighter()._split("\n" + "\n".join(lines)):
        groups += [group] * text.count("\n")
    return groups


def _opening(text: str, at: int) -> re.Match[str] | None:
    return _OPENS.search(text, at) if _contains(text, "```") or _contains(text, "~~~") else None


def _contains(text: str, mark: str) -> bool:
    """Return whether a mark is in the text. The search for its first character is much faster."""
    return mark[0] in text and mark in text


@lru_cache(maxsize=64)
def _closing(fence: str) -> re.Pattern[str]:
    """Return the pattern for the closing line of a fence.

    It has the same character at least as many times.
    """
    mark = f"{re.escape(fence[0])}{{{len(fence)},}}"
    return re.compile(rf"\n[^\S\n]*{mark}[^\S\n]*(?=\n|\Z)")


def _mark_whole_lines(text: str, row: int, group: str) -> list[Mark]:
    """Return marks of lines with one group from end to end, including empty ones."""
    lines = text[1:].split("\n")
    return [(row + at, 0, _bytes(line), group) for at, line in enumerate(lines)]


def _mark_prose(text: str, first: int) -> list[Mark]:
    """Return the marks of lines outside of fences: of whole lines first, then inside of lines.

    `first` is the row of the first line.
    """
    marks: list[Mark] = []
    without_spans: set[int] = set()
    rows = _Rows(text)
    for match in _BLOCK.finditer(text):
        group = match.lastgroup or ""
        start = match.start() + 1 if group in _WHOLE_LINE else match.start(group)
        row, column, end = rows.place(start, match.end())
        marks.append((first + row, column, end, group))
        if group in _WITHOUT_SPANS:
            without_spans.add(row)
    has_links = _contains(text, "://")
    if not (has_links or "`" in text or "*" in text or "_" in text or _contains(text, "](")):
        return marks
    pattern = _SPANS_AND_LINKS if has_links else _SPANS
    rows = _Rows(text)
    for match in pattern.finditer(text):
        row, column, end = rows.place(match.start(), match.end())
        if row not in without_spans:
            marks.append((first + row, column, end, match.lastgroup or "AcpCode"))
    return marks


class _Rows:
    """Converter of ascending offsets to rows and byte columns. A line begins with its newline."""

    __slots__ = ("_ascii", "_line", "_row", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._ascii = text.isascii()
        self._row = -1
        self._line = 0

    def place(self, start: int, end: int) -> tuple[int, int, int]:
        """Return row, byte column and end byte column of `text[start:end]`."""
        text = self._text
        new = text.count("\n", self._line, start)
        if new:
            self._row += new
            self._line = text.rfind("\n", self._line, start) + 1
        if self._ascii:
            return self._row, start - self._line, end - self._line
        a = _bytes(text[self._line : start])
        return self._row, a, a + _bytes(text[start:end])


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
