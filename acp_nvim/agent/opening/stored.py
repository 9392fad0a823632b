"""Sessions that are not open here: those that agents list (v1/session-list), and those of the
local index.
"""

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
"""The most that is taken of an agent's list; nobody can choose from more."""


class Stored(Struct, frozen=True):
    """A session to be opened again; `time` in seconds since 1970, 0 when unknown."""

    agent: str
    id: str
    cwd: str
    title: str
    time: float = 0.0
    archived: bool = False


async def listed(name: str, agent: Agent) -> list[Stored]:
    """All sessions that an agent has stored, in its order; only behind
    `sessionCapabilities.list`. Raises what `Agent.list_sessions` raises.
    """
    found: dict[str, Stored] = {}
    archived = "include" if agent.session_capabilities.archive else None
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(PAGES):
        page = await agent.list_sessions(cursor, archived)
        for info in page.sessions[:SESSIONS]:
            found.setdefault(info.session_id, _stored(name, info))
        cursor = page.next_cursor or None
        if agent.protocol == 2 and page.next_cursor == "":
            cursor = ""  # it is a cursor there as well (v2/session-list)
        if cursor is None or cursor in seen or len(found) >= SESSIONS:
            break
        seen.add(cursor)
    return list(islice(found.values(), SESSIONS))


def _stored(name: str, info: schema.SessionInfo) -> Stored:
    return Stored(
        name,
        info.session_id,
        info.cwd,
        info.title or "",
        _seconds(info.updated_at or ""),
        info.archived is True,
    )


def _seconds(iso: str) -> float:
    """The time of an ISO 8601 text; 0 when it is none."""
    try:
        return datetime.fromisoformat(iso).timestamp() if iso else 0.0
    except (ValueError, OverflowError):
        return 0.0


def merged(lists: Iterable[list[Stored]], remembered: Iterable[Entry], cwd: str) -> list[Stored]:
    """Lists of agents and the index as one: those of `cwd` first, newest first within each."""
    found = {(one.agent, one.id): one for sessions in lists for one in sessions}
    for entry in remembered:
        known = found.get(entry.key)
        if known is None:
            found[entry.key] = Stored(entry.agent, entry.id, entry.cwd, entry.title, entry.time)
        else:
            found[entry.key] = msgspec.structs.replace(
                known, title=known.title or entry.title, cwd=known.cwd or entry.cwd
            )
    return sorted(found.values(), key=lambda one: (one.cwd != cwd, one.archived, -one.time))


class IndexFile:
    """The index on disk. Several editors may share it, so each change starts by reading it."""

    def __init__(self, path: Path, failed: Callable[[str], None]) -> None:
        """`failed` hears why the file could not be written; its absence is no failure."""
        self.path = path
        self._failed = failed

    def read(self) -> Index:
        """Read the index; an empty one where there is no file."""
        try:
            return Index.decode(self.path.read_bytes())
        except OSError:
            return Index()

    def remember(self, agent: str, session_id: str, cwd: str, words: str) -> None:
        """Put a session first; `words` are its title or its first prompt."""
        entry = Entry(agent, session_id, cwd, title(Redactor(quick=True).text(words)), time.time())
        index = self.read()
        index.put(entry)
        self._write(index)

    def forget(self, agent: str, session_id: str) -> None:
        """The session is gone."""
        index = self.read()
        index.drop(agent, session_id)
        self._write(index)

    def _write(self, index: Index) -> None:
        try:
            private_files.write(self.path, index.encode())
        except OSError as error:
            self._failed(f"{self.path}: {error}")
