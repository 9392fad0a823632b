"""Notes on agents' writes, made just before them.

If a process is killed after a file has the agent's lines and before the journal has them, the next
process attributes the lines by these notes. Each process has a file `writes.{process}` beside the
journal. It appends to the file before each write and empties it when the journal has the writes.
The file is locked while the process lives. A process that gets the lock takes over the notes. Only
the user may read the file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.log import frame, read_records
from acp_nvim.edits.records import from_bytes, to_bytes
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes import private_files
from acp_nvim.files.journal.journal import NOTES_PREFIX
from acp_nvim.files.ports import PromptName, SessionInfo

MAX_BYTES: Final = 1024 * 1024
"""Maximum size of all notes in the file, in bytes. Further writes are not noted."""
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC


def path_of(folder: Path, owner: str) -> Path:
    """Return the notes file of one process."""
    return folder / f"{NOTES_PREFIX}{owner}"


class NotedHunk(msgspec.Struct, frozen=True, array_like=True):
    """Replaced and new lines, with the neighbouring lines in the text after the write."""

    row: int
    """Row of the first new line, 0-based."""
    old: list[bytes]
    new: list[bytes]
    above: list[bytes]
    """The line above. The list is empty at the start of the file."""
    below: list[bytes]

    def is_at(self, row: int, lines: Sequence[bytes]) -> bool:
        """Return whether the new lines and their neighbours are at this row."""
        start, near = row - len(self.above), [*self.above, *self.new, *self.below]
        return start >= 0 and lines[start : start + len(near)] == near

    def find_rows(self, lines: Sequence[bytes], starts: Mapping[bytes, Sequence[int]]) -> list[int]:
        """Return all rows of the new lines in a text. `starts` are the rows of each line."""
        first = next(iter((*self.above, *self.new, *self.below)), b"")
        rows = (start + len(self.above) for start in starts.get(first, ()))
        return [row for row in rows if self.is_at(row, lines)]


class WriteNote(msgspec.Struct, frozen=True, array_like=True):
    """Write that an agent is about to make."""

    number: int
    """Number of this note among the notes of the process, from 1."""
    session: str
    """Key of the session."""
    info: SessionInfo
    path: bytes
    is_new: bool
    """Whether the write creates the file."""
    rows: int
    """Number of lines afterwards."""
    eol_before: bool
    eol: bool
    hunks: list[NotedHunk]
    prompt: PromptName | None = None
    """Prompt of the agent, if option `blame` is on."""

    def rows_in(self, text: Text) -> list[int]:
        """Return the rows of the hunks in a text, or no rows unless it has all lines of this write.

        If other lines have changed since, each hunk must occur exactly once with its neighbours.
        """
        lines = _encode_lines(text.lines)
        is_same_size = (len(lines), text.eol) == (self.rows, self.eol)
        if is_same_size and all(hunk.is_at(hunk.row, lines) for hunk in self.hunks):
            return [hunk.row for hunk in self.hunks]
        if not any(hunk.new for hunk in self.hunks):
            return []  # the neighbours of removed lines prove nothing
        starts: dict[bytes, list[int]] = {}
        for row, line in enumerate(lines):
            starts.setdefault(line, []).append(row)
        places = [hunk.find_rows(lines, starts) for hunk in self.hunks]
        rows = [place[0] for place in places if len(place) == 1]
        return rows if len(rows) == len(places) and rows == sorted(rows) else []

    def text_before(self, text: Text, rows: Sequence[int]) -> Text | None:
        """Return the text before this write, whose hunks are at `rows` in `text`.

        Return None if the write created the file.
        """
        if self.is_new:
            return None
        lines = list(text.lines)
        for hunk, row in reversed([*zip(self.hunks, rows, strict=True)]):
            lines[row : row + len(hunk.new)] = map(from_bytes, hunk.old)
        eol = self.eol_before if text.eol == self.eol else text.eol
        return Text(tuple(lines), eol) if lines else EMPTY


def make_noted_hunk(before: Text, after: Text, hunk: Hunk) -> NotedHunk:
    """Return a hunk between two texts in the form of a note."""
    first, last = hunk.new_start, hunk.new_end
    return NotedHunk(
        first,
        _encode_lines(before.lines[hunk.start : hunk.end]),
        _encode_lines(hunk.lines),
        _encode_lines(after.lines[max(first - 1, 0) : first]),
        _encode_lines(after.lines[last : last + 1]),
    )


def _encode_lines(lines: Sequence[str]) -> list[bytes]:
    return [to_bytes(line) for line in lines]


class WriteNotes:
    """This process's notes on one workspace. All methods block and may raise OSError."""

    def __init__(self, folder: Path, owner: str) -> None:
        self.owner = owner
        self.number = 0
        """Number of the last note."""
        self._path = path_of(folder, owner)
        self._handle = -1
        self._size = 0
        self._encode = msgspec.msgpack.Encoder().encode

    def add(self, note: WriteNote) -> None:
        """Append a note to the file, unless the file is full."""
        data = frame(self._encode(note))
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
            if private_files.try_lock(handle) and os.fstat(handle).st_nlink:
                self._handle = handle
                return
            os.close(handle)  # taken over by another process before it was locked

    def clear(self) -> None:
        """Empty the file after the journal has all writes."""
        if self._size:
            os.ftruncate(self._handle, 0)
            self._size = 0

    def close(self) -> None:
        """Close the file at the end of this process. Keep it if the journal lacks its writes."""
        if self._handle >= 0 and not self._size:
            self._path.unlink(missing_ok=True)
        self.abandon()

    def abandon(self) -> None:
        """Stop writing, as if the process were killed."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle, self._size = -1, 0


class OldNotes(msgspec.Struct, frozen=True):
    """Notes of a dead process."""

    owner: str
    notes: list[WriteNote]
    path: Path
    handle: int

    def remove(self) -> None:
        """Delete the notes after the journal has the writes."""
        self.path.unlink(missing_ok=True)
        os.close(self.handle)


def old_notes(folder: Path) -> list[OldNotes]:
    """Take over the notes of all dead processes, and return them.

    Other processes do not get these notes. This call blocks. Raise OSError.
    """
    if sys.platform == "win32":
        return []
    paths = sorted(folder.glob(f"{NOTES_PREFIX}*"))
    return [notes for path in paths if (notes := _take_over(path)) is not None]


def _take_over(path: Path) -> OldNotes | None:
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    if not private_files.try_lock(handle) or not os.fstat(handle).st_nlink:
        os.close(handle)
        return None
    batches, _, _ = read_records(os.pread(handle, os.fstat(handle).st_size, 0))
    notes = [note for batch in batches for note in _decode(batch)]
    return OldNotes(path.name.removeprefix(NOTES_PREFIX), notes, path, handle)


def _decode(batch: bytes) -> list[WriteNote]:
    """Decode the note of a record. Return nothing if a newer version has another format."""
    try:
        return [msgspec.msgpack.decode(batch, type=WriteNote)]
    except msgspec.DecodeError:
        return []
