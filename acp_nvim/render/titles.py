"""Titles of tool calls for the screen: what was done, in as few words as say it."""

from __future__ import annotations

import re
from functools import lru_cache

from acp_nvim.patterns import late
from acp_nvim.render.text import one_line
from acp_nvim.session.tool_calls import ToolCall

ABOUT_FILES = frozenset(("read", "edit", "delete", "move", "search"))
"""Kinds whose titles name files. Titles of other kinds may be commands, which are never
shortened.
"""
GATHERED = ABOUT_FILES | {"fetch", "execute"}
"""Kinds of which several calls that follow one another become one line."""
FILE_VERBS = ABOUT_FILES - {"search"}
"""Kinds that do something to a file."""

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

_FIRST = late(r"[^\s:]+")
_QUOTED = late(r"`([^`]+)`")
_COMMAND = late(r"(?:Running: )?(?:`(?P<quoted>[^`]+)`|(?P<plain>[^`]+))\Z")
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


def command_title(title: str) -> str:
    """Return the command in the title of a call that runs one, without what agents put around it:
    marks of Markdown, `Running: `. Every character of the command itself stays.
    """
    found = _COMMAND.match(title)
    return title if found is None else found["quoted"] or found["plain"]


def own_title(call: ToolCall, cwd: str) -> tuple[str, int]:
    """Return the title of a call on one line, in the tense of its status, and the length of the
    verb that it begins with.
    """
    title = call.own or call.title or call.name or call.id
    if call.own:
        return one_line(title), 0
    if call.kind in ABOUT_FILES:
        shown, verb = done_title(shown_title(title, call.kind, cwd), call.kind, call.status)
        return _QUOTED.sub(r"\1", shown), verb
    if call.kind == "fetch":
        return done_title(one_line(title), call.kind, call.status)
    line = one_line(title)
    return (command_title(line) if call.kind == "execute" else line), 0
