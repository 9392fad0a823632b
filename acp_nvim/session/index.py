"""Index of past sessions, which survives Neovim.

It contains the newest sessions of all agents, as a value that is read from and written to a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from acp_nvim.protocol.text import decode_exactly, encode_exactly

LIMIT: Final = 200
"""Maximum number of sessions. The oldest are dropped first."""
TITLE: Final = 80
"""Maximum number of characters in a title."""
VERSION: Final = 1


class Entry(msgspec.Struct, frozen=True):
    """Last known state of a session.

    `time` is in seconds since 1970, `agent` the name in the configuration.
    """

    agent: str
    id: str
    cwd: str
    title: str
    time: float
    preset: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Return a key that is unique among the sessions of all agents."""
        return self.agent, self.id


class _File(msgspec.Struct):
    version: int
    sessions: list[Entry]


class Index:
    """Entries by agent and id, newest first."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        """Keep the newest of several entries for a session."""
        self._entries: dict[tuple[str, str], Entry] = {}
        for entry in entries:
            self.put(entry)

    @classmethod
    def decode(cls, data: bytes) -> Index:
        """Read a file. An unreadable file or another version gives an empty index."""
        try:
            file = decode_exactly(data, _File)
        except ValueError:
            return cls()
        return cls(file.sessions if file.version == VERSION else ())

    def encode(self) -> bytes:
        return encode_exactly(_File(VERSION, self.entries()))

    def entries(self) -> list[Entry]:
        """Return the entries, newest first, at most `LIMIT`."""
        newest = sorted(self._entries.values(), key=lambda entry: entry.time, reverse=True)
        return newest[:LIMIT]

    def get(self, agent: str, session_id: str) -> Entry | None:
        return self._entries.get((agent, session_id))

    def put(self, entry: Entry) -> None:
        """Add an entry, or replace an older one of the same session."""
        known = self._entries.get(entry.key)
        if known is None or known.time <= entry.time:
            self._entries[entry.key] = entry

    def drop(self, agent: str, session_id: str) -> None:
        self._entries.pop((agent, session_id), None)


def title(text: str) -> str:
    """Return the first line that is not blank, cut to `TITLE` characters."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"
