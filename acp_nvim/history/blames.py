"""Authors of lines of files (option `blame`), in the database of the history.

A row is updated only when an agent writes the file. Each query compares it with the current text to
find the user's changes. Therefore an undo by the user also restores the authors.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from acp_nvim.edits.blame import DIGEST_SIZE, Blame, Run, line_digests, update_blame
from acp_nvim.edits.text import Text
from acp_nvim.history.changes import FileMove, FileWrite
from acp_nvim.history.database import Database, pack, unpack

SHARE: Final = 4
"""Divisor of the history's size limit. The authors may use the resulting number of bytes."""
DAY_S: Final = 86_400.0
_RUNS: Final = msgspec.json.Decoder(tuple[Run, ...])


class Author(Struct, frozen=True):
    """Prompt for which an agent wrote lines.

    `record` is the number of the session in the history, `words` the beginning of the prompt. If
    the session is deleted, `record` is None and `words` is empty. `sent` is in seconds since 1970.
    """

    record: int | None
    agent: str
    agent_id: str
    sent: float
    prompt: int
    words: str


class FileAuthors(Struct, frozen=True):
    """Authors of a file's lines.

    Each range has its first row, the row after its last, and a key of `authors`.
    """

    ranges: Sequence[tuple[int, int, int]]
    authors: Mapping[int, Author]


# -- writing --------------------------------------------------------------------------------------


def add_write(sql: sqlite3.Connection, write: FileWrite, author: int, now: float) -> None:
    """Record the author of the lines that an agent's write added. Raise `sqlite3.Error`."""
    blame = _stored_blame(sql, write.path) or Blame()
    if write.before is not None:
        blame = update_blame(blame, line_digests(write.before))
    blame = update_blame(blame, line_digests(write.agent_text), author)
    if write.after != write.agent_text:
        blame = update_blame(blame, line_digests(write.after))
    _store_lines(sql, write.path, blame, now)


def move_authors(sql: sqlite3.Connection, moved: FileMove, now: float) -> None:
    """Copy the authors of a moved file's lines to its new path, or clear those of the new path.

    Raise `sqlite3.Error`.
    """
    blame = _stored_blame(sql, moved.old)
    if blame is None:
        sql.execute("DELETE FROM blames WHERE path = ?", (moved.new,))
    else:
        _store_lines(sql, moved.new, blame, now)


def _store_lines(sql: sqlite3.Connection, path: str, blame: Blame, now: float) -> None:
    lines, runs = "".join(blame.lines).encode("latin-1"), msgspec.json.encode(blame.runs)
    sql.execute(
        "INSERT INTO blames VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " updated = excluded.updated, lines = excluded.lines, runs = excluded.runs",
        (path, now, lines, pack(runs)),
    )


def author_number(
    sql: sqlite3.Connection, record: int, agent: str, write: FileWrite, words: str
) -> int:
    """Return the number of a write's author. Add the author if necessary.

    Raise `sqlite3.Error`.
    """
    sql.execute(
        "INSERT INTO authors (session, agent, sent, prompt, words) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (record, agent, write.sent, write.prompt, words),
    )
    cursor = sql.execute(
        "SELECT id FROM authors WHERE session = ? AND sent = ?", (record, write.sent)
    )
    return int(cursor.fetchone()[0])


def forget_words(sql: sqlite3.Connection, record: int) -> None:
    """Clear the words of a deleted session's prompts but not their times. Raise `sqlite3.Error`."""
    sql.execute("UPDATE authors SET words = '' WHERE session = ?", (record,))


def trim(database: Database, days: float, size: int) -> None:
    """Remove files that no agent has written for `days`, and authors without lines.

    If the rest is larger than its share of `size` bytes, remove the oldest files too. Clear the
    words of prompts whose session was removed. Raise `sqlite3.Error`.
    """
    with database.transaction() as sql:
        sql.execute("DELETE FROM blames WHERE updated < ?", (time.time() - days * DAY_S,))
        _drop_oldest(sql, size // SHARE)
        _drop_unused_authors(sql)
        sql.execute("UPDATE authors SET words = '' WHERE session NOT IN (SELECT id FROM sessions)")


def _drop_oldest(sql: sqlite3.Connection, room: int) -> None:
    """Remove the oldest files if together they need more than `room` bytes."""
    dropped: list[str] = []
    for path, size in sql.execute(
        "SELECT path, length(lines) + length(runs) FROM blames ORDER BY updated DESC"
    ).fetchall():
        room -= size
        if room < 0:
            dropped.append(path)
    sql.executemany("DELETE FROM blames WHERE path = ?", [(path,) for path in dropped])


def _drop_unused_authors(sql: sqlite3.Connection) -> None:
    """Remove authors without lines."""
    rows = sql.execute("SELECT runs FROM blames").fetchall()
    used = {author for (runs,) in rows for _, author in _RUNS.decode(unpack(runs))}
    known = sql.execute("SELECT id FROM authors").fetchall()
    unused = [(number,) for (number,) in known if number not in used]
    sql.executemany("DELETE FROM authors WHERE id = ?", unused)


# -- reading --------------------------------------------------------------------------------------


def blame(database: Database, path: str, text: Text) -> FileAuthors:
    """Return the authors of a file's lines. `text` is the current text. Raise `sqlite3.Error`."""
    stored = _stored_blame(database.sql, path)
    ranges = [] if stored is None else list(update_blame(stored, line_digests(text)).ranges())
    rows = {number: author(database.sql, number) for number in {number for _, _, number in ranges}}
    authors = {number: row for number, row in rows.items() if row is not None}
    return FileAuthors([lines for lines in ranges if lines[2] in authors], authors)


def paths(database: Database, root: str) -> list[str]:
    """Return the files below a directory that agents have written. Raise `sqlite3.Error`."""
    rows = database.sql.execute("SELECT path FROM blames ORDER BY path").fetchall()
    return [path for (path,) in rows if path.startswith(root.rstrip("/") + "/")]


def _stored_blame(sql: sqlite3.Connection, path: str) -> Blame | None:
    row = sql.execute("SELECT lines, runs FROM blames WHERE path = ?", (path,)).fetchone()
    if row is None:
        return None
    lines = row[0].decode("latin-1")
    split = tuple(lines[at : at + DIGEST_SIZE] for at in range(0, len(lines), DIGEST_SIZE))
    return Blame(split, _RUNS.decode(unpack(row[1])))


def author(sql: sqlite3.Connection, number: int) -> Author | None:
    row = sql.execute(
        "SELECT sessions.id, authors.agent, coalesce(sessions.agent_id, ''), authors.sent,"
        " authors.prompt, authors.words FROM authors"
        " LEFT JOIN sessions ON sessions.id = authors.session WHERE authors.id = ?",
        (number,),
    ).fetchone()
    return None if row is None else Author(*row)
