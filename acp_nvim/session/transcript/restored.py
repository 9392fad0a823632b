"""Restored transcript of a session. Open calls, questions and terminals in it are ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

from acp_nvim.protocol import schema
from acp_nvim.session.questions.decisions import CANCELLED, Decision
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import (
    Entry,
    PlanEntry,
    Question,
    Subagent,
    TerminalEntry,
    ToolEntry,
)

_ACTIVE_STATES: Final = ("running", "requires_action")


def restore(session: Session, entries: Iterable[Entry]) -> None:
    """Add entries to an empty session. Tool calls are numbered in their order.

    Open calls and unanswered questions are cancelled. Active subagents are marked as gone.
    """
    added = list(entries)
    for entry in added:
        if isinstance(entry, ToolEntry):
            _end_call(session, entry)
        elif isinstance(entry, TerminalEntry):
            session.terminals.restore(entry.terminal, entry)
        elif isinstance(entry, Question):
            _cancel_unanswered(entry.decision)
        elif isinstance(entry, Subagent):
            _end_child(entry)
        elif isinstance(entry, PlanEntry):
            session.plan = list(entry.entries)
    session.transcript.append_all(added)
    session.changes.change_calls(range(len(session.tool_calls)))
    session.change("plan", "tool_calls", "terminals")


def hidden_session(agent: str, cwd: str, entries: Iterable[Entry]) -> Session:
    """Return a session with these entries, which no chat shows."""
    session = Session(0, agent, cwd)
    restore(session, entries)
    return session


def _end_call(session: Session, entry: ToolEntry) -> None:
    call = entry.call
    if not call.is_finished:
        call.merge(schema.ToolCallUpdate(call.id, status=cast("Any", "cancelled")))
    for decision in entry.decisions:
        _cancel_unanswered(decision)
    for terminal in entry.terminals.values():
        session.terminals.restore(terminal, entry)
    session.tool_calls.append(call)
    session.entries[call] = entry


def _cancel_unanswered(decision: Decision) -> None:
    """Settle an unanswered question as cancelled."""
    decision.settle(CANCELLED, "cancel")


def _end_child(link: Subagent) -> None:
    if link.state in _ACTIVE_STATES:
        link.state = "gone"
