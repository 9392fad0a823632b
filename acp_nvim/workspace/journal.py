"""The journal of pending edits and checkpoints: the next process goes on from it when this one is
killed.

A worker thread writes it shortly after each change, so that nothing waits for it: the changes of
the last moment may be lacking. It belongs to one Neovim. Only the user may read it: texts may be
secret.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.log import joined, parted
from acp_nvim.edits.pending import LedgerState
from acp_nvim.edits.records import Reader, Writer, encoded
from acp_nvim.edits.serialize import LedgerWriter
from acp_nvim.workspace import private_files, runs
from acp_nvim.workspace.snapshots import serialize as checkpoints
from acp_nvim.workspace.snapshots.serialize import CheckpointWriter, Frozen

DELAY_S: Final = 0.003
"""The answer to an agent's request comes first."""
SHARE: Final = 4.0
"""Writing is followed by a pause of so many times its length, but not of more than `PAUSE_S`."""
PAUSE_S: Final = 0.5
SLACK: Final = 1024 * 1024
"""Bytes that may be superseded before all is written anew, at the least; else as many as count."""

MODE: Final = 0o600

Value = tuple[Any, Callable[[Writer, str, Any], Any]]
"""A value, and the function that encodes it, given its path as well."""


class Contents(msgspec.Struct, frozen=True):
    """The state at one moment; nothing in it changes any more."""

    ledger: LedgerState
    checkpoints: dict[int, list[Frozen]]
    undo: dict[int, list[Frozen]]
    others: dict[tuple[str, str], Value]
    """Further values, by kind and path: equal ones are not written again."""

    def __bool__(self) -> bool:
        """Whether anything can be decided or brought back."""
        return bool(self.ledger) or any(self.checkpoints.values()) or any(self.undo.values())


class JournalWriter:
    """Makes the records of one file: those of a moment, then of each change."""

    def __init__(self) -> None:
        self._writer = Writer()
        self._ledger = LedgerWriter(self._writer)
        self._checkpoints = CheckpointWriter(self._writer)
        self._others: dict[tuple[str, str], Value] = {}

    def written(self, now: Contents) -> list[bytes]:
        """The records that have to be added."""
        self._ledger.write(now.ledger)
        self._checkpoints.write(checkpoints.CHECKPOINT, now.checkpoints)
        self._checkpoints.write(checkpoints.UNDO, now.undo)
        writer, others = self._writer, now.others
        for kind, path in self._others.keys() - others.keys():
            writer.drop(kind, encoded(path))
        for key, (value, encode) in others.items():
            last = self._others.get(key)
            if last is None or last[0] is not value:
                kind, path = key
                value = encode(writer, path, value)
                writer.put(kind, encoded(path), value)
        self._others = others
        return writer.take()


class JournalFile:
    """The file: appended to, or replaced as a whole, and gone when nothing is left. It blocks.

    The directories above it are made when something is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        """Bytes that it has since it was written anew."""

    def read(self) -> tuple[list[bytes], int]:
        """The records, and how many bytes are damaged; nothing where there is no file. OSError."""
        try:
            return parted(self.path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return [], 0

    def append(self, records: Sequence[bytes]) -> None:
        """Add records. FileNotFoundError where somebody has removed the file; OSError: part of
        them may be written.
        """
        data = joined(records)
        if data:
            _write(self.path, data, os.O_APPEND)
        self.size += len(data)

    def replace(self, records: Sequence[bytes]) -> None:
        """Hold these records and no others; a crash leaves the old ones or these. OSError."""
        data = joined(records)
        for directory in (self.path.parent.parent, self.path.parent):
            private_files.directory(directory)
        fresh = self.path.with_name(f"{self.path.name}.new")
        _write(fresh, data, os.O_CREAT | os.O_TRUNC)
        fresh.replace(self.path)
        self.size = len(data)

    def remove(self) -> None:
        """Leave nothing behind, no empty directory either. OSError."""
        for path in (self.path, self.path.with_name(f"{self.path.name}.new")):
            with suppress(FileNotFoundError, NotADirectoryError):
                path.unlink()
        for directory in (self.path.parent, self.path.parent.parent):
            with suppress(OSError):  # another journal is there, or none was made
                directory.rmdir()

    def tidy(self) -> None:
        """Remove journals of Neovims that were killed. OSError."""
        for path in runs.remains(self.path.parent, self.path.name):
            path.unlink(missing_ok=True)


def _write(path: Path, data: bytes, how: int) -> None:
    handle = os.open(path, os.O_WRONLY | how, MODE)
    with os.fdopen(handle, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]


class Journal:
    """Keeps the file up to date. A failure is reported once and stops nothing else."""

    def __init__(self, look: Callable[[], Contents], problem: Callable[[str], None]) -> None:
        """``look`` gives the present contents; ``problem`` hears why they cannot be written."""
        self._look = look
        self._problem = problem
        self._file: JournalFile | None = None
        self._records: JournalWriter | None = None
        self._least = 0
        self._touched = anyio.Event()
        self._writing = anyio.Lock()
        self._empty = False
        """No file is on disk."""
        self._over = False
        self._has_warned = False

    def begin(self, file: JournalFile) -> None:
        """This is the file; `run` comes next."""
        self._file = file

    def read(self) -> Reader:
        """Read the records of the process before this one; blocks."""
        if self._file is None:
            return Reader([])
        try:
            records, damaged = self._file.read()
        except OSError as error:
            self._problem(f"{self._file.path}: {error}")
            return Reader([])
        reader = Reader(records)
        if damaged:
            reader.lose()
        return reader

    def touch(self) -> None:
        """Something may have changed."""
        self._touched.set()

    async def run(self) -> None:
        """Write until cancelled, or `stop`."""
        assert self._file is not None
        await self._try(partial(to_thread.run_sync, self._file.tidy))
        while not self._over:
            await self._touched.wait()
            await anyio.sleep(DELAY_S)
            self._touched = anyio.Event()
            began = anyio.current_time()
            async with self._writing:
                if not self._over:
                    await self._try(self._keep)
            await anyio.sleep(min(PAUSE_S, SHARE * (anyio.current_time() - began)))

    def stop(self) -> None:
        """Write no more."""
        self._over = True

    async def remove(self) -> None:
        """Leave nothing on disk."""
        self.stop()
        async with self._writing:
            if self._file is not None:
                await self._try(partial(to_thread.run_sync, self._file.remove))

    async def _keep(self) -> None:
        """Write the present contents, unless there are none and there is no file."""
        now = self._look()
        if now or not self._empty:
            await to_thread.run_sync(self._write, now)

    async def _try(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do it, and report the first failure."""
        try:
            await work()
        except Exception as error:
            self._records = None  # nobody knows how much is written
            if not self._has_warned:
                self._has_warned = True
                self._problem(
                    wording.JOURNAL_FAILED.format(kind=type(error).__name__, reason=error)
                )

    def _write(self, now: Contents) -> None:
        """In a worker thread, one at a time."""
        file = self._file
        assert file is not None
        if not now:
            self._records = None
            if not self._empty:
                file.remove()
            self._empty = True
            return
        self._empty = False
        if self._records is None or file.size > 2 * self._least + SLACK:
            self._anew(file, now)
            return
        records = self._records.written(now)
        try:
            file.append(records)
        except FileNotFoundError:
            self._anew(file, now)

    def _anew(self, file: JournalFile, now: Contents) -> None:
        self._records = JournalWriter()
        file.replace(self._records.written(now))
        self._least = file.size
