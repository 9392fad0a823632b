"""Child sessions, messages between sessions, and text plans, as rows of the chat."""

from __future__ import annotations

from acp_nvim import wording
from acp_nvim.render.calls.tools import call_of_question, float_rows
from acp_nvim.render.content import draw_block, link_target
from acp_nvim.render.rows import Row, Target, indent, row, row_of_pieces
from acp_nvim.render.text import one_line, visible
from acp_nvim.session.questions.decisions import Decision
from acp_nvim.session.transcript.entries import PlanDocument, SessionMessage, Subagent

_STATES = {
    "running": ("◐", "AcpToolRunning", "running"),
    "requires_action": ("◐", "AcpPermission", "waiting for you"),
    "idle": ("✓", "AcpToolCompleted", "done"),
    "gone": ("✗", "AcpToolFailed", "ended with its session"),
    "unknown": ("○", "AcpMuted", "state unknown"),
}
"""Sign, group and words of each known state (v1/subagents)."""


def draw(entry: Subagent | SessionMessage | PlanDocument) -> list[Row]:
    match entry:
        case Subagent():
            return _subagent_rows(entry)
        case SessionMessage():
            return _message_rows(entry)
        case _:
            return _plan_rows(entry)


def _subagent_rows(link: Subagent) -> list[Row]:
    """Return the line, description, latest call and questions of a subagent.

    `<CR>` on them opens its chat.
    """
    target: Target = {"kind": "session", "id": link.id}
    sign, group, words = _appearance(link)
    head: list[tuple[str, str | None]] = [
        (sign + " ", group),
        ("subagent", "AcpToolKind"),
        (" · ", "AcpMuted"),
        (one_line(link.label), "AcpToolTitle"),
        (" · ", "AcpMuted"),
        (words, group),
    ]
    below: list[Row] = []
    if link.description:
        below.append(row(one_line(link.description, 400), "AcpMuted", target))
    if link.error:
        below.append(row(one_line(link.error, 400), "AcpError", target))
    if link.calls:
        count = f"{link.calls} tool call{'' if link.calls == 1 else 's'}"
        below.append(row(f"{count}, latest: {one_line(link.latest)}", "AcpMuted", target))
    for decision in link.decisions:
        if decision.outcome is None and not decision.lacks_card:
            below += _card_rows(decision)
    return [row_of_pieces(head, target), *indent(below, "  ")]


def _card_rows(decision: Decision) -> list[Row]:
    """Return a child's question in full, as in the child's chat."""
    asker = decision.asker
    entry = call_of_question(decision, asker) if asker is not None else None
    return float_rows(entry, decision, asker.cwd if asker is not None else "")


def _appearance(link: Subagent) -> tuple[str, str, str]:
    if any(decision.outcome is None for decision in link.decisions):
        return "◐", "AcpPermission", "permission needed"
    sign, group, words = _STATES.get(link.state, ("○", "AcpMuted", one_line(link.state, 40)))
    if link.state == "idle" and link.stop_reason not in (None, "end_turn"):
        return "⊘", "AcpToolFailed", one_line(str(link.stop_reason), 60).replace("_", " ")
    return sign, group, words


def _message_rows(message: SessionMessage) -> list[Row]:
    sender = _name(message, message.sender)
    recipient = _name(message, message.recipient)
    return [row(f"✉ {sender} → {recipient}", "AcpNotice"), *indent(_part_rows(message), "  ")]


def _name(message: SessionMessage, session_id: str | None) -> str:
    if session_id is None:
        return "unknown"
    return one_line(message.names.get(session_id) or session_id, 60)


def _part_rows(message: SessionMessage) -> list[Row]:
    rows: list[Row] = []
    for at, part in enumerate(message.parts):
        if isinstance(part, str):
            rows += [row(line) for line in visible(part.rstrip("\n")).split("\n")]
        else:
            rows += draw_block(part, {"session_message": message.id, "part": at})
    return rows


def _plan_rows(plan: PlanDocument) -> list[Row]:
    if plan.is_removed:
        return [row("— " + wording.PLAN_WITHDRAWN, "AcpMuted")]
    head = row("Plan", "AcpPlanHead")
    if plan.uri is not None:
        return [head, row(f"→ {one_line(plan.uri)}", "AcpLink", link_target(plan.uri))]
    return [head, *(row(line) for line in visible(plan.text or "").rstrip("\n").split("\n"))]
