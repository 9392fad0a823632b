"""Recorder that collects the changes to sessions for the writer thread.

It runs on the event loop and never waits. Its cost depends only on the size of the changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct, field

from acp_nvim.edits.text import Text
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
from acp_nvim.history.records import Call, MessageRecord, StandaloneTerminal, join_texts, record_of
from acp_nvim.protocol import schema
from acp_nvim.protocol.text import clean_text
from acp_nvim.session import index
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import (
    Entry,
    Heading,
    Line,
    Message,
    Past,
    TerminalEntry,
    ToolEntry,
)

BATCH_ENTRIES: Final = 1000
"""Maximum number of entries collected at a time."""
GAP_S: Final = 0.3
"""Seconds between two batches while anything changes."""
LULL_S: Final = 1.0
"""Seconds between two batches while a turn runs without changes."""
REST_S: Final = 0.02
"""Seconds until the next batch if the last one did not contain all changes."""
REPLAYED_S: Final = 1.0
"""Seconds without changes after which a loaded session is recorded. Some agents replay late."""
REWRITE_RATE: Final = 200_000
"""Maximum number of characters per second that are rewritten for one growing entry.

A long entry is rewritten less often.
"""
MAX_REWRITE_DELAY_S: Final = 5.0
"""Longest pause in seconds before a growing entry is rewritten."""


class _Recording(Struct):
    """State of a recorded session."""

    record: int | None = None
    recorded: int = 0
    has_begun: bool = False
    facts: Facts | None = None
    topic: str = ""
    skipped: int = 0
    """Number of entries at the beginning that are not recorded."""
    placed_count: int = 0
    """Number of entries with a place, including skipped ones."""
    last_change: float = 0.0
    """Time of the last change in a replay."""
    places: dict[Entry, int] = field(default_factory=dict)
    recorded_parts: dict[Message, tuple[int, int]] = field(default_factory=dict)
    """Number of recorded parts of a message, and its `dropped` at that time."""
    open_messages: dict[Message, None] = field(default_factory=dict)
    """Messages that may grow."""
    rewrite_times: dict[Entry, float] = field(default_factory=dict)
    """Earliest time at which a growing entry may be rewritten."""


class Recorder:
    """Recorder of all sessions of a host. `flush` passes the changes to the writer."""

    def __init__(
        self,
        sessions: Callable[[], Iterable[Session]],
        uid: Callable[[Session], str],
        write: Callable[[int, Sequence[Change]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`uid` returns a session name that is unique across all Neovims."""
        self._sessions = sessions
        self._uid = uid
        self._write = write
        self._clock = clock
        self._recordings: dict[int, _Recording] = {}
        self._ignored: set[int] = set()
        """Numbers of sessions that are not recorded."""
        self._pending: list[Change] = []
        self._writes: list[FileWrite | FileMove] = []
        """Writes by sessions whose record has not begun yet."""
        self._generation = 0
        """Number that the writer gave when it last asked for all entries."""

    def follow(self, session: Session, record: int | None, recorded: int) -> None:
        """Continue a session in an existing record that has its first `recorded` entries."""
        self._recordings[session.n] = _Recording(record, recorded)

    def ignore(self, session: Session) -> None:
        """Ignore a read-only chat of the history."""
        self._ignored.add(session.n)

    def on_prompt(self, text: str, cwd: str) -> None:
        """Record a user prompt."""
        if text.strip():
            self._pending.append(UserPrompt(clean_text(text), clean_text(cwd)))

    def on_write(self, write: FileWrite | FileMove) -> None:
        """Record a write or move of a file by an agent."""
        if write.n not in self._ignored:
            self._writes.append(write)

    def on_recovered_write(self, write: RecoveredWrite) -> None:
        """Record a write by an agent whose host was killed."""
        self._pending.append(write)

    def delete(self, record: int, uid: str | None) -> None:
        """Delete a record. If its session is open, it continues in a new record."""
        self._pending.append(Deletion(record))
        for session in self._sessions():
            if self._uid(session) == uid:
                self._skip(session)

    def skip_entries(self) -> None:
        """Exclude the current entries of all sessions from recording."""
        for session in self._sessions():
            self._skip(session)

    def _skip(self, session: Session) -> None:
        session.transcript.unsaved.clear()
        self._recordings[session.n] = _Recording(skipped=len(session.transcript.entries))

    def record_again(self, generation: int) -> None:
        """Record all entries again, because the history was replaced or has lost changes."""
        self._generation = generation
        for session in self._sessions():
            recording = self._recordings.get(session.n)
            if recording is not None:
                self._recordings[session.n] = _Recording(recording.record, recording.recorded)
            session.transcript.unsaved.clear()  # restores the order of places
            session.transcript.unsaved.update(dict.fromkeys(session.transcript.entries))

    def flush(self, *, is_final: bool = False) -> float | None:
        """Pass the changes to the writer. `is_final` is true for the last call.

        Return the seconds until the next call, or None if none is needed.
        """
        changes, self._pending = self._pending, []
        waits = [self._collect(session, changes, is_final) for session in self._sessions()]
        changes += self._pop_recorded_writes()
        if changes:
            self._write(self._generation, changes)
        if self._writes:
            waits.append(GAP_S)
        return min((seconds for seconds in waits if seconds is not None), default=None)

    def _pop_recorded_writes(self) -> Sequence[FileWrite | FileMove]:
        """Remove and return the writes of recorded sessions."""
        writes, self._writes = self._writes, []
        has_begun = {n for n, recording in self._recordings.items() if recording.has_begun}
        self._writes = [write for write in writes if write.n not in has_begun]
        return [write for write in writes if write.n in has_begun]

    def _collect(self, session: Session, changes: list[Change], is_final: bool) -> float | None:
        """Add a session's changes to the list. Return the seconds until the next call, if any."""
        unsaved = session.transcript.unsaved
        if session.n in self._ignored:
            unsaved.clear()
            return None
        recording = self._recordings.get(session.n)
        if recording is None:
            if not unsaved:
                return None
            recording = self._recordings[session.n] = _Recording()
        if not recording.has_begun:
            wait = 0.0 if is_final else self._wait(session, recording)
            if wait > 0:
                return wait
            if not _is_worth_recording(session):
                return None
        before = len(changes)
        self._add_facts(session, recording, changes)
        more = self._collect_entries(session, recording, changes, is_final)
        self._complete_messages(session, recording, changes, is_final)
        if more:
            return REST_S
        if len(changes) > before or unsaved:
            return GAP_S
        return LULL_S if session.is_running else None

    def _wait(self, session: Session, recording: _Recording) -> float:
        """Return the seconds to wait for an agent's replay to finish, or 0 if it has finished.

        Record the time of the last change in the replay.
        """
        root = session.root
        if not root.opening_id or recording.record is not None:
            return 0.0
        if root.replaying or root.status == "starting":
            return REPLAYED_S
        now = self._clock()
        if len(session.transcript.entries) != recording.placed_count:
            recording.placed_count, recording.last_change = len(session.transcript.entries), now
        if root.turn == 0 and now - recording.last_change < REPLAYED_S:
            return REPLAYED_S
        return 0.0

    def _add_facts(self, session: Session, recording: _Recording, changes: list[Change]) -> None:
        """Add the session's start or its changed facts to `changes`."""
        facts = _facts(session, recording)
        if not recording.has_begun:
            recording.has_begun, recording.placed_count = True, recording.skipped
            changes.append(self._begin(session, recording, facts))
        elif facts != recording.facts or session.transcript.unsaved:
            changes.append(FactsChange(session.n, facts))
        recording.facts = facts

    def _begin(self, session: Session, recording: _Recording, facts: Facts) -> RecordingStart:
        is_loaded = bool(session.root.opening_id) and recording.record is None
        return RecordingStart(
            session.n,
            self._uid(session),
            facts,
            getattr(session, "parent", None),
            recording.record,
            is_loaded,
            recording.recorded,
            _replay(session) if is_loaded else None,
        )

    # -- entries ----------------------------------------------------------------------------------

    def _collect_entries(
        self, session: Session, recording: _Recording, changes: list[Change], is_final: bool
    ) -> bool:
        """Assign places to new entries, and add changed entries to `changes`.

        Return whether more are left. The last call adds all of them.
        """
        transcript, unsaved = session.transcript, session.transcript.unsaved
        batch = len(transcript.entries) if is_final else BATCH_ENTRIES
        new_entries = transcript.entries[recording.placed_count : recording.placed_count + batch]
        for place, entry in enumerate(new_entries, recording.placed_count):
            recording.places[entry] = place
        recording.placed_count += len(new_entries)
        now, total = self._clock(), 0
        for entry in list(unsaved):
            known_place = recording.places.get(entry)
            if known_place is None:
                if recording.placed_count < len(transcript.entries):
                    return True  # the next call finds its place
                del unsaved[entry]
                continue
            if not is_final and recording.rewrite_times.get(entry, 0.0) > now:
                continue
            if total >= batch:
                return True
            total += 1
            del unsaved[entry]
            if isinstance(entry, Message):
                self._collect_message(session, recording, entry, known_place, changes)
            else:
                record = record_of(entry)
                changes.append(EntryState(session.n, known_place, record))
                self._delay_rewrite(recording, entry, record, now)
        return recording.placed_count < len(transcript.entries)

    def _delay_rewrite(
        self, recording: _Recording, entry: Entry, record: object, now: float
    ) -> None:
        """Set the earliest time at which a growing entry may be rewritten."""
        if _may_grow(entry):
            recording.rewrite_times[entry] = now + min(
                _weight(record) / REWRITE_RATE, MAX_REWRITE_DELAY_S
            )
        elif recording.rewrite_times:
            recording.rewrite_times.pop(entry, None)

    def _collect_message(
        self,
        session: Session,
        recording: _Recording,
        message: Message,
        place: int,
        changes: list[Change],
    ) -> None:
        """Add the new parts of a message to `changes`."""
        count, dropped = recording.recorded_parts.get(message, (0, -1))
        is_replaced = dropped != message.dropped
        parts = message.parts if is_replaced else message.parts[count:]
        recording.recorded_parts[message] = len(message.parts), message.dropped
        message.mark_recorded()
        recording.open_messages[message] = None
        record = record_of(message)
        assert isinstance(record, MessageRecord)
        changes.append(Extension(session.n, place, record, join_texts(parts), is_replaced))

    def _complete_messages(
        self, session: Session, recording: _Recording, changes: list[Change], is_final: bool
    ) -> None:
        """Add completions to `changes`: of closed messages, or of all if no turn is running."""
        is_at_rest = is_final or not session.is_running
        complete = [message for message in recording.open_messages if is_at_rest or message.closed]
        for message in complete:
            if message not in session.transcript.unsaved:
                del recording.open_messages[message]
                changes.append(Completion(session.n, recording.places[message]))


def prompt_of(session: Session) -> tuple[float, int, str]:
    """Return the time, number and beginning of the last user prompt."""
    messages = (
        entry for entry in reversed(session.transcript.entries) if isinstance(entry, Message)
    )
    prompt = next((entry for entry in messages if _is_own(entry)), None)
    if prompt is None:
        return time.time(), 0, ""
    return prompt.sent or 0.0, prompt.prompt or 0, clean_text(index.title(prompt.text()))


def file_write(session: Session, path: str, texts: tuple[Text | None, Text, Text]) -> FileWrite:
    """Return a write by the agent for the last prompt.

    `texts` are the text before, the agent's text and the text after.
    """
    return FileWrite(session.n, clean_text(path), *texts, *prompt_of(session))


def recovered_write(
    session: tuple[str, str, str],
    prompt: tuple[float, int, str],
    path: str,
    before: Text | None,
    after: Text,
) -> RecoveredWrite:
    """Return a write by an agent whose host was killed.

    `session` is the session's name, the agent's name, and the agent's session id. `prompt` is as in
    `prompt_of`.
    """
    return RecoveredWrite(*session, FileWrite(0, clean_text(path), before, after, after, *prompt))


def file_move(session: Session, old: str, new: str) -> FileMove:
    return FileMove(session.n, clean_text(old), clean_text(new))


def _is_worth_recording(session: Session) -> bool:
    """Return whether the session has more than unsent prompts and notes.

    The replay of a session that could not be opened is not recorded.
    """
    if session.root.opening_id and not session.root.id:
        return False
    if session.turn:
        return True
    nothing = (Line, Heading, Past)
    return any(
        not isinstance(entry, nothing) and not (isinstance(entry, Message) and entry.sent)
        for entry in session.transcript.unsaved
    )


def _facts(session: Session, recording: _Recording) -> Facts:
    usage = session.usage
    cost = schema.given(usage.cost) if usage is not None else None
    if not recording.topic and not session.title:
        recording.topic = _topic(session)
    return Facts(
        session.agent,
        session.id,
        clean_text(session.cwd),
        clean_text(session.title or ""),
        clean_text(recording.topic),
        session.stop_reason,
        session.turn,
        session.spent,
        usage.used if usage is not None else None,
        usage.size if usage is not None else None,
        cost.amount if cost is not None else None,
        cost.currency if cost is not None else None,
    )


def _topic(session: Session) -> str:
    """Return the beginning of the user's first message."""
    messages = (entry for entry in session.transcript.entries if isinstance(entry, Message))
    first = next((entry for entry in messages if entry.role == "user"), None)
    return index.title(first.text()) if first is not None else ""


def _replay(session: Session) -> Replay:
    """Return the replayed entries, which precede the user's first prompt in this process."""
    replayed = list(takewhile(lambda entry: not _is_own(entry), session.transcript.entries))
    prompts: list[str] = []
    places: list[int] = []
    before: Entry | None = None
    for place, entry in enumerate(replayed):
        if isinstance(entry, Message) and entry.role == "user":
            if isinstance(before, Message) and before.role == "user":
                prompts[-1] += entry.text()
            else:
                prompts.append(entry.text())
                places.append(place)
        before = entry
    return Replay(prompts, places, len(replayed))


def _is_own(entry: Entry) -> bool:
    return isinstance(entry, Message) and entry.role == "user" and entry.sent is not None


def _may_grow(entry: Entry) -> bool:
    if isinstance(entry, ToolEntry):
        if not entry.call.is_finished:
            return True
        return bool(entry.terminals) and any(
            terminal.running for terminal in entry.terminals.values()
        )
    return isinstance(entry, TerminalEntry) and entry.terminal.running


def _weight(record: object) -> int:
    """Return the approximate number of characters in a growing entry."""
    if isinstance(record, StandaloneTerminal):
        return sum(map(len, record.terminal.lines))
    if not isinstance(record, Call):
        return 0
    lines = sum(len(line) for terminal in record.terminals for line in terminal.lines)
    return lines + sum(
        len(item.content.text)
        for item in record.content
        if isinstance(item, schema.Content) and isinstance(item.content, schema.TextContent)
    )
