"""Content blocks of a session, found by the position that a row of the chat has."""

from __future__ import annotations

from typing import Any

from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Compaction, Message, SessionMessage


def find(session: Session, where: Any) -> Any | None:
    """Return the block at a position (`render.content`), or None if there is none."""
    try:
        return _block(session, where)
    except (KeyError, IndexError, TypeError, AttributeError, StopIteration):
        return None


def _block(session: Session, where: Any) -> Any | None:
    entries = session.transcript.entries
    if (number := where.get("message")) is not None:
        message = next(e for e in entries if isinstance(e, Message) and e.number == number)
        return message.parts[where["part"]]
    if (id := where.get("compaction")) is not None:
        compaction = next(e for e in entries if isinstance(e, Compaction) and e.id == id)
        return compaction.summary[where["part"]]
    if (id := where.get("session_message")) is not None:
        sent = next(e for e in entries if isinstance(e, SessionMessage) and e.id == id)
        return sent.parts[where["part"]]
    item = session.tool_calls.at(where["call"]).content[where["item"]]
    return item.content
