"""Writer thread of the history.

It starts with the first change and imports `sqlite3`, so that the loop does not wait for the
import. If a write fails, changes are queued up to a limit. Beyond the limit they are dropped, and
all open sessions are recorded again once a write succeeds.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from acp_nvim import wording
from acp_nvim.edits import text
from acp_nvim.history.changes import Change, Extension, FileWrite, RecoveredWrite
from acp_nvim.history.hiding import SecretFilter

if TYPE_CHECKING:
    from acp_nvim.history.database import Database
    from acp_nvim.history.store import Store

RETRY_S: Final = 5.0, 300.0
"""First and longest pause after a failure, in seconds."""
MAX_QUEUED: Final = 8 << 20
"""Maximum number of characters in the queue."""
CHANGE_SIZE: Final = 200
"""Size of a change without its text, in characters."""
WRITES_PER_TRIM: Final = 200
"""Number of writes after which the limits are checked again."""


class Callbacks(Struct, frozen=True):
    """Callbacks of the writer thread, which calls them."""

    secret_filter: Callable[[], SecretFilter]
    limits: Callable[[], tuple[float, int]]
    """Options `history.days` and `history.bytes`."""
    notify: Callable[[str], object]
    """Function that shows a message to the user."""
    request_all: Callable[[int], object]
    """Function that records all open sessions again, under the number of a new generation."""


class Writer:
    """Queue of changes for the thread."""

    def __init__(self, path: Path, number: int, callbacks: Callbacks) -> None:
        """`number` is unique to this process. The first change starts the thread."""
        self._path = path
        self._number = number
        self._callbacks = callbacks
        self._queue: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def has_started(self) -> bool:
        """Return whether any change was queued."""
        return self._thread is not None

    def write(self, generation: int, changes: Sequence[Change]) -> None:
        """Queue changes after all earlier ones."""
        if self._thread is None:
            run = _Run(self._path, self._number, self._callbacks, self._queue)
            self._thread = threading.Thread(target=run.forever, name="history", daemon=True)
            self._thread.start()
        self._queue.put(_Task(generation, changes))

    def wait_written(self, seconds: float) -> bool:
        """Wait until the thread has tried to write all queued changes.

        Return False after a timeout.
        """
        done = threading.Event()
        self._queue.put(_Task(done=done))
        return done.wait(seconds)

    def close(self, seconds: float) -> None:
        """Write the queued changes and end the thread. Wait for it at most `seconds`."""
        if self._thread is not None:
            self._queue.put(_Task(is_last=True))
            self._thread.join(seconds)


class _Task(Struct, frozen=True):
    generation: int = 0
    changes: Sequence[Change] = ()
    done: threading.Event | None = None
    is_last: bool = False


class _Run:
    """Main loop of the thread, and its state."""

    def __init__(
        self, path: Path, number: int, callbacks: Callbacks, tasks: queue.SimpleQueue[_Task]
    ) -> None:
        self._path, self._number, self._callbacks, self._tasks = path, number, callbacks, tasks
        self._database: Database | None = None
        self._store: Store | None = None
        self._generation = 0
        """Number of times that all entries were requested from the recorder."""
        self._queued: list[Change] = []
        self._size = 0
        """Size of the queued changes."""
        self._has_lost_changes = self._is_disabled = False
        self._reported: set[str] = set()
        self._pause = RETRY_S[0]
        self._next_try = 0.0
        self._writes = 0

    def forever(self) -> None:
        while self._run_tasks(self._next_task()):
            pass
        self._close()

    def _next_task(self) -> _Task:
        """Return the next task, or an empty one when a failed write is due again."""
        if self._is_disabled or not (self._queued or self._has_lost_changes):
            return self._tasks.get()
        try:
            return self._tasks.get(timeout=max(0.0, self._next_try - time.monotonic()))
        except queue.Empty:
            return _Task()

    def _run_tasks(self, first: _Task) -> bool:
        """Try to write the changes of all queued tasks, then mark the tasks as done.

        Return False after the last task.
        """
        tasks = [first]
        while not self._tasks.empty():
            tasks.append(self._tasks.get())
        is_end = any(task.is_last for task in tasks)
        self._queue_tasks(tasks)
        if self._queued or self._has_lost_changes:
            self._try_write(at_once=is_end)
        for task in tasks:
            if task.done is not None:
                task.done.set()
        return not is_end

    def _queue_tasks(self, tasks: Iterable[_Task]) -> None:
        for task in tasks:
            if task.generation < self._generation or self._has_lost_changes or self._is_disabled:
                continue
            self._queued += task.changes
            self._size += sum(map(_size, task.changes))
        if self._size > MAX_QUEUED and time.monotonic() < self._next_try:
            self._has_lost_changes = True
            self._clear_queue()

    def _clear_queue(self) -> None:
        self._queued, self._size = [], 0

    def _try_write(self, *, at_once: bool) -> None:
        """Write the queued changes, unless `at_once` is false and a write has failed recently."""
        import sqlite3

        from acp_nvim.history import database

        if self._is_disabled or (time.monotonic() < self._next_try and not at_once):
            return
        try:
            self._write()
        except database.NewerVersionError:
            self._is_disabled = True
            self._clear_queue()
            self._report(wording.HISTORY_NEWER)
        except sqlite3.Error as error:
            if database.is_damage(error):
                self._set_aside()
            else:
                self._on_failure(str(error))
        except OSError as error:
            self._on_failure(error.strerror or str(error))
        except Exception as error:  # a bug: the next batch may succeed without it
            self._close()
            self._restart()
            self._report(
                wording.HISTORY_NOT_STORED.format(reason=f"{type(error).__name__}: {error}")
            )
        else:
            self._pause, self._next_try = RETRY_S[0], 0.0

    def _write(self) -> None:
        database, store = self._open_database()
        if self._has_lost_changes:
            self._restart()
            return
        store.write(self._queued)
        self._clear_queue()
        database.shrink()
        self._writes += 1
        if self._writes % WRITES_PER_TRIM == 1:
            from acp_nvim.history.bounds import trim

            trim(database, store, *self._callbacks.limits())

    def _open_database(self) -> tuple[Database, Store]:
        from acp_nvim.history.database import Database
        from acp_nvim.history.store import Store

        if self._database is not None and not self._database.is_current:
            self._close()  # set aside or removed
            self._has_lost_changes = True
        if self._database is None or self._store is None:
            self._database = Database(self._path)
            self._store = Store(self._database, self._number, self._callbacks.secret_filter)
            self._store.complete_leftovers()
        return self._database, self._store

    def _restart(self) -> None:
        """Start a new generation: record all open sessions again, and ignore earlier changes."""
        self._has_lost_changes = False
        self._clear_queue()
        self._generation += 1
        self._callbacks.request_all(self._generation)

    def _set_aside(self) -> None:
        from acp_nvim.history.database import set_aside

        identity = self._database.identity if self._database is not None else None
        self._close()
        try:
            aside = set_aside(self._path, identity)
        except OSError as error:
            self._on_failure(error.strerror or str(error))
            return
        if aside is not None:
            self._report(wording.HISTORY_DAMAGED.format(path=aside))
        self._restart()

    def _on_failure(self, reason: str) -> None:
        self._next_try = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, RETRY_S[1])
        self._report(wording.HISTORY_NOT_STORED.format(reason=reason))

    def _report(self, line: str) -> None:
        if line not in self._reported:
            self._reported.add(line)
            self._callbacks.notify(line)

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = self._store = None


def _size(change: Change) -> int:
    if isinstance(change, RecoveredWrite):
        change = change.write
    if isinstance(change, FileWrite):
        return CHANGE_SIZE + text.size(change.after)
    if not isinstance(change, Extension):
        return CHANGE_SIZE
    return CHANGE_SIZE + sum(len(part) for part in change.parts if isinstance(part, str))
