"""Recorder of changes of sessions for the writer thread.

It runs on the loop and never waits. Its cost depends only on the size of the changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from acp_nvim.edits.text import Text
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
from acp_nvim.history.records import Call, MessageRecord, OneShell, join_texts, record_of
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

AT_ONCE: Final = 1000
"""Maximum number of entries collected at a time."""
GAP_S: Final = 0.3
"""Seconds between two batches while anything changes."""
LULL_S: Final = 1.0
"""Seconds between two batches while a turn runs without changes."""
NEXT_S: Final = 0.02
"""Seconds to the next batch if one did not contain all changes."""
REPLAYED_S: Final = 1.0
"""Seconds without changes after which a loaded session is recorded. Some agents replay late."""
RATE: Final = 200_000
"""Characters per second that are rewritten of a growing entry. A long one is rewritten less often.
"""
LATEST_S: Final = 5.0
"""Longest pause in seconds before a growing entry is rewritten."""


@dataclass(slots=True)
class _Recording:
    """State of a recorded session."""

    record: int | None = None
    recorded: int = 0
    begun: bool = False
    facts: Facts | None = None
    topic: str = ""
    skipped: int = 0
    """Number of entries at the beginning that are not recorded."""
    placed: int = 0
    """Number of entries with a place, including skipped ones."""
    changed: float = 0.0
    """Time of the last change of a replay."""
    places: dict[Entry, int] = field(default_factory=dict)
    read: dict[Message, tuple[int, int]] = field(default_factory=dict)
    """Number of recorded parts of a message, and its `dropped` at that time."""
    open: dict[Message, None] = field(default_factory=dict)
    """Messages that may grow."""
    due: dict[Entry, float] = field(default_factory=dict)
    """Time from which a growing entry may be rewritten."""


class Recorder:
    """Recorder of all sessions of a host; `flush` passes on the changes."""

    def __init__(
        self,
        sessions: Callable[[], Iterable[Session]],
        uid: Callable[[Session], str],
        write: Callable[[int, Sequence[Change]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``uid`` returns the name of a session that is unique among all Neovims."""
        self._sessions = sessions
        self._uid = uid
        self._write = write
        self._clock = clock
        self._recordings: dict[int, _Recording] = {}
        self._ignored: set[int] = set()
        self._pending: list[Change] = []
        self._wrote: list[Wrote | Moved] = []
        self._generation = 0

    def follow(self, session: Session, record: int | None, recorded: int) -> None:
        """Continue a session in an existing record that has its first ``recorded`` entries."""
        self._recordings[session.n] = _Recording(record, recorded)

    def ignore(self, session: Session) -> None:
        """Ignore a read-only chat of the history."""
        self._ignored.add(session.n)

    def on_prompt(self, text: str, cwd: str) -> None:
        """Record a prompt of the user."""
        if text.strip():
            self._pending.append(Prompted(clean_text(text), clean_text(cwd)))

    def wrote(self, wrote: Wrote | Moved) -> None:
        """Record a write or move of a file by an agent."""
        if wrote.n not in self._ignored:
            self._wrote.append(wrote)

    def on_adopt(self, adopted: Adopted) -> None:
        """Record a write by an agent whose host was killed."""
        self._pending.append(adopted)

    def delete(self, record: int, uid: str | None) -> None:
        """Delete a record. If its session is open, it continues in a new record."""
        self._pending.append(Delete(record))
        for session in self._sessions():
            if self._uid(session) == uid:
                self._skip(session)

    def skip(self) -> None:
        """Leave out all entries so far."""
        for session in self._sessions():
            self._skip(session)

    def _skip(self, session: Session) -> None:
        session.transcript.unsaved.clear()
        self._recordings[session.n] = _Recording(skipped=len(session.transcript.entries))

    def again(self, generation: int) -> None:
        """Pass on everything again, because the history was replaced or has lost changes."""
        self._generation = generation
        for session in self._sessions():
            recording = self._recordings.get(session.n)
            if recording is not None:
                self._recordings[session.n] = _Recording(recording.record, recording.recorded)
            session.transcript.unsaved.clear()  # in the order of places, which matters
            session.transcript.unsaved.update(dict.fromkeys(session.transcript.entries))

    def flush(self, *, final: bool = False) -> float | None:
        """Pass on the changes. Return the seconds until the next call, or None if none is needed.

        `final`: this is the last call.
        """
        changes, self._pending = self._pending, []
        waits = [self._collect(session, changes, final) for session in self._sessions()]
        changes += self._recorded_writes()
        if changes:
            self._write(self._generation, changes)
        if self._wrote:
            waits.append(GAP_S)
        return min((seconds for seconds in waits if seconds is not None), default=None)

    def _recorded_writes(self) -> Sequence[Wrote | Moved]:
        """Remove and return the writes of recorded sessions."""
        wrote, self._wrote = self._wrote, []
        begun = {n for n, recording in self._recordings.items() if recording.begun}
        self._wrote = [one for one in wrote if one.n not in begun]
        return [one for one in wrote if one.n in begun]

    def _collect(self, session: Session, changes: list[Change], final: bool) -> float | None:
        unsaved = session.transcript.unsaved
        if session.n in self._ignored:
            unsaved.clear()
            return None
        recording = self._recordings.get(session.n)
        if recording is None:
            if not unsaved:
                return None
            recording = self._recordings[session.n] = _Recording()
        if not recording.begun:
            wait = 0.0 if final else self._wait(session, recording)
            if wait > 0:
                return wait
            if not _is_worth_recording(session):
                return None
        before = len(changes)
        self._add_facts(session, recording, changes)
        more = self._entries(session, recording, changes, final)
        self._settle(session, recording, changes, final)
        if more:
            return NEXT_S
        if len(changes) > before or unsaved:
            return GAP_S
        return LULL_S if session.is_running else None

    def _wait(self, session: Session, recording: _Recording) -> float:
        """Return the seconds to wait for the end of an agent's replay, or 0 if it has ended."""
        root = session.root
        if not root.opening_id or recording.record is not None:
            return 0.0
        if root.replaying or root.status == "starting":
            return REPLAYED_S
        now = self._clock()
        if len(session.transcript.entries) != recording.placed:
            recording.placed, recording.changed = len(session.transcript.entries), now
        if root.turn == 0 and now - recording.changed < REPLAYED_S:
            return REPLAYED_S
        return 0.0

    def _add_facts(self, session: Session, recording: _Recording, changes: list[Change]) -> None:
        facts = _facts(session, recording)
        if not recording.begun:
            recording.begun, recording.placed = True, recording.skipped
            changes.append(self._begin(session, recording, facts))
        elif facts != recording.facts or session.transcript.unsaved:
            changes.append(FactsChange(session.n, facts))
        recording.facts = facts

    def _begin(self, session: Session, recording: _Recording, facts: Facts) -> Begin:
        is_loaded = bool(session.root.opening_id) and recording.record is None
        return Begin(
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

    def _entries(
        self, session: Session, recording: _Recording, changes: list[Change], final: bool
    ) -> bool:
        """Collect changed entries in the order of their places. Return whether more are left."""
        transcript, unsaved = session.transcript, session.transcript.unsaved
        fresh = transcript.entries[recording.placed : recording.placed + AT_ONCE]
        for place, entry in enumerate(fresh, recording.placed):
            recording.places[entry] = place
        recording.placed += len(fresh)
        now, total = self._clock(), 0
        for entry in list(unsaved):
            at = recording.places.get(entry)
            if at is None:
                if recording.placed == len(transcript.entries):
                    del unsaved[entry]
                continue
            if recording.due and recording.due.get(entry, 0.0) > now and not final:
                continue
            if total >= AT_ONCE:
                return True
            total += 1
            del unsaved[entry]
            if isinstance(entry, Message):
                self._message(session, recording, entry, at, changes)
            else:
                record = record_of(entry)
                changes.append(EntryState(session.n, at, record))
                self._next(recording, entry, record, now)
        return recording.placed < len(transcript.entries)

    def _next(self, recording: _Recording, entry: Entry, record: object, now: float) -> None:
        """Delay the next write of a long growing entry."""
        if _is_continued(entry):
            recording.due[entry] = now + min(_weight(record) / RATE, LATEST_S)
        elif recording.due:
            recording.due.pop(entry, None)

    def _message(
        self,
        session: Session,
        recording: _Recording,
        message: Message,
        place: int,
        changes: list[Change],
    ) -> None:
        count, dropped = recording.read.get(message, (0, -1))
        replaces = dropped != message.dropped
        parts = message.parts if replaces else message.parts[count:]
        recording.read[message] = len(message.parts), message.dropped
        message.mark_recorded()
        recording.open[message] = None
        record = record_of(message)
        assert isinstance(record, MessageRecord)
        changes.append(Extension(session.n, place, record, join_texts(parts), replaces))

    def _settle(
        self, session: Session, recording: _Recording, changes: list[Change], final: bool
    ) -> None:
        """Mark messages as complete that are closed or do not grow at present."""
        rests = final or not session.is_running
        done = [message for message in recording.open if rests or message.closed]
        for message in done:
            if message not in session.transcript.unsaved:
                del recording.open[message]
                changes.append(Completion(session.n, recording.places[message]))


def prompt_of(session: Session) -> tuple[float, int, str]:
    """Return time, number and beginning of the last prompt of the user."""
    messages = (
        entry for entry in reversed(session.transcript.entries) if isinstance(entry, Message)
    )
    prompt = next((entry for entry in messages if _is_own(entry)), None)
    if prompt is None:
        return time.time(), 0, ""
    return prompt.sent or 0.0, prompt.prompt or 0, clean_text(index.title(prompt.text()))


def wrote(session: Session, path: str, texts: tuple[Text | None, Text, Text]) -> Wrote:
    """Return a write of the agent for the last prompt.

    ``texts`` are the text before, the agent's text and the text after.
    """
    return Wrote(session.n, clean_text(path), *texts, *prompt_of(session))


def adopted_write(
    session: tuple[str, str, str],
    prompt: tuple[float, int, str],
    path: str,
    before: Text | None,
    after: Text,
) -> Adopted:
    """Return a write by an agent whose host was killed.

    ``session`` is its name, the agent's name, and the agent's id. ``prompt`` is as in `prompt_of`.
    """
    return Adopted(*session, Wrote(0, clean_text(path), before, after, after, *prompt))


def moved_file(session: Session, old: str, new: str) -> Moved:
    return Moved(session.n, clean_text(old), clean_text(new))


def _is_worth_recording(session: Session) -> bool:
    """Return whether anything was sent or done. A prompt that is not sent yet is a draft."""
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
    """Return the entries from before the user's first prompt of this process."""
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


def _is_continued(entry: Entry) -> bool:
    if isinstance(entry, ToolEntry):
        if not entry.call.is_finished:
            return True
        return bool(entry.terminals) and any(it.running for it in entry.terminals.values())
    return isinstance(entry, TerminalEntry) and entry.terminal.running


def _weight(record: object) -> int:
    """Return the approximate number of characters of a growing entry."""
    if isinstance(record, OneShell):
        return sum(map(len, record.terminal.lines))
    if not isinstance(record, Call):
        return 0
    lines = sum(len(line) for terminal in record.terminals for line in terminal.lines)
    return lines + sum(
        len(item.content.text)
        for item in record.content
        if isinstance(item, schema.Content) and isinstance(item.content, schema.TextContent)
    )
