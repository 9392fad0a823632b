"""Files named by a tool call: in locations, diffs and `rawInput`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Final

from acp_nvim.protocol import schema
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.requests import files_of_diffs, paths

READING: Final = frozenset({"read", "search", "think", "fetch", "switch_mode"})
"""Kinds of tool calls that change no file (v1/tool-calls#kinds)."""
CHANGING: Final = frozenset({"edit", "delete", "move"})
"""Kinds of tool calls that change files and run nothing."""
MAX_NAMED: Final = 200
"""Maximum number of files checked by name for one tool call.

Changes to further files are found by scanning the work tree.
"""
MAX_DIFFS: Final = 1000
"""Maximum number of parts of one tool call that are searched for diffs."""

LONGEST: Final = 4096
"""Maximum number of characters in a path that is resolved. Linux accepts fewer."""


def expand_home(path: str) -> str:
    """Expand a leading `~` or `~user` to the home directory.

    A path of an unknown user, or with a NUL, is returned unchanged.
    """
    return os.path.expanduser(path) if path.startswith("~") and "\0" not in path else path  # noqa: PTH111


def resolve(path: str) -> str:
    """Return the target of a path.

    A path longer than the system accepts is cut: no file has it, and resolving it takes quadratic
    time.
    """
    return os.path.realpath(path if len(path) <= LONGEST else os.path.normpath(path)[:LONGEST])


def named_files(call: ToolCall, cwd: str) -> list[str]:
    """Return the distinct real, absolute paths in order of mention."""
    real_paths = (resolve(path) for path in paths_as_spelled(call, cwd))
    files = (path for path in islice(real_paths, 2 * MAX_NAMED) if not os.path.isdir(path))  # noqa: PTH112
    return list(dict.fromkeys(files))[:MAX_NAMED]


def paths_as_spelled(call: ToolCall, cwd: str) -> Iterator[str]:
    """Yield the absolute paths as the call spells them, without `..`.

    Text of several lines in `rawInput` is not a path.
    """
    declared = {location.path for location in call.locations}.union(files_of_diffs(call))
    for path in paths(call):
        if "\0" not in path and ("\n" not in path or path in declared):
            yield os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118


def paths_in_real_folders(call: ToolCall, cwd: str) -> list[str]:
    """Return the named paths with their folders resolved, so only the last name may be a link."""
    parts = map(os.path.split, islice(paths_as_spelled(call, cwd), 2 * MAX_NAMED))
    return [os.path.join(resolve(folder), name) for folder, name in parts]  # noqa: PTH118


def diffs(call: ToolCall, cwd: str) -> list[tuple[str, str | None, str]]:
    """Return the real path, old text and new text of each diff (v1/tool-calls#content)."""
    return [
        (
            resolve(os.path.join(cwd, item.path)),  # noqa: PTH118
            item.old_text if isinstance(item.old_text, str) else None,
            item.new_text,
        )
        for item in islice(call.content, MAX_DIFFS)
        if isinstance(item, schema.Diff) and "\0" not in item.path
    ]
