"""Helpers for texts: chunks, comparisons, and files on disk where a client serves none."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from acp_nvim.protocol import errors
from acp_nvim.protocol import schema as s
from acp_nvim.protocol.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORDS = 3  # words in a chunk


def pieces(text: str) -> Iterator[str]:
    """Yield the text in chunks of a few words; joined they are the text again."""
    words = re.findall(r"\S+\s*|^\s+", text)
    for first in range(0, len(words), WORDS):
        yield "".join(words[first : first + WORDS])


def note(text: str) -> s.Content:
    """A line of text as content of a tool call."""
    return s.Content(s.TextContent(text))


def first_change(old: str, new: str) -> int:
    """The number (from 1) of the first line that differs."""
    before, after = old.split("\n"), new.split("\n")
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return same + 1


def unsaved(live: str, saved: str) -> tuple[int, str] | None:
    """The first line (number from 1, text) that the editor has and the disk has not."""
    before, after = saved.split("\n"), live.split("\n")
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, _, _, first, last in matcher.get_opcodes():
        if tag in ("replace", "insert"):
            for number in range(first, last):
                if after[number].strip():
                    return number + 1, after[number]
    return None


def from_disk(path: Path) -> str:
    """The text of a file. RequestError, as a client would refuse, when it can't be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as e:
        raise RequestError(errors.RESOURCE_NOT_FOUND, f"no such file: {path}") from e
    except (OSError, UnicodeDecodeError) as e:
        raise RequestError(errors.INTERNAL_ERROR, f"not readable: {path}: {e}") from e


def to_disk(path: Path, text: str) -> None:
    """Write a file. RequestError when it can't be written."""
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as e:
        raise RequestError(errors.INTERNAL_ERROR, f"not writable: {path}: {e}") from e
