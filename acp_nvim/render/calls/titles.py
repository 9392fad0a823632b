"""Short titles of tool calls."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from acp_nvim.patterns import late
from acp_nvim.render.calls.subject import (
    is_cut_beginning,
    is_only_verb,
    patched_files,
    plain_title,
    subject,
)
from acp_nvim.render.text import one_line
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.transcript.entries import ToolEntry

ABOUT_FILES = frozenset(("read", "edit", "delete", "move", "search"))
"""Kinds whose titles name files. Other titles may be commands, which are never shortened."""
GATHERED = ABOUT_FILES | {"fetch", "execute"}
"""Kinds of which several consecutive calls become one line."""

_VERBS = {
    "read": ("Read", "Reading", "Read"),
    "edit": ("Edit", "Editing", "Edited"),
    "delete": ("Delete", "Deleting", "Deleted"),
    "move": ("Move", "Moving", "Moved"),
    "search": ("Search", "Searching", "Searched"),
    "fetch": ("Fetch", "Fetching", "Fetched"),
}
"""Verbs of each kind for pending, running and completed calls.

Titles of other kinds may be commands, which are shown unchanged.
"""
_TENSES = {"in_progress": 1, "completed": 2}

_FIRST = late(r"[^\s:]+")
_QUOTED = late(r"`([^`]+)`")
_COMMAND = late(r"(?:Running: )?(?:`(?P<quoted>[^`]+)`|(?P<plain>[^`]+))\Z")
_ABOUT_FILE = late(r"(?i:read|view|list|edit|writ|creat|updat|delet)\w* (?:\w+ )?['\"`]/")
"""Titles like "Read file '/a/b'" that some agents send with another kind."""
_PLACE = late(r"[`'\"]?[\w~./-]*[\w~][./][\w./~-]*[`'\"]?(?=$|[\s:,(])|https?://")


def short_title(title: str, kind: str, cwd: str) -> str:
    """Return a title. In calls with files, paths below `cwd` are relative."""
    about_files = kind in ABOUT_FILES or (kind != "execute" and _ABOUT_FILE.match(title))
    if about_files and len(cwd) > 1 and cwd in title:
        return _pattern_of_paths_below(cwd).sub("", title)
    return title


def title_line(title: str, kind: str, cwd: str) -> str:
    """Return a title on one line, cut if it is very long."""
    return one_line(short_title(title, kind, cwd))


@lru_cache(maxsize=16)
def _pattern_of_paths_below(cwd: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/.~-]){re.escape(cwd.rstrip('/'))}/(?=[^\s/])")


def title_in_tense(title: str, kind: str, status: str) -> tuple[str, int]:
    """Return a title with the verb of its kind in the tense of the status, and the verb's length.

    The length is 0 if the title does not begin with a verb of the kind.
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
    """Return the command in a title without additions by agents: Markdown marks, `Running: `.

    Every character of the command itself is kept.
    """
    match = _COMMAND.match(title)
    return title if match is None else match["quoted"] or match["plain"]


class CallTitle(NamedTuple):
    """Title of a call on one line."""

    text: str
    verb_length: int
    """Length of the verb at the beginning of the text."""
    agent_title: str = ""
    """The agent's title, if it has more words than the text."""


def call_title(entry: ToolEntry, cwd: str) -> CallTitle:
    """Return the title of a call in the tense of its status.

    It includes the command or the file even if the agent's title does not.
    """
    call = entry.call
    if call.own:
        return CallTitle(one_line(call.own), 0)
    title = plain_title(call) or call.name or call.id
    subject_text = subject(entry, title, cwd)
    if call.kind in _VERBS:
        return _with_verb(call, title, subject_text, cwd)
    line = one_line(short_title(title, call.kind, cwd))
    if not subject_text:
        shown, changed = command_title(line) if call.kind == "execute" else line, ""
        if call.raw_input:
            changed = patched_files(call, title, cwd)
        return CallTitle(f"{shown} · {changed}" if changed else shown, 0)
    return CallTitle(subject_text, 0, "" if is_cut_beginning(title, subject_text) else line)


def _with_verb(call: ToolCall, title: str, subject_text: str, cwd: str) -> CallTitle:
    """Return the title of a call whose kind has a verb."""
    if subject_text and (is_only_verb(title) or " " not in title.strip()):
        verb = _VERBS[call.kind][_TENSES.get(call.status, 0)]
        beside = "" if is_only_verb(title) else one_line(title)
        return CallTitle(f"{verb} {subject_text}", len(verb), beside)
    shown, verb_length = title_in_tense(title_line(title, call.kind, cwd), call.kind, call.status)
    if call.kind in ABOUT_FILES:
        shown = _QUOTED.sub(r"\1", shown)
    return CallTitle(f"{shown} · {subject_text}" if subject_text else shown, verb_length)
