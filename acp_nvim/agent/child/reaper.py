"""List of the process groups that the guard (`guard.py`) ends if the host cannot."""

import itertools
import logging
import os
import subprocess
import sys

import anyio

from acp_nvim.agent.child import guard
from acp_nvim.agent.child.early import EarlyAgent
from acp_nvim.tasks import true_within

log = logging.getLogger(__name__)

CLOSE_S = 3.0
"""Maximum time that `aclose` waits for the guard, in seconds.

It covers the second between the guard's signals and the delays of a busy machine.
"""


class Reaper:
    """Process groups of this host that must not outlive it.

    The guard starts with the first `start` or `add`. If it has died, the next `add` replaces it and
    sends all groups to the new one. Windows has neither process groups nor a POSIX shell. There all
    methods do nothing, and an agent ends because its stdin ends.
    """

    def __init__(self, early: EarlyAgent | None = None) -> None:
        """Use the guard of an early agent, if there is one."""
        self.groups: set[int] = set() if early is None else {early.process.pid}
        """Ids of the listed process groups."""
        self._guard: subprocess.Popen[bytes] | None = None if early is None else early.guard
        self._closed = False
        self._mark = guard.new_mark() if early is None else early.host_mark
        self._children = itertools.count(1)

    def mark(self) -> str:
        """Return a new value of the variable `guard.CHILD` for a child's environment."""
        return guard.child_mark(self._mark, next(self._children))

    def start(self) -> None:
        """Start the guard if it is not running.

        Call this before a child starts, so that the child is without a guard only briefly.
        """
        if sys.platform == "win32" or self._closed or self._is_running():
            return
        self._discard()
        self._guard = guard.start(self._mark)
        self._send_to_guard("".join(f"+ {group}\n" for group in sorted(self.groups)))

    def add(self, pgid: int) -> None:
        """List the process group `pgid`. Raise ValueError for the host's own group, 0 and 1."""
        if pgid <= 1 or (sys.platform != "win32" and pgid == os.getpgrp()):
            raise ValueError(f"process group {pgid} is not a child's own")
        is_new = pgid not in self.groups
        self.groups.add(pgid)
        if not self._is_running():
            self.start()
        elif is_new:
            self._send_to_guard(f"+ {pgid}\n")

    def remove(self, pgid: int) -> None:
        """Remove `pgid` from the list. The group has ended, and its number may be reused."""
        if pgid in self.groups:
            self.groups.discard(pgid)
            self._send_to_guard(f"- {pgid}\n")

    async def aclose(self) -> None:
        """End the guard, which first ends the groups still listed.

        This takes at most `CLOSE_S` seconds and is idempotent.
        """
        self._closed = True
        shell, self._guard = self._guard, None
        if shell is None:
            return
        assert shell.stdin is not None
        shell.stdin.close()
        try:
            with anyio.CancelScope(shield=True):
                await true_within(lambda: shell.poll() is not None, CLOSE_S)
        finally:
            if shell.poll() is None:
                shell.kill()
                shell.wait()

    def _is_running(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    def _discard(self) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            log.warning(
                "the guard process ended with %s and is started again", self._guard.returncode
            )
        self._guard = None

    def _send_to_guard(self, lines: str) -> None:
        if self._guard is None or not lines:
            return
        assert self._guard.stdin is not None
        try:
            self._guard.stdin.write(lines.encode())
        except BrokenPipeError:
            log.warning("the guard process is gone; the next start replaces it")

    def __repr__(self) -> str:
        state = "running" if self._is_running() else "not running"
        return f"<Reaper [{state}, {len(self.groups)} groups]>"
