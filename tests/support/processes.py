"""Living processes of a test, found by a mark in their environment, which child processes inherit.

A parent's process id would miss an agent's grandchildren once their parent has ended.
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
"""Time within which an exec is done, in milliseconds.

After it, a process without an environment was started without one.
"""


@dataclass(frozen=True)
class Process:
    """A living process: its id and its command line."""

    pid: int
    command: str

    def kill(self) -> None:
        """Kill it; one that has already ended is no error."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def _environment(directory: str) -> bytes:
    """Return the environment of a process; empty if it has ended or is another user's."""
    for _ in range(EXEC_MS):
        try:
            with open(f"{directory}/environ", "rb", buffering=0) as file:  # noqa: PTH123
                environment = file.read()
            # During an exec a process briefly has no environment, though it has a program. A
            # process that ends has neither.
            if environment:
                return environment
            os.readlink(f"{directory}/exe")  # noqa: PTH115
        except OSError:
            return b""
        Event().wait(0.001)
    return b""


def _command(directory: Path) -> str:
    try:
        raw = (directory / "cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode(errors="replace").strip()


def marked(mark: str) -> list[Process]:
    """Return every living process whose environment has the mark (zombies have none)."""
    wanted = f"{MARK}={mark}\0".encode()  # the mark is as unique as a UUID
    found = [
        Process(int(pid), _command(Path("/proc", pid)))
        for pid in os.listdir("/proc")  # noqa: PTH208 (each test reads a hundred of these)
        if pid.isdigit() and wanted in _environment(f"/proc/{pid}")
    ]
    return sorted(found, key=lambda process: process.pid)


def outlasting(mark: str, timeout: float) -> list[Process]:
    """Wait up to `timeout` seconds until no such process lives; return those that still do.

    It waits for the processes themselves: repeated scans of the whole machine would take processor
    time from them.
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
