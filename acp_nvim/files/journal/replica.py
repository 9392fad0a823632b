"""What one process knows of a workspace's journal: its values by key, in the file and in memory.

A value is written when it is another one than this process last wrote or took over. So whoever has
only heard of a change does not tell it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from acp_nvim.edits import serialize
from acp_nvim.edits.pending import FileEdits, Parked, Pending
from acp_nvim.edits.records import Lost, Reader, Writer, batch, decoded, encoded
from acp_nvim.edits.serialize import SessionKeys
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import Special
from acp_nvim.files.bytes.file_format import Format
from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.changes.git_tree import Mark
from acp_nvim.files.checkpoints import serialize as snapshots
from acp_nvim.files.checkpoints.checkpoints import Checkpoint
from acp_nvim.files.checkpoints.store import MAX_AGE_S
from acp_nvim.files.journal.journal import JournalFile, News
from acp_nvim.files.ports import SessionInfo

VERSION: Final = 1
MAX_BYTES: Final = 64 * 1024 * 1024
"""Of a journal that is written anew: beyond that the oldest checkpoints are left out."""

META, SESSION, FILE, REJECT = "meta", "session", "file", "reject"
CHECKPOINT, UNDO, HEAD, TREE = "checkpoint", "undo", "head", "tree"
WRITES = "writes"
"""By process: the number of its last note on writes (`write_notes.py`) that the values tell of."""

ALONG: Final = (SESSION, HEAD, TREE, WRITES)
"""Two Neovims may not agree on these for a while: their changes go along with others."""

Key = tuple[str, str]
"""A kind of value, and which one of that."""
Values = dict[Key, Any]


class FileValue(NamedTuple):
    """All that is kept of one file. Equal parts are the same objects, so comparing is cheap."""

    entry: Pending | None = None
    settled: Pending | None = None
    history: tuple[Pending, ...] = ()
    parked: tuple[Parked, ...] = ()
    user_format: Format | None = None
    agent_format: Format | None = None
    conflict_base: Text | UnsetType | None = UNSET
    rights: Rights | None = None
    displaced: Special | None = None

    @property
    def in_conflict(self) -> bool:
        """Whether both sides have changed the same lines."""
        return self.entry is not None and self.entry.conflict

    @property
    def edits(self) -> FileEdits:
        """The part that a ledger knows."""
        return FileEdits(self.entry, self.settled, self.history, self.parked)

    @property
    def formats(
        self,
    ) -> tuple[
        Format | None, Format | None, Text | UnsetType | None, Rights | None, Special | None
    ]:
        """The part that a `FileState` knows."""
        formats = self.user_format, self.agent_format, self.conflict_base
        return *formats, self.rights, self.displaced


NOTHING: Final = FileValue()


class FileRecord(msgspec.Struct, frozen=True, array_like=True):
    """The record of a `FileValue`."""

    edits: serialize.File
    user_format: Format | None
    agent_format: Format | None
    conflict_base: list[bytes]
    """The name of a text; empty where there is no conflict."""
    rights: Rights | None
    displaced: Special | None = None


class NewerVersionError(Exception):
    """The journal was written by a newer version of this plugin."""


class Replica:
    """The values of one journal. `read` and `write` block, and may raise OSError."""

    def __init__(self, root: str, folder: Path, sessions: SessionKeys) -> None:
        self.root = root
        self.file = JournalFile(folder)
        self.own: Values = {}
        """As this process last wrote or took them over."""
        self.stored: Values = {}
        """As they are in the file."""
        self.damaged = False
        self.is_cut = False
        """Whether the last `read` found less than was complete once; unless the file was locked,
        another process may be writing.
        """
        self._sessions = sessions
        self._reader = Reader()
        self._writer: Writer | None = None

    # -- from the file ----------------------------------------------------------------------------

    def read(self, *, locked: bool) -> list[Key]:
        """Read on; returns the keys whose values others have changed. NewerVersionError."""
        news = self.file.read(locked=locked)
        self.is_cut = news.is_cut
        self.damaged = self.damaged or news.damaged or (locked and news.is_cut)
        if news.removed:
            self.own, self.stored, self._writer = {}, {}, None  # all of it is written again
        if not news.fresh and not news.batches:
            return []
        keys = self._fed(news)
        version = self._reader.value(META, b"version", int)
        if version is not None and version > VERSION:
            raise NewerVersionError(str(version))
        return [key for key in keys if key[0] != META]

    def _fed(self, news: News) -> list[Key]:
        if not news.fresh:
            return [(kind, decoded(name)) for kind, name in self._reader.feed(news.batches)]
        self._writer = None  # it counts on texts that the file may not have
        self._reader = Reader()
        self._reader.feed(news.batches)
        present = [(kind, decoded(name)) for kind, name in self._reader.values]
        return [*present, *(key for key in self.stored if key not in set(present))]

    def value(self, key: Key) -> Any:
        """The value of a key in the file; None where there is none, or it is lost."""
        try:
            return self._decoded(key)
        except Lost:
            self.damaged = True
            return None

    def take(self, key: Key, value: Any) -> None:
        """This is the value in the file."""
        if value is None:
            self.stored.pop(key, None)
        else:
            self.stored[key] = value

    def settle(self) -> bool:
        """All news are taken over. Returns whether any were lost."""
        lost, self.damaged = self.damaged or self._reader.settle(), False
        return lost

    def set_aside(self) -> Path:
        """Keep the file under another name, which is returned; all is written anew."""
        self.own, self.stored, self._writer = {}, {}, None
        return self.file.set_aside()

    def _decoded(self, key: Key) -> Any:
        kind, name = key
        reader, sessions, at = self._reader, self._sessions, encoded(name)
        if kind == FILE:
            return self._file(name, reader.value(kind, at, FileRecord))
        if kind == REJECT:
            rejected = reader.value(kind, at, list[serialize.Rejected])
            return None if rejected is None else serialize.rejects(reader, sessions, rejected)
        if kind in (CHECKPOINT, UNDO):
            made = reader.value(kind, at, snapshots.Record)
            return None if made is None else snapshots.checkpoint(reader, sessions, made)
        plain = {SESSION: SessionInfo, HEAD: str, TREE: Mark, WRITES: int}.get(kind)
        return None if plain is None else reader.value(kind, at, plain)

    def _file(self, path: str, found: FileRecord | None) -> FileValue | None:
        if found is None:
            return None
        edits = serialize.file_edits(self._reader, self._sessions, path, found.edits)
        names = found.conflict_base
        return FileValue(
            edits.entry,
            edits.settled,
            edits.history,
            edits.parked,
            found.user_format,
            found.agent_format,
            self._reader.text(names[0]) if names else UNSET,
            found.rights,
            found.displaced,
        )

    # -- to the file ------------------------------------------------------------------------------

    def differs(self, now: Mapping[Key, Any]) -> bool:
        """Whether anything has changed that others have to know."""
        if any(key not in now and key[0] not in ALONG for key in self.own):
            return True
        return any(
            key not in self.own or (key[0] not in ALONG and _differ(self.own[key], value))
            for key, value in now.items()
        )

    def write(self, now: Mapping[Key, Any]) -> None:
        """Add what is another value than before; all of it is there afterwards, or nothing."""
        if not self.differs(now) or not (self.stored or _counts(now)):
            return
        changed = {key: value for key, value in now.items() if _differ(self.own.get(key), value)}
        gone = [key for key in self.own if key not in now]
        after = {**self.stored, **changed}
        for key in gone:
            after.pop(key, None)
        self.file.mark(pending=is_pending(after.values()) or is_pending(self.stored.values()))
        self._put(changed, gone, after)
        self.file.mark(pending=is_pending(after.values()))
        self.own, self.stored = (dict(now), after) if after else ({}, after)

    def close(self) -> None:
        """Read and write no more; where nothing is kept no file is."""
        try:
            if not self.stored and not self.file.has_news() and self.file.try_lock():
                self.file.remove()
        finally:
            self.file.close()

    def _put(self, changed: Values, gone: Iterable[Key], after: Values) -> None:
        if not _counts(after):
            after.clear()
        try:
            if self.file.is_new or self.file.is_long or not after:
                self._anew(after)
                return
            self._writer = writer = self._writer or Writer()
            for kind, name in gone:
                writer.drop(kind, encoded(name))
            for key, value in changed.items():
                self._encode(writer, key, value)
            self.file.append(batch(writer.take()))
        except BaseException:
            self._writer = None  # nobody knows how much is written
            raise

    def _anew(self, after: Values) -> None:
        """Write all that counts, the value of each key as one batch."""
        for key in _outdated(after):
            del after[key]
        batches = self._all(after)
        while sum(map(len, batches)) > MAX_BYTES and (oldest := _oldest(after)):
            for key in oldest:
                del after[key]
            batches = self._all(after)
        self.file.replace(batches)

    def _all(self, after: Values) -> list[bytes]:
        self._writer = writer = Writer()
        writer.put(META, b"version", VERSION)
        writer.put(META, b"root", encoded(self.root))
        batches = [batch(writer.take())]
        for key, value in after.items():
            self._encode(writer, key, value)
            batches.append(batch(writer.take()))
        return batches

    def _encode(self, writer: Writer, key: Key, value: Any) -> None:
        kind, name = key
        made = value
        if kind == FILE:
            made = self._file_record(writer, name, value)
        elif kind == REJECT:
            made = serialize.reject(writer, self._sessions, value)
        elif kind in (CHECKPOINT, UNDO):
            made = snapshots.record(writer, self._sessions, value)
        writer.put(kind, encoded(name), made)

    def _file_record(self, writer: Writer, path: str, value: FileValue) -> FileRecord:
        base = value.conflict_base
        names = [] if isinstance(base, UnsetType) else [writer.text(path, base)]
        edits = serialize.file(writer, self._sessions, path, value.edits)
        formats = value.user_format, value.agent_format
        return FileRecord(edits, *formats, names, value.rights, value.displaced)


def _counts(values: Mapping[Key, Any]) -> bool:
    """Whether anything can be decided or brought back."""
    return is_pending(values.values()) or any(
        kind in (REJECT, CHECKPOINT, UNDO) for kind, _ in values
    )


def _differ(some: Any, other: Any) -> bool:
    return some is not other and bool(some != other)


def is_pending(values: Iterable[Any]) -> bool:
    """Whether any file has something to decide, now or when its branch is back."""
    return any(isinstance(it, FileValue) and (it.entry or it.parked) for it in values)


def _checkpoints(values: Mapping[Key, Any]) -> dict[Key, Checkpoint]:
    return {key: it for key, it in values.items() if isinstance(it, Checkpoint)}


def _outdated(values: Mapping[Key, Any]) -> list[Key]:
    """Checkpoints that are too old. One after a younger one of its session is not, whatever the
    clock said then.
    """
    now = time.time()
    since, found, younger = now - MAX_AGE_S, list[Key](), set[str]()
    for key, it in sorted(_checkpoints(values).items(), key=lambda one: one[1].n):
        session = key[1].partition(":")[0]
        if since <= it.time <= now:
            younger.add(session)
        elif it.time < since and session not in younger:
            found.append(key)
    return found


def _oldest(values: Mapping[Key, Any]) -> list[Key]:
    """The older half of the checkpoints."""
    found = _checkpoints(values)
    when: Callable[[Key], float] = lambda key: found[key].time  # noqa: E731
    return sorted(found, key=when)[: (len(found) + 1) // 2]
