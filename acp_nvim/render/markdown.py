"""Markdown highlights line by line, for text that is still arriving.

A full parser costs the editor time that grows with the chat; this one looks at each finished line once. It knows
fences, headings, quotes, list markers, inline code, strong, emphasis and links, which is what agents write.
"""

from __future__ import annotations

import re

Span = tuple[int, int, str]
"""Byte column, end byte column, highlight group."""

LONGEST = 2000
"""Characters; longer lines stay plain."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
_MARKER = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])(?=\s)")
_RULE = re.compile(r"^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$")
_INLINE = re.compile(
    r"(?P<AcpCode>(`+)(?!`).+?(?<!`)\2(?!`))"
    r"|(?P<AcpStrong>\*\*(?=\S).+?(?<=\S)\*\*|__(?=\S).+?(?<=\S)__)"
    r"|(?P<AcpEmphasis>(?<![*\w])\*(?=[^\s*]).+?(?<=[^\s*])\*(?![*\w])|(?<![_\w])_(?=[^\s_]).+?(?<=[^\s_])_(?![_\w]))"
    r"|(?P<AcpLink>\[[^\]\n]+\]\([^)\s]+\)|<?https?://[^\s<>)]+>?)"
)
_PLAIN = re.compile(r"[`*_\[#>~\-+]|\d[.)]|https?:")


class Highlighter:
    """Highlights of one message; the only state is the open code fence."""

    __slots__ = ("_fence",)

    def __init__(self) -> None:
        """Start outside of any fence."""
        self._fence = ""

    def line(self, text: str) -> list[Span]:
        """Return the spans of a finished line and move past it."""
        spans, self._fence = self._look(text)
        return spans

    def peek(self, text: str) -> list[Span]:
        """Return the spans of a line that may still grow; the state stays."""
        return self._look(text)[0]

    def _look(self, text: str) -> tuple[list[Span], str]:
        if not text or len(text) > LONGEST:
            return [], self._fence
        if self._fence:
            return self._inside(text)
        if _PLAIN.search(text) is None:
            return [], ""
        fence = _FENCE.match(text)
        if fence is not None and not (fence.group(1)[0] == "`" and "`" in text[fence.end() :]):
            return [(0, _bytes(text), "AcpFence")], fence.group(1)
        return _prose(text), ""

    def _inside(self, text: str) -> tuple[list[Span], str]:
        stripped = text.strip()
        closes = len(stripped) >= len(self._fence) and not stripped.strip(self._fence[0])
        if closes:
            return [(0, _bytes(text), "AcpFence")], ""
        return [(0, _bytes(text), "AcpCodeBlock")], self._fence


def _prose(text: str) -> list[Span]:
    """Spans of a line outside of fences."""
    if _HEADING.match(text):
        return [(0, _bytes(text), "AcpHeading")]
    if _RULE.match(text):
        return [(0, _bytes(text), "AcpRule")]
    spans: list[Span] = []
    if text.lstrip().startswith(">"):
        spans.append((0, _bytes(text), "AcpQuote"))
    marker = _MARKER.match(text)
    if marker is not None:
        spans.append((len(text) - len(text.lstrip()), _bytes(marker.group()), "AcpListMarker"))
    for match in _INLINE.finditer(text, marker.end() if marker else 0):
        start = _bytes(text[: match.start()])
        spans.append((start, start + _bytes(match.group()), match.lastgroup or "AcpCode"))
    return spans


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
