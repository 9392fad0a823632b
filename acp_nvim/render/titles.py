"""Titles of tool calls for the screen."""

from __future__ import annotations

import re
from functools import lru_cache

from acp_nvim.render.text import one_line

ABOUT_FILES = frozenset(("read", "edit", "delete", "move", "search"))
"""Kinds whose titles name files. Titles of other kinds may be commands, which are never
shortened.
"""


def short_title(title: str, kind: str, cwd: str) -> str:
    """Return a title, of a call about files with paths below `cwd` relative to it."""
    if kind in ABOUT_FILES and len(cwd) > 1 and cwd in title:
        return _below(cwd).sub("", title)
    return title


def shown_title(title: str, kind: str, cwd: str) -> str:
    """Return the same on one line, cut where it is very long."""
    return one_line(short_title(title, kind, cwd))


@lru_cache(maxsize=16)
def _below(cwd: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/.~-]){re.escape(cwd.rstrip('/'))}/(?=[^\s/])")


@lru_cache(maxsize=16)
def _words(kind: str) -> tuple[str, ...]:
    return (f"{kind.removesuffix('e')}ing", kind) if kind in ABOUT_FILES else ()


def says_kind(title: str, kind: str) -> int:
    """Return the length of the kind's word where the title of a call about files begins with it
    (`Read a.py`, `Reading a.py`), else 0.
    """
    for word in _words(kind):
        size = len(word)
        if title[:size].lower() == word and title[size : size + 1] in ("", " ", ":"):
            return size
    return 0
