"""Ids from before a session was opened again.

They are unique within a session (v2/prompt-lifecycle#message-ids). But some agents count them in
each process of theirs from the first number on. So once the user goes on, an id under which the
agent has told nothing since then names something new: it would be told at its old place, where
nobody sees it. An agent that replays the session knows its ids, and they stay.
"""

from __future__ import annotations

from acp_nvim.session.session import Session


def mark(session: Session) -> None:
    """The session is opened again: its ids may be used anew from the next prompt on."""
    session.transcript.mark_names()
    session.tool_calls.mark_ids()


def keep(session: Session) -> None:
    """The agent tells of the past by them."""
    session.transcript.keep_names()
    session.tool_calls.keep_ids()


def forget(session: Session) -> None:
    """The user goes on: the next prompt takes its place."""
    for role, message_id in session.transcript.forget_names():
        if role == "user":
            session.own_words.discard(message_id)
    session.tool_calls.forget_ids()
