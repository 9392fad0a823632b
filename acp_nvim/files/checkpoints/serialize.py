"""Conversion between checkpoints and records of a journal (`edits.records`).

Contents in the stores are referred to by name, since they are on disk already.
"""

from __future__ import annotations

import msgspec

from acp_nvim.edits.records import Reader, Writer, from_bytes, to_bytes
from acp_nvim.edits.serialize import Entry, SessionKeys, entry, pending
from acp_nvim.files.bytes.file_format import Format
from acp_nvim.files.checkpoints.agent_changes import ContentChange
from acp_nvim.files.checkpoints.checkpoints import Checkpoint, Target


class Record(msgspec.Struct, frozen=True, array_like=True):
    """A `Checkpoint`, with paths as bytes, and texts and contents by name."""

    n: int
    label: str
    time: float
    trees: list[tuple[bytes, str]]
    unsaved: list[tuple[bytes, bytes]]
    pending: list[Entry]
    reasons: list[str]
    touched: list[tuple[bytes, bytes]]
    late: list[tuple[bytes, bytes, int]]
    agent_changes: list[tuple[bytes, str, str, bool, bool]] = []
    ends: list[float] = []
    formats: list[tuple[bytes, Format | None, Format | None]] = []
    unnamed: list[bytes] = []
    disk_entries: list[tuple[bytes, Entry | None]] = []


def record(writer: Writer, sessions: SessionKeys, made: Checkpoint) -> Record:
    return Record(
        made.n,
        made.label,
        made.time,
        [(to_bytes(root), tree) for root, tree in made.trees.items()],
        [(to_bytes(path), writer.text(path, text)) for path, text in made.unsaved.items()],
        [entry(writer, sessions, edit) for edit in made.pending.values()],
        made.reasons,
        [(to_bytes(path), writer.text(path, text)) for path, text in made.touched.items()],
        [
            (to_bytes(target.path), writer.data(target.data), target.mode)
            for target in made.late.values()
        ],
        [
            (to_bytes(path), value.before, value.after, value.agent, value.gap)
            for path, value in made.agent_changes.items()
        ],
        made.ends,
        [(to_bytes(path), *formats) for path, formats in made.formats.items()],
        [to_bytes(path) for path in sorted(made.unnamed)],
        [
            (to_bytes(path), entry(writer, sessions, value) if value else None)
            for path, value in made.disk_entries.items()
        ],
    )


def checkpoint(reader: Reader, sessions: SessionKeys, record: Record) -> Checkpoint:
    """Return the checkpoint of a record. Raise `LostValueError`."""
    entries = [pending(reader, sessions, stored) for stored in record.pending]
    unsaved = {from_bytes(path): reader.text(name) for path, name in record.unsaved}
    late = [Target(from_bytes(path), reader.data(name), mode) for path, name, mode in record.late]
    return Checkpoint(
        record.n,
        record.label,
        record.time,
        {from_bytes(root): tree for root, tree in record.trees},
        {path: text for path, text in unsaved.items() if text is not None},
        {entry.path: entry for entry in entries},
        record.reasons,
        {from_bytes(path): reader.text(name) for path, name in record.touched},
        {target.path: target for target in late},
        {
            from_bytes(path): ContentChange(before, after, agent, gap)
            for path, before, after, agent, gap in record.agent_changes
        },
        record.ends,
        {from_bytes(path): (user, agent) for path, user, agent in record.formats},
        {from_bytes(path) for path in record.unnamed},
        {
            from_bytes(path): pending(reader, sessions, disk_entry) if disk_entry else None
            for path, disk_entry in record.disk_entries
        },
    )
