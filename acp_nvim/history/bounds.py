"""Limits of the history.

The oldest sessions are deleted first. A transaction deletes only some entries, so that other
writers never wait long.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from typing import Final

from acp_nvim.history import blames
from acp_nvim.history.database import Database
from acp_nvim.history.store import Store

DAY_S: Final = 86_400.0
ENTRIES_PER_TRANSACTION: Final = 200
"""Number of entries deleted in one transaction."""
TARGET_FRACTION: Final = 0.9
"""Fraction of the size limit to which a history beyond the limit is reduced."""
VACUUMED_PAGES: Final = 4096
"""Number of pages returned to the system at a time."""


def trim(database: Database, store: Store, days: float, size: int) -> None:
    """Delete sessions older than `days`, and the oldest ones beyond `size` bytes.

    Raise `sqlite3.Error`.
    """
    for record in list(_old_sessions(database.sql, days)):
        _delete_oldest(database, store, record)
    if database.size > size:
        for record in list(_oldest(database.sql)):
            if _delete_oldest(database, store, record, target_size=int(size * TARGET_FRACTION)):
                break
    blames.trim(database, days, size)
    database.sql.execute(f"PRAGMA incremental_vacuum({VACUUMED_PAGES})").fetchall()


def _old_sessions(sql: sqlite3.Connection, days: float) -> Iterator[int]:
    """Return the sessions last updated more than `days` ago.

    A session that is stored after a recent one is excluded, because the clock may have been wrong.
    """
    now = time.time()
    before = now - days * DAY_S
    rows = sql.execute(
        "SELECT id FROM sessions WHERE updated < ? AND id < coalesce((SELECT min(id)"
        " FROM sessions WHERE started BETWEEN ? AND ?), id + 1) ORDER BY updated",
        (before, before, now),
    )
    return (record for (record,) in rows)


def _oldest(sql: sqlite3.Connection) -> Iterator[int]:
    rows = sql.execute("SELECT id FROM sessions ORDER BY updated")
    return (record for (record,) in rows)


def _delete_oldest(database: Database, store: Store, record: int, target_size: int = -1) -> bool:
    """Delete a session's entries, oldest first, then the session unless it is the newest one.

    Stop and return True as soon as the database is smaller than `target_size` bytes.
    """
    dropped = ENTRIES_PER_TRANSACTION
    while dropped == ENTRIES_PER_TRANSACTION:
        with database.transaction():
            dropped = store.drop_entries(record, ENTRIES_PER_TRANSACTION)
        if database.size < target_size:
            break
    with database.transaction() as sql:
        sql.execute(
            "DELETE FROM sessions WHERE id = ? AND NOT EXISTS"
            " (SELECT 1 FROM entries WHERE session = ?)"
            " AND id != (SELECT id FROM sessions ORDER BY updated DESC LIMIT 1)",
            (record, record),
        )
    return database.size < target_size
