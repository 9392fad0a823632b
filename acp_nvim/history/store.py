"""Writes to the history: sessions, entries, prompts and usage.

Each call of `write` is one short transaction, so that several processes can write in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

from msgspec import Struct, field
from msgspec.structs import replace

from acp_nvim.history import blames, search
from acp_nvim.history.changes import (
    Adopted,
    Begin,
    Change,
    Completion,
    Delete,
    EntryState,
    Extension,
    Facts,
    FactsChange,
    Moved,
    Prompted,
    Replay,
    Wrote,
)
from acp_nvim.history.database import Database, directory_word, pack, unpack
from acp_nvim.history.hiding import Hidden
from acp_nvim.history.records import decode, encode, join_texts, text_of, words, words_of
from acp_nvim.history.rows import Rows
from acp_nvim.history.texts import Texts
from acp_nvim.protocol.text import clean_text
from acp_nvim.session.transcript.entries import Message, Part

PROMPTS: Final = 1000
"""Maximum number of prompts kept for the composer."""
LEFT_S: Final = 60.0
"""Age in seconds at which an incomplete message is taken as the rest of an ended process."""
_FIRST_WORDS: Final = 80
"""Length of a prompt's beginning that identifies it."""


class _Live(Struct):
    """Session that is open in this host."""

    record: int
    writer: int
    """Unique number among all writers of the record."""
    directory: str
    first: int
    """The record already has the entries before this place."""
    top: int
    """Highest place of an entry of this writer."""
    tokens: int = 0
    prompts: int = 0
    is_deleted: bool = False
    held: dict[int, str] = field(default_factory=dict)
    """Ends of messages that may be the beginning of a secret, by place."""
    late: dict[int, list[Part]] = field(default_factory=dict)
    """Content that is written when its message is completed in the same batch."""


class Store:
    """Store for one process and one thread."""

    def __init__(
        self,
        database: Database,
        writer: int,
        hidden: Callable[[], Hidden] = Hidden,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``writer`` and the next million numbers are unique to this process."""
        self._database = database
        self._sql = database.sql
        self._rows = Rows(database)
        self._texts = Texts(database, self._rows)
        self._writer = writer
        self._hidden = hidden
        self._clock = clock
        self._live: dict[int, _Live] = {}
        self._complete_messaged = set[tuple[int, int]]()
        """Messages that are completed in the current batch."""

    def write(self, changes: Sequence[Change]) -> None:
        """Write changes in their order, all or none. Raise `sqlite3.Error`."""
        before = {n: replace(live, held=dict(live.held)) for n, live in self._live.items()}
        self._complete_messaged = {(it.n, it.place) for it in changes if it.__class__ is Completion}
        try:
            with self._database.transaction():
                self._rows.begin()
                for change in changes:
                    _DO[change.__class__](self, change)
                self._append_late()
                self._rows.write()
        except BaseException:
            self._live = before
            self._rows.begin()
            raise

    # -- sessions ---------------------------------------------------------------------------------

    def _begin(self, begin: Begin) -> None:
        facts = begin.facts
        found = self._existing_record(begin)
        first = begin.recorded
        if found is None:
            found, first = self._new(begin), 0
        elif begin.replay is not None:
            first = self._unknown_from(found, begin.replay)
        writer, directory = self._writer + begin.n, directory_word(facts.cwd)
        self._rows.write()
        top = self._select_value(
            "SELECT max(place) FROM entries WHERE session = ? AND writer = ?", found, writer
        )
        top = -1 if top is None else top
        self._live[begin.n] = _Live(found, writer, directory, first, top)
        self._update_facts(FactsChange(begin.n, facts))

    def _existing_record(self, begin: Begin) -> int | None:
        """Return the existing record of a session, if any."""
        facts = begin.facts
        if begin.record is not None:
            found = self._select_value("SELECT id FROM sessions WHERE id = ?", begin.record)
        elif begin.is_loaded:
            found = self._select_value(
                "SELECT id FROM sessions WHERE agent = ? AND agent_id = ? ORDER BY updated DESC",
                facts.agent,
                facts.agent_id,
            )
        else:
            found = None
        return found or cast(
            "int | None", self._select_value("SELECT id FROM sessions WHERE uid = ?", begin.uid)
        )

    def _new(self, begin: Begin) -> int:
        above = self._live.get(begin.parent) if begin.parent is not None else None
        now, facts = self._clock(), begin.facts
        return self._insert(
            "INSERT INTO sessions (uid, parent, agent, agent_id, cwd, title, started, updated)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            begin.uid,
            above.record if above is not None else None,
            facts.agent,
            facts.agent_id,
            facts.cwd,
            "",
            now,
            now,
        )

    def _unknown_from(self, record: int, replay: Replay) -> int:
        """Return the place from which a replay has entries that the record lacks."""
        known = [_gist(text) for text in self._prompts_of(record)]
        prompts = [_gist(text) for text in replay.prompts]
        starts = [*replay.places, replay.count]
        for prompt in reversed(known):
            for at in range(len(prompts) - 1, -1, -1):
                if prompt and prompts[at] and (prompt in prompts[at] or prompts[at] in prompt):
                    return starts[at + 1]
        return starts[min(len(known), len(prompts))] if known else 0

    def _prompts_of(self, record: int) -> Iterable[str]:
        for entry, data in self._sql.execute(
            "SELECT id, data FROM entries WHERE session = ? ORDER BY id", (record,)
        ).fetchall():
            plain = unpack(data)
            if plain.startswith(b'[1,"user"'):
                message = decode(plain, self._content(entry))
                assert isinstance(message, Message)
                yield message.text()

    def _update_facts(self, know: FactsChange) -> None:
        live, facts = self._live[know.n], know.facts
        before = self._row(
            "SELECT used, cost, currency, title FROM sessions WHERE id = ?", live.record
        )
        if before is None:  # deleted, here or by another process
            live.is_deleted = True
            return
        hidden, prompts = self._hidden(), facts.prompts - live.prompts
        self._spend(live, facts, prompts, before)
        title = hidden.text(facts.title) or before[3] or hidden.text(facts.topic)
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
                live.record,
            ),
        )

    def _spend(self, live: _Live, facts: Facts, prompts: int, before: Sequence[Any]) -> None:
        """Add to the usage: the tokens that the agent counted, else the growth of its context."""
        used, cost, currency, _ = before
        grown = (facts.used or 0) - (used or 0)
        tokens = facts.tokens - live.tokens if facts.tokens else grown
        live.tokens, live.prompts = facts.tokens, facts.prompts
        paid = facts.cost or 0.0
        if cost is not None and facts.currency == currency and paid >= cost:
            paid -= cost  # otherwise a new process has restarted the count
        if prompts > 0 or tokens > 0 or paid > 0:
            day = time.strftime("%Y-%m-%d", time.localtime(self._clock()))
            self._sql.execute(
                "INSERT INTO usage (day, agent, currency, prompts, tokens, cost)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " prompts = prompts + excluded.prompts, tokens = tokens + excluded.tokens,"
                " cost = cost + excluded.cost",
                (day, facts.agent, facts.currency or "", prompts, max(tokens, 0), paid),
            )

    # -- entries ----------------------------------------------------------------------------------

    def _put(self, state: EntryState) -> None:
        live = self._target(state)
        if live is None:
            return
        data = encode(state.record)
        visible = self._hidden().data(data)
        text = words_of(state.record) if visible is data else words(visible)
        found = self._stored_entry(live, state.place)
        if found is None:
            row = self._texts.first(live.record, live.directory, text)
            self._add(live, state.place, visible, row)
        else:
            self._change(found, visible)
            self._texts.replace(found[0], live.record, live.directory, text)

    def _grow(self, grow: Extension) -> None:
        live = self._target(grow)
        if live is None:
            return
        data = self._hidden().data(encode(grow.record))
        found = self._stored_entry(live, grow.place)
        if found is None:
            entry = self._add(live, grow.place, data, None)
        else:
            entry = found[0]
            self._change(found, data)
        if grow.replaces and found is not None:
            live.held.pop(grow.place, None)
            live.late.pop(grow.place, None)
            self._sql.execute("UPDATE entries SET content = NULL WHERE id = ?", (entry,))
            self._sql.execute("DELETE FROM pieces WHERE entry = ?", (entry,))
        if (grow.n, grow.place) in self._complete_messaged:
            held_text = live.held.pop(grow.place, "")
            live.late.setdefault(grow.place, []).extend([held_text, *grow.parts])
        else:
            self._append(entry, self._without_open_secret(live, grow.place, grow.parts))

    def _without_open_secret(self, live: _Live, place: int, parts: Sequence[Part]) -> list[Part]:
        """Return parts without an end that may be the beginning of a secret."""
        hidden = self._hidden()
        visible = join_texts([live.held.pop(place, ""), *parts])
        last = visible.pop() if visible and isinstance(visible[-1], str) else ""
        assert isinstance(last, str)
        last = hidden.text(last)
        held_length = hidden.held(last)
        if held_length:
            last, live.held[place] = last[:-held_length], last[-held_length:]
        return [part for part in (*visible, last) if part != ""]

    def _append(self, entry: int, parts: Sequence[Part]) -> None:
        if not parts:
            return
        last = self._select_value("SELECT max(number) FROM pieces WHERE entry = ?", entry)
        data = pack(self._hidden().data(encode(parts)))
        self._sql.execute("INSERT INTO pieces VALUES (?, ?, ?)", (entry, (last or 0) + 1, data))

    def _append_late(self) -> None:
        """Write the content of messages that were extended after their completion."""
        for live in self._live.values():
            late, live.late = live.late, {}
            for place, parts in late.items():
                found = self._stored_entry(live, place)
                if found is not None and not live.is_deleted:
                    self._append(found[0], self._without_open_secret(live, place, parts))

    def _complete_message(self, completion: Completion) -> None:
        live = self._target(completion)
        if live is None:
            return
        found = self._stored_entry(live, completion.place)
        if found is None:
            return
        more = [live.held.pop(completion.place, ""), *live.late.pop(completion.place, ())]
        self._complete(found[0], live.record, live.directory, [it for it in more if it != ""])

    def _complete(self, entry: int, record: int, directory: str, more: Sequence[Part] = ()) -> None:
        """Join the pieces of a message and ``more``, and make it searchable."""
        pieces = self._select_value("SELECT count(*) FROM pieces WHERE entry = ?", entry)
        if not pieces and not more:
            return
        runs = list(self._content(entry))
        if runs:
            data = self._select_value("SELECT data FROM entries WHERE id = ?", entry)
            message = decode(unpack(data), runs)
            assert isinstance(message, Message)
            more = [*message.parts, *more]
        self._fill(entry, record, directory, join_texts(more))
        if pieces:
            self._sql.execute("DELETE FROM pieces WHERE entry = ?", (entry,))

    def _fill(self, entry: int, record: int, directory: str, parts: Sequence[Part]) -> None:
        """Set the whole content of a message."""
        data, hidden = encode(parts), self._hidden()
        content = hidden.data(data)
        text = text_of(parts) if content is data else hidden.text(text_of(parts))
        row = (pack(content), entry)
        self._sql.execute("UPDATE entries SET content = ? WHERE id = ?", row)
        self._texts.replace(entry, record, directory, clean_text(text))

    def _content(self, entry: int) -> Iterable[bytes]:
        content = self._select_value("SELECT content FROM entries WHERE id = ?", entry)
        if content is not None:
            yield unpack(content)
        yield from (
            unpack(data)
            for (data,) in self._sql.execute(
                "SELECT data FROM pieces WHERE entry = ? ORDER BY number", (entry,)
            ).fetchall()
        )

    def _stored_entry(self, live: _Live, place: int) -> tuple[int, bytes] | None:
        """Return number and data of an entry, or None if it is new."""
        if place > live.top:
            return None
        self._rows.write()
        found: tuple[int, bytes] | None = self._row(
            "SELECT id, data FROM entries WHERE session = ? AND writer = ? AND place = ?",
            live.record,
            live.writer,
            place,
        )
        return found

    def _add(self, live: _Live, place: int, data: bytes, text: int | None) -> int:
        """Add an entry with this searchable text."""
        live.top = max(live.top, place)
        now = self._clock()
        return self._rows.entry(live.record, live.writer, place, now, pack(data), text)

    def _change(self, found: tuple[int, bytes], data: bytes) -> None:
        """Replace the data of an entry."""
        stored = pack(data)
        if found[1] != stored:
            self._sql.execute("UPDATE entries SET data = ? WHERE id = ?", (stored, found[0]))

    def _target(self, change: EntryState | Extension | Completion) -> _Live | None:
        """Return the session of a change, or None if its record has the change or is deleted."""
        live = self._live[change.n]
        return None if live.is_deleted or change.place < live.first else live

    # -- prompts ----------------------------------------------------------------------------------

    def _add_prompt(self, prompted: Prompted) -> None:
        last = self._select_value("SELECT max(number) FROM prompts") or 0
        self._sql.execute(
            "INSERT INTO prompts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET"
            " cwd = excluded.cwd, number = excluded.number",
            (self._hidden().text(prompted.text), prompted.cwd, last + 1),
        )
        self._sql.execute("DELETE FROM prompts WHERE number <= ?", (last + 1 - PROMPTS,))

    # -- files ------------------------------------------------------------------------------------

    def _wrote(self, wrote: Wrote) -> None:
        """Record the authors of a file's lines, unless the session is deleted."""
        live = self._live[wrote.n]
        if not live.is_deleted:
            self._attribute(live.record, wrote)

    def _add_adopted(self, adopted: Adopted) -> None:
        """Record the authors for another process's session, found by its name or the agent's id."""
        record = self._select_value(
            "SELECT id FROM sessions WHERE uid = ?", adopted.uid
        ) or self._select_value(
            "SELECT id FROM sessions WHERE agent = ? AND agent_id = ? AND agent_id != ''"
            " ORDER BY updated DESC",
            adopted.agent,
            adopted.agent_id,
        )
        if record is not None:
            self._attribute(record, adopted.wrote)

    def _attribute(self, record: int, wrote: Wrote) -> None:
        agent = self._select_value("SELECT agent FROM sessions WHERE id = ?", record)
        words = self._hidden().text(wrote.words)
        author = blames.author_of(self._sql, record, agent, wrote, words)
        blames.write(self._sql, wrote, author, self._clock())

    def _add_move(self, moved: Moved) -> None:
        blames.move(self._sql, moved, self._clock())

    # -- deletion
    # -------------------------------------------------------------------------------------

    def _delete(self, delete: Delete) -> None:
        prompts = search.own_prompts(self._database, delete.record)
        self._sql.executemany("DELETE FROM prompts WHERE text = ?", [(it,) for it in prompts])
        for record in (*self._children(delete.record), delete.record):
            self.drop_entries(record)
            self._sql.execute("DELETE FROM sessions WHERE id = ?", (record,))
            blames.forget_words(self._sql, record)
            for live in self._live.values():
                live.is_deleted = live.is_deleted or live.record == record

    def _children(self, record: int) -> list[int]:
        rows = self._sql.execute("SELECT id FROM sessions WHERE parent = ?", (record,)).fetchall()
        return [child for (row,) in rows for child in (*self._children(row), row)]

    def drop_entries(self, record: int, most: int = -1) -> int:
        """Delete the oldest entries of a record, at most ``most``. Return their number."""
        self._rows.write()
        rows = self._sql.execute(
            "SELECT id, text FROM entries WHERE session = ? ORDER BY id LIMIT ?", (record, most)
        ).fetchall()
        for entry, text in rows:
            if text is not None:
                self._texts.drop(text)
            self._sql.execute("DELETE FROM pieces WHERE entry = ?", (entry,))
            self._sql.execute("DELETE FROM entries WHERE id = ?", (entry,))
        return len(rows)

    # -- leftovers of ended processes
    # -----------------------------------------------------------------

    def complete_left(self) -> None:
        """Complete the messages of processes that have ended, and index missing texts."""
        with self._database.transaction() as sql:
            self._rows.begin()
            left = sql.execute(
                "SELECT DISTINCT pieces.entry, sessions.id, sessions.cwd FROM pieces"
                " JOIN entries ON entries.id = pieces.entry"
                " JOIN sessions ON sessions.id = entries.session"
                " WHERE abs(? - sessions.updated) > ?",
                (self._clock(), LEFT_S),
            ).fetchall()
            for entry, record, cwd in left:
                self._complete(entry, record, directory_word(cwd))
            self._rows.write()
            self._texts.catch_up()

    # -- queries
    # --------------------------------------------------------------------------------------

    def _row(self, query: str, *values: Any) -> Any:
        return self._sql.execute(query, values).fetchone()

    def _select_value(self, query: str, *values: Any) -> Any:
        row = self._row(query, *values)
        return row[0] if row is not None else None

    def _insert(self, query: str, *values: Any) -> int:
        row = self._sql.execute(query, values).lastrowid
        assert row is not None
        return row


def _gist(text: str) -> str:
    """Return the beginning of a prompt, which identifies it."""
    return " ".join(text.split())[:_FIRST_WORDS]


_DO: Final[dict[type, Callable[[Store, Any], None]]] = {
    Begin: Store._begin,
    FactsChange: Store._update_facts,
    EntryState: Store._put,
    Extension: Store._grow,
    Completion: Store._complete_message,
    Prompted: Store._add_prompt,
    Delete: Store._delete,
    Wrote: Store._wrote,
    Adopted: Store._add_adopted,
    Moved: Store._add_move,
}
