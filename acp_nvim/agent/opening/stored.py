"""Stored sessions, from agents' lists (v1/session-list) and the local index."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from acp_nvim.agent.agent import Agent
from acp_nvim.agent.wire.redact import Redactor
from acp_nvim.files.bytes import private_files
from acp_nvim.protocol import schema
from acp_nvim.session.index import Entry, Index, title

PAGES = 50
SESSIONS = 2000
"""Limits on an agent's list, since a longer one is of no use in a picker."""


class Stored(Struct, frozen=True):
    """Session that can be opened again. `time` is in seconds since 1970, or 0 if unknown."""

    agent: str
    id: str
    cwd: str
    title: str
    time: float = 0.0
    archived: bool = False


async def list_stored(name: str, agent: Agent) -> list[Stored]:
    """Return all stored sessions of an agent, in the agent's order.

    Requires `sessionCapabilities.list`. Raise the errors of `Agent.list_sessions`.
    """
    sessions: dict[str, Stored] = {}
    archived = "include" if agent.session_capabilities.archive else None
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(PAGES):
        page = await agent.list_sessions(cursor, archived)
        for info in page.sessions[:SESSIONS]:
            sessions.setdefault(info.session_id, _stored_session(name, info))
        cursor = page.next_cursor or None
        if agent.protocol == 2 and page.next_cursor == "":
            cursor = ""  # in version 2 the empty string is a cursor too (v2/session-list)
        if cursor is None or cursor in seen or len(sessions) >= SESSIONS:
            break
        seen.add(cursor)
    return list(islice(sessions.values(), SESSIONS))


def _stored_session(name: str, info: schema.SessionInfo) -> Stored:
    return Stored(
        name,
        info.session_id,
        info.cwd,
        info.title or "",
        _seconds(info.updated_at or ""),
        info.archived is True,
    )


def _seconds(iso: str) -> float:
    """Return the time that an ISO 8601 string gives, or 0 if it is invalid."""
    try:
        return datetime.fromisoformat(iso).timestamp() if iso else 0.0
    except (ValueError, OverflowError):
        return 0.0


def merge_lists(
    lists: Iterable[list[Stored]], remembered: Iterable[Entry], cwd: str
) -> list[Stored]:
    """Merge the agents' lists and the index.

    Sessions in `cwd` come first, and newer ones before older ones.
    """
    merged = {(session.agent, session.id): session for sessions in lists for session in sessions}
    for entry in remembered:
        known = merged.get(entry.key)
        if known is None:
            merged[entry.key] = Stored(entry.agent, entry.id, entry.cwd, entry.title, entry.time)
        else:
            merged[entry.key] = msgspec.structs.replace(
                known, title=known.title or entry.title, cwd=known.cwd or entry.cwd
            )
    return sorted(
        merged.values(), key=lambda stored: (stored.cwd != cwd, stored.archived, -stored.time)
    )


class IndexFile:
    """Index on disk. Several editors may share it."""

    def __init__(self, path: Path, failed: Callable[[str], None]) -> None:
        """`failed` is called with the reason if the file cannot be written."""
        self.path = path
        self._failed = failed

    def read(self) -> Index:
        """Return the index. If there is no file, return an empty one."""
        try:
            return Index.decode(self.path.read_bytes())
        except OSError:
            return Index()

    def remember(
        self, agent: str, session_id: str, cwd: str, words: str, preset: str | None = None
    ) -> None:
        """Put a session at the beginning of the index. `words` are its title or its first prompt.

        Without `preset`, keep the one that is stored.
        """
        shown = title(Redactor(is_quick=True).text(words))

        def put(index: Index) -> None:
            known = index.get(agent, session_id)
            stored = preset or (known.preset if known else None)
            index.put(Entry(agent, session_id, cwd, shown, time.time(), stored))

        self._change(put)

    def forget(self, agent: str, session_id: str) -> None:
        self._change(lambda index: index.drop(agent, session_id))

    def _change(self, change: Callable[[Index], None]) -> None:
        def changed(data: bytes | None) -> bytes:
            index = Index() if data is None else Index.decode(data)
            change(index)
            return index.encode()

        try:
            private_files.change(self.path, changed)
        except OSError as error:
            self._failed(f"{self.path}: {error}")
