"""Raw input of a tool call as rows of its permission card.

Parts that are identical to the call's title, its content or the rows above are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from msgspec import Struct

from acp_nvim.patterns import late
from acp_nvim.protocol import schema
from acp_nvim.render.cutting import FIRST, fold_rows
from acp_nvim.render.diffs import cut_rows, edit_rows, patch_rows, raw_patch_rows, text_rows
from acp_nvim.render.json_text import json_rows
from acp_nvim.render.rows import Row, Target, row
from acp_nvim.render.text import display_path, path_line
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.lists import ITEMS
from acp_nvim.session.questions import tool_input
from acp_nvim.session.questions.patches import patches, split_diffs
from acp_nvim.session.questions.requests import commands

MAX_COMPARED = 1 << 18
"""Maximum number of characters in a text that is compared with the texts already shown."""

_FENCE = late(r"```[\w-]*\n(.*?)\n?```", re.DOTALL)


class OnScreen(Struct, frozen=True):
    """Texts that are already on the screen when the raw input is drawn."""

    title: str
    texts: str
    diffs: list[schema.Diff]
    paths: Collection[str]
    cwd: str
    full_target: Target
    """Target that opens the whole input."""
    command: str | None = None
    """The command in the title of the question."""


def _on_screen(
    call: ToolCall,
    cwd: str,
    paths: Collection[str],
    full_target: Target,
    command: str | None = None,
) -> OnScreen:
    diffs = [item for item in call.content if isinstance(item, schema.Diff)]
    return OnScreen(
        call.title, "\n".join(_content_texts(call)), diffs, paths, cwd, full_target, command
    )


def input_rows(
    call: ToolCall,
    cwd: str,
    paths: Collection[str],
    full_target: Target,
    command: str | None = None,
) -> list[Row]:
    """Return rows for the parts of a call's raw input that title and content do not show.

    `paths` are shown in other rows. `command` is the title of the question.
    """
    on_screen = _on_screen(call, cwd, paths, full_target, command)
    rows: list[Row] = []
    for part in _visible_parts(call):
        rows += _ROWS[type(part)](part, on_screen)
    return fold_rows(rows, full_target)


def _visible_parts(call: ToolCall) -> list[tool_input.Part]:
    """Return the visible parts. Arguments of a user's tool are shown as plain data."""
    if call.user_tool:
        return [tool_input.Data(call.raw_input)] if call.raw_input else []
    return [*_commands_in_meta(call), *tool_input.parts(call.raw_input, call.id)]


def change_rows(call: ToolCall, cwd: str, limit: int | None, full_target: Target) -> list[Row]:
    """Return the patches of a call's raw input that its content does not show.

    There are at most `limit` rows for each file.
    """
    rows: list[Row] = []
    on_screen: OnScreen | None = None
    for part in islice(patches(call.raw_input), ITEMS):
        on_screen = on_screen or _on_screen(call, cwd, (), full_target)
        if isinstance(part, tool_input.Edit):
            part_rows = _edit_part_rows(part, on_screen)
            rows += [*part_rows[:1], *cut_rows(part_rows[1:], limit, full_target)]
        elif part.files and not _is_shown(part, on_screen):
            rows += patch_rows(part.files, limit, cwd, full_target)
    return rows


def _commands_in_meta(call: ToolCall) -> list[tool_input.Command]:
    """Return commands that are only in the call's `_meta`. The rules check them too."""
    if not call.meta:
        return []
    all_commands = commands(call)
    shown = {command.line for command in all_commands if not command.found.startswith("_meta")}
    hidden = dict.fromkeys(command.line for command in all_commands if command.line not in shown)
    return [tool_input.Command(line) for line in hidden]


def _content_texts(call: ToolCall) -> Iterator[str]:
    for item in call.content:
        if isinstance(item, schema.Content) and isinstance(item.content, schema.TextContent):
            yield item.content.text


def is_named(path: str, text: str) -> bool:
    """Return whether a text contains exactly this path, not a longer one."""
    at = text.find(path)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(path) :][:2].rstrip(".,:;")
        if not re.match(r"[\w/.~-]", before) and not re.match(r"[\w/.~-]", after):
            return True
        at = text.find(path, at + 1)
    return False


def _command_rows(part: tool_input.Command, on_screen: OnScreen) -> list[Row]:
    if part.line == on_screen.command or _is_on_screen(part.line, on_screen):
        return []
    return text_rows(part.line.rstrip("\n"), on_screen.full_target, "$ ", "AcpCommand", "  ")


def _is_on_screen(line: str, on_screen: OnScreen) -> bool:
    """Return whether the title or a text is this one-line command.

    Commands of several lines are always drawn.
    """
    if "\n" in line or "\t" in line or "  " in line or len(line) > MAX_COMPARED:
        return False
    if on_screen.title in (line, f"`{line}`"):
        return True
    texts = on_screen.texts if len(on_screen.texts) <= MAX_COMPARED else ""
    return line == texts.strip() or line in [text.strip() for text in _FENCE.findall(texts)]


def _place_rows(part: tool_input.Place, on_screen: OnScreen) -> list[Row]:
    if part.path in on_screen.paths or is_named(part.path, on_screen.title):
        return []
    if any(diff.path == part.path for diff in on_screen.diffs):
        return []
    target = {"kind": "file", "path": part.path} if part.path.startswith("/") else None
    return [row(display_path(part.path, on_screen.cwd), "AcpPath", target)]


def _prose_rows(part: tool_input.Prose, on_screen: OnScreen) -> list[Row]:
    text = part.text.strip("\n")
    if len(text) <= MAX_COMPARED and (text in on_screen.texts or text == on_screen.title):
        return []
    return text_rows(text, on_screen.full_target)


def _patch_part_rows(part: tool_input.Patch, on_screen: OnScreen) -> list[Row]:
    if _is_shown(part, on_screen):
        return []
    if part.files is not None:
        rows = patch_rows(part.files, None, on_screen.cwd, on_screen.full_target)
        return fold_rows(rows, on_screen.full_target, FIRST)
    title = part.title or part.path
    head = [row(path_line(title), "AcpPath")] if title else []
    return head + raw_patch_rows(part.text, on_screen.full_target)


def _is_shown(part: tool_input.Patch, on_screen: OnScreen) -> bool:
    """Return whether the content shows the same changes."""
    if len(part.text) > MAX_COMPARED:
        return False
    if _is_in_diffs(part.text, on_screen.diffs):
        return True
    shown = split_diffs(on_screen.texts, part.path)
    return any(isinstance(other, tool_input.Patch) and other.files == part.files for other in shown)


def _is_in_diffs(patch: str, diffs: list[schema.Diff]) -> bool:
    """Return whether the diffs contain every changed line of a patch, in a file of the patch."""
    if not diffs:
        return False
    new = {line for diff in diffs for line in diff.new_text.splitlines()}
    old = {line for diff in diffs for line in (diff.old_text or "").splitlines()}
    paths = [diff.path for diff in diffs]
    for line in patch.splitlines():
        sign, text = line[:1], line[1:]
        if line.startswith("*** "):
            name = line.partition(": ")[2]
            if name and not any(f"/{path}".endswith(f"/{name}") for path in paths):
                return False
        elif line.startswith(("+++ ", "--- ")):
            continue
        elif (sign == "+" and text not in new) or (sign == "-" and text not in old):
            return False
    return True


def _edit_part_rows(part: tool_input.Edit, on_screen: OnScreen) -> list[Row]:
    for diff in on_screen.diffs:
        old = diff.old_text if isinstance(diff.old_text, str) else ""
        if diff.path == part.path and part.new in diff.new_text and (part.old or "") in old:
            return []
    return edit_rows(part.path, part.old, part.new, on_screen.cwd, on_screen.full_target)


def _choice_rows(part: tool_input.Choice, on_screen: OnScreen) -> list[Row]:
    rows = text_rows(part.text, on_screen.full_target, "? ", None, "  ")
    for number, (label, about) in enumerate(part.answers, 1):
        text = f"{label} — {about}" if about else label
        rows += text_rows(text, on_screen.full_target, f"  {number}. ", None, "     ")
    return rows


def _task_rows(part: tool_input.Task, on_screen: OnScreen) -> list[Row]:
    status = f" ({part.status})" if part.status else ""
    return text_rows(part.text + status, on_screen.full_target, "- ", None, "  ")


def _folder_rows(part: tool_input.Folder, on_screen: OnScreen) -> list[Row]:
    return [] if part.path == on_screen.cwd else [row(f"in {path_line(part.path)}", "AcpMuted")]


def _note_rows(part: tool_input.Note, on_screen: OnScreen) -> list[Row]:
    word = f"{part.word} " if part.word else ""
    return text_rows(part.text, on_screen.full_target, word, None, "    ")


def _gap_rows(part: tool_input.Gap, on_screen: OnScreen) -> list[Row]:
    return [row(f"… {part.count} more between, <CR> shows all", "AcpMuted", on_screen.full_target)]


_ROWS: Final[Mapping[type[Any], Callable[[Any, OnScreen], list[Row]]]] = {
    tool_input.Command: _command_rows,
    tool_input.Folder: _folder_rows,
    tool_input.Place: _place_rows,
    tool_input.Note: _note_rows,
    tool_input.Prose: _prose_rows,
    tool_input.Patch: _patch_part_rows,
    tool_input.Edit: _edit_part_rows,
    tool_input.Choice: _choice_rows,
    tool_input.Task: _task_rows,
    tool_input.Gap: _gap_rows,
    tool_input.Data: lambda part, on_screen: json_rows(part.value, on_screen.full_target),
}
