"""Conversion of the state of files in a ledger, and of rejects, to and from `records`.

Sessions are numbers within one process, and keys across processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from acp_nvim.edits.pending import FileEdits, ParkedEdits, Pending, Reject, Restoration
from acp_nvim.edits.records import LostValueError, Reader, Writer, from_bytes, to_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

_OWN = {"path", "base", "live", "written", "origin", "writers", "theirs"}
_STORED = {
    "is_conflict": "conflict",
    "format_change": "relaid",
    "is_overtaken": "overtaken",
    "is_named": "named",
}
"""Stored names of fields. They never change, so that older journals can be read."""
_OTHERS = {_STORED.get(name, name): name for name in Pending.__struct_fields__ if name not in _OWN}
"""Fields with plain values, by stored name."""
T = TypeVar("T")
U = TypeVar("U")


class SessionKeys(Protocol):
    """Keys of sessions that are valid in all processes."""

    def key(self, n: int) -> str: ...

    def number(self, key: str) -> int:
        """Return this process's number of the session with that key."""
        ...


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """Record of a `Pending`, with the names of its texts."""

    path: bytes
    base: bytes
    live: bytes
    written: bytes
    origin: bytes | None
    writers: list[str]
    theirs: bytes
    others: dict[str, Any]
    """The other fields, which have plain values, by stored name."""


class ParkedEntry(msgspec.Struct, frozen=True, array_like=True):
    """Record of a `ParkedEdits`."""

    entry: Entry
    branch: str
    time: float


class File(msgspec.Struct, frozen=True, array_like=True):
    """Record of a `FileEdits`."""

    entry: Entry | None
    undo_text: bytes
    history: list[Entry]
    parked: list[ParkedEntry]


class Step(msgspec.Struct, frozen=True, array_like=True):
    """Record of a `Restoration`."""

    path: bytes
    before: bytes
    after: bytes
    note: str


class Rejected(msgspec.Struct, frozen=True, array_like=True):
    """Record of a `Reject`."""

    before: Entry
    after: Entry | None
    steps: list[Step]


# -- to records -----------------------------------------------------------------------------------


def entry(writer: Writer, sessions: SessionKeys, pending: Pending) -> Entry:
    path = pending.path
    return Entry(
        to_bytes(path),
        writer.text(path, pending.base),
        writer.text(path, pending.live),
        writer.text(path, pending.written),
        None if pending.origin is None else to_bytes(pending.origin),
        sorted(map(sessions.key, pending.writers)),
        writer.text(path, pending.theirs),
        {stored: getattr(pending, name) for stored, name in _OTHERS.items()},
    )


def file(writer: Writer, sessions: SessionKeys, path: str, edits: FileEdits) -> File:
    return File(
        None if edits.entry is None else entry(writer, sessions, edits.entry),
        writer.text(path, edits.undo_entry.live if edits.undo_entry else None),
        [entry(writer, sessions, pending) for pending in edits.history],
        [
            ParkedEntry(entry(writer, sessions, parked.entry), parked.branch, parked.time)
            for parked in edits.parked
        ],
    )


def reject(writer: Writer, sessions: SessionKeys, rejects: list[Reject]) -> list[Rejected]:
    """Return the record of one reject of several files."""
    return [_rejected_record(writer, sessions, reject) for reject in rejects]


def _rejected_record(writer: Writer, sessions: SessionKeys, reject: Reject) -> Rejected:
    steps = [
        Step(
            to_bytes(step.path),
            writer.text(step.path, step.before),
            writer.text(step.path, step.after),
            step.note,
        )
        for step in reject.steps
    ]
    after = None if reject.after is None else entry(writer, sessions, reject.after)
    return Rejected(entry(writer, sessions, reject.before), after, steps)


# -- from records ---------------------------------------------------------------------------------


def pending(reader: Reader, sessions: SessionKeys, record: Entry) -> Pending:
    """Return the entry of a record. Raise `LostValueError`."""
    origin = None if record.origin is None else from_bytes(record.origin)
    try:
        others = {_OTHERS[stored]: value for stored, value in record.others.items()}
    except KeyError as error:  # written by another version of the plugin
        raise LostValueError(str(error)) from error
    return Pending(
        from_bytes(record.path),
        reader.text(record.base),
        reader.text(record.live),
        reader.text(record.written),
        origin,
        frozenset(map(sessions.number, record.writers)),
        theirs=reader.text(record.theirs),
        **others,
    )


def file_edits(reader: Reader, sessions: SessionKeys, path: str, record: File) -> FileEdits:
    """Return the edits of a file. Lost values are left out."""

    def convert(entry: Entry) -> Pending:
        return pending(reader, sessions, entry)

    entries = [] if record.entry is None else values_of(reader, [record.entry], convert)
    text = values_of(reader, [record.undo_text], reader.text)
    undo_entry = Pending(path, text[0], text[0], text[0]) if text and text[0] else None
    parked = values_of(
        reader, record.parked, lambda edit: ParkedEdits(convert(edit.entry), edit.branch, edit.time)
    )
    history = values_of(reader, record.history, convert)
    return FileEdits(entries[0] if entries else None, undo_entry, tuple(history), tuple(parked))


def values_of(reader: Reader, records: list[T], convert: Callable[[T], U]) -> list[U]:
    """Return the converted records. Lost ones are left out, and the reader counts them."""
    values: list[U] = []
    for record in records:
        try:
            values.append(convert(record))
        except LostValueError:
            reader.count_lost()
    return values


def rejects(reader: Reader, sessions: SessionKeys, records: list[Rejected]) -> list[Reject]:
    """Return one reject of several files. Raise `LostValueError`."""
    return [
        Reject(
            pending(reader, sessions, record.before),
            None if record.after is None else pending(reader, sessions, record.after),
            [
                Restoration(
                    from_bytes(step.path),
                    reader.text(step.before),
                    reader.text(step.after),
                    step.note,
                )
                for step in record.steps
            ],
        )
        for record in records
    ]
