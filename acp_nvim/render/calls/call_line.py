"""The line of a tool call: its status, action and subject."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, get_args

from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.protocol.updates import FileChanges
from acp_nvim.render.calls.titles import call_title
from acp_nvim.render.diffs import changes
from acp_nvim.render.markdown import Span
from acp_nvim.render.rows import Row, Target, row_of_pieces, width
from acp_nvim.render.text import one_line, readable_word
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.transcript.entries import ToolEntry

ICONS = {"pending": "○", "in_progress": "◐", "completed": "✓", "failed": "✗", "cancelled": "⊘"}
GROUPS = {"completed": "AcpToolCompleted", "failed": "AcpToolFailed", "cancelled": "AcpToolFailed"}

KINDS = frozenset(get_args(schema.ToolKind))
"""Kinds of tool calls in the protocol. Their titles describe the action (v1/tool-calls)."""

_EXIT_CODE_KEYS = ("exit_code", "exitCode")
ASSUMED = {"completed": "assumed done", "cancelled": "assumed cancelled"}
"""Notes on calls whose end the agent has not reported."""
_MAX_REASON = 80
"""Maximum number of characters in the reason for a failure or a refusal."""


def call_line(entry: ToolEntry, question: Decision | None, cwd: str) -> Row:
    call = entry.call
    title, verb, beside = call_title(entry, cwd)
    title_width = len(title) if title.isascii() else width(title)
    name = f" ({beside})" if beside else ""
    if call.name and not call.own:
        name += _tool_name(call.name, f"{title} {beside}")
    if call.kind not in KINDS:
        name += f" ({readable_word(call.kind)})"
    counts = (0, 0)
    if call.kind == "edit" and question is None and (edited := edit_counts(call)):
        counts = edited[1]
    end_text = "permission needed" if question is not None else _end_text(entry)
    before, after, spans = _texts_around_title(
        call.status, question is not None, verb, title_width, width(name), counts, end_text
    )
    if question is not None or call.locations or any(counts):
        return f"{before}{title}{name}{after}", spans, _target_of_line(call, question)
    return f"{before}{title}{name}{after}", spans, call.index


@lru_cache(maxsize=1024)
def _texts_around_title(
    status: str,
    has_question: bool,
    verb_length: int,
    title_width: int,
    name_width: int,
    counts: tuple[int, int],
    end: str,
) -> tuple[str, str, tuple[Span, ...]]:
    """Return the texts before and after a title, and the spans of the row.

    `name_width` is the width of the text after the title.
    """
    group = "AcpPermission" if has_question else GROUPS.get(status, "AcpToolRunning")
    before, spans, _ = row_of_pieces([(ICONS.get(status, "◐") + " ", group)])
    start = width(before)
    at = start + title_width
    spans += ((start, start + verb_length, "AcpToolKind"),) if verb_length else ()
    spans += ((start + verb_length, at, "AcpToolTitle"),)
    spans += ((at, at + name_width, "AcpMuted"),) if name_width else ()
    at += name_width
    parts: list[tuple[str, str | None]] = []
    if any(counts):
        parts += [(f" +{counts[0]}", "AcpAdded"), (f" -{counts[1]}", "AcpRemoved")]
    has_ended = status in ("completed", "failed", "cancelled")
    end_group = group if has_question or not has_ended else "AcpToolFailed"
    end_group = "AcpMuted" if end == ASSUMED["completed"] else end_group
    parts += [(f" · {end}", end_group)] if end else []
    after, behind, _ = row_of_pieces(parts)
    return before, after, (*spans, *((a + at, b + at, group) for a, b, group in behind))


def edit_counts(call: ToolCall) -> tuple[str, tuple[int, int]] | None:
    """Return the path of a call's diffs and the numbers of added and removed lines.

    The path is empty for several files. Return None if there are no diffs.
    """
    added = removed = 0
    paths: set[str] = set()
    for item in call.content:
        if item.__class__ is schema.Diff:
            paths.add(item.path)
            for hunk in changes(item)[2]:
                added += len(hunk.lines)
                removed += hunk.end - hunk.start
        elif item.__class__ is FileChanges:
            paths.update(item.paths)
            added += item.added
            removed += item.removed
    if not paths:
        return None
    return (paths.pop() if len(paths) == 1 else ""), (added, removed)


def _end_text(entry: ToolEntry) -> str:
    """Describe how a call ended. Return an empty string if it succeeded."""
    call = entry.call
    denial = _denial(entry.decisions[-1]) if entry.decisions else ""
    if denial and (call.status == "cancelled" or entry.decisions[-1].reason):
        return denial
    if call.assumed and call.status in ASSUMED:
        return ASSUMED[call.status]
    if call.status == "completed" and not entry.terminals and not call.raw_output:
        return ""
    if call.status not in ("completed", "failed"):
        is_shown = call.status != "cancelled" and call.status in ICONS
        return "" if is_shown else readable_word(call.status)
    exit_text = _exit_text(entry)
    if exit_text or call.status != "failed":
        return exit_text
    return _failure_reason(call) or denial or "failed"


def _denial(decision: Decision) -> str:
    """Describe how a permission was denied. Return an empty string if it was not."""
    if decision.is_refused and decision.reason:
        return wording.PART_REFUSED.format(reason=one_line(decision.reason, _MAX_REASON))
    option = decision.outcome.option if decision.outcome is not None else None
    if option is None or not option.kind.startswith("reject"):
        return ""
    return wording.PART_DENIED_BY_RULE if decision.by == "rule" else wording.PART_DENIED


def _exit_text(entry: ToolEntry) -> str:
    for terminal in entry.terminals.values():
        if terminal.signal is not None:
            return terminal.signal
        if not terminal.running and terminal.exit_code:
            return f"exit {terminal.exit_code}"
    raw = entry.call.raw_output
    for key in _EXIT_CODE_KEYS if isinstance(raw, Mapping) else ():
        if type(code := raw.get(key)) is int and code:
            return f"exit {code}"
    return ""


def _failure_reason(call: ToolCall) -> str:
    """Return the agent's reason for a failure on one line, or an empty string.

    The text of a failed command is its output and not a reason.
    """
    raw = call.raw_output
    if isinstance(raw, Mapping) and isinstance(error := raw.get("error"), str):
        return one_line(error, _MAX_REASON)
    first: Any = call.content[0] if len(call.content) == 1 else None
    block = first.content if first.__class__ is schema.Content else None
    if call.kind == "execute" or block.__class__ is not schema.TextContent:
        return ""
    text = block.text.strip().strip("`").strip()
    return one_line(text) if len(text) <= _MAX_REASON and "\n" not in text else ""


def _target_of_line(call: ToolCall, question: Decision | None) -> Target | int:
    """Return the target of a call's line: its file or, without one, the whole call."""
    at = None
    if call.locations and call.kind != "execute":
        has_content = any(isinstance(item, schema.Diff | schema.Terminal) for item in call.content)
        at = None if has_content else location_target(call.locations[0])
    if question is None and call.kind == "edit" and len(call.content) == 1:
        at = at or _edited_file(call, call.content[0])
    if at is None and question is None:
        return call.index
    target: Target = {"kind": "tool", "call": call.index} | (at or {})
    return target | ({"decision": question.id, "first": True} if question else {})


def _edited_file(call: ToolCall, diff: Any) -> Target | None:
    """Return the file of a call's only diff."""
    if diff.__class__ is not schema.Diff:
        return None
    for location in call.locations:
        if location.path == diff.path and location.line:
            return location_target(location)
    hunks = changes(diff)[2]
    return {"kind": "file", "path": diff.path} | ({"line": hunks[0].new_start + 1} if hunks else {})


def location_target(location: schema.ToolCallLocation) -> Target:
    line = location.line if location.line is not UNSET else None
    return {"kind": "file", "path": location.path} | ({"line": line} if line else {})


def _tool_name(name: str, title: str) -> str:
    """Return the tool's name, unless the title contains it (v1/tool-calls)."""
    name = one_line(name, 60)
    return f" ({name})" if name and name.lower() not in title.lower() else ""
