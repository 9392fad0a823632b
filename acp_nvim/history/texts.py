"""Searchable texts and their full-text index."""

from __future__ import annotations

from typing import Final

from acp_nvim.history import layout
from acp_nvim.history.database import Database
from acp_nvim.history.rows import Rows

MAX_CHARACTERS: Final = 256 << 10
"""Maximum number of searchable characters in one entry."""


class Texts:
    """Writer of searchable texts. The caller begins and ends the transactions."""

    def __init__(self, database: Database, rows: Rows) -> None:
        self._sql = database.sql
        self._full_text = database.full_text
        self._rows = rows

    def add(self, record: int, directory: str, text: str) -> int | None:
        """Add the text of a new entry. Return its number, or None if the text is empty."""
        text = _searched_text(text)
        return self._rows.add_text(record, directory, text) if text else None

    def replace(self, entry: int, record: int, directory: str, text: str) -> None:
        """Replace the text of an entry. The new text may be empty."""
        self._rows.write()
        text = _searched_text(text)
        before = self._stored_text(entry)
        if before is not None and before[1] == text:
            return
        if before is not None:
            self.drop(before[0])
        if text or before is not None:
            row = self._rows.add_text(record, directory, text) if text else None
            self._sql.execute("UPDATE entries SET text = ? WHERE id = ?", (row, entry))

    def _stored_text(self, entry: int) -> tuple[int, str] | None:
        row: tuple[int, str] | None = self._sql.execute(
            "SELECT texts.id, texts.text FROM entries JOIN texts ON texts.id = entries.text"
            " WHERE entries.id = ?",
            (entry,),
        ).fetchone()
        return row

    def drop(self, row: int) -> None:
        """Remove a text."""
        self._rows.write()
        left = self._sql.execute("DELETE FROM unindexed WHERE id = ?", (row,)).rowcount
        if self._full_text and not left:
            self._sql.execute(layout.DELETED, (row,))
        self._sql.execute("DELETE FROM texts WHERE id = ?", (row,))
        self._sql.execute("DELETE FROM owners WHERE id = ?", (row,))

    def index_missing(self) -> None:
        """Index the texts that a process without a full-text index has added."""
        if not self._full_text:
            return
        self._sql.execute(
            "INSERT INTO words (rowid, directory, text) SELECT id, directory, text"
            " FROM texts WHERE id IN unindexed"
        )
        self._sql.execute("DELETE FROM unindexed")


def _searched_text(text: str) -> str:
    return text[:MAX_CHARACTERS].strip()
