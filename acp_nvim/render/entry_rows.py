"""Rows of headings, plans, notices, questions and unknown updates."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from acp_nvim import wording
from acp_nvim.render import cards, subagents
from acp_nvim.render.calls import tools
from acp_nvim.render.content import draw_block
from acp_nvim.render.cutting import more_row
from acp_nvim.render.rows import Row, Target, indent, row, row_of_pieces
from acp_nvim.render.stream import RULE
from acp_nvim.render.terminals import terminal_rows
from acp_nvim.render.text import one_line, readable_word, visible
from acp_nvim.session import lists
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import (
    Compaction,
    Entry,
    Heading,
    Line,
    Message,
    Past,
    PlanDocument,
    PlanEntry,
    Question,
    SessionMessage,
    Subagent,
    TerminalEntry,
    ToolEntry,
    Unknown,
)

PLAN_MARKS = {"pending": "[ ]", "in_progress": "[-]", "completed": "[x]", "cancelled": "[~]"}
PLAN_GROUPS = {"in_progress": "AcpPlanCurrent", "completed": "AcpPlanDone"}
MAX_TITLE = 400
"""Maximum number of characters in the title of a notice."""
MAX_DETAILS = 5
"""Maximum number of details of a notice that are shown."""
_LEVELS = {
    "info": ("— ", "AcpMuted"),
    "warning": ("⚠ ", "AcpWarning"),
    "error": ("✗ ", "AcpError"),
}
"""Sign and highlight group of a notice."""


def draw_entry(entry: Entry, lines: int | None = None, cwd: str = "") -> list[Row]:
    """Return the rows of one entry.

    `lines` limits the output of a terminal. `cwd` is the directory of the session.
    """
    match entry:
        case Heading():
            return [row("## " + one_line(entry.name, 60), "AcpAgent")]
        case PlanEntry():
            return [_plan_head(entry), *plan_rows(entry.entries, hidden_count=entry.left)]
        case Question():
            return _question_rows(entry, cwd)
        case Line():
            return _notice_rows(entry)
        case Compaction():
            return _compaction_rows(entry)
        case TerminalEntry():
            return [] if entry.is_embedded else terminal_rows(entry.terminal, lines, cwd)
        case Subagent() | SessionMessage() | PlanDocument():
            return subagents.draw(entry)
        case Past():
            return _rows_of_old_chat(entry.lines)
        case Unknown():
            return _unknown_rows(entry)
        case _:
            raise TypeError(f"no rows for {type(entry).__name__}")


def _rows_of_old_chat(lines: Sequence[str]) -> list[Row]:
    """Return the rows of an old chat, with highlighted headings and marked user messages."""
    rows: list[Row] = []
    is_users = False
    for at, line in enumerate(lines):
        text, spans, target = row(line)
        if line.startswith("## "):
            is_users = line == "## You"
            group = "AcpUser" if is_users else "AcpAgent"
            text, spans, target = row(line, group, {"kind": "turn"} if is_users else None)
        is_end = not line and "".join(lines[at + 1 : at + 2]).startswith("## ")
        rows.append((text, ((0, 0, RULE), *spans) if is_users and not is_end else spans, target))
    return rows


def _plan_head(entry: PlanEntry) -> Row:
    """Return the heading of a plan with its progress: `Plan · 2 of 5`."""
    statuses = [item.status for item in entry.entries]
    progress = f" · {statuses.count('completed')} of {len(statuses)}" if statuses else ""
    progress = "" if entry.left else progress
    return row_of_pieces([("Plan", "AcpPlanHead"), *([(progress, "AcpMuted")] if progress else [])])


def plan_rows(entries: object, *, hidden_count: int = 0) -> list[Row]:
    """Return plan entries as a task list (v1/agent-plan).

    Statuses without a mark, and priorities except medium, are added in words. `hidden_count` is the
    number of further entries.
    """
    rows: list[Row] = []
    for item in entries if isinstance(entries, (list, tuple)) else ():
        mark = PLAN_MARKS.get(item.status, "[?]")
        group = PLAN_GROUPS.get(item.status)
        parts: list[tuple[str, str | None]] = [
            (f"- {mark} ", "AcpListMarker"),
            (one_line(item.content, 400), group),
        ]
        words = [] if item.status in PLAN_MARKS else [item.status]
        words += [item.priority] if item.priority != "medium" else []
        if words:
            parts.append((f" ({', '.join(map(readable_word, words))})", "AcpMuted"))
        rows.append(row_of_pieces(parts))
    return [*rows, row(lists.more(hidden_count), "AcpMuted")] if hidden_count else rows


def _question_rows(entry: Question, cwd: str) -> list[Row]:
    decision = entry.decision
    content = tools.content_rows(None, decision, cwd)
    if decision.outcome is None and not decision.lacks_card:
        return [*cards.card(decision, content=content, chat=True), cards.legend(decision)]
    if decision.outcome is None:
        return [row(one_line(decision.title), "AcpPermission", {"decision": decision.id})]
    (answer, _, _), *details = cards.answer_rows(decision)
    return [row(f"{one_line(decision.title)} {answer}", "AcpMuted"), *details, *content]


def _notice_rows(entry: Line) -> list[Row]:
    """Return the rows of a notice: its title and its first details.

    If anything is left out, `<CR>` on the title shows all of it.
    """
    sign, group = _LEVELS[entry.level]
    full_target: Target = {"kind": "notice", "number": entry.number}
    details = notice_details(entry)
    has_more = len(details) > MAX_DETAILS + 1
    below = [row(line, group) for line in (details[:MAX_DETAILS] if has_more else details)]
    if has_more:
        below.append(more_row(len(details) - MAX_DETAILS, full_target))
    title = one_line(entry.title, MAX_TITLE)
    is_title_cut = title != one_line(entry.title, MAX_TITLE + 1)
    target = full_target if has_more or is_title_cut else None
    return [row(sign + title, group, target), *indent(below, "  ")]


def notice_details(entry: Line) -> list[str]:
    """Return all details of a notice as visible lines."""
    return [line for detail in entry.details for line in visible(detail).split("\n")]


def _compaction_rows(entry: Compaction) -> list[Row]:
    title = {"in_progress": wording.COMPACTING, "completed": wording.COMPACTED}
    text = title.get(entry.status, wording.COMPACTION.format(status=entry.status))
    rows = [row("— " + text + (f": {one_line(entry.error)}" if entry.error else ""), "AcpMuted")]
    for at, part in enumerate(entry.summary):
        lines = (
            [row(line) for line in visible(part).split("\n")]
            if isinstance(part, str)
            else draw_block(part, {"compaction": entry.id, "part": at})
        )
        rows += indent(lines, "  ")
    return rows


def _unknown_rows(entry: Unknown) -> list[Row]:
    """Return the rows of an update of an unknown kind, with its raw data."""
    raw = msgspec.json.encode(entry.raw).decode("utf-8", "replace")
    return [
        row("— " + wording.UPDATE_UNKNOWN.format(kind=one_line(entry.tag, 60)), "AcpMuted"),
        row("  " + one_line(raw, 300), "AcpMuted"),
    ]


# -- the chat of a fork ---------------------------------------------------------------------------


def fork_history(session: Session, style: tools.Style, until: int | None = None) -> list[Entry]:
    """Return the entries with which the chat of a fork begins.

    They are the session's transcript without a running turn, or its entries before index `until`.
    Messages are copied. All other entries become plain rows, because their targets belong to the
    other session.
    """
    entries = _end_entries(session) if until is None else session.transcript.entries[:until]
    return [_copy_entry(entry, style) for entry in entries if not isinstance(entry, Question)]


def _end_entries(session: Session) -> list[Entry]:
    entries = session.transcript.entries
    if session.status not in ("running", "cancelling"):
        return list(entries)
    turns = (at for at in range(len(entries) - 1, -1, -1) if _is_prompt(entries[at]))
    return list(entries[: next(turns, 0)])


def _is_prompt(entry: Entry) -> bool:
    return isinstance(entry, Message) and entry.role == "user"


def _copy_entry(entry: Entry, style: tools.Style) -> Entry:
    if isinstance(entry, Message | Heading | Line | Past):
        return entry
    if isinstance(entry, ToolEntry):
        rows = tools.draw(entry, style)
    else:
        rows = draw_entry(entry, style.tool_lines, style.cwd)
    return Past([text for text, _, _ in rows], isinstance(entry, ToolEntry))
