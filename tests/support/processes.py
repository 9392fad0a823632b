"""Living processes of a test, found by a mark in their environment, which child processes inherit.

A parent's process id would miss an agent's grandchildren once their parent has ended. Linux lists
processes in `/proc`; elsewhere, and with `ACP_TEST_PORTABLE`, psutil finds them.
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

from tests.support.portable import IS_PORTABLE

MARK = "ACP_TEST_MARK"
HAS_PROC = Path("/proc/self/environ").exists() and not IS_PORTABLE
EXEC_MS = 20
"""Time within which an exec is done, in milliseconds.

After it, a process without an environment was started without one.
"""


@dataclass(frozen=True)
class Process:
    """Living process: its id and its command line."""

    pid: int
    command: str

    def kill(self) -> None:
        """Kill the process, unless it has already ended."""
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


def process_ids() -> frozenset[str]:
    """Return the ids of all processes; none without `/proc`."""
    return frozenset(os.listdir("/proc") if HAS_PROC else ())  # noqa: PTH208


def marked(mark: str, earlier: frozenset[str] = frozenset()) -> list[Process]:
    """Return every living process whose environment has the mark (zombies have none).

    `earlier` are the `process_ids` from before the first use of the mark, which are not read.
    """
    found = _marked_by_proc(mark, earlier) if HAS_PROC else _marked_by_psutil(mark)
    return sorted(found, key=lambda process: process.pid)


def _marked_by_psutil(mark: str) -> list[Process]:
    """Return the marked processes. psutil gives None for values of other users."""
    import psutil

    return [
        Process(process.pid, " ".join(process.info["cmdline"] or ()))
        for process in psutil.process_iter(["environ", "cmdline"])
        if (process.info["environ"] or {}).get(MARK) == mark
    ]


def _marked_by_proc(mark: str, earlier: frozenset[str]) -> list[Process]:
    """Return the marked processes, in a fifth of the time that psutil takes."""
    wanted = f"{MARK}={mark}\0".encode()  # the mark is as unique as a UUID
    return [
        Process(int(pid), _command(Path("/proc", pid)))
        for pid in process_ids() - earlier
        if pid.isdigit() and wanted in _environment(f"/proc/{pid}")
    ]


def is_alive(pid: int) -> bool:
    """Return whether a process runs, or has ended and was not waited for yet."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def environment(pid: int) -> dict[str, str]:
    """Return the environment of a process."""
    if HAS_PROC:
        lines = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
        return dict(line.split("=", 1) for line in lines if line)
    import psutil

    found: dict[str, str] = psutil.Process(pid).environ()
    return found


def outlasting(mark: str, timeout: float, earlier: frozenset[str] = frozenset()) -> list[Process]:
    """Wait up to `timeout` seconds until no such process lives; return those that still do.

    It waits for the processes themselves: repeated scans of the whole machine would take processor
    time from them.
    """
    end = time.monotonic() + timeout
    while found := marked(mark, earlier):
        left = end - time.monotonic()
        if left <= 0:
            break
        wait_end(found[0].pid, left)
    return found


def wait_end(pid: int, seconds: float) -> None:
    """Wait for the end of a process that need not be a child."""
    if not HAS_PROC:
        import psutil

        with suppress(psutil.TimeoutExpired, psutil.NoSuchProcess):
            psutil.Process(pid).wait(seconds)
        return
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            select.select([handle], [], [], seconds)
        finally:
            os.close(handle)
