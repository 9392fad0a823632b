"""Splitting and comparison of texts."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS_PER_CHUNK = 3


def chunks(text: str) -> Iterator[str]:
    """Yield text in chunks of a few words."""
    words = re.findall(r"\S+\s*|^\s+", text)
    for first in range(0, len(words), WORDS_PER_CHUNK):
        yield "".join(words[first : first + WORDS_PER_CHUNK])


def first_change(old: str, new: str) -> tuple[int, str] | None:
    """Return the number (from 1) and the text of the first new line that is not blank."""
    before, after = old.split("\n"), new.split("\n")
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, _, _, first, last in matcher.get_opcodes():
        if tag in ("replace", "insert"):
            for number in range(first, last):
                if after[number].strip():
                    return number + 1, after[number]
    return None
