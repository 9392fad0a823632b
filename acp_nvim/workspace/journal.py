"""The journal of what is pending and of the checkpoints: what the next process needs to go on,
when this one is killed.

It is written as things change, in a worker thread and a little later, so that nothing waits for
it: of what changed just before the end the last moment may be lacking. It belongs to one Neovim.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import anyio
import msgspec
from anyio import to_thread

from acp_nvim.edits.pending import LedgerState
from acp_nvim.edits.records import Reader, Writer, encoded
from acp_nvim.edits.serialize import LedgerWriter
from acp_nvim.workspace.journal_file import JournalFile
from acp_nvim.workspace.snapshots import serialize as checkpoints
from acp_nvim.workspace.snapshots.serialize import Frozen, Kept

DELAY_S: Final = 0.003
"""The answer to an agent's request comes first."""
SHARE: Final = 4.0
"""Writing is followed by a pause of so many times its length, but not of more than `PAUSE_S`."""
PAUSE_S: Final = 0.5
SLACK: Final = 1024 * 1024
"""Bytes that may be superseded before all is written anew, at the least; else as many as count."""

Made = tuple[Any, Callable[[Writer, str, Any], Any]]
"""A value, and what makes of it what is written: given its path as well."""


class Contents(msgspec.Struct, frozen=True):
    """What is to be known of one moment; nothing in it changes any more."""

    ledger: LedgerState
    checkpoints: dict[int, list[Frozen]]
    undo: dict[int, list[Frozen]]
    others: dict[tuple[str, str], Made]
    """Further values, by kind and path: equal ones are not written again."""

    def __bool__(self) -> bool:
        """Whether anything is to be decided or brought back."""
        return bool(self.ledger) or any(self.checkpoints.values()) or any(self.undo.values())


class Book:
    """The records of one file: those of a moment, then what changes."""

    def __init__(self) -> None:
        self._writer = Writer()
        self._ledger = LedgerWriter(self._writer)
        self._checkpoints = Kept(self._writer)
        self._others: dict[tuple[str, str], Made] = {}

    def written(self, now: Contents) -> list[bytes]:
        """The records that have to be added."""
        self._ledger.write(now.ledger)
        self._checkpoints.write(checkpoints.CHECKPOINT, now.checkpoints)
        self._checkpoints.write(checkpoints.UNDO, now.undo)
        writer, others = self._writer, now.others
        for kind, path in self._others.keys() - others.keys():
            writer.drop(kind, encoded(path))
        for key, (value, made) in others.items():
            last = self._others.get(key)
            if last is None or last[0] is not value:
                kind, path = key
                value = made(writer, path, value)
                writer.put(kind, encoded(path), value)
        self._others = others
        return writer.take()


class Journal:
    """Keeps the file as things are. Nothing that goes wrong with it is more than told."""

    def __init__(self, look: Callable[[], Contents], problem: Callable[[str], None]) -> None:
        """``look`` gives the present contents; ``problem`` hears why they cannot be written."""
        self._look = look
        self._problem = problem
        self._file: JournalFile | None = None
        self._book: Book | None = None
        self._least = 0
        self._touched = anyio.Event()
        self._writing = anyio.Lock()
        self._empty = False
        """Nothing is on disk."""
        self._over = False
        self._told = False

    def begin(self, file: JournalFile) -> None:
        """This is the file; `run` comes next."""
        self._file = file

    def read(self) -> Reader:
        """What the process before this one has written; blocks."""
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
        """Write what there is; no thread is asked where nothing is, and was."""
        now = self._look()
        if now or not self._empty:
            await to_thread.run_sync(self._write, now)

    async def _try(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do it; the first time that it goes wrong is told."""
        try:
            await work()
        except Exception as error:
            self._book = None  # what is written by now is not known
            if not self._told:
                self._told = True
                self._problem(
                    f"pending edits and checkpoints end with this process: "
                    f"{type(error).__name__}: {error}"
                )

    def _write(self, now: Contents) -> None:
        """In a worker thread, one at a time."""
        file = self._file
        assert file is not None
        if not now:
            self._book = None
            if not self._empty:
                file.remove()
            self._empty = True
            return
        self._empty = False
        if self._book is None or file.size > 2 * self._least + SLACK:
            self._anew(file, now)
            return
        records = self._book.written(now)
        try:
            file.append(records)
        except FileNotFoundError:
            self._anew(file, now)

    def _anew(self, file: JournalFile, now: Contents) -> None:
        self._book = Book()
        file.replace(self._book.written(now))
        self._least = file.size
