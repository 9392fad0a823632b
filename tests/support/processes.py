"""Which processes of a test are alive: found by a mark in their environment, which is inherited.

A parent's number would miss what an agent's grandchildren become once their parent is gone.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

MARK = "ACP_TEST_MARK"
EXEC_MS = 20
"""Within so long an exec is done; a process that has no environment then was given none."""


@dataclass(frozen=True)
class Process:
    """A living process: its number and its command line."""

    pid: int
    command: str

    def kill(self) -> None:
        """End it at once; one that is gone already is fine."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def _environment(directory: Path) -> bytes:
    """The environment of a process; nothing where it is gone, or another user's."""
    pause = Event()
    try:
        for _ in range(EXEC_MS):
            environment = (directory / "environ").read_bytes()
            # In the midst of an exec a process has none for a moment, though it has a program.
            # What ends has neither.
            if environment:
                return environment
            (directory / "exe").readlink()
            pause.wait(0.001)
    except OSError:
        pass
    return b""


def _command(directory: Path) -> str:
    try:
        raw = (directory / "cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode(errors="replace").strip()


def marked(mark: str) -> list[Process]:
    """Every living process whose environment holds the mark (zombies have none any more)."""
    wanted = f"{MARK}={mark}".encode()
    found = [
        Process(int(directory.name), _command(directory))
        for directory in Path("/proc").iterdir()
        if directory.name.isdigit() and wanted in _environment(directory).split(b"\0")
    ]
    return sorted(found, key=lambda process: process.pid)


def outlasting(mark: str, timeout: float) -> list[Process]:
    """Wait until no such process lives, `timeout` seconds at most; those that still do then.

    It is the processes that are waited for: to look at all of the machine's again and again would
    take the time of the very ones that are to end.
    """
    end = time.monotonic() + timeout
    while found := marked(mark):
        left = end - time.monotonic()
        if left <= 0:
            break
        _wait(found[0].pid, left)
    return found


def _wait(pid: int, seconds: float) -> None:
    """Wait for the end of a process that need not be a child."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            select.select([handle], [], [], seconds)
        finally:
            os.close(handle)
