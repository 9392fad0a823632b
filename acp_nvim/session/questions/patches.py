"""Patches of a tool call: in its raw input, and in Markdown of its content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeGuard

from acp_nvim.edits import patch
from acp_nvim.edits.patch import FilePatch
from acp_nvim.patterns import late
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions import tool_input
from acp_nvim.session.questions.requests import files_of_diffs, texts
from acp_nvim.session.questions.tool_input import Edit, Patch

_DIFF_FENCE: Final = late(r"^(?:`{3,}|~{3,})[ \t]*(?:diff|patch|udiff)[ \t]*$", re.MULTILINE)
"""Line above a diff in Markdown."""
_FENCE: Final = late(r"(`{3,}|~{3,})[^`]*$")


def patches(raw_input: Any) -> Iterator[Patch | Edit]:
    """Yield the patches in a raw input, and the files that the same input creates or deletes."""
    if not may_hold_patch(raw_input):
        return
    if isinstance(raw_input, dict) and tool_input.is_changes(raw_input.get("changes")):
        parts = (
            part for item in raw_input["changes"].items() for part in tool_input.change_parts(item)
        )
        raw_input = {key: value for key, value in raw_input.items() if key != "changes"}
        yield from filter(_is_patch, parts)  # includes patches that a card leaves out
    yield from filter(_is_patch, tool_input.parts(raw_input))


def _is_patch(part: tool_input.Part) -> TypeGuard[Patch | Edit]:
    return isinstance(part, Patch) or (isinstance(part, Edit) and part.file is not None)


def may_hold_patch(raw: Any, depth: int = tool_input.MAX_DEPTH) -> bool:
    """Return whether a raw input may contain a patch. This is cheap: calls are drawn often."""
    if isinstance(raw, str):
        return bool(tool_input.PATCH.match(raw))
    if not isinstance(raw, dict) or not depth:
        return False
    return any(
        key == "changes"
        or (isinstance(value, str) and tool_input.PATCH.match(value))
        or (isinstance(value, list) and len(value) == 2 and key in tool_input.COMMANDS)
        or (
            isinstance(value, dict)
            and key in tool_input.WRAPPERS
            and may_hold_patch(value, depth - 1)
        )
        for key, value in islice(raw.items(), tool_input.MAX_PARTS)
    )


def may_hold_diff(text: str) -> bool:
    """Return whether a Markdown text has the beginning of a diff and is short enough to parse."""
    has_fence = "```" in text or "~~~" in text
    return has_fence and len(text) <= patch.MAX_LENGTH and bool(_DIFF_FENCE.search(text))


def shows_edit(call: ToolCall) -> bool:
    """Return whether a call of any kind shows a change of files: a diff, a patch or new text."""
    if files_of_diffs(call):
        return True
    if call.raw_input and any(
        isinstance(part, Edit | Patch) for part in tool_input.parts(call.raw_input)
    ):
        return True
    return any(may_hold_diff(text) and patch.named_files(text) for text in texts(call))


def split_diffs(text: str, path: str | None) -> list[str | Patch]:
    """Return the parts of a Markdown text: its readable diffs, and the text around them.

    `path` is the file of a diff without a file name.
    """
    parts: list[str | Patch] = []
    lines = text.split("\n")
    end = 0
    for first, last in _fences(lines) if may_hold_diff(text) else ():
        diff = Patch("\n".join((*lines[first + 1 : last], "")), path=path)
        if _DIFF_FENCE.match(lines[first]) and diff.files:
            parts += [*(["\n".join(lines[end:first])] if first > end else []), diff]
            end = last + 1
    return [*parts, "\n".join(lines[end:])] if end < len(lines) else parts


def _fences(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the rows at which fences open and close."""
    opened, mark = 0, ""
    for row, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if not mark:
            opened, mark = row, fence[1]
        elif fence[1].startswith(mark) and line.strip() == fence[1]:
            yield opened, row
            mark = ""


def patches_of(call: ToolCall) -> list[FilePatch]:
    """Return the patches that a tool call may apply.

    They come from the raw input or, if it has none, from the content.
    """
    proposed: list[FilePatch] = []
    for part in patches(call.raw_input):
        files = part.files or () if isinstance(part, Patch) else (part.file,)
        proposed += [file for file in files if file is not None]
    if proposed:
        return proposed  # diffs in the content repeat the same changes
    path = call.locations[0].path if len(call.locations) == 1 else None
    pieces = (piece for text in texts(call) for piece in split_diffs(text, path))
    diffs = (piece.files or () for piece in pieces if isinstance(piece, Patch))
    return [file for files in diffs for file in files]
