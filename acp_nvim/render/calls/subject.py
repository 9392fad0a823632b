"""Subject of a tool call: its command, file, pattern or address, if the title omits it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from acp_nvim.patterns import late
from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import FileChanges
from acp_nvim.render.text import display_path, one_line, remote_path
from acp_nvim.session import lists
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import requests
from acp_nvim.session.questions.patches import may_hold_patch, patches_of
from acp_nvim.session.questions.tool_input import commands_of
from acp_nvim.session.transcript.entries import ToolEntry

FILE_VERBS: Final = frozenset(("read", "edit", "delete", "move"))
"""Kinds of calls that act on a file."""
_MAX_SHOWN: Final = 3
"""Maximum number of commands or files on one line."""
_VERB_WORDS: Final = frozenset(
    {
        *("file", "files", "read", "reading", "view", "viewing", "edit", "editing", "edited"),
        *("write", "writing", "create", "update", "delete", "move", "rename", "fetch", "search"),
    }
)
"""Words of a title that repeat the verb of its kind."""
_PATTERNS: Final = ("pattern", "query", "regex")
_ADDRESSES: Final = ("url", "uri")
_ARGUMENTS: Final = late(r"(?P<name>[\w./-]{1,60}): *[\[{]")
_CUT: Final = late(r"(?:\.\.\.|…)\s*\Z")
_WORD: Final = late(r"[\w.~-]")


def plain_title(call: ToolCall) -> str:
    """Return the title of a call without the raw input that some agents append as JSON."""
    match = _ARGUMENTS.match(call.title) if call.raw_input else None
    return call.title if match is None else match["name"]


def subject(entry: ToolEntry, title: str, cwd: str) -> str:
    """Return the subject of a call on one line, or an empty string if the title already has it."""
    call = entry.call
    if call.own or call.user_tool:
        return ""
    if call.kind in FILE_VERBS:
        unnamed = [
            path
            for path in files_of_call(call)
            if remote_path(path) is not None or os.path.basename(path) not in title  # noqa: PTH119
        ]
        names = [_display(path, cwd) for path in unnamed]
    elif call.raw_input or entry.terminals:
        names = [text for text in _subject_texts(entry) if not _contains(title, text)]
    else:
        return ""
    return _join_first(names)


def _join_first(texts: Sequence[str]) -> str:
    """Join the first texts on one line, followed by the number of the others."""
    more = f", {lists.more(len(texts) - _MAX_SHOWN)}" if len(texts) > _MAX_SHOWN else ""
    return ", ".join(one_line(text) for text in texts[:_MAX_SHOWN]) + more


def patched_files(call: ToolCall, title: str, cwd: str) -> str:
    """Return the files of patches in the raw input that the title omits, on one line."""
    if not may_hold_patch(call.raw_input):
        return ""
    paths = [patch.path for patch in islice(patches_of(call), lists.ITEMS)]
    missing = [path for path in paths if os.path.basename(path) not in title]  # noqa: PTH119
    return _join_first([_display(path, cwd) for path in dict.fromkeys(missing)])


def is_only_verb(title: str) -> bool:
    """Return whether a title only repeats the verb of the kind, like "Read File"."""
    words = re.findall(r"[A-Z]?[a-z]+|.", title)
    return {word.lower() for word in words if word.strip()} <= _VERB_WORDS


def is_cut_beginning(title: str, text: str) -> bool:
    """Return whether a title is the beginning of a text, cut by the agent."""
    match = _CUT.search(title)
    return match is not None and text.startswith(title[: match.start()].partition(": ")[2] or "\0")


def files_of_call(call: ToolCall) -> list[str]:
    """Return the files of a call, from its diffs, else its locations, else its raw input."""
    files: list[str] = []
    for item in islice(call.content, lists.ITEMS):
        if item.__class__ is schema.Diff:
            files.append(item.path)
        elif item.__class__ is FileChanges:
            files += item.paths
    if not files:
        files = [location.path for location in call.locations[: lists.ITEMS]]
    if not files and call.raw_input:
        files = list(requests.files_of_input(call.raw_input))
    return [path for path in dict.fromkeys(files) if path]


def _subject_texts(entry: ToolEntry) -> list[str]:
    """Return the commands of a call, or its pattern or address."""
    call = entry.call
    if call.kind == "search":
        return _first_value(call.raw_input, _PATTERNS)
    if call.kind == "fetch":
        return _first_value(call.raw_input, _ADDRESSES)
    texts = commands_of(call.raw_input)
    if not texts and call.kind == "execute":
        texts = [_without_shell(terminal.launch.command) for terminal in entry.terminals.values()]
    return [line for line in dict.fromkeys(texts) if line.strip()]


def _without_shell(line: str) -> str:
    """Return the command in a shell's arguments, or any other line unchanged."""
    try:
        return (
            requests.command(shlex.split(line)).line
            if requests.is_shell(line.split(None, 1)[0])
            else line
        )
    except (ValueError, IndexError):
        return line


def _first_value(raw: Any, keys: Sequence[str]) -> list[str]:
    values = (raw.get(key) for key in keys) if isinstance(raw, Mapping) else ()
    return [text for text in values if isinstance(text, str) and text.strip()][:1]


def _display(path: str, cwd: str) -> str:
    whole = os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118
    return "." if whole == cwd.rstrip("/") else display_path(whole, cwd)


def _contains(title: str, text: str) -> bool:
    """Return whether a title contains a text as a whole word."""
    title, text = " ".join(title.split()), " ".join(text.split())
    at = title.find(text)
    while at >= 0:
        before, after = title[:at][-1:], title[at + len(text) :][:2].rstrip(".,:;")
        if not (_is_one_word(before, text[0]) or _is_one_word(after[:1], text[-1])):
            return True
        at = title.find(text, at + 1)
    return False


def _is_one_word(a: str, b: str) -> bool:
    return bool(a and _WORD.match(a) and _WORD.match(b))
