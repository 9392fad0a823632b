"""Tool calls as rows, and their content in questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct

from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import FileChanges
from acp_nvim.render.calls.call_line import call_line, location_target
from acp_nvim.render.calls.tool_input import change_rows
from acp_nvim.render.cards import (
    ANSWER,
    UNDER,
    answer_rows,
    card,
    count_option_rows,
    covered_rows,
    full_view_target,
)
from acp_nvim.render.code_text import code_rows, is_one_block, may_hold_code
from acp_nvim.render.command_output import coloured_pieces, is_coloured
from acp_nvim.render.content import draw_block, is_aside, with_annotations
from acp_nvim.render.cutting import fold_rows, head, more_row
from acp_nvim.render.diffs import cut_rows, diff_rows, patch_rows, text_rows
from acp_nvim.render.question_title import title
from acp_nvim.render.rows import MAX_WIDTH, Row, cut_middle, indent, row, row_of_pieces
from acp_nvim.render.terminals import terminal_rows
from acp_nvim.render.text import display_path, one_line, visible
from acp_nvim.session import lists
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.output.tail import resolve_overwrites
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.questions.patches import may_hold_diff, may_hold_patch, split_diffs
from acp_nvim.session.questions.questions import output_of
from acp_nvim.session.questions.tool_input import Patch, commands_of
from acp_nvim.session.transcript.entries import ToolEntry

UNCUT = 1 << 30
"""Value of `tool_lines` that cuts nothing."""

_WRITE_VERBS = frozenset(("Edited", "Created", "Updated", "Wrote", "Modified"))

MAX_QUESTION_ROWS = 400
"""Maximum number of rows from the start of a call's content that are shown during a question.

Half as many rows from the end follow.
"""

MAX_SHORT = MAX_WIDTH // 8
"""Maximum number of characters of a text in which no line can be too long.

The escape of a character has at most eight characters.
"""


class Style(Struct, frozen=True):
    """Options for the rows of tool calls."""

    tool_lines: int = 8
    cwd: str = ""
    """The session's directory. Paths below it are shown relative to it."""


def draw_short(entry: ToolEntry, style: Style) -> tuple[Row, list[str]] | None:
    """Return the line of a tool call and the short texts below it, or None if it has other rows.

    This is a faster form of `draw` for the usual case.
    """
    call = entry.call
    if call.locations or len(call.content) > lists.ITEMS:
        return None
    if entry.decisions and not _are_all_queued(entry):
        return None
    if call.raw_input and (not call.content or may_hold_patch(call.raw_input)):
        return None
    if not call.content and (entry.terminals or call.raw_output):
        return None
    under: list[str] = []
    for item in call.content:
        text = _short_text(item, call, style)
        if text is None:
            return None
        if text:
            under += (UNDER + visible(text).replace("\n", "\n" + UNDER)).split("\n")
    return call_line(entry, entry.open_question if entry.decisions else None, style.cwd), under


def _visible_text(block: schema.TextContent, call: ToolCall) -> str:
    """Return the text of a block, with overwritten lines resolved if it is output."""
    return resolve_overwrites(block.text) if call.kind == "execute" else block.text


def _are_all_queued(entry: ToolEntry) -> bool:
    """Return whether all questions are still queued, so that the chat shows none."""
    for decision in entry.decisions:  # noqa: SIM110 - called very often
        if not decision.lacks_card:
            return False
    return True


def _short_text(item: Any, call: ToolCall, style: Style) -> str | None:
    """Return a part of a call's content if it is just a short text, otherwise None."""
    block = item.content if item.__class__ is schema.Content else None
    if block.__class__ is not schema.TextContent or block.annotations:
        return None
    if call.kind == "execute" and is_coloured(block.text):
        return None
    text: str = _visible_text(block, call).rstrip("\n")
    if text and (len(text) > MAX_SHORT or text.count("\n") >= style.tool_lines):
        return None
    return None if may_hold_diff(text) or may_hold_code(text, call) else text


def draw(entry: ToolEntry, style: Style) -> list[Row]:
    """Return the rows of a tool call: its line, then the rows that fold below it.

    During a question, everything is shown.
    """
    call = entry.call
    question = entry.open_question if entry.decisions else None
    is_permission = (
        question is not None and question.subject == "permission" and not question.lacks_card
    )
    if question is not None and is_permission and style.tool_lines != UNCUT:
        rows = card(question, entry, style.cwd, content_rows(entry, question, style.cwd), chat=True)
        return rows + _question_rows(entry, style, question)
    limit = style.tool_lines
    rows = [call_line(entry, question, style.cwd)]
    inside = indent(change_rows(call, style.cwd, limit, full_view_target(call, None)), UNDER)
    items, hidden_count = _parts_to_draw(call, both_ends=False, uncut=style.tool_lines == UNCUT)
    only = _only_diff(items) if question is None and call.kind == "edit" else None
    named = next(iter(_diff_paths([only])), "")
    for at, item in items:
        if item.__class__ is schema.Content:
            if not named or not _only_names_file(item.content, named):
                inside += _block_rows(at, item.content, call, limit, style.cwd, UNDER)
        else:
            content = _content_rows(at, item, entry, limit, style.cwd)
            inside += indent(_without_head(content) if item is only else content, UNDER)
    if hidden_count:
        inside.append(row(UNDER + lists.more(hidden_count), "AcpMuted", call.index))
    if not call.content:
        terminals = _meta_terminal_rows(entry, limit, style.cwd)
        inside += indent(terminals or _command_rows(call, limit), UNDER)
    if text := _raw_output(entry):
        inside += _block_rows(0, schema.TextContent(text), call, limit, style.cwd, UNDER)
    rows += inside
    if call.locations:
        rows += indent(_location_rows(call, style), UNDER)
    return rows + _question_rows(entry, style)


def _only_diff(items: Sequence[tuple[int, Any]]) -> Any:
    """Return the only diff of a call, whose file is already in the call's line, or None."""
    diffs = [item for _, item in items if item.__class__ in (schema.Diff, FileChanges)]
    return diffs[0] if len(diffs) == 1 and len(_diff_paths(diffs)) == 1 else None


def _diff_paths(content: Iterable[Any]) -> set[str]:
    """Return the paths of diffs."""
    paths: set[str] = set()
    for item in content:
        if item.__class__ is schema.Diff:
            paths.add(item.path)
        elif item.__class__ is FileChanges:
            paths.update(item.paths)
    return paths


def _without_head(rows: list[Row]) -> list[Row]:
    """Return the rows of a diff without the first one if it only names the file."""
    text, spans, _ = rows[0] if len(rows) > 1 else ("", (), None)
    is_head = bool(spans) and spans[0][2] == "AcpPath" and " → " not in text
    return rows[1:] if is_head else rows


def _only_names_file(block: Any, path: str) -> bool:
    """Return whether a text only says that a file was written, like `Edited a.py`."""
    if block.__class__ is not schema.TextContent or len(block.text) > MAX_SHORT:
        return False
    verb, _, named = block.text.strip().partition(" ")
    name = named.strip("`'\"").rstrip(".")
    return verb in _WRITE_VERBS and bool(name) and f"/{path}".endswith(f"/{name.lstrip('/')}")


def _question_rows(entry: ToolEntry, style: Style, drawn: Decision | None = None) -> list[Row]:
    """Return the questions of a call, except queued ones and the one already drawn."""
    rows: list[Row] = []
    for decision in entry.decisions:
        if decision is drawn or decision.lacks_card:
            continue
        if decision.outcome is None:
            rows += card(decision, entry, style.cwd)
        else:
            rows += [*answer_rows(decision), *_rows_as_answered(decision, entry, style)]
    return indent(_merge_equal_answers(rows), UNDER)


def _merge_equal_answers(rows: Sequence[Row]) -> list[Row]:
    """Merge equal consecutive answers into one row with their number."""
    answers: list[Row] = []
    for first, alike in groupby(rows):
        text, _, target = first
        same = list(alike)
        if len(same) > 1 and text.startswith(ANSWER):
            same = [row(f"{text} · {len(same)} times", "AcpMuted", target)]
        answers += same
    return answers


def _rows_as_answered(decision: Decision, entry: ToolEntry, style: Style) -> list[Row]:
    """Return rows of the call as the user answered it, if the agent has changed it since then.

    For a question without a call, return rows of the open calls that the answer may have allowed.
    """
    call = entry.call
    if differs_from_answer(decision, call, style.cwd):
        then = ToolEntry(decision.record, terminals=entry.terminals)
        rows = card(decision, then, style.cwd, content_rows(then, decision, style.cwd))
        rows = rows[: len(rows) - count_option_rows(decision)]
    elif decision.covers:
        rows = content_rows(entry, decision, style.cwd)
    else:
        return []
    rows = [row("Asked:", "AcpMuted"), *((text, spans, None) for text, spans, _ in rows)]
    return indent(cut_rows(rows, style.tool_lines + 1, call.index), UNDER)


def differs_from_answer(decision: Decision, call: ToolCall, cwd: str = "") -> bool:
    """Return whether title, input or edits of a call have changed since the user's answer.

    Changes to the output do not count.
    """
    answered = decision.record
    if answered is None:
        return False
    if answered.raw_input != call.raw_input or answered.kind != call.kind:
        return True
    if _described(answered) == _described(call):
        return False  # nearly always, and faster than a comparison of titles
    if not _edits(answered) <= _edits(call):
        return True
    return title(decision, answered, cwd).parts != title(decision, call, cwd).parts


def _described(call: ToolCall) -> tuple[Any, ...]:
    """Return the parts of a call, besides kind and raw input, that a title depends on."""
    names = (call.title, call.name, call.own, call.user_tool)
    return (*names, call.meta, [*call.locations], [*call.content])


def _edits(call: ToolCall) -> set[tuple[str, str]]:
    return {
        (block.path, block.new_text) for block in call.content if isinstance(block, schema.Diff)
    }


def _parts_to_draw(
    call: ToolCall, *, both_ends: bool, uncut: bool = False
) -> tuple[list[tuple[int, Any]], int]:
    """Return the parts of a call's content to draw, with their positions, and the number left out.

    If there are very many, only the first are drawn, and with `both_ends` also the last.
    """
    content = list(enumerate(call.content))
    first, last = (MAX_QUESTION_ROWS, MAX_QUESTION_ROWS // 2) if both_ends else (lists.ITEMS, 0)
    hidden_count = 0 if uncut else max(len(content) - first - last, 0)
    return (
        (content[:first] + content[first + hidden_count :], hidden_count)
        if hidden_count
        else (content, 0)
    )


def call_of_question(decision: Decision, session: Any) -> ToolEntry | None:
    """Return the tool call that a question in a session or in its child is about."""
    asker = decision.asker or session
    call = asker.tool_calls.get(decision.tool_call_id) if decision.tool_call_id else None
    return asker.entries.get(call) if call else None


def float_rows(entry: ToolEntry | None, decision: Decision, cwd: str = "") -> list[Row]:
    """Return the rows of a pending decision for the float: its card with its call's content."""
    return card(decision, entry, cwd, content_rows(entry, decision, cwd))


def content_rows(entry: ToolEntry | None, decision: Decision, cwd: str) -> list[Row]:
    """Return the content of a tool call for its question, or the calls that it may allow."""
    if decision.covers:
        rows = [row for call in decision.covers for row in _covered_rows(decision, call, cwd)]
        return indent(
            fold_rows(
                rows, full_view_target(entry.call if entry else None, decision), MAX_QUESTION_ROWS
            ),
            UNDER,
        )
    return [] if entry is None else _call_content(entry, decision, cwd)


def _covered_rows(decision: Decision, call: ToolCall, cwd: str) -> list[Row]:
    return covered_rows(decision, call, cwd, _call_content(ToolEntry(call), decision, cwd))


def _call_content(entry: ToolEntry, decision: Decision, cwd: str) -> list[Row]:
    call, inside = entry.call, list[Row]()
    items, hidden_count = _parts_to_draw(call, both_ends=True)
    for at, item in items:
        inside += _content_rows(at, item, entry, None, cwd)
    if not call.content:
        inside += _meta_terminal_rows(entry, None, cwd)
    return indent(
        fold_rows(inside, full_view_target(call, decision), MAX_QUESTION_ROWS, hidden_count), UNDER
    )


def _count_lines_above(diff: schema.Diff, call: ToolCall) -> int:
    """Return the number of lines of the file above a diff.

    Some agents send only the replaced lines, and a location for their position.
    """
    lines = diff.old_text.count("\n") + 1 if isinstance(diff.old_text, str) else 0
    for location in call.locations:
        if location.path == diff.path and location.line and location.line > lines:
            return int(location.line) - 1
    return 0


def _content_rows(at: int, item: Any, entry: ToolEntry, limit: int | None, cwd: str) -> list[Row]:
    match item:
        case schema.Content():
            return _block_rows(at, item.content, entry.call, limit, cwd)
        case schema.Diff():
            target = {"kind": "diff", "call": entry.call.index, "item": at}
            return diff_rows(
                item, limit, _count_lines_above(item, entry.call), cwd, entry.call.index, target
            )
        case schema.Terminal():
            return _terminal_rows_by_id(item.terminal_id, entry, limit, cwd)
        case schema.SessionLink():
            target = {"kind": "session", "id": item.session_id}
            return [row(f"→ subagent {one_line(item.session_id, 60)}", "AcpLink", target)]
        case _:
            tag = one_line(str(getattr(item, "type", type(item).__name__)), 40)
            return [row(f"[{tag}]", "AcpMuted", entry.call.index)]


def _block_rows(
    at: int, block: Any, call: ToolCall, limit: int | None, cwd: str, prefix: str = ""
) -> list[Row]:
    """Return the rows of a content block, each preceded by `prefix`."""
    if block.__class__ is not schema.TextContent or is_aside(block):
        return indent(draw_block(block, {"call": call.index, "item": at}, cwd), prefix)
    if block.annotations:
        plain = schema.TextContent(block.text)
        return indent(with_annotations(block), prefix) + _block_rows(
            at, plain, call, limit, cwd, prefix
        )
    text = _visible_text(block, call).rstrip("\n")
    count = text.count("\n") + 1
    formatted = _formatted_rows(block.text, text, call, limit, cwd)
    if formatted is not None:
        return indent(formatted, prefix)
    if len(text) <= MAX_SHORT or limit == UNCUT:
        lines = visible(text).split("\n") if text else []
        if limit is None or len(lines) <= limit:
            return [(prefix + line, (), None) for line in lines]
    if limit == 0:
        return indent([more_row(count, call.index)], prefix)
    if limit is not None and count > limit:
        text = head(text, limit)
    rows = indent([_row_of_line(line, call) for line in visible(text).split("\n")], prefix)
    if limit is not None and count > limit:
        rows += indent([more_row(count - limit, call.index)], prefix)
    return rows


def _formatted_rows(
    coloured: str, text: str, call: ToolCall, limit: int | None, cwd: str
) -> list[Row] | None:
    """Return the rows of a text with a diff, code or colours, or None for any other text.

    `coloured` is the text with its colours.
    """
    if may_hold_diff(text) and (rows := _rows_with_diffs(text, call, limit, cwd)):
        return rows
    count = text.count("\n") + 1
    if text and limit != 0 and may_hold_code(text, call):
        return _code_rows(text, call, limit, count)
    if call.kind == "execute" and is_coloured(coloured):
        return _coloured_rows(coloured, call, limit, count)
    return None


def _coloured_rows(text: str, call: ToolCall, limit: int | None, count: int) -> list[Row]:
    """Return the first `limit` of `count` lines of an output with colours, then a row for the rest.

    A line that is too long loses its colours, because it is cut.
    """
    lines = coloured_pieces(text)[:count]
    shown = lines if limit in (None, UNCUT) else lines[:limit]
    rows: list[Row] = []
    for line in shown:
        row = row_of_pieces([(visible(piece), group) for piece, group in line])
        plain = row[0]
        rows.append(_row_of_line(plain, call) if len(plain) > MAX_WIDTH else row)
    left_out = count - len(shown)
    return [*rows, more_row(left_out, call.index)] if left_out else rows


def _code_rows(text: str, call: ToolCall, limit: int | None, count: int) -> list[Row]:
    """Return the rows of a text that may contain code, without outer fences.

    A line that is cut can be opened in full.
    """
    is_fenced = limit != UNCUT and is_one_block(text)
    count -= 2 * is_fenced
    cut_at = limit if limit is not None and limit < count else None
    lines = visible(text if cut_at is None else head(text, cut_at + is_fenced)).split("\n")
    long = {at for at, line in enumerate(lines) if limit != UNCUT and len(line) > MAX_WIDTH}
    rows = code_rows(
        [cut_middle(line) if at in long else line for at, line in enumerate(lines)], call
    )
    for at in long:
        rows[at] = (*rows[at][:2], call.index)
    if is_fenced:
        rows = rows[1:] if cut_at is not None else rows[1:-1]
    return rows if cut_at is None else [*rows, more_row(count - cut_at, call.index)]


def _rows_with_diffs(text: str, call: ToolCall, limit: int | None, cwd: str) -> list[Row]:
    """Return a text with its diffs drawn, or no rows if it has no readable diff."""
    path = call.locations[0].path if len(call.locations) == 1 else None
    parts = split_diffs(text, path)
    if not any(isinstance(part, Patch) for part in parts):
        return []
    rows: list[Row] = []
    for part in parts:
        if isinstance(part, Patch):
            rows += patch_rows(part.files or (), None, cwd, full_view_target(call, None))
        else:
            rows += [_row_of_line(line, call) for line in visible(part).split("\n")]
    return cut_rows(rows, limit, call.index)


def _row_of_line(line: str, call: ToolCall) -> Row:
    """Return the row of a line. If it is cut, it can be opened in full."""
    return row(line, None, call.index if len(line) > MAX_WIDTH else None)


def _terminal_rows_by_id(id: str, entry: ToolEntry, limit: int | None, cwd: str) -> list[Row]:
    """Return the rows of a terminal, or a row with the id of an unknown one."""
    terminal = entry.terminals.get(id)
    if terminal is None:
        return [
            row(f"[terminal {one_line(id, 60)}]", "AcpAttachment", {"kind": "terminal", "id": id})
        ]
    return terminal_rows(terminal, limit, cwd)


def _meta_terminal_rows(entry: ToolEntry, limit: int | None, cwd: str) -> list[Row]:
    """Return rows of terminals that an agent reports in `_meta` without embedding them."""
    terminals = [terminal for terminal in entry.terminals.values() if not terminal.is_hosted]
    return [row for terminal in terminals for row in terminal_rows(terminal, limit, cwd)]


def _raw_output(entry: ToolEntry) -> str:
    """Return the output of a call that has it only in `rawOutput`."""
    call = entry.call
    if not call.raw_output or any(item.__class__ is not schema.Terminal for item in call.content):
        return ""
    if any(terminal.line_count for terminal in entry.terminals.values()):
        return ""
    text = output_of(call.raw_output)
    return (text if call.kind == "execute" else resolve_overwrites(text)).rstrip("\n")


def _command_rows(call: ToolCall, limit: int | None) -> list[Row]:
    """Return rows of the commands of a call without content."""
    rows: list[Row] = []
    for command in commands_of(call.raw_input):
        if limit == UNCUT:
            rows += [(f"$ {line}", (), None) for line in visible(command).split("\n")]
        else:
            rows += text_rows(command, full_view_target(call, None), "$ ", "AcpCommand", "  ")
    return cut_rows(rows, limit, call.index)


def _location_rows(call: ToolCall, style: Style) -> list[Row]:
    shown = _diff_paths(call.content)
    rows: list[Row] = []
    limit = None if style.tool_lines == UNCUT else lists.ITEMS
    for location in call.locations[:limit]:
        if location.path in shown:
            continue
        target = location_target(location)
        line = f":{target['line']}" if "line" in target else ""
        rows.append(row(display_path(location.path, style.cwd) + line, "AcpPath", target))
    hidden_count = 0 if limit is None else len(call.locations) - limit
    return (
        [*rows, row(lists.more(hidden_count), "AcpMuted", call.index)] if hidden_count > 0 else rows
    )
