"""Writes to the history: sessions, entries, prompts and usage.

Each call to `write` is one short transaction, so that several processes can write in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

from msgspec import Struct, field
from msgspec.structs import replace

from acp_nvim.history import blames
from acp_nvim.history.changes import (
    Change,
    Completion,
    Deletion,
    EntryState,
    Extension,
    Facts,
    FactsChange,
    FileMove,
    FileWrite,
    RecordingStart,
    RecoveredWrite,
    Replay,
    UserPrompt,
)
from acp_nvim.history.database import Database, directory_word, pack, unpack
from acp_nvim.history.hiding import SecretFilter
from acp_nvim.history.records import decode, encode, join_texts, text_of, words, words_of
from acp_nvim.history.rows import Rows
from acp_nvim.history.texts import Texts
from acp_nvim.protocol.text import clean_text
from acp_nvim.session.transcript.entries import Message, Part

MAX_PROMPTS: Final = 1000
"""Maximum number of prompts kept for the composer."""
LEFTOVER_AGE_S: Final = 60.0
"""Seconds without an update after which an incomplete message is completed.

Its process has probably ended.
"""
_FIRST_WORDS: Final = 80
"""Number of characters at the beginning of a prompt that identify it."""


class _OpenSession(Struct):
    """Session that is open in this host."""

    record: int
    writer: int
    """Unique number among all writers of the record."""
    directory: str
    first_new_place: int
    """Place of the first entry that the record does not have yet."""
    last_place: int
    """Highest place of an entry of this writer."""
    tokens: int = 0
    prompts: int = 0
    is_deleted: bool = False
    open_ends: dict[int, str] = field(default_factory=dict)
    """Ends of messages that may be the beginning of a secret, by place."""
    late_parts: dict[int, list[Part]] = field(default_factory=dict)
    """Content by place, received after the message was completed in the same batch."""


class Store:
    """Writer of changes to the database, for one process and one thread."""

    def __init__(
        self,
        database: Database,
        writer: int,
        secret_filter: Callable[[], SecretFilter] = SecretFilter,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`writer` and the next million numbers are unique to this process."""
        self._database = database
        self._sql = database.sql
        self._rows = Rows(database)
        self._texts = Texts(database, self._rows)
        self._writer = writer
        self._secret_filter = secret_filter
        self._clock = clock
        self._sessions: dict[int, _OpenSession] = {}
        self._completed_messages = set[tuple[int, int]]()
        """Messages that are completed in the current batch."""

    def write(self, changes: Sequence[Change]) -> None:
        """Write changes in order, either all or none. Raise `sqlite3.Error`."""
        before = {
            n: replace(session, open_ends=dict(session.open_ends))
            for n, session in self._sessions.items()
        }
        self._completed_messages = {
            (change.n, change.place) for change in changes if change.__class__ is Completion
        }
        try:
            with self._database.transaction():
                self._rows.begin()
                for change in changes:
                    _HANDLERS[change.__class__](self, change)
                self._write_late_parts()
                self._rows.write()
        except BaseException:
            self._sessions = before
            self._rows.begin()
            raise

    # -- sessions ---------------------------------------------------------------------------------

    def _begin_session(self, begin: RecordingStart) -> None:
        facts = begin.facts
        record = self._existing_record(begin)
        first_new_place = begin.recorded
        if record is None:
            record, first_new_place = self._insert_session(begin), 0
        elif begin.replay is not None:
            first_new_place = self._first_new_place(record, begin.replay)
        writer, directory = self._writer + begin.n, directory_word(facts.cwd)
        self._rows.write()
        last_place = self._select_value(
            "SELECT max(place) FROM entries WHERE session = ? AND writer = ?", record, writer
        )
        last_place = -1 if last_place is None else last_place
        self._sessions[begin.n] = _OpenSession(
            record, writer, directory, first_new_place, last_place
        )
        self._update_facts(FactsChange(begin.n, facts))

    def _existing_record(self, begin: RecordingStart) -> int | None:
        """Return the existing record of a session, if any."""
        facts = begin.facts
        if begin.record is not None:
            record = self._select_value("SELECT id FROM sessions WHERE id = ?", begin.record)
        elif begin.is_loaded:
            record = self._select_value(
                "SELECT id FROM sessions WHERE agent = ? AND agent_id = ? ORDER BY updated DESC",
                facts.agent,
                facts.agent_id,
            )
        else:
            record = None
        return record or cast(
            "int | None", self._select_value("SELECT id FROM sessions WHERE uid = ?", begin.uid)
        )

    def _insert_session(self, begin: RecordingStart) -> int:
        parent = self._sessions.get(begin.parent) if begin.parent is not None else None
        now, facts = self._clock(), begin.facts
        return self._insert(
            "INSERT INTO sessions (uid, parent, agent, agent_id, cwd, title, started, updated)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            begin.uid,
            parent.record if parent is not None else None,
            facts.agent,
            facts.agent_id,
            facts.cwd,
            "",
            now,
            now,
        )

    def _first_new_place(self, record: int, replay: Replay) -> int:
        """Return the first place in a replay whose entry the record lacks."""
        known = [_prompt_key(text) for text in self._prompts_of(record)]
        prompts = [_prompt_key(text) for text in replay.prompts]
        starts = [*replay.places, replay.count]
        for prompt in reversed(known):
            for at in range(len(prompts) - 1, -1, -1):
                if prompt and prompts[at] and (prompt in prompts[at] or prompts[at] in prompt):
                    return starts[at + 1]
        return starts[min(len(known), len(prompts))] if known else 0

    def _prompts_of(self, record: int) -> Iterable[str]:
        """Yield the texts of the user's messages, which their first bytes distinguish."""
        for entry, data in self._sql.execute(
            "SELECT id, data FROM entries WHERE session = ? ORDER BY id", (record,)
        ).fetchall():
            plain = unpack(data)
            if plain.startswith(b'[1,"user"'):
                message = decode(plain, self._stored_parts(entry))
                assert isinstance(message, Message)
                yield message.text()

    def _update_facts(self, change: FactsChange) -> None:
        """Update the stored session, or mark it as deleted if its row is gone."""
        session, facts = self._sessions[change.n], change.facts
        before = self._row(
            "SELECT used, cost, currency, title FROM sessions WHERE id = ?", session.record
        )
        if before is None:  # deleted, here or by another process
            session.is_deleted = True
            return
        secret_filter, prompts = self._secret_filter(), facts.prompts - session.prompts
        self._add_usage(session, facts, prompts, before)
        title = (
            secret_filter.filter_text(facts.title)
            or before[3]
            or secret_filter.filter_text(facts.topic)
        )
        self._sql.execute(
            "UPDATE sessions SET agent_id = ?, title = ?, updated = ?, stop_reason = ?,"
            " prompts = prompts + ?, used = coalesce(?, used), size = coalesce(?, size),"
            " cost = coalesce(?, cost), currency = coalesce(?, currency) WHERE id = ?",
            (
                facts.agent_id,
                title,
                self._clock(),
                facts.stop_reason,
                prompts,
                facts.used,
                facts.size,
                facts.cost,
                facts.currency,
                session.record,
            ),
        )

    def _add_usage(
        self, session: _OpenSession, facts: Facts, prompts: int, before: Sequence[Any]
    ) -> None:
        """Add the new prompts, tokens and cost to the usage of the day.

        If the agent has not counted the tokens, the growth of its context is added instead.
        """
        used, cost, currency, _ = before
        context_growth = (facts.used or 0) - (used or 0)
        tokens = facts.tokens - session.tokens if facts.tokens else context_growth
        session.tokens, session.prompts = facts.tokens, facts.prompts
        cost_growth = facts.cost or 0.0
        if cost is not None and facts.currency == currency and cost_growth >= cost:
            cost_growth -= cost  # otherwise a new process of the agent counts from 0
        if prompts > 0 or tokens > 0 or cost_growth > 0:
            day = time.strftime("%Y-%m-%d", time.localtime(self._clock()))
            self._sql.execute(
                "INSERT INTO usage (day, agent, currency, prompts, tokens, cost)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " prompts = prompts + excluded.prompts, tokens = tokens + excluded.tokens,"
                " cost = cost + excluded.cost",
                (day, facts.agent, facts.currency or "", prompts, max(tokens, 0), cost_growth),
            )

    # -- entries ----------------------------------------------------------------------------------

    def _write_entry(self, state: EntryState) -> None:
        session = self._session_of(state)
        if session is None:
            return
        data = encode(state.record)
        visible = self._secret_filter().filter_json(data)
        text = words_of(state.record) if visible is data else words(visible)
        stored = self._stored_entry(session, state.place)
        if stored is None:
            row = self._texts.add(session.record, session.directory, text)
            self._add_entry(session, state.place, visible, row)
        else:
            self._replace_data(stored, visible)
            self._texts.replace(stored[0], session.record, session.directory, text)

    def _extend_message(self, extension: Extension) -> None:
        """Add parts to a stored message, or replace all of its parts."""
        session = self._session_of(extension)
        if session is None:
            return
        data = self._secret_filter().filter_json(encode(extension.record))
        stored = self._stored_entry(session, extension.place)
        if stored is None:
            entry = self._add_entry(session, extension.place, data, None)
        else:
            entry = stored[0]
            self._replace_data(stored, data)
        if extension.replaces and stored is not None:
            session.open_ends.pop(extension.place, None)
            session.late_parts.pop(extension.place, None)
            self._sql.execute("UPDATE entries SET content = NULL WHERE id = ?", (entry,))
            self._sql.execute("DELETE FROM pieces WHERE entry = ?", (entry,))
        if (extension.n, extension.place) in self._completed_messages:
            open_end = session.open_ends.pop(extension.place, "")
            session.late_parts.setdefault(extension.place, []).extend([open_end, *extension.parts])
        else:
            self._append(
                entry, self._without_open_secret(session, extension.place, extension.parts)
            )

    def _without_open_secret(
        self, session: _OpenSession, place: int, parts: Sequence[Part]
    ) -> list[Part]:
        """Return the parts without an end that may be the beginning of a secret.

        Prepend the end of the earlier parts, and store the new one in `open_ends`.
        """
        secret_filter = self._secret_filter()
        visible = join_texts([session.open_ends.pop(place, ""), *parts])
        last = visible.pop() if visible and isinstance(visible[-1], str) else ""
        assert isinstance(last, str)
        last = secret_filter.filter_text(last)
        secret_length = secret_filter.open_secret_length(last)
        if secret_length:
            last, session.open_ends[place] = last[:-secret_length], last[-secret_length:]
        return [part for part in (*visible, last) if part != ""]

    def _append(self, entry: int, parts: Sequence[Part]) -> None:
        if not parts:
            return
        last = self._select_value("SELECT max(number) FROM pieces WHERE entry = ?", entry)
        data = pack(self._secret_filter().filter_json(encode(parts)))
        self._sql.execute("INSERT INTO pieces VALUES (?, ?, ?)", (entry, (last or 0) + 1, data))

    def _write_late_parts(self) -> None:
        """Write the content of messages that were extended after their completion in this batch."""
        for session in self._sessions.values():
            late_parts, session.late_parts = session.late_parts, {}
            for place, parts in late_parts.items():
                stored = self._stored_entry(session, place)
                if stored is not None and not session.is_deleted:
                    self._append(stored[0], self._without_open_secret(session, place, parts))

    def _complete_message(self, completion: Completion) -> None:
        session = self._session_of(completion)
        if session is None:
            return
        stored = self._stored_entry(session, completion.place)
        if stored is None:
            return
        more = [
            session.open_ends.pop(completion.place, ""),
            *session.late_parts.pop(completion.place, ()),
        ]
        self._join_parts(
            stored[0], session.record, session.directory, [part for part in more if part != ""]
        )

    def _join_parts(
        self, entry: int, record: int, directory: str, more: Sequence[Part] = ()
    ) -> None:
        """Join the pieces of a message and `more`, and make it searchable."""
        pieces = self._select_value("SELECT count(*) FROM pieces WHERE entry = ?", entry)
        if not pieces and not more:
            return
        runs = list(self._stored_parts(entry))
        if runs:
            data = self._select_value("SELECT data FROM entries WHERE id = ?", entry)
            message = decode(unpack(data), runs)
            assert isinstance(message, Message)
            more = [*message.parts, *more]
        self._set_content(entry, record, directory, join_texts(more))
        if pieces:
            self._sql.execute("DELETE FROM pieces WHERE entry = ?", (entry,))

    def _set_content(self, entry: int, record: int, directory: str, parts: Sequence[Part]) -> None:
        """Set the whole content of a message."""
        data, secret_filter = encode(parts), self._secret_filter()
        content = secret_filter.filter_json(data)
        text = text_of(parts) if content is data else secret_filter.filter_text(text_of(parts))
        row = (pack(content), entry)
        self._sql.execute("UPDATE entries SET content = ? WHERE id = ?", row)
        self._texts.replace(entry, record, directory, clean_text(text))

    def _stored_parts(self, entry: int) -> Iterable[bytes]:
        content = self._select_value("SELECT content FROM entries WHERE id = ?", entry)
        if content is not None:
            yield unpack(content)
        yield from (
            unpack(data)
            for (data,) in self._sql.execute(
                "SELECT data FROM pieces WHERE entry = ? ORDER BY number", (entry,)
            ).fetchall()
        )

    def _stored_entry(self, session: _OpenSession, place: int) -> tuple[int, bytes] | None:
        """Return the number and data of an entry, or None if it is new."""
        if place > session.last_place:
            return None
        self._rows.write()
        entry: tuple[int, bytes] | None = self._row(
            "SELECT id, data FROM entries WHERE session = ? AND writer = ? AND place = ?",
            session.record,
            session.writer,
            place,
        )
        return entry

    def _add_entry(self, session: _OpenSession, place: int, data: bytes, text: int | None) -> int:
        """Add an entry with this searchable text."""
        session.last_place = max(session.last_place, place)
        now = self._clock()
        return self._rows.add_entry(session.record, session.writer, place, now, pack(data), text)

    def _replace_data(self, entry: tuple[int, bytes], data: bytes) -> None:
        """Replace the data of an entry."""
        stored = pack(data)
        if entry[1] != stored:
            self._sql.execute("UPDATE entries SET data = ? WHERE id = ?", (stored, entry[0]))

    def _session_of(self, change: EntryState | Extension | Completion) -> _OpenSession | None:
        """Return the session of a change.

        Return None if its record is deleted or already has the change.
        """
        session = self._sessions[change.n]
        return None if session.is_deleted or change.place < session.first_new_place else session

    # -- prompts ----------------------------------------------------------------------------------

    def _add_prompt(self, prompt: UserPrompt) -> None:
        last = self._select_value("SELECT max(number) FROM prompts") or 0
        self._sql.execute(
            "INSERT INTO prompts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET"
            " cwd = excluded.cwd, number = excluded.number",
            (self._secret_filter().filter_text(prompt.text), prompt.cwd, last + 1),
        )
        self._sql.execute("DELETE FROM prompts WHERE number <= ?", (last + 1 - MAX_PROMPTS,))

    # -- files ------------------------------------------------------------------------------------

    def _add_write(self, write: FileWrite) -> None:
        """Record the authors of a file's lines, unless the session is deleted."""
        session = self._sessions[write.n]
        if not session.is_deleted:
            self._attribute(session.record, write)

    def _add_recovered(self, recovered: RecoveredWrite) -> None:
        """Record the authors for a session of another process.

        The session is found by its uid, or by the agent's id for it.
        """
        record = self._select_value(
            "SELECT id FROM sessions WHERE uid = ?", recovered.uid
        ) or self._select_value(
            "SELECT id FROM sessions WHERE agent = ? AND agent_id = ? AND agent_id != ''"
            " ORDER BY updated DESC",
            recovered.agent,
            recovered.agent_id,
        )
        if record is not None:
            self._attribute(record, recovered.write)

    def _attribute(self, record: int, write: FileWrite) -> None:
        agent = self._select_value("SELECT agent FROM sessions WHERE id = ?", record)
        words = self._secret_filter().filter_text(write.words)
        author = blames.author_number(self._sql, record, agent, write, words)
        blames.add_write(self._sql, write, author, self._clock())

    def _add_move(self, moved: FileMove) -> None:
        blames.move_authors(self._sql, moved, self._clock())

    # -- deletion ---------------------------------------------------------------------------------

    def _delete(self, delete: Deletion) -> None:
        from acp_nvim.history import search

        prompts = search.own_prompts(self._database, delete.record)
        self._sql.executemany(
            "DELETE FROM prompts WHERE text = ?", [(prompt,) for prompt in prompts]
        )
        for record in (*self._children(delete.record), delete.record):
            self.drop_entries(record)
            self._sql.execute("DELETE FROM sessions WHERE id = ?", (record,))
            blames.forget_words(self._sql, record)
            for session in self._sessions.values():
                session.is_deleted = session.is_deleted or session.record == record

    def _children(self, record: int) -> list[int]:
        rows = self._sql.execute("SELECT id FROM sessions WHERE parent = ?", (record,)).fetchall()
        return [child for (row,) in rows for child in (*self._children(row), row)]

    def drop_entries(self, record: int, limit: int = -1) -> int:
        """Delete the oldest entries of a record, at most `limit`. Return their number."""
        self._rows.write()
        rows = self._sql.execute(
            "SELECT id, text FROM entries WHERE session = ? ORDER BY id LIMIT ?", (record, limit)
        ).fetchall()
        for entry, text in rows:
            if text is not None:
                self._texts.drop(text)
            self._sql.execute("DELETE FROM pieces WHERE entry = ?", (entry,))
            self._sql.execute("DELETE FROM entries WHERE id = ?", (entry,))
        return len(rows)

    # -- leftovers of ended processes -------------------------------------------------------------

    def complete_leftovers(self) -> None:
        """Complete the messages of processes that have ended, and index missing texts."""
        with self._database.transaction() as sql:
            self._rows.begin()
            leftovers = sql.execute(
                "SELECT DISTINCT pieces.entry, sessions.id, sessions.cwd FROM pieces"
                " JOIN entries ON entries.id = pieces.entry"
                " JOIN sessions ON sessions.id = entries.session"
                " WHERE abs(? - sessions.updated) > ?",
                (self._clock(), LEFTOVER_AGE_S),
            ).fetchall()
            for entry, record, cwd in leftovers:
                self._join_parts(entry, record, directory_word(cwd))
            self._rows.write()
            self._texts.index_missing()

    # -- queries ----------------------------------------------------------------------------------

    def _row(self, query: str, *values: Any) -> Any:
        return self._sql.execute(query, values).fetchone()

    def _select_value(self, query: str, *values: Any) -> Any:
        row = self._row(query, *values)
        return row[0] if row is not None else None

    def _insert(self, query: str, *values: Any) -> int:
        row = self._sql.execute(query, values).lastrowid
        assert row is not None
        return row


def _prompt_key(text: str) -> str:
    """Return the beginning of a prompt, which identifies it."""
    return " ".join(text.split())[:_FIRST_WORDS]


_HANDLERS: Final[dict[type, Callable[[Store, Any], None]]] = {
    RecordingStart: Store._begin_session,
    FactsChange: Store._update_facts,
    EntryState: Store._write_entry,
    Extension: Store._extend_message,
    Completion: Store._complete_message,
    UserPrompt: Store._add_prompt,
    Deletion: Store._delete,
    FileWrite: Store._add_write,
    RecoveredWrite: Store._add_recovered,
    FileMove: Store._add_move,
}
