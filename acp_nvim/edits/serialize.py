"""Writes a ledger's state as records of a journal (`records`), and reads it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from acp_nvim.edits.pending import LedgerState, Pending, Reject, Restoration
from acp_nvim.edits.records import Lost, Reader, Series, Writer, decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Callable

FILE, SETTLED, UNDO_HISTORY, REJECT = "file", "settled", "undone", "reject"
_OWN = {"path", "base", "live", "written", "origin", "writers", "theirs"}
OTHERS = tuple(name for name in Pending.__struct_fields__ if name not in _OWN)
T = TypeVar("T")
U = TypeVar("U")


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """The record of a `Pending`; texts by their names."""

    path: bytes
    base: bytes
    live: bytes
    written: bytes
    origin: bytes | None
    writers: list[int]
    theirs: bytes
    others: dict[str, Any]
    """Its other fields, of plain values."""


class Step(msgspec.Struct, frozen=True, array_like=True):
    """The record of a `Restoration`."""

    path: bytes
    before: bytes
    after: bytes
    note: str


class Rejected(msgspec.Struct, frozen=True, array_like=True):
    """The record of a `Reject`."""

    before: Entry
    after: Entry | None
    steps: list[Step]


# -- to records -----------------------------------------------------------------------------------


def entry(writer: Writer, pending: Pending) -> Entry:
    """Return the record of a file's entry."""
    known, made = writer.made.get(id(pending), (None, None))
    return made if known is pending and made is not None else _entry(writer, pending)


def _entry(writer: Writer, pending: Pending) -> Entry:
    path = pending.path
    return Entry(
        encoded(path),
        writer.text(path, pending.base),
        writer.text(path, pending.live),
        writer.text(path, pending.written),
        None if pending.origin is None else encoded(pending.origin),
        sorted(pending.writers),
        writer.text(path, pending.theirs),
        {name: getattr(pending, name) for name in OTHERS},
    )


class LedgerWriter:
    """Writes successive states of a ledger: only objects that are new."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._last = LedgerState()
        self._rejects = Series(writer, REJECT)

    def write(self, state: LedgerState) -> None:
        """Write the ledger's present state."""
        self._files(state.files)
        writer, last = self._writer, self._last
        for path in last.settled.keys() - state.settled.keys():
            writer.drop(SETTLED, encoded(path))
        for path, pending in state.settled.items():
            if last.settled.get(path) is not pending:
                writer.put(SETTLED, encoded(path), writer.text(path, pending.live))
        if not _same(state.undo_history, last.undo_history):
            steps = [entry(writer, pending) for pending in state.undo_history]
            writer.put(UNDO_HISTORY, b"", steps)
        self._rejects.write([(level, level) for level in state.rejects], self._level)
        self._last = state

    def _files(self, files: dict[str, Pending]) -> None:
        """Write the files in order: one that comes again is last."""
        writer, last = self._writer, self._last.files
        order = [path for path in last if path in files]
        again = order + [path for path in files if path not in last] != list(files)
        for path in last if again else last.keys() - files.keys():
            writer.drop(FILE, encoded(path))
        made: dict[int, tuple[Pending, Entry]] = {}
        for path, pending in files.items():
            made[id(pending)] = pending, entry(writer, pending)
            if again or last.get(path) is not pending:
                writer.put(FILE, encoded(path), made[id(pending)][1])
        writer.remember(made)

    def _level(self, level: list[Reject]) -> list[Rejected]:
        return [self._rejected(one) for one in level]

    def _rejected(self, one: Reject) -> Rejected:
        writer = self._writer
        steps = [
            Step(
                encoded(step.path),
                writer.text(step.path, step.before),
                writer.text(step.path, step.after),
                step.note,
            )
            for step in one.steps
        ]
        after = None if one.after is None else entry(writer, one.after)
        return Rejected(entry(writer, one.before), after, steps)


def _same(some: list[Pending], others: list[Pending]) -> bool:
    return len(some) == len(others) and all(map(lambda a, b: a is b, some, others))


# -- from records ---------------------------------------------------------------------------------


def pending(reader: Reader, record: Entry) -> Pending:
    """Return the entry of a record. Raises `Lost`."""
    origin = None if record.origin is None else decoded(record.origin)
    known = Pending(
        decoded(record.path),
        reader.text(record.base),
        reader.text(record.live),
        reader.text(record.written),
        origin,
        frozenset(record.writers),
        theirs=reader.text(record.theirs),
    )
    try:
        return msgspec.structs.replace(known, **record.others)
    except TypeError as error:  # of another version of ours
        raise Lost(str(error)) from error


def read(reader: Reader) -> LedgerState:
    """Return the last written state; the reader counts what is lost."""
    files = found(reader, FILE, Entry, pending)
    settled = {decoded(key): text for key, text in found(reader, SETTLED, bytes, Reader.text)}
    levels = found(reader, REJECT, list[Rejected], _level)
    history = reader.of(UNDO_HISTORY, list[Entry])
    return LedgerState(
        {one.path: one for _, one in files},
        [level for _, level in levels],
        whole(reader, history[0][1], pending) if history else [],
        {path: Pending(path, text, text, text) for path, text in settled.items() if text},
    )


def found(
    reader: Reader, kind: str, shape: type[T], made: Callable[[Reader, T], U]
) -> list[tuple[bytes, U]]:
    """Return the values of a kind by their keys, without the lost ones."""
    values: list[tuple[bytes, U]] = []
    for key, record in reader.of(kind, shape):
        values += [(key, value) for value in whole(reader, [record], made)]
    return values


def whole(reader: Reader, records: list[T], made: Callable[[Reader, T], U]) -> list[U]:
    """Return the values of these records, without the lost ones."""
    values: list[U] = []
    for record in records:
        try:
            values.append(made(reader, record))
        except Lost:
            reader.lose()
    return values


def _level(reader: Reader, records: list[Rejected]) -> list[Reject]:
    return [
        Reject(
            pending(reader, record.before),
            None if record.after is None else pending(reader, record.after),
            [
                Restoration(
                    decoded(step.path),
                    reader.text(step.before),
                    reader.text(step.after),
                    step.note,
                )
                for step in record.steps
            ],
        )
        for record in records
    ]
