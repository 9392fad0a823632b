"""Garbage collection and release of memory while the host is idle.

By default, Python collects garbage while text is arriving, and visits all objects. If a session has
a million objects, this takes 200 ms. Hardly any object of the host is part of a cycle. Therefore,
in a large heap, objects that have survived two collections are frozen (`gc.freeze`). When a session
is closed, many objects are freed, so all are visited again.

A flood leaves free memory in the heap of the C library, which returns it to the system only on
request. It also leaves a traffic log, which is much smaller when compressed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from typing import Final

import anyio
import anyio.lowlevel
import anyio.to_thread

from acp_nvim.agent.wire.traffic import Traffic
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks

REST_S: Final = 1.0
"""Seconds to wait after a turn. By then the history has recorded the turn."""
MIN_LOG_BLOCKS: Final = 16
"""Number of compressed log blocks (1 MiB of traffic) after which the heap is trimmed."""
MIN_NEW_OBJECTS: Final = 10_000
"""Minimum number of new objects for which a collection is worthwhile."""
MAX_VISITED: Final = 200_000
"""Number of objects that can be visited in about 30 ms."""


def collect_garbage() -> None:
    """Collect garbage while the host is idle, if there are enough new objects."""
    young, middle, old = gc.get_count()
    if young <= MIN_NEW_OBJECTS:
        return
    if old <= 10:
        gc.collect(1 if middle > 10 else 0)
    elif len(gc.get_objects(2)) <= MAX_VISITED:
        gc.collect(2)
    else:
        gc.collect(1)
        gc.freeze()


def unfreeze_objects() -> None:
    """Let the next collections visit all objects, after a session was closed."""
    gc.unfreeze()


class Memory:
    """Task that releases memory after a turn."""

    def __init__(
        self, logs: Callable[[], Iterable[Traffic]], turn_runs: Callable[[], bool], tasks: Tasks
    ) -> None:
        """`logs` are the logs of all agents. `turn_runs` returns whether a turn is running."""
        self._logs = logs
        self._turn_runs = turn_runs
        self._tasks = tasks
        self.is_due = False
        """Whether a release is scheduled."""
        self._packed = 0
        """Number of log blocks packed since the last release."""

    async def on_turn_ended(self, session: Session) -> None:
        """Schedule a release, which is skipped if another turn is running by then."""
        if not self.is_due:
            self.is_due = True
            self._tasks.start_soon(self._release)

    async def _release(self) -> None:
        await anyio.sleep(REST_S)
        self.is_due = False
        for log in list(self._logs()):
            while not self._turn_runs() and log.pack():
                self._packed += 1
                await anyio.lowlevel.checkpoint()
        if self._packed >= MIN_LOG_BLOCKS and not self._turn_runs():
            self._packed = 0
            await anyio.to_thread.run_sync(trim)


def trim() -> None:
    """Return free heap memory to the system. Only glibc needs this and has a function for it."""
    if sys.platform != "linux":
        return
    import ctypes

    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
