"""Failed replay of a stored session, for example because its agent exited."""

from __future__ import annotations

from acp_nvim.session import subagents
from acp_nvim.session.session import Session


def drop(session: Session) -> None:
    """Drop the part of a replay that has arrived, before the session is replayed again.

    Notices and user prompts are preserved. Pending questions are cancelled. The replays of
    subagents are dropped too, but their chats remain for the next replay.
    """
    if not session.transcript.drop():
        return
    session.decisions.cancel_all("replay")
    session.tool_calls.clear()
    session.changes.calls.clear()
    session.terminals.clear()
    session.cursors.clear()
    session.entries.clear()
    session.reported.links.clear()
    session.reported.messages.clear()
    session.prompt_ids.clear()
    session.plans.clear()
    session.plan, session.plan_entry = (), None
    session.change("tool_calls", "terminals", "plan", "subagents", "more")
    for child in session.children.values():
        assert isinstance(child, subagents.Child)
        drop(child)
