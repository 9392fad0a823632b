"""Two texts as a unified diff."""

from __future__ import annotations

from itertools import islice
from typing import Final

from acp_nvim.edits.text import Text

CONTEXT: Final = 3
"""Lines around a change."""


def unified(old: Text, new: Text) -> list[str]:
    """The rows of a unified diff, without its head; none where the texts are the same."""
    from difflib import unified_diff  # no prompt waits for it

    rows: list[str] = []
    for line in islice(unified_diff(_ended(old), _ended(new), n=CONTEXT), 2, None):
        rows += [line[:-1]] if line.endswith("\n") else [line, "\\ No newline at end of file"]
    return rows


def patch(name: str, old: Text, new: Text) -> str:
    """Return a diff with its head, for `patch` and `git apply`; empty where the texts are the
    same.
    """
    rows = unified(old, new)
    return "\n".join([f"--- a/{name}", f"+++ b/{name}", *rows, ""]) if rows else ""


def _ended(text: Text) -> list[str]:
    """The lines with their newlines; none for the empty file."""
    lines = [f"{line}\n" for line in text.lines]
    if not text.eol:
        lines[-1:] = [text.lines[-1]] if text.lines[-1] else []
    return lines
