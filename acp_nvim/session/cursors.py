"""Cursors of a session: positions at which its agent can fork it (rfds/session-cursors)."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from acp_nvim.protocol import schema
from acp_nvim.session.lists import LISTED
from acp_nvim.session.transcript.entries import (
    Compaction,
    Entry,
    Message,
    SessionMessage,
    ToolEntry,
)
from acp_nvim.session.transcript.transcript import Transcript

Place = tuple[str, str]
"""Type of an anchor, and the id of its entry, or "" without an id."""

_MESSAGES: Final = {"user": "user_message", "agent": "agent_message", "thought": "agent_thought"}


class _Cursor(Struct, frozen=True):
    place: Place
    position: str
    can_fork: bool = False


class Cursors:
    """Known cursors by id, oldest first, at most `LISTED`."""

    def __init__(self) -> None:
        self._known: dict[str, _Cursor] = {}

    def update(self, update: schema.CursorUpdate) -> None:
        """Add or change a cursor. Ignore one that has had no anchor yet."""
        cursor = self._known.get(update.cursor_id)
        if cursor is None:
            if update.anchor is UNSET:
                return
            cursor = _Cursor(_place(update.anchor), update.anchor.position)
            self._known[update.cursor_id] = cursor
            if len(self._known) > LISTED:
                del self._known[next(iter(self._known))]
        if update.capabilities is not UNSET:
            can_fork = bool(update.capabilities and update.capabilities.fork)
            self._known[update.cursor_id] = replace(cursor, can_fork=can_fork)

    def clear(self) -> None:
        """Forget all cursors. The agent announces the valid ones when it opens the session."""
        self._known.clear()

    def fork_point(self, transcript: Transcript, at: int) -> str | None:
        """Return the id of a cursor at which a fork has exactly the entries before index `at`.

        If several entries have the same id, as after a restart of the agent, the last one counts.
        """
        places = [(entry, _place_of(entry)) for entry in transcript.entries]
        last = {place: entry for entry, place in places if place and place[1]}
        earlier = [entry for entry, place in places[:at] if place]
        neighbours = {"before": transcript.entries[at], "after": earlier[-1] if earlier else None}
        for cursor_id, cursor in reversed(self._known.items()):
            entry = last.get(cursor.place)
            if cursor.can_fork and entry and entry is neighbours.get(cursor.position):
                return cursor_id
        return None


def _place(anchor: schema.CursorAnchor) -> Place:
    """Return the place of an anchor. If the anchor lacks the id that its type requires, no entry
    has this place.
    """
    ids = {"tool_call": anchor.tool_call_id, "compaction": anchor.compaction_id}
    return anchor.type, schema.given(ids.get(anchor.type, anchor.message_id)) or ""


def _place_of(entry: Entry) -> Place | None:
    """Return the place of an entry, or None if the agent's history does not have it."""
    match entry:
        case Message():
            return _MESSAGES[entry.role], entry.message_id or ""
        case ToolEntry():
            return "tool_call", entry.call.id
        case Compaction():
            return "compaction", entry.id
        case SessionMessage():
            return "session_message", entry.id
        case _:
            return None
