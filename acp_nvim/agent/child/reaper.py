"""The process groups that the guard (`guard.py`) ends when the host cannot."""

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
"""How long `aclose` waits for the guard, in seconds: its own second of grace and something for a
busy machine.
"""


class Reaper:
    """The process groups of this host that must not outlive it.

    The guard starts with the first `start` or `add`. One that has died is replaced with the next
    `add`, and is told all groups again. Windows has neither process groups nor a POSIX shell: there
    every method does nothing, and an agent ends because its stdin does.
    """

    def __init__(self, early: EarlyAgent | None = None) -> None:
        """An early agent's guard, which knows of it, goes on as ours."""
        self.groups: set[int] = set() if early is None else {early.process.pid}
        """Process group ids that are listed now."""
        self._guard: subprocess.Popen[bytes] | None = None if early is None else early.guard
        self._closed = False
        self._mark = guard.new_mark() if early is None else early.host_mark
        self._children = itertools.count(1)

    def mark(self) -> str:
        """A new value of the variable `guard.CHILD`, for the environment of a child."""
        return guard.child_mark(self._mark, next(self._children))

    def start(self) -> None:
        """Start the guard if it doesn't run. Called before a child is, so that the child's gap
        without a guard is short.
        """
        if sys.platform == "win32" or self._closed or self._running():
            return
        self._discard()
        self._guard = guard.start(self._mark)
        self._tell("".join(f"+ {group}\n" for group in sorted(self.groups)))

    def add(self, pgid: int) -> None:
        """List the process group `pgid`. Our own group, 0 and 1 are refused with ValueError."""
        if pgid <= 1 or (sys.platform != "win32" and pgid == os.getpgrp()):
            raise ValueError(f"process group {pgid} is not a child's own")
        fresh = pgid not in self.groups
        self.groups.add(pgid)
        if not self._running():
            self.start()
        elif fresh:
            self._tell(f"+ {pgid}\n")

    def remove(self, pgid: int) -> None:
        """Take `pgid` off the list: the group is gone, its number may soon be somebody else's."""
        if pgid in self.groups:
            self.groups.discard(pgid)
            self._tell(f"- {pgid}\n")

    async def aclose(self) -> None:
        """End the guard; groups that are still listed are ended by it first. Bounded by `CLOSE_S`
        seconds, idempotent.
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

    def _running(self) -> bool:
        return self._guard is not None and self._guard.poll() is None

    def _discard(self) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            log.warning(
                "the guard process ended with %s and is started again", self._guard.returncode
            )
        self._guard = None

    def _tell(self, lines: str) -> None:
        if self._guard is None or not lines:
            return
        assert self._guard.stdin is not None
        try:
            self._guard.stdin.write(lines.encode())
        except BrokenPipeError:
            log.warning("the guard process is gone; the next start brings a new one")

    def __repr__(self) -> str:
        state = "running" if self._running() else "not running"
        return f"<Reaper [{state}, {len(self.groups)} groups]>"
