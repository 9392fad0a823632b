"""Activity that an agent reports.

In version 2, it alone determines whether a session is running or idle (v2/prompt-lifecycle).
"""

from __future__ import annotations

from msgspec import UNSET

from acp_nvim.protocol.updates import Work
from acp_nvim.session import turns
from acp_nvim.session.session import Session


def apply(session: Session, work: Work) -> None:
    """Apply a session's reported state: begin or end the agent's own turn, update the status.

    Work without a user prompt is a turn that the agent itself began. Ignore the reported state of
    a subagent, which takes its state from its parent.
    """
    if session.root is not session:
        return
    if work.background is not UNSET:
        session.background = work.background
    session.at_work = work.is_working
    if work.is_working and not (session.in_turn or session.own_turn):
        _begin_own_turn(session)
    elif session.own_turn and not work.is_working:
        turns.end(session, work.stop_reason or "end_turn", _error_text(work), usage=work.usage)
    turns.update_status(session)
    session.observer.on_change(session)


def on_opened(session: Session) -> None:
    """Set the status of a session after it was opened. The agent may already be working in it."""
    if session.status == "starting":
        session.status, session.error = "idle", None
        turns.update_status(session)
    session.change("status", "error")


def _begin_own_turn(session: Session) -> None:
    """Begin a turn without a user prompt."""
    session.own_turn = True
    session.stop_reason = session.error = session.plan_entry = None
    session.transcript.expect_agent()
    session.change("stop_reason", "error")
    session.event("AcpTurnStart")
    session.observer.on_own_turn(session)


def _error_text(work: Work) -> str | None:
    """Return the error that ended the work, if any."""
    if work.stop_reason == "error":
        return work.error or "the agent gives no reason"
    return work.error
