"""What an agent says that it does: in version 2 the one truth of running and idle
(v2/prompt-lifecycle).
"""

from __future__ import annotations

from msgspec import UNSET

from acp_nvim.protocol.updates import Work
from acp_nvim.session import turns
from acp_nvim.session.session import Session


def apply(session: Session, work: Work) -> None:
    """Take the state of a session. Work that no prompt of the user has begun is a turn of the
    agent's own. Subagents have their state from the session above.
    """
    if session.root is not session:
        return
    if work.background is not UNSET:
        session.background = work.background
    session.at_work = work.works
    if work.works and not (session.in_turn or session.own_turn):
        _begin(session)
    elif session.own_turn and not work.works:
        turns.end(session, work.stop_reason or "end_turn", _error(work), usage=work.usage)
    turns.settle(session)
    session.observer.changed(session)


def opened(session: Session) -> None:
    """The session exists at the agent now, which may work already."""
    if session.status == "starting":
        session.status, session.error = "idle", None
        turns.settle(session)
    session.change("status", "error")


def _begin(session: Session) -> None:
    """The agent works by itself."""
    session.own_turn = True
    session.stop_reason = session.error = session.plan_entry = None
    session.transcript.expect_agent()
    session.change("stop_reason", "error")
    session.event("AcpTurnStart")
    session.observer.own_turn(session)


def _error(work: Work) -> str | None:
    """Return what went wrong, where that ended the work."""
    if work.stop_reason == "error":
        return work.error or "the agent names no error"
    return work.error
