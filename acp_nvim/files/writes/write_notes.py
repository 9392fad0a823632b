"""Notes on writes of agents that are about to land. Where a process is killed after a file has the
agent's lines and before the journal says so, the next one finds whose they are.

Each process has a file of its own beside a journal, `writes.{process}`, which it appends to before
each write and empties when the journal has the writes. The file is locked while the process
lives: whoever gets the lock may take over what is in it. Only the user may read it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.log import framed, read_on
from acp_nvim.edits.records import decoded, encoded
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes import private_files
from acp_nvim.files.journal.journal import NOTES
from acp_nvim.files.ports import PromptName, SessionInfo

if sys.platform != "win32":
    import fcntl

MAX_BYTES: Final = 1024 * 1024
"""Of all notes that are in the file at a time; what is more is not noted."""
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC


def path_of(folder: Path, owner: str) -> Path:
    """The file of one process."""
    return folder / f"{NOTES}{owner}"


class NotedHunk(msgspec.Struct, frozen=True, array_like=True):
    """Lines that come in place of others, with the ones beside them in the text after the write."""

    row: int
    """The first of the new lines, 0-based."""
    old: list[bytes]
    new: list[bytes]
    above: list[bytes]
    """The line above, or none at the start of the file."""
    below: list[bytes]


class WriteNote(msgspec.Struct, frozen=True, array_like=True):
    """A write that an agent is about to make."""

    number: int
    """Of the notes of its process, from 1 on."""
    session: str
    """Its key."""
    info: SessionInfo
    path: bytes
    is_new: bool
    """There is no such file before."""
    rows: int
    """How many lines the text has afterwards."""
    eol_before: bool
    eol: bool
    hunks: list[NotedHunk]
    prompt: PromptName | None = None
    """What the agent works on, where the user wants to know whose lines are."""

    def fits(self, text: Text) -> bool:
        """Whether the text has the lines of this write, all in their places."""
        return (
            (len(text.lines), text.eol) == (self.rows, self.eol)
            and bool(self.hunks)
            and all(_is_there(hunk, text.lines) for hunk in self.hunks)
        )

    def undone(self, text: Text) -> Text | None:
        """A text without the lines of this write, which it has; None where no file was before."""
        if self.is_new:
            return None
        lines = list(text.lines)
        for hunk in reversed(self.hunks):
            lines[hunk.row : hunk.row + len(hunk.new)] = map(decoded, hunk.old)
        return Text(tuple(lines), self.eol_before) if lines else EMPTY


def noted_hunks(before: Text, after: Text, hunks: Sequence[Hunk]) -> list[NotedHunk]:
    """The hunks between two texts, as a note has them."""
    return [
        NotedHunk(
            hunk.new_start,
            _encoded(before.lines[hunk.start : hunk.end]),
            _encoded(hunk.lines),
            _encoded(after.lines[max(hunk.new_start - 1, 0) : hunk.new_start]),
            _encoded(after.lines[hunk.new_end : hunk.new_end + 1]),
        )
        for hunk in hunks
    ]


def _encoded(lines: Sequence[str]) -> list[bytes]:
    return list(map(encoded, lines))


def _is_there(hunk: NotedHunk, lines: Sequence[str]) -> bool:
    start, end = hunk.row, hunk.row + len(hunk.new)
    return (
        _encoded(lines[start:end]) == hunk.new
        and _encoded(lines[max(start - 1, 0) : start]) == hunk.above
        and _encoded(lines[end : end + 1]) == hunk.below
    )


class WriteNotes:
    """The notes of this process on one workspace. All of it blocks, and may raise OSError."""

    def __init__(self, folder: Path, owner: str) -> None:
        self.owner = owner
        self.number = 0
        """Of the last note."""
        self._path = path_of(folder, owner)
        self._handle = -1
        self._size = 0
        self._encode = msgspec.msgpack.Encoder().encode

    def add(self, note: WriteNote) -> None:
        """The file has this note from now on, unless it has too many."""
        data = framed(self._encode(note))
        if sys.platform == "win32" or self._size + len(data) > MAX_BYTES:
            return
        if self._handle < 0 or not os.fstat(self._handle).st_nlink:  # the folder was removed
            self.abandon()
            self._open()
        self._size += os.write(self._handle, data)
        self.number = note.number

    def _open(self) -> None:
        private_files.directory(self._path.parent)
        while True:
            handle = os.open(self._path, _FLAGS | os.O_CREAT, private_files.FILE)
            if _lock(handle) and os.fstat(handle).st_nlink:
                self._handle = handle
                return
            os.close(handle)  # somebody took it for that of a dead process, before the lock

    def clear(self) -> None:
        """The journal has all of these writes."""
        if self._size:
            os.ftruncate(self._handle, 0)
            self._size = 0

    def close(self) -> None:
        """This process ends. Notes on what the journal lacks stay."""
        if self._handle >= 0 and not self._size:
            self._path.unlink(missing_ok=True)
        self.abandon()

    def abandon(self) -> None:
        """Write no more, as if the process were killed."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle, self._size = -1, 0


class LeftNotes(msgspec.Struct, frozen=True):
    """What a process that is dead has noted."""

    owner: str
    notes: list[WriteNote]
    path: Path
    handle: int

    def remove(self) -> None:
        """The journal has these writes: nobody needs the notes any more."""
        self.path.unlink(missing_ok=True)
        os.close(self.handle)


def left_notes(folder: Path) -> list[LeftNotes]:
    """The notes of all processes that are dead. They are this process's until they are removed.
    Blocks; raises OSError.
    """
    if sys.platform == "win32":
        return []
    paths = sorted(folder.glob(f"{NOTES}*"))
    return [found for path in paths if (found := _taken(path)) is not None]


def _taken(path: Path) -> LeftNotes | None:
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    if not _lock(handle) or not os.fstat(handle).st_nlink:
        os.close(handle)
        return None
    batches, _, _ = read_on(os.pread(handle, os.fstat(handle).st_size, 0))
    notes = [note for it in batches for note in _decoded(it)]
    return LeftNotes(path.name.removeprefix(NOTES), notes, path, handle)


def _decoded(batch: bytes) -> list[WriteNote]:
    """The note of a record; none where a newer version has written it in another way."""
    try:
        return [msgspec.msgpack.decode(batch, type=WriteNote)]
    except msgspec.DecodeError:
        return []


def _lock(handle: int) -> bool:
    """Whether this process owns the file now."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
