"""Content blocks of a session, found by the position that a row of the chat has."""

from __future__ import annotations

from typing import Any

from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Compaction, Message, SessionMessage


def find(session: Session, where: Any) -> Any | None:
    """Return the block at a position (`render.content`), or None if it has none."""
    try:
        return _block(session, where)
    except (KeyError, IndexError, TypeError, AttributeError):
        return None


def _block(session: Session, where: Any) -> Any | None:
    if "message" in where:
        entries = session.transcript.entries
        number = where["message"]
        message = next(e for e in entries if isinstance(e, Message) and e.number == number)
        return message.parts[where["part"]]
    if "compaction" in where:
        entries = session.transcript.entries
        number = where["compaction"]
        entry = next(e for e in entries if isinstance(e, Compaction) and e.id == number)
        return entry.summary[where["part"]]
    if "session_message" in where:
        messages = (e for e in session.transcript.entries if isinstance(e, SessionMessage))
        return next(e for e in messages if e.id == where["session_message"]).parts[where["part"]]
    item = session.tool_calls.at(where["call"]).content[where["item"]]
    return item.content
