"""Line for several tool calls of one kind: action, counts and subjects."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from acp_nvim.render.calls.call_line import edit_counts
from acp_nvim.render.calls.subject import FILE_VERBS, files_of_call
from acp_nvim.render.calls.titles import call_title, title_in_tense
from acp_nvim.render.text import display_path, one_line
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.transcript.entries import ToolEntry

_NOUNS: Final[Mapping[str, tuple[str, str]]] = {
    "read": ("Read", "file"),
    "edit": ("Edited", "file"),
    "delete": ("Deleted", "file"),
    "move": ("Moved", "file"),
    "search": ("Searched", "time"),
    "fetch": ("Fetched", "page"),
    "execute": ("Ran", "command"),
}
_MAX_NAME: Final = 60
"""Maximum number of characters in each name."""
_MAX_NAMES: Final = 12
"""Maximum number of names, for the usual width of a window."""


def gathered_title(entries: Sequence[ToolEntry], cwd: str) -> str:
    """Return the title for calls of one kind: `Edited 2 files +6 -1 · till.py, README.md`.

    If two files have the same name, files below `cwd`, the session's directory, are named relative
    to it.
    """
    calls = [entry.call for entry in entries]
    verb, noun = _NOUNS[calls[0].kind]
    counts = _edit_counts(calls)
    if noun != "file":
        return _title(verb, noun, len(calls), counts, _first_subjects(entries, cwd))
    subjects = list(
        dict.fromkeys(subject for entry in entries for subject in _subjects(entry, cwd))
    )
    names = _short_names([subject for subject in subjects if subject], cwd)
    if len(subjects) == len(names) == 1:
        return f"{verb} {names[0]}{counts} · {len(calls)} times"
    count = len(names) if len(names) == len(subjects) else len(calls)
    return _title(verb, noun, count, counts, names)


def _first_subjects(entries: Sequence[ToolEntry], cwd: str) -> list[str]:
    """Return the subjects of the first calls, one more than a title shows."""
    names: dict[str, None] = {}
    for entry in entries:
        names.update((one_line(name, _MAX_NAME), None) for name in _subjects(entry, cwd) if name)
        if len(names) > _MAX_NAMES:
            break
    return list(names)


def _title(verb: str, noun: str, count: int, counts: str, names: Sequence[str]) -> str:
    """Return a title, with as many of the names as fit."""
    shown = [*names[:_MAX_NAMES], *(["…"] if len(names) > _MAX_NAMES else [])]
    listed = f" · {', '.join(shown)}" if shown else ""
    return f"{verb} {count} {noun}s{counts}{listed}"


def _edit_counts(calls: Sequence[ToolCall]) -> str:
    """Return the numbers of lines that all edits add and remove."""
    counts = [
        counted[1] for call in calls if call.kind == "edit" and (counted := edit_counts(call))
    ]
    added, removed = sum(count[0] for count in counts), sum(count[1] for count in counts)
    return f" +{added} -{removed}" if added or removed else ""


def _subjects(entry: ToolEntry, cwd: str) -> list[str]:
    """Return the paths of the files of a call. For other calls, return the command or the title."""
    call = entry.call
    if call.kind in FILE_VERBS:
        if files := files_of_call(call):
            return [os.path.join(cwd, path) for path in files]  # noqa: PTH118
        title, verb = title_in_tense(one_line(call.title), call.kind, "completed")
        named = title[verb:].strip(" `'\"") if verb else ""
        return [os.path.join(cwd, named) if named else ""]  # noqa: PTH118
    title, verb, _ = call_title(entry, cwd)
    return [title[verb:].strip()]


def _short_names(paths: Sequence[str], cwd: str) -> list[str]:
    """Return the names of files without their folders, unless two are equal."""
    names = [os.path.basename(path) for path in paths]  # noqa: PTH119
    are_ambiguous = len(set(names)) < len(names) or not all(names)
    shown = [display_path(path, cwd) for path in paths] if are_ambiguous else names
    return [one_line(name, _MAX_NAME) for name in shown]
