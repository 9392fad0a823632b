"""Tool `nvim_edit`: replacements in a file's live text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from acp_nvim.edits.text import EMPTY, parse
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.tools.changing.changes import Changes, real_path
from acp_nvim.tools.files import display_path
from acp_nvim.tools.server.fields import Path
from acp_nvim.tools.server.tool import Call, Tool, ToolError, ToolResult

MAX_QUOTED: Final = 200
"""Maximum number of characters in a line that an error quotes."""
MAX_COMPARED: Final = 20_000
"""Maximum number of lines that are searched for the most similar one."""


class Replacement(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Replacement of some text."""

    old: Annotated[
        str,
        Meta(
            description="Text to replace, exactly as in the file, with enough context to occur "
            "once. Empty for a new or empty file, of which `new` is then the whole text."
        ),
    ]
    new: Annotated[str, Meta(description="Replacement text.")]
    all: Annotated[bool, Meta(description="Replace all occurrences.")] = False


class EditArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `nvim_edit`."""

    path: Path
    edits: Annotated[
        Sequence[Replacement],
        Meta(description="Replacements, made in this order, all or none.", min_length=1),
    ]


DESCRIPTION: Final = (
    "Edit a file in the user's editor, including their unsaved text, as hunks that they review. "
    "Prefer this to writing the file on disk: nothing that the user has typed is lost, and one "
    "undo reverts the edit. The user is asked with a diff, unless their rules allow it. "
    'Example: {"path": "app.py", "edits": [{"old": "retries = 1\\n", "new": "retries = 3\\n"}]}'
)


def edit_tool(changes: Changes) -> Tool[EditArguments]:
    async def run(call: Call, arguments: EditArguments) -> ToolResult:
        session = call.session
        path = real_path(session, arguments.path)
        name = display_path(session, path)
        before = await _live_content(changes, call, arguments)
        after = before or ""
        for edit in arguments.edits:
            after = replace_once(name, after, edit, is_new=before is None)
        change = FileChange(path, None if before is None else parse(before), parse(after))
        title = f"Create {name}" if before is None else f"Edit {name}"
        return await changes.ask_and_make(call, title, [change], is_known=True)

    return Tool(
        name="nvim_edit",
        title="Edit",
        description=DESCRIPTION,
        arguments=EditArguments,
        run=run,
        writes=True,
        timeout_s=None,
    )


async def _live_content(changes: Changes, call: Call, arguments: EditArguments) -> str | None:
    """Return the live text, or None if the file is missing and the first edit creates it."""
    try:
        return str(await changes.read(call.session, arguments.path))
    except Refusal as refusal:
        if refusal.reason != "missing" or arguments.edits[0].old:
            raise
        return None


def replace_once(name: str, content: str, edit: Replacement, *, is_new: bool = False) -> str:
    """Return the content with one replacement made.

    Raise ToolError if the old text is missing or occurs several times.
    """
    old, new = _without_cr(edit.old, content), _without_cr(edit.new, content)
    if not old:
        if content and content != str(EMPTY):
            raise ToolError(f"{name}: `old` is empty, but the file is not")
        return new
    if is_new and not content:
        raise ToolError(f"{name}: no such file")
    count = content.count(old)
    if count == 0:
        raise ToolError(f"{name}: `old` is not in the file; {nearest(content, old)}")
    if count > 1 and not edit.all:
        rows = ", ".join(str(row) for row in _rows(content, old)[:5])
        raise ToolError(
            f"{name}: `old` occurs in {count} places (lines {rows}): add more of the text "
            "around it, or set `all`"
        )
    return content.replace(old, new)


def _without_cr(piece: str, content: str) -> str:
    """Return `piece` without CR at line endings, unless `content` has such line endings.

    An editor does not show CRs.
    """
    return piece if "\r" in content else piece.replace("\r\n", "\n")


def _rows(content: str, old: str) -> list[int]:
    """Return the 1-based lines at which `old` occurs."""
    rows: list[int] = []
    at = content.find(old)
    while at >= 0:
        rows.append(content.count("\n", 0, at) + 1)
        at = content.find(old, at + len(old))
    return rows


def nearest(content: str, old: str) -> str:
    """Return the line of `content` that is most similar to the first line of `old`."""
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")
    from difflib import SequenceMatcher  # only needed if the old text is missing

    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:MAX_QUOTED])
    best, row, candidate = 0.0, 0, ""
    for number, line in enumerate(content.split("\n")[:MAX_COMPARED], 1):
        matcher.set_seq1(line.strip()[:MAX_QUOTED])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, row, candidate = ratio, number, line
    if not row:
        return "no line is similar"
    return f"the nearest is line {row}: {candidate[:MAX_QUOTED]}"
