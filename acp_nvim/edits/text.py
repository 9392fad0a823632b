"""Texts in Neovim's form: lines without line endings, and a flag for the final newline.

Only newlines end a line: form feed, NEL and U+2028 are part of it. A text has at least one line.
The empty file is `Text(('',), eol=False)`, a file of one empty line `Text(('',))`. A missing
file is `None`, never an empty text.
"""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Text(msgspec.Struct, frozen=True, dict=True):
    """Lines without line endings. `eol` is true if the last line ends in a newline."""

    lines: tuple[str, ...]
    eol: bool = True

    def __str__(self) -> str:
        """Return the content of the file."""
        return "\n".join((*self.lines, "") if self.eol else self.lines)  # copies the text once

    @cached_property
    def digest(self) -> str:
        """Return a hash of the content: 32 hex digits."""
        return blake2b(str(self).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


EMPTY = Text(("",), eol=False)


def parse(content: str) -> Text:
    """Return the text of a file's content. `str()` is the inverse."""
    lines = content.split("\n")
    if len(lines) > 1 and not lines[-1]:
        return Text(tuple(lines[:-1]), eol=True)
    return Text(tuple(lines), eol=False)


def from_lines(lines: Iterable[str], eol: bool = True) -> Text:
    """Return a text of these lines, or the empty file without lines.

    An empty last line without newline is not a line: it is the newline of the line before.
    """
    all_lines = tuple(lines)
    if len(all_lines) > 1 and not (eol or all_lines[-1]):
        return Text(all_lines[:-1])
    return Text(all_lines, eol) if all_lines else EMPTY


def rows(text: Text) -> tuple[str, ...]:
    """Return the lines of a text, or none for the empty file."""
    return () if text == EMPTY else text.lines


def size(text: Text) -> int:
    """Return the approximate number of bytes in memory, for limits."""
    return sum(map(len, text.lines)) + 64 * len(text.lines)


def keys(text: Text | None) -> list[str]:
    """Return the lines, with a missing final newline marked on the last one.

    The mark is a newline, which no line can contain. A missing file has no keys, the empty file has
    one. Hunks over keys therefore describe all differences of two texts, and any selection of such
    hunks yields a text again.
    """
    if text is None:
        return []
    lines = list(text.lines)
    if not text.eol:
        lines[-1] += "\n"
    return lines


def from_keys(marked: Sequence[str]) -> Text | None:
    """Return the text of these keys. A mark that is not on the last line is dropped."""
    if not marked:
        return None
    eol = not marked[-1].endswith("\n")
    return from_lines([line.removesuffix("\n") for line in marked], eol)
