"""Texts as Neovim holds them: lines without their ends, and whether the last one is ended.

Only newlines end a line: form feed, NEL and U+2028 are part of it. A text has at least one line;
the empty file is ``Text(('',), eol=False)``, a file of one empty line ``Text(('',))``. A file that
does not exist is ``None``, never an empty text.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Text(msgspec.Struct, frozen=True):
    """Lines without line ends; ``eol`` is true when the last line is ended by a newline."""

    lines: tuple[str, ...]
    eol: bool = True

    def __str__(self) -> str:
        """The text as a file has it."""
        return "\n".join(self.lines) + ("\n" if self.eol else "")


EMPTY = Text(("",), eol=False)


def parse(content: str) -> Text:
    """The text of a file's content; ``str()`` of it gives the content back."""
    lines = content.split("\n")
    if len(lines) > 1 and not lines[-1]:
        return Text(tuple(lines[:-1]), eol=True)
    return Text(tuple(lines), eol=False)


def from_lines(lines: Iterable[str], eol: bool = True) -> Text:
    """Return a text of these lines; without lines the empty file. An empty last line without
    newline is not a line: it is the newline of the one before it.
    """
    kept = tuple(lines)
    if len(kept) > 1 and not (eol or kept[-1]):
        return Text(kept[:-1])
    return Text(kept, eol) if kept else EMPTY


def rows(text: Text) -> tuple[str, ...]:
    """Return the lines of a text; the empty file has none."""
    return () if text == EMPTY else text.lines


def digest(text: Text) -> str:
    """A name for the content: 32 hex digits, equal exactly when the texts are."""
    return blake2b(str(text).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def size(text: Text) -> int:
    """Return about how many bytes the text takes in memory; for bounds only."""
    return sum(map(len, text.lines)) + 64 * len(text.lines)


def keys(text: Text | None) -> list[str]:
    """Return the lines with a missing final newline marked on the last one.

    The mark is a newline, which no line can hold. A file that does not exist has no keys, the empty
    file has one. So hunks over keys tell all differences of two texts, and any selection of such
    hunks gives a text again.
    """
    if text is None:
        return []
    lines = list(text.lines)
    if not text.eol:
        lines[-1] += "\n"
    return lines


def from_keys(found: Sequence[str]) -> Text | None:
    """The text of which these are the keys. A mark that is not on the last line is dropped."""
    if not found:
        return None
    eol = not found[-1].endswith("\n")
    return from_lines((line.removesuffix("\n") for line in found), eol)
