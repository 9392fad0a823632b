"""Journal of one workspace on disk, which keeps pending edits and checkpoints across restarts.

A folder in `stdpath('data')/acp/workspaces` has three files. Every process of the workspace appends
to `journal` (`edits.log`). The writing process locks `lock` until it is done or killed. `pending`
exists while there are pending edits. Lua looks for it before it starts a process. Only the user may
read the files, since texts may be secret.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.edits.log import frame, join_records, read_records
from acp_nvim.files.bytes import private_files

if sys.platform != "win32":
    import fcntl

MODE: Final = 0o600
NOTES_PREFIX: Final = "writes."
"""Prefix of notes files (`write_notes.py`)."""
SLACK: Final = 1024 * 1024
"""Number of superseded bytes above which the file is rewritten, if they exceed the bytes in use."""


class NewRecords(msgspec.Struct, frozen=True):
    """Records that a read found for the first time."""

    batches: list[bytes] = []
    is_replaced: bool = False
    """Whether the file has been replaced, so that these are all of its records."""
    is_damaged: bool = False
    is_cut: bool = False
    """Whether the file is shorter than before, or less of it can be read."""
    is_removed: bool = False
    """Whether the file was removed. Its values stay in effect."""


class JournalFile:
    """Files of one journal. All methods block and may raise OSError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "journal"
        self.marker = folder / "pending"
        self._lock = -1
        self._read_handle = -1
        """The file as last read. It is kept open so that no other file gets its inode."""
        self._offset = 0
        self._rewritten_size = 0
        """Size after the last rewrite, in bytes."""
        self._is_damaged = False
        """Whether the next write replaces the file."""

    # -- one writer at a time ---------------------------------------------------------------------

    def try_lock(self) -> bool:
        """Try to become the only writing process. Return whether that succeeded."""
        if self._lock < 0 or not _is_at(self._lock, self.folder / "lock"):
            self._close_lock()
            private_files.directory(self.folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._lock = os.open(self.folder / "lock", flags, MODE)
        return private_files.try_lock(self._lock)

    def unlock(self) -> None:
        if self._lock >= 0 and sys.platform != "win32":
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Stop reading and writing."""
        self._close_lock()
        self._stop_reading()

    def _close_lock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    # -- reading ----------------------------------------------------------------------------------

    def has_news(self) -> bool:
        """Return whether another process has written since the last `read`."""
        try:
            info = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return self._read_handle >= 0
        if self._read_handle < 0 or not _is_at(self._read_handle, self.path):
            return True
        return info.st_size != self._offset

    def read(self, *, locked: bool) -> NewRecords:
        """Return the records that other processes added since the last call.

        With `locked`, no process is writing. An incomplete record at the end is then from a killed
        process, and is cut off.
        """
        noted = self._noted_size()
        was_open = self._read_handle >= 0
        is_replaced = not was_open or not _is_at(self._read_handle, self.path)
        if is_replaced:
            self._stop_reading()
            try:
                self._read_handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            except (FileNotFoundError, NotADirectoryError):
                return NewRecords(is_removed=was_open)
        size = os.fstat(self._read_handle).st_size
        if size < self._offset:
            is_replaced, self._offset = True, 0
        data = _read(self._read_handle, self._offset, size)
        batches, lost, end = read_records(data)
        if is_replaced:
            # A long file is rewritten by the next process that opens it.
            self._rewritten_size = size if was_open else 0
        is_torn = end < len(data)
        is_unreadable = is_torn and is_replaced and not batches
        is_cut = self._offset + end < noted
        self._offset += end
        if locked and (is_unreadable or is_cut):
            self._offset = size
        elif locked and is_torn:
            os.truncate(self.path, self._offset)
        return NewRecords(batches, is_replaced, lost > 0 or is_unreadable, is_cut=is_cut)

    def _stop_reading(self) -> None:
        if self._read_handle >= 0:
            os.close(self._read_handle)
        self._read_handle, self._offset, self._is_damaged = -1, 0, False

    # -- writing, with the lock held --------------------------------------------------------------

    @property
    def is_new(self) -> bool:
        """Return whether the last `read` found no file or a damaged one."""
        return self._read_handle < 0 or self._is_damaged

    @property
    def is_long(self) -> bool:
        """Return whether much of the file is superseded."""
        return self._offset > 2 * self._rewritten_size + SLACK

    def append(self, batch: bytes) -> None:
        """Append a batch of records. Leave the file unchanged if the disk is full."""
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        with os.fdopen(handle, "wb", buffering=0) as file:
            size = os.fstat(handle).st_size
            try:
                _write_all(handle, frame(batch))
            except OSError:
                file.truncate(size)
                raise
        self._offset = os.fstat(self._read_handle).st_size

    def replace(self, batches: Sequence[bytes]) -> None:
        """Replace all records atomically."""
        data = join_records(batches)
        private_files.directory(self.folder)
        fresh = self.folder / f"journal.{os.getpid()}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        try:
            handle = os.open(fresh, flags, MODE)
            with os.fdopen(handle, "wb", buffering=0) as file:
                _write_all(file.fileno(), data)
                os.fsync(file.fileno())
            if self.marker.exists():
                self._note_size(0)
            fresh.replace(self.path)
        except OSError:
            with suppress(OSError):
                fresh.unlink()
            raise
        self._stop_reading()
        self._read_handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        self._offset = self._rewritten_size = len(data)

    def has_notes(self) -> bool:
        """Return whether any process, running or dead, has left notes."""
        return any(self.folder.glob(f"{NOTES_PREFIX}*"))

    def remove(self) -> None:
        """Remove the journal, which has no values."""
        self.set_pending(pending=False)
        with suppress(FileNotFoundError, NotADirectoryError):
            self.path.unlink()
        self._stop_reading()

    def set_pending(self, *, pending: bool) -> None:
        """Create or remove the file `pending`, which has the number of complete bytes."""
        if pending:
            private_files.directory(self.folder)
            self._note_size(self._offset)
        else:
            with suppress(FileNotFoundError, NotADirectoryError):
                self.marker.unlink()

    def _note_size(self, size: int) -> None:
        handle = os.open(self.marker, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, MODE)
        try:
            os.pwrite(handle, b"%020d" % size, 0)
        finally:
            os.close(handle)

    def _noted_size(self) -> int:
        """Return the number of bytes that are known to be complete, or 0."""
        try:
            return int(self.marker.read_bytes() or 0)
        except (OSError, ValueError):
            return 0

    def set_aside(self, *, readable: bool) -> Path:
        """Rename the file and return its new path.

        A `readable` file also keeps its old name until the next write, which may fail, replaces
        it.
        """
        aside = self.folder / time.strftime("journal.%Y%m%d-%H%M%S")
        if readable and _try_link(self.path, aside):
            self._offset, self._is_damaged = os.fstat(self._read_handle).st_size, True
        else:
            self._stop_reading()
            self.path.replace(aside)
        return aside


def _try_link(path: Path, other: Path) -> bool:
    """Give a file another name. Return False if the file system has no hard links."""
    try:
        other.unlink(missing_ok=True)
        os.link(path, other)
    except OSError:
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Return whether an open file is still the one at this path."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _read(handle: int, start: int, end: int) -> bytes:
    parts: list[bytes] = []
    while start < end:
        part = os.pread(handle, end - start, start)
        if not part:
            break
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
