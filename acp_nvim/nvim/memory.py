"""Memory that a turn has needed is given back to the system once the host is at rest.

A flood leaves large holes in the heap of the C library, which keeps them unless it is asked, and a
log of traffic that gets many times smaller when it is compressed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Final

import anyio
import anyio.lowlevel
import anyio.to_thread

from acp_nvim.agent.wire.traffic import Traffic
from acp_nvim.tasks import Tasks

REST_S: Final = 1.0
"""Seconds after a turn: the history has taken what was said by then."""
WORTH_IT: Final = 16
"""Compressed blocks of a log (1 MiB of traffic) after which the heap is looked through."""


class Memory:
    """Told of the end of each turn."""

    def __init__(
        self, logs: Callable[[], Iterable[Traffic]], turn_runs: Callable[[], bool], tasks: Tasks
    ) -> None:
        """`logs` are those of the agents; `turn_runs` says whether any of them answers."""
        self._logs = logs
        self._turn_runs = turn_runs
        self._tasks = tasks
        self.is_due = False
        """It will be tidied up."""
        self._packed = 0

    def turn_ended(self) -> None:
        """Tidy up in a moment, unless another turn runs by then: that one will end, too."""
        if not self.is_due:
            self.is_due = True
            self._tasks.start_soon(self._tidy_up)

    async def _tidy_up(self) -> None:
        await anyio.sleep(REST_S)
        self.is_due = False
        for log in list(self._logs()):
            while not self._turn_runs() and log.pack():
                self._packed += 1
                await anyio.lowlevel.checkpoint()
        if self._packed >= WORTH_IT and not self._turn_runs():
            self._packed = 0
            await anyio.to_thread.run_sync(trim)


def trim() -> None:
    """Have the C library give back what is free. Only glibc keeps it, and can be asked."""
    if sys.platform != "linux":
        return
    import ctypes

    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
