"""Paths in a workspace's journal, in notes beside it and of the stores that it names, after the
workspace was moved.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.edits.log import framed, joined, read_on
from acp_nvim.edits.records import Drop, Put, Reader, changed, decoded, encoded
from acp_nvim.workspace import private_files, roots
from acp_nvim.workspace.ports import SessionInfo
from acp_nvim.workspace.replica import (
    CHECKPOINT,
    META,
    SESSION,
    UNDO,
    VERSION,
    NewerVersionError,
)
from acp_nvim.workspace.snapshots import serialize as snapshots
from acp_nvim.workspace.snapshots.store import OLDER, StoreError, read_packed
from acp_nvim.workspace.write_notes import LeftNotes, WriteNote, left_notes


class Move(msgspec.Struct, frozen=True):
    """A directory was at ``old``, and is at ``new``."""

    old: str
    new: str

    def path(self, path: str) -> str:
        """Where a file or directory is now."""
        if path == self.old or path.startswith(self.old + "/"):
            return self.new + path[len(self.old) :]
        return path

    def put(self, record: Put | Drop) -> Put | Drop:
        """A record of a journal: in its values only paths are bytes that begin with one."""
        key = self.value(record.key)
        if isinstance(record, Drop):
            return Drop(record.kind, key)
        if record.kind == SESSION:
            info = self.info(msgspec.msgpack.decode(record.value, type=SessionInfo))
            return Put(record.kind, key, msgspec.msgpack.encode(info))
        value = self.value(msgspec.msgpack.decode(record.value))
        return Put(record.kind, key, msgspec.msgpack.encode(value))

    def info(self, info: SessionInfo) -> SessionInfo:
        """What is told of a session."""
        directories = list(map(self.path, info.directories))
        return msgspec.structs.replace(info, cwd=self.path(info.cwd), directories=directories)

    def value(self, value: Any) -> Any:
        """A value in which paths are bytes, and nothing else begins with one."""
        match value:
            case bytes():
                return encoded(self.path(decoded(value)))
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {self.value(key): self.value(item) for key, item in value.items()}
        return value


def read(folder: Path) -> tuple[list[bytes], Reader]:
    """The journal in a folder; nothing where there is none. Raises OSError, and NewerVersionError:
    only the version that wrote it knows where paths stand in it.
    """
    try:
        batches, _, _ = read_on((folder / "journal").read_bytes())
    except FileNotFoundError:
        batches = []
    reader = Reader(batches)
    version = reader.value(META, b"version", int)
    if version is not None and version > VERSION:
        raise NewerVersionError(str(folder / "journal"))
    return batches, reader


def move_journal(folder: Path, move: Move) -> None:
    """Have a folder's journal and notes name the files where they are now. All or nothing of each;
    done again, it changes nothing. Raises OSError, and NewerVersionError.
    """
    batches, reader = read(folder)
    root = reader.value(META, b"root", bytes)
    if batches and (root is None or decoded(root) != move.new):
        told = joined(_moved(it, move) for it in batches)
        marker = folder / "pending"
        if marker.exists():
            marker.write_bytes(b"")  # the size that it notes is that of the old file
        private_files.write(folder / "journal", told)
    for left in left_notes(folder):
        _move_notes(left, move)


def _moved(batch: bytes, move: Move) -> bytes:
    try:
        return changed(batch, move.put)
    except msgspec.DecodeError:
        return batch  # damaged: whoever reads it says so


def _move_notes(left: LeftNotes, move: Move) -> None:
    notes = [_moved_note(note, move) for note in left.notes]
    try:
        os.ftruncate(left.handle, 0)
        os.write(left.handle, b"".join(framed(msgspec.msgpack.encode(it)) for it in notes))
    finally:
        os.close(left.handle)


def _moved_note(note: WriteNote, move: Move) -> WriteNote:
    path = encoded(move.path(decoded(note.path)))
    return msgspec.structs.replace(note, path=path, info=move.info(note.info))


def stored(reader: Reader) -> Iterable[str]:
    """The directories whose contents a journal's checkpoints name."""
    found = set[str]()
    for kind, key in reader.values:
        if kind in (CHECKPOINT, UNDO):
            made = reader.value(kind, key, snapshots.Record)
            found.update(decoded(root) for root, _ in (made.trees if made else ()))
    return found


def move_store(stores: Path, old: str, new: str, move: Move) -> None:
    """Contents of checkpoints have another name from now on, and their lists of files name these
    where they are. Done again, it changes nothing. OSError.
    """
    source, store = stores / old, stores / new
    if source != store and source.exists():
        if store.exists():  # nobody knows of which directory
            store.rename(stores / f"{new}.{time.time_ns()}")
        source.rename(store)
    for folder in (store, store / OLDER):
        for path in (*folder.glob("trees/*"), *folder.glob("out/*")):
            _move_list(path, move)


def _move_list(path: Path, move: Move) -> None:
    """Paths of a list of files are bytes, in any place."""
    try:
        before = read_packed(path, dict[str, Any])
    except StoreError:
        return  # damaged: whoever reads it says so
    after = move.value(before)
    if after != before:
        data = zlib.compress(msgspec.msgpack.encode(after), 1)
        private_files.write(path, data, sync=False)


def store_name(directory: str, owner: str = "") -> str:
    """The name of a directory's contents; ``owner`` has them while another directory is there."""
    return f"{roots.name(directory)}.{owner}" if owner else roots.name(directory)
