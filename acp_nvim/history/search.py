"""Queries of the history: sessions, search, transcripts, authors of lines, usage."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from acp_nvim.edits.text import Text
from acp_nvim.history import blames
from acp_nvim.history.database import Database, directory_word, unpack
from acp_nvim.history.records import decode, text_of
from acp_nvim.patterns import late
from acp_nvim.session.transcript.entries import Entry, Message, ToolEntry, Unknown

MAX_SESSIONS: Final = 200
"""Maximum number of sessions found in the given directory, and of those found in all others."""
MAX_SCANNED: Final = 5000
"""Maximum number of entries examined for a search."""
LINE_WIDTH: Final = 120
"""Characters of a line shown for a match."""
MIN_PREFIX: Final = 3
"""Minimum number of letters for which the last word also matches as a prefix."""
PREFIX_S: Final = 0.04
"""Time limit of the prefix search, in seconds."""
CONTEXT_LINES: Final = 5
"""Number of lines shown before a match. Twice as many are shown after it."""
_WORD: Final = late(r"\w+")
_UNSPACED: Final = late(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of scripts without spaces. In the index, a run of them is a single word."""


class StoredSession(Struct, frozen=True):
    """Session in the history.

    `line` contains the match, `excerpt` the lines around it. `updated` is in seconds since 1970.
    `used` and `size` describe its context in tokens.
    """

    id: int
    uid: str
    parent: int | None
    agent: str
    agent_id: str
    cwd: str
    title: str
    started: float
    updated: float
    used: int | None = None
    size: int | None = None
    cost: float | None = None
    currency: str | None = None
    line: str = ""
    excerpt: str = ""


class DailyUsage(Struct, frozen=True):
    """Usage of an agent on a day. `currency` is empty if no cost was reported."""

    day: str
    agent: str
    currency: str
    prompts: int
    tokens: int
    cost: float


_COLUMNS: Final = (
    "id, uid, parent, agent, agent_id, cwd, title, started, updated, used, size, cost, currency"
)


def search(database: Database, text: str, cwd: str) -> list[StoredSession]:
    """Return the sessions with an entry that contains all words.

    Without words, return all sessions. Sessions of the directory come first, and newer ones before
    older ones. Raise `sqlite3.Error`.
    """
    if not text.strip():
        return _all(database.sql, cwd)
    by_record = dict(_matches_in_open_messages(database.sql, text))
    for record, matched in _hits(database, text, cwd):
        by_record.setdefault(record, matched)
    rows = ((_session_row(database.sql, record), matched) for record, matched in by_record.items())
    matches = [_with_match(stored, matched, text) for stored, matched in rows if stored is not None]
    return sorted(matches, key=lambda stored: (stored.cwd != cwd, -stored.updated))


def _all(sql: sqlite3.Connection, cwd: str) -> list[StoredSession]:
    rows = sql.execute(
        f"SELECT {_COLUMNS} FROM sessions WHERE parent IS NULL"
        " ORDER BY cwd != ?, updated DESC LIMIT ?",
        (cwd, 2 * MAX_SESSIONS),
    )
    return [StoredSession(*row) for row in rows]


def _session_row(sql: sqlite3.Connection, record: int) -> StoredSession | None:
    row = sql.execute(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?", (record,)).fetchone()
    return None if row is None else StoredSession(*row)


def _with_match(stored: StoredSession, matched: str, text: str) -> StoredSession:
    """Return the session with the line that matches best, and an excerpt around it."""
    tokens = [token.casefold() for token in _WORD.findall(text)] or [text.casefold()]
    lines = matched.split("\n")
    best = max(
        range(len(lines)), key=lambda at: sum(token in lines[at].casefold() for token in tokens)
    )
    first = max(best - CONTEXT_LINES, 0)
    excerpt = "\n".join(line[: 2 * LINE_WIDTH] for line in lines[first : best + 2 * CONTEXT_LINES])
    return replace(stored, line=_excerpt_around(lines[best], tokens), excerpt=excerpt)


def _excerpt_around(line: str, tokens: Sequence[str]) -> str:
    """Return the part of a line around the first matching word."""
    at = min((i for token in tokens if (i := line.casefold().find(token)) >= 0), default=0)
    start = max(at - LINE_WIDTH // 2, 0) if len(line) > LINE_WIDTH else 0
    return ("…" if start else "") + line[start : start + LINE_WIDTH].strip()


def _hits(database: Database, text: str, cwd: str) -> Iterator[tuple[int, str]]:
    """Yield records with their newest matching text.

    The given directory is searched first, because other directories may have very many matches.
    """
    tokens = _WORD.findall(text)
    if not database.full_text or not tokens or _UNSPACED.search(text):
        yield from _scan(database.sql, text)
        return
    here = f"directory : {directory_word(cwd)} AND "
    whole = "text : (" + " AND ".join(f'"{token}"' for token in tokens) + ")"
    seen: set[int] = set()
    yield from _matches(database.sql, here + whole, seen)
    yield from _matches(database.sql, whole, seen)
    if len(seen) < MAX_SESSIONS and len(tokens[-1]) >= MIN_PREFIX:
        prefix = whole[:-1] + " *)"
        with suppress(sqlite3.OperationalError), _limit_time(database.sql):
            yield from _matches(database.sql, here + prefix, seen)
            yield from _matches(database.sql, prefix, seen)


@contextmanager
def _limit_time(sql: sqlite3.Connection) -> Iterator[None]:
    """Interrupt queries of the body after `PREFIX_S`. A short prefix may match very many words."""
    until = time.monotonic() + PREFIX_S
    sql.set_progress_handler(lambda: time.monotonic() > until, 1000)
    try:
        yield
    finally:
        sql.set_progress_handler(None, 0)


def _matches(sql: sqlite3.Connection, match: str, seen: set[int]) -> Iterator[tuple[int, str]]:
    """Yield new records with their matching texts, and add them to `seen`."""
    rows = sql.execute(
        "SELECT owners.session, owners.id FROM words JOIN owners ON owners.id = words.rowid"
        " WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ?",
        (match, MAX_SCANNED),
    )
    limit = len(seen) + MAX_SESSIONS
    for record, row in rows:
        if record not in seen:
            seen.add(record)
            yield record, _text_of_row(sql, row)
        if len(seen) >= limit:
            break


def _text_of_row(sql: sqlite3.Connection, row: int) -> str:
    return str(sql.execute("SELECT text FROM texts WHERE id = ?", (row,)).fetchone()[0])


def _scan(sql: sqlite3.Connection, text: str) -> Iterator[tuple[int, str]]:
    """Yield the matches without using the index."""
    tokens = text.split()
    like = " AND ".join("text LIKE ? ESCAPE '\\'" for _ in tokens)
    patterns = ["%" + re.sub(r"([\\%_])", r"\\\1", token) + "%" for token in tokens]
    rows = sql.execute(
        "SELECT owners.session, found.id FROM"
        f" (SELECT id FROM texts WHERE {like} ORDER BY id DESC LIMIT ?) AS found"
        " JOIN owners ON owners.id = found.id",
        (*patterns, MAX_SCANNED),
    )
    seen: set[int] = set()
    for record, row in rows:
        if record not in seen:
            seen.add(record)
            yield record, _text_of_row(sql, row)


def _matches_in_open_messages(sql: sqlite3.Connection, text: str) -> Iterator[tuple[int, str]]:
    """Yield the matches in messages that are still being written."""
    rows = sql.execute(
        "SELECT entries.session, entries.id, entries.data, entries.content FROM entries"
        " WHERE id IN (SELECT DISTINCT entry FROM pieces)"
    ).fetchall()
    tokens = [token.casefold() for token in text.split()]
    for record, entry, data, content in rows:
        message = decode(unpack(data), _content_runs(sql, entry, content))
        matched = text_of(message.parts) if isinstance(message, Message) else ""
        if all(token in matched.casefold() for token in tokens):
            yield record, matched


# -- one session ----------------------------------------------------------------------------------


def session(database: Database, record: int) -> StoredSession | None:
    return _session_row(database.sql, record)


def record_of(database: Database, agent: str, agent_id: str) -> int | None:
    row = database.sql.execute(
        "SELECT id FROM sessions WHERE agent = ? AND agent_id = ? ORDER BY updated DESC",
        (agent, agent_id),
    ).fetchone()
    return None if row is None else int(row[0])


def session_of(database: Database, uid: str, agent: str, agent_id: str) -> StoredSession | None:
    """Return the newest session with this uid, or with this agent and its session id.

    Raise `sqlite3.Error`.
    """
    row = database.sql.execute(
        f"SELECT {_COLUMNS} FROM sessions WHERE uid = ? OR (agent = ? AND agent_id = ? AND ? != '')"
        " ORDER BY updated DESC LIMIT 1",
        (uid, agent, agent_id, agent_id),
    ).fetchone()
    return None if row is None else StoredSession(*row)


def children(database: Database, record: int) -> list[StoredSession]:
    """Return the subagents of a session. Raise `sqlite3.Error`."""
    rows = database.sql.execute(
        f"SELECT {_COLUMNS} FROM sessions WHERE parent = ? ORDER BY id", (record,)
    )
    return [StoredSession(*row) for row in rows]


def entries(database: Database, record: int) -> list[Entry]:
    """Return the transcript of a session. Unreadable entries become unknown entries.

    Raise `sqlite3.Error`.
    """
    sql, transcript, calls = database.sql, list[Entry](), 0
    rows = sql.execute(
        "SELECT id, data, content FROM entries WHERE session = ? ORDER BY id", (record,)
    ).fetchall()
    for entry, data, content in rows:
        plain = unpack(data)
        try:
            transcript.append(decode(plain, _content_runs(sql, entry, content), calls))
        except msgspec.DecodeError as error:
            transcript.append(Unknown("history", {"error": str(error), "record": plain.decode()}))
        calls += isinstance(transcript[-1], ToolEntry)
    return transcript


def _content_runs(sql: sqlite3.Connection, entry: int, content: bytes | None) -> Iterable[bytes]:
    if content is not None:
        yield unpack(content)
    rows = sql.execute("SELECT data FROM pieces WHERE entry = ? ORDER BY number", (entry,))
    yield from (unpack(data) for (data,) in rows.fetchall())


# -- files ----------------------------------------------------------------------------------------


def blame(database: Database, texts: Mapping[str, Text]) -> dict[str, blames.FileAuthors]:
    """Return the authors of the lines of these files, by path. `texts` are the current texts.

    Raise `sqlite3.Error`.
    """
    return {path: blames.blame(database, path, text) for path, text in texts.items()}


def author(database: Database, number: int) -> blames.Author | None:
    """Return the author with this number, or None if it was removed. Raise `sqlite3.Error`."""
    return blames.author(database.sql, number)


def blamed_paths(database: Database, root: str) -> list[str]:
    """Return the files below a directory that agents have written. Raise `sqlite3.Error`."""
    return blames.paths(database, root)


# -- prompts and usage ----------------------------------------------------------------------------


def prompts(database: Database, limit: int) -> list[str]:
    """Return the last prompts, oldest first. Raise `sqlite3.Error`."""
    rows = database.sql.execute("SELECT text FROM prompts ORDER BY number DESC LIMIT ?", (limit,))
    return [text for (text,) in rows][::-1]


def own_prompts(database: Database, record: int) -> list[str]:
    """Return the prompts that the user has sent only in this session. Raise `sqlite3.Error`."""
    messages = [entry for entry in entries(database, record) if isinstance(entry, Message)]
    own_messages = [message for message in messages if message.role == "user"]
    parts = [part for message in own_messages for part in (message.text(), *message.parts)]
    texts = {part for part in parts if isinstance(part, str)}
    own = {text for text in prompts(database, -1) if text in texts}
    marks = ", ".join("?" * len(own))
    others = database.sql.execute(
        "SELECT texts.text FROM texts JOIN owners ON owners.id = texts.id"
        f" WHERE texts.text IN ({marks}) AND owners.session != ?",
        (*own, record),
    )
    return sorted(own - {text for (text,) in others})


def usage(database: Database) -> Sequence[DailyUsage]:
    """Return the usage by day and agent, newest day first. Raise `sqlite3.Error`."""
    rows = database.sql.execute(
        "SELECT day, agent, currency, prompts, tokens, cost FROM usage ORDER BY day DESC, agent"
    )
    return [DailyUsage(*row) for row in rows]
