"""The list of past sessions, kept so that they can be found after Neovim was closed.

Holds the newest sessions of all agents, as a value that is read from a file and written to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

LIMIT: Final = 200
"""The most sessions kept; the oldest are dropped first."""
TITLE: Final = 80
"""Characters of a title."""
VERSION: Final = 1


class Entry(msgspec.Struct, frozen=True):
    """The last known state of a session; `time` in seconds since 1970, `agent` by its name in the
    configuration.
    """

    agent: str
    id: str
    cwd: str
    title: str
    time: float

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the session among those of all agents."""
        return self.agent, self.id


class _File(msgspec.Struct):
    version: int
    sessions: list[Entry]


class Index:
    """Entries by agent and id, newest first."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        """Of several entries of one session the newest counts."""
        self._entries: dict[tuple[str, str], Entry] = {}
        for entry in entries:
            self.put(entry)

    @classmethod
    def decode(cls, data: bytes) -> Index:
        """Read a file; one that cannot be read, or of another version, is an empty index."""
        try:
            file = msgspec.json.decode(data, type=_File)
        except msgspec.DecodeError:
            return cls()
        return cls(file.sessions if file.version == VERSION else ())

    def encode(self) -> bytes:
        """Return the file's content, one line of JSON."""
        return msgspec.json.encode(_File(VERSION, self.entries())) + b"\n"

    def entries(self) -> list[Entry]:
        """Newest first, at most `LIMIT`."""
        newest = sorted(self._entries.values(), key=lambda entry: entry.time, reverse=True)
        return newest[:LIMIT]

    def put(self, entry: Entry) -> None:
        """Add an entry, or replace an older one of the same session."""
        known = self._entries.get(entry.key)
        if known is None or known.time <= entry.time:
            self._entries[entry.key] = entry

    def drop(self, agent: str, session_id: str) -> None:
        """Forget a session."""
        self._entries.pop((agent, session_id), None)


def title(text: str) -> str:
    """Return the first line that is not blank, cut to `TITLE` characters."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"
