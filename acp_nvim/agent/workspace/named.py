"""The files that a tool call names: in locations, diffs, and what agents put into `rawInput`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from acp_nvim.protocol import schema
from acp_nvim.session.tool_calls import ToolCall

READING: Final = frozenset({"read", "search", "think", "fetch", "switch_mode"})
"""Kinds of tool calls that change no file (v1/tool-calls#kinds)."""
KEYS: Final = frozenset(
    {
        *("path", "paths", "file", "files", "file_path", "filePath", "filepath", "filename"),
        *("abs_path", "absolute_path", "target_file", "notebook_path", "relative_path"),
        *("old_path", "new_path", "oldPath", "newPath", "source", "destination", "from", "to"),
    }
)
"""Under these keys of `rawInput` agents name files."""
MAX_NAMED: Final = 200
"""Files of one tool call that are looked at by name; the rest is found in the work tree."""
_DEPTH: Final = 4


def named(call: ToolCall, cwd: str) -> list[str]:
    """Real absolute paths, without doubles, in the order in which they are named."""
    found = [at.path for at in call.locations] if call.locations else []
    found += [item.path for item in call.content if item.__class__ is schema.Diff]
    if call.raw_input:
        found += _inside(call.raw_input, 0)
    if not found:
        return found
    found = [path for path in found if "\0" not in path]
    whole = (os.path.realpath(os.path.join(cwd, path)) for path in found if path)  # noqa: PTH118
    return [path for path in dict.fromkeys(whole) if not os.path.isdir(path)][:MAX_NAMED]  # noqa: PTH112


def diffs(call: ToolCall, cwd: str) -> list[tuple[str, str | None, str]]:
    """Real path, old and new text of each diff that the call gives (v1/tool-calls#content)."""
    return [
        (
            os.path.realpath(os.path.join(cwd, item.path)),  # noqa: PTH118
            item.old_text if isinstance(item.old_text, str) else None,
            item.new_text,
        )
        for item in call.content
        if isinstance(item, schema.Diff) and "\0" not in item.path
    ]


def _inside(value: Any, depth: int, key: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if key in KEYS and "\0" not in value and "\n" not in value and "://" not in value:
            yield value
    elif isinstance(value, dict) and depth < _DEPTH:
        for name, item in value.items():
            yield from _inside(item, depth + 1, str(name))
    elif isinstance(value, list) and depth < _DEPTH:
        for item in value:
            yield from _inside(item, depth + 1, key)
