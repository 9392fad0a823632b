"""Queue of new rows, which are inserted together.

One statement for many rows takes half the time of one statement for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from acp_nvim.history.database import Database

ROWS_PER_STATEMENT: Final = 50
"""Number of rows in one statement. The oldest builds of SQLite support 999 values."""


class Rows:
    """Queue of new entries and searchable texts. The caller begins and ends the transactions.

    Call `write` before reading these tables.
    """

    def __init__(self, database: Database) -> None:
        self._sql = database.sql
        self._full_text = database.full_text
        self._entries: list[tuple[int, int, int, int, float, bytes, int | None]] = []
        self._texts: list[tuple[int, str, str]] = []
        self._owners: list[tuple[int, int]] = []
        self._last_entry = self._last_text = 0
        """The last assigned numbers, or 0 if unknown."""

    def begin(self) -> None:
        """Empty the queue for a new transaction. Other processes may have added rows since."""
        self._entries, self._texts, self._owners = [], [], []
        self._last_entry = self._last_text = 0

    def add_entry(
        self, record: int, writer: int, place: int, time: float, data: bytes, text: int | None
    ) -> int:
        """Add an entry. Return its number."""
        number = (self._last_entry or self._last_number("entries")) + 1
        self._last_entry = number
        self._entries.append((number, record, writer, place, time, data, text))
        return number

    def add_text(self, record: int, directory: str, text: str) -> int:
        """Add text of a record. Return its number."""
        number = (self._last_text or self._last_number("texts")) + 1
        self._last_text = number
        self._texts.append((number, directory, text))
        self._owners.append((number, record))
        return number

    def write(self) -> None:
        """Insert the queued rows."""
        if self._texts:
            self._insert("texts (id, directory, text)", self._texts)
            self._insert("owners (id, session)", self._owners)
            if self._full_text:
                self._insert("words (rowid, directory, text)", self._texts)
            else:
                self._insert("unindexed (id)", [row[:1] for row in self._texts])
            self._texts, self._owners = [], []
        if self._entries:
            columns = "(id, session, writer, place, time, data, text)"
            self._insert(f"entries {columns}", self._entries)
            self._entries = []

    def _insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        marks = f"({', '.join('?' * len(rows[0]))})"
        insert = f"INSERT INTO {table} VALUES "
        whole = len(rows) - len(rows) % ROWS_PER_STATEMENT
        query = insert + ", ".join([marks] * ROWS_PER_STATEMENT)
        for at in range(0, whole, ROWS_PER_STATEMENT):
            self._sql.execute(query, list(chain.from_iterable(rows[at : at + ROWS_PER_STATEMENT])))
        if whole < len(rows):
            self._sql.executemany(insert + marks, rows[whole:])

    def _last_number(self, table: str) -> int:
        """Return the highest number ever used in a table. Numbers are never reused."""
        query = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        row = self._sql.execute(query, (table,)).fetchone()
        return int(row[0]) if row is not None else 0
