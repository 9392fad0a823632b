"""Unified diffs of two texts."""

from __future__ import annotations

from itertools import islice
from typing import Final

from acp_nvim.edits.text import Text

CONTEXT: Final = 3
"""Number of context lines."""


def unified_rows(old: Text, new: Text) -> list[str]:
    """Return the rows of a unified diff without its header, or none if the texts are equal."""
    from difflib import unified_diff  # imported late, since no prompt needs it

    rows: list[str] = []
    for line in islice(unified_diff(_with_newlines(old), _with_newlines(new), n=CONTEXT), 2, None):
        rows += [line[:-1]] if line.endswith("\n") else [line, "\\ No newline at end of file"]
    return rows


def format_patch(name: str, old: Text, new: Text) -> str:
    """Return a diff with its header, for `patch` and `git apply`.

    It is empty if the texts are equal.
    """
    rows = unified_rows(old, new)
    return "\n".join([f"--- a/{name}", f"+++ b/{name}", *rows, ""]) if rows else ""


def _with_newlines(text: Text) -> list[str]:
    """Return the lines with their newlines, or none for the empty file."""
    lines = [f"{line}\n" for line in text.lines]
    if not text.eol:
        lines[-1:] = [text.lines[-1]] if text.lines[-1] else []
    return lines
