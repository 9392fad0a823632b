"""What a tool call is called on the screen."""

from __future__ import annotations

import re
from functools import lru_cache

from acp_nvim.render.text import one_line

ABOUT_FILES = frozenset(("read", "edit", "delete", "move", "search"))
"""Kinds whose titles name files. What may be a command is never said otherwise than it is."""


def short_title(title: str, kind: str, cwd: str) -> str:
    """Return a title with the files of a call about files relative to `cwd` where they are below
    it.
    """
    if kind in ABOUT_FILES and len(cwd) > 1 and cwd in title:
        return _below(cwd).sub("", title)
    return title


def shown_title(title: str, kind: str, cwd: str) -> str:
    """The same on one line, cut where it is very long."""
    return one_line(short_title(title, kind, cwd))


@lru_cache(maxsize=16)
def _below(cwd: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/.~-]){re.escape(cwd.rstrip('/'))}/(?=[^\s/])")


@lru_cache(maxsize=16)
def _words(kind: str) -> tuple[str, ...]:
    return (f"{kind.removesuffix('e')}ing", kind) if kind in ABOUT_FILES else ()


def says_kind(title: str, kind: str) -> int:
    """Return the length of the word for what a call about files does, where its title begins with
    it (`Read a.py`, `Reading a.py`), else 0.
    """
    for word in _words(kind):
        size = len(word)
        if title[:size].lower() == word and title[size : size + 1] in ("", " ", ":"):
            return size
    return 0
