"""Titles of tool calls for the screen: what was done, in as few words as say it."""

from __future__ import annotations

import re
from functools import lru_cache

from acp_nvim.patterns import late
from acp_nvim.render.text import one_line

ABOUT_FILES = frozenset(("read", "edit", "delete", "move", "search"))
"""Kinds whose titles name files. Titles of other kinds may be commands, which are never
shortened.
"""

_VERBS = {
    "read": ("Read", "Reading", "Read"),
    "edit": ("Edit", "Editing", "Edited"),
    "delete": ("Delete", "Deleting", "Deleted"),
    "move": ("Move", "Moving", "Moved"),
    "search": ("Search", "Searching", "Searched"),
    "fetch": ("Fetch", "Fetching", "Fetched"),
}
"""Of each kind its verb as what is to be done, is being done, is done. Other kinds have titles that
may be commands: these are said as they are.
"""
_TENSES = {"in_progress": 1, "completed": 2}

_NOUNS = {
    "read": ("Read", "file"),
    "edit": ("Edited", "file"),
    "delete": ("Deleted", "file"),
    "move": ("Moved", "file"),
    "search": ("Searched", "time"),
    "fetch": ("Fetched", "page"),
    "execute": ("Ran", "command"),
}

_FIRST = late(r"[^\s:]+")
_PLACE = late(r"[`'\"]?[\w~./-]*[\w~][./][\w./~-]*[`'\"]?(?=$|[\s:,(])|https?://")


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


def done_title(title: str, kind: str, status: str) -> tuple[str, int]:
    """Return a title with the verb of its kind as the status has it, and that verb's length; 0
    where the title has words of its own.
    """
    verbs = _VERBS.get(kind)
    if verbs is None:
        return title, 0
    verb = verbs[_TENSES.get(status, 0)]
    first = _FIRST.match(title)
    if first is not None and first[0].capitalize() in verbs:
        return verb + title[first.end() :].removeprefix(":"), len(verb)
    if _PLACE.match(title):
        return f"{verb} {title}", len(verb)
    return title, 0


def gathers(kind: str) -> bool:
    """Whether calls of a kind that follow one another are said as one."""
    return kind in _NOUNS


def gathered_title(kind: str, count: int) -> str:
    """Return the words for several calls of a kind: `Read 5 files`."""
    verb, noun = _NOUNS[kind]
    return f"{verb} {count} {noun}{'' if count == 1 else 's'}"
