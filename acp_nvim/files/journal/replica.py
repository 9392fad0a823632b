"""Values of a workspace's journal by key: those in the file, and those of this process.

A value is written only if it differs from the one that this process last wrote or read, so that
changes by others are not written back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from acp_nvim.edits import serialize
from acp_nvim.edits.pending import FileEdits, ParkedEdits, Pending
from acp_nvim.edits.records import LostValueError, Reader, Writer, batch, from_bytes, to_bytes
from acp_nvim.edits.serialize import SessionKeys
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import Special
from acp_nvim.files.bytes.file_format import Format
from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.changes.git_tree import Mark
from acp_nvim.files.checkpoints import serialize as snapshots
from acp_nvim.files.checkpoints.checkpoints import Checkpoint
from acp_nvim.files.checkpoints.store import MAX_AGE_S
from acp_nvim.files.journal.journal import JournalFile, NewRecords
from acp_nvim.files.ports import SessionInfo

if TYPE_CHECKING:
    from acp_nvim.edits.titles import TitledText

VERSION: Final = 1
MAX_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of a rewritten journal, in bytes. Beyond it, the oldest checkpoints are left out."""

META, SESSION, FILE, REJECT = "meta", "session", "file", "reject"
TITLES = "titles"
"""Kind of the titles of a file's changes by inline edits."""
CHECKPOINT, UNDO, HEAD, TREE = "checkpoint", "undo", "head", "tree"
WRITES = "writes"
"""Kind of the number of a process's last note (`write_notes.py`) that the values cover."""
BUFFER = "buffer"
"""Kind of the edits in an unsaved buffer, named by Neovim and path, for that Neovim's next host."""

PASSIVE_KINDS: Final = (SESSION, TITLES, HEAD, TREE, WRITES)
"""Kinds whose changes alone cause no write, since two Neovims may disagree about them for a while.
"""

Key = tuple[str, str]
"""Kind of a value, and its name."""
Values = dict[Key, Any]


class FileValue(NamedTuple):
    """Stored state of one file. Unchanged parts are the same objects, so comparing is cheap."""

    entry: Pending | None = None
    undo_entry: Pending | None = None
    history: tuple[Pending, ...] = ()
    parked: tuple[ParkedEdits, ...] = ()
    user_format: Format | None = None
    agent_format: Format | None = None
    conflict_base: Text | UnsetType | None = UNSET
    rights: Rights | None = None
    displaced: Special | None = None

    @property
    def in_conflict(self) -> bool:
        """Return whether user and agent have changed the same lines."""
        return self.entry is not None and self.entry.is_conflict

    @property
    def edits(self) -> FileEdits:
        """Return the part for the ledger."""
        return FileEdits(self.entry, self.undo_entry, self.history, self.parked)

    @property
    def formats(
        self,
    ) -> tuple[
        Format | None, Format | None, Text | UnsetType | None, Rights | None, Special | None
    ]:
        """Return the part for `FileState`."""
        formats = self.user_format, self.agent_format, self.conflict_base
        return *formats, self.rights, self.displaced


NOTHING: Final = FileValue()


class BufferValue(NamedTuple):
    """Entries of a file whose buffer has unsaved changes. See `edits/disk_entries.py`."""

    buffer: Pending | None
    disk: Pending | None
    with_unsaved_writes: Pending | None

    @property
    def published_entry(self) -> Pending | None:
        """Return the entry that was written for other processes."""
        return self.with_unsaved_writes or self.disk

    @property
    def entry_and_undo_entry(self) -> tuple[Pending | None, Pending | None]:
        """Return the buffer's edits as in `FileValue`: pending, or only for an undo."""
        is_settled = self.buffer is not None and self.buffer.is_settled
        return (None, self.buffer) if is_settled else (self.buffer, None)


class FileRecord(msgspec.Struct, frozen=True, array_like=True):
    """Record of a `FileValue`."""

    edits: serialize.File
    user_format: Format | None
    agent_format: Format | None
    conflict_base: list[bytes]
    """List with the name of a text. It is empty if there is no conflict."""
    rights: Rights | None
    displaced: Special | None = None


class TitlesRecord(msgspec.Struct, frozen=True, array_like=True):
    """Record of a `TitledText`."""

    text: bytes
    """Name of the text."""
    spans: list[tuple[int, int, str]]


class NewerVersionError(Exception):
    """A newer version of this plugin wrote the journal."""


class Replica:
    """Values of one journal. `read` and `write` block and may raise OSError."""

    def __init__(self, root: str, folder: Path, sessions: SessionKeys) -> None:
        self.root = root
        self.file = JournalFile(folder)
        self.own: Values = {}
        """Values that this process last wrote or read."""
        self.stored: Values = {}
        """Values in the file."""
        self.is_damaged = False
        self.is_cut = False
        """Whether the last `read` found fewer complete bytes than there once were.

        Unless the file was locked, another process may have been writing.
        """
        self._sessions = sessions
        self._reader = Reader()
        self._writer: Writer | None = None

    # -- from the file ----------------------------------------------------------------------------

    def read(self, *, locked: bool) -> list[Key]:
        """Read new records. Return the keys whose values have changed. Raise NewerVersionError."""
        news = self.file.read(locked=locked)
        self.is_cut = news.is_cut
        self.is_damaged = self.is_damaged or news.is_damaged or (locked and news.is_cut)
        if news.is_removed:
            self.own, self.stored, self._writer = {}, {}, None  # write everything again
        if not news.is_replaced and not news.batches:
            return []
        keys = self._feed(news)
        version = self._reader.value(META, b"version", int)
        if version is not None and version > VERSION:
            raise NewerVersionError(str(version))
        return [key for key in keys if key[0] != META]

    def _feed(self, news: NewRecords) -> list[Key]:
        if not news.is_replaced:
            return [(kind, from_bytes(name)) for kind, name in self._reader.feed(news.batches)]
        self._writer = None  # it refers to texts that the new file may lack
        self._reader = Reader()
        self._reader.feed(news.batches)
        present = [(kind, from_bytes(name)) for kind, name in self._reader.values]
        return [*present, *(key for key in self.stored if key not in set(present))]

    def value(self, key: Key) -> Any:
        """Return the value of a key in the file, or None if it is missing or lost."""
        try:
            return self._decode(key)
        except LostValueError:
            self.is_damaged = True
            return None

    def record(self, key: Key, value: Any) -> None:
        """Record the value that the file now has for a key: None if the key has no value."""
        if value is None:
            self.stored.pop(key, None)
        else:
            self.stored[key] = value

    def finish_reading(self) -> bool:
        """Finish reading changes. Return whether any were lost."""
        lost, self.is_damaged = self.is_damaged or self._reader.finish(), False
        return lost

    def set_aside(self) -> Path:
        """Rename the file and return its new path. The next write writes all values."""
        is_undoable = _has_undoable(self.stored)
        self.own, self.stored, self._writer = {}, {}, None
        return self.file.set_aside(readable=is_undoable)

    def _decode(self, key: Key) -> Any:
        kind, name = key
        reader, sessions, at = self._reader, self._sessions, to_bytes(name)
        if kind == FILE:
            return self._file(name, reader.value(kind, at, FileRecord))
        if kind == REJECT:
            rejected = reader.value(kind, at, list[serialize.Rejected])
            return None if rejected is None else serialize.rejects(reader, sessions, rejected)
        if kind in (CHECKPOINT, UNDO):
            made = reader.value(kind, at, snapshots.Record)
            return None if made is None else snapshots.checkpoint(reader, sessions, made)
        if kind == BUFFER:
            entries = reader.value(kind, at, list[serialize.Entry | None])
            return None if entries is None else self._buffer(entries)
        if kind == TITLES:
            titled = reader.value(kind, at, TitlesRecord)
            return None if titled is None else self._titles(titled)
        plain = {SESSION: SessionInfo, HEAD: str, TREE: Mark, WRITES: int}.get(kind)
        return None if plain is None else reader.value(kind, at, plain)

    def _buffer(self, entries: list[serialize.Entry | None]) -> BufferValue:
        def one(entry: serialize.Entry | None) -> Pending | None:
            return serialize.pending(self._reader, self._sessions, entry) if entry else None

        return BufferValue(*map(one, entries))

    def _titles(self, record: TitlesRecord) -> TitledText:
        from acp_nvim.edits.titles import Span, TitledText

        text = self._reader.text(record.text)
        return TitledText(text.lines if text else (), tuple(Span(*span) for span in record.spans))

    def _file(self, path: str, record: FileRecord | None) -> FileValue | None:
        if record is None:
            return None
        edits = serialize.file_edits(self._reader, self._sessions, path, record.edits)
        names = record.conflict_base
        return FileValue(
            edits.entry,
            edits.undo_entry,
            edits.history,
            edits.parked,
            record.user_format,
            record.agent_format,
            self._reader.text(names[0]) if names else UNSET,
            record.rights,
            record.displaced,
        )

    # -- to the file ------------------------------------------------------------------------------

    def differs(self, now: Mapping[Key, Any]) -> bool:
        """Return whether there are changes that other processes or the next host need."""
        return any(
            key not in self.own or _is_due(key, self.own[key], now.get(key))
            for key in self.own.keys() | now.keys()
        )

    def write(self, now: Mapping[Key, Any]) -> None:
        """Append the values that have changed, all or none."""
        if not self.differs(now) or not (self.stored or _has_undoable(now)):
            return
        changed = {key: value for key, value in now.items() if _differ(self.own.get(key), value)}
        removed = [key for key in self.own if key not in now]
        if self.file.is_long:  # running Neovims write theirs again
            removed += [key for key in self.stored if key[0] == BUFFER and key not in now]
        after = {**self.stored, **changed}
        for key in removed:
            after.pop(key, None)
        self.file.set_pending(
            pending=is_pending(after.values()) or is_pending(self.stored.values())
        )
        self._write_changes(changed, removed, after)
        self.file.set_pending(pending=is_pending(after.values()))
        self.own, self.stored = (dict(now), after) if after else ({}, after)

    def close(self) -> None:
        """Stop reading and writing. Remove the file if it has no values."""
        try:
            if not self.stored and not self.file.has_news() and self.file.try_lock():
                self.file.remove()
        finally:
            self.file.close()

    def _write_changes(self, changed: Values, gone: Iterable[Key], after: Values) -> None:
        if not _has_undoable(after):
            after.clear()
        try:
            if self.file.is_new or self.file.is_long or not after:
                self._rewrite(after)
                return
            self._writer = writer = self._writer or Writer()
            for kind, name in gone:
                writer.remove(kind, to_bytes(name))
            for key, value in changed.items():
                self._encode(writer, key, value)
            self.file.append(batch(writer.take_records()))
        except BaseException:
            self._writer = None  # the number of written bytes is unknown
            raise

    def _rewrite(self, after: Values) -> None:
        """Rewrite the file, with the value of each key as one batch."""
        for key in _outdated_checkpoints(after):
            del after[key]
        batches = self._encode_all(after)
        while sum(map(len, batches)) > MAX_BYTES and (oldest := _oldest(after)):
            for key in oldest:
                del after[key]
            batches = self._encode_all(after)
        self.file.replace(batches)

    def _encode_all(self, after: Values) -> list[bytes]:
        self._writer = writer = Writer()
        writer.set(META, b"version", VERSION)
        writer.set(META, b"root", to_bytes(self.root))
        batches = [batch(writer.take_records())]
        for key, value in after.items():
            self._encode(writer, key, value)
            batches.append(batch(writer.take_records()))
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
        elif kind == TITLES:
            text = writer.text(name, Text(value.lines) if value.lines else None)
            made = TitlesRecord(text, [(span.start, span.end, span.title) for span in value.spans])
        elif kind == BUFFER:
            made = [edit and serialize.entry(writer, self._sessions, edit) for edit in value]
        writer.set(kind, to_bytes(name), made)

    def _file_record(self, writer: Writer, path: str, value: FileValue) -> FileRecord:
        base = value.conflict_base
        names = [] if isinstance(base, UnsetType) else [writer.text(path, base)]
        edits = serialize.file(writer, self._sessions, path, value.edits)
        formats = value.user_format, value.agent_format
        return FileRecord(edits, *formats, names, value.rights, value.displaced)


def _has_undoable(values: Mapping[Key, Any]) -> bool:
    """Return whether there are pending edits, rejects to undo, or checkpoints to restore."""
    return is_pending(values.values()) or any(
        kind in (REJECT, CHECKPOINT, UNDO) for kind, _ in values
    )


def _differ(some: Any, other: Any) -> bool:
    return some is not other and bool(some != other)


def _is_due(key: Key, before: Any, after: Any) -> bool:
    """Return whether a change to a value needs a write. `after` is None if the value is gone.

    If the user changes an unsaved buffer, a write is needed only if hunks change.
    """
    if key[0] == BUFFER:
        return after is None or _hunk_lines(before.buffer) != _hunk_lines(after.buffer)
    return key[0] not in PASSIVE_KINDS and _differ(before, after)


def _hunk_lines(entry: Pending | None) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the removed and the new lines of each hunk."""
    return [(entry.removed_lines(hunk), hunk.lines) for hunk in entry.hunks] if entry else []


def is_pending(values: Iterable[Any]) -> bool:
    """Return whether any file has pending edits, or edits parked under another branch."""
    return any(isinstance(value, FileValue) and (value.entry or value.parked) for value in values)


def _checkpoints(values: Mapping[Key, Any]) -> dict[Key, Checkpoint]:
    return {key: value for key, value in values.items() if isinstance(value, Checkpoint)}


def _outdated_checkpoints(values: Mapping[Key, Any]) -> list[Key]:
    """Return the checkpoints that are too old.

    A checkpoint that follows a younger one of its session is kept: the clock may have been wrong.
    """
    now = time.time()
    since, keys, younger = now - MAX_AGE_S, list[Key](), set[str]()
    for key, checkpoint in sorted(_checkpoints(values).items(), key=lambda pair: pair[1].n):
        session = key[1].partition(":")[0]
        if since <= checkpoint.time <= now:
            younger.add(session)
        elif checkpoint.time < since and session not in younger:
            keys.append(key)
    return keys


def _oldest(values: Mapping[Key, Any]) -> list[Key]:
    """Return the older half of the checkpoints."""
    checkpoints = _checkpoints(values)
    when: Callable[[Key], float] = lambda key: checkpoints[key].time  # noqa: E731
    return sorted(checkpoints, key=when)[: (len(checkpoints) + 1) // 2]
