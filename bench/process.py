"""Resource usage of a process, as reported by the kernel."""

from __future__ import annotations

import time
from pathlib import Path


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of all threads of a process (`clock_getcpuclockid`).

    The resolution is a nanosecond.
    """
    return time.clock_gettime((~pid << 3) | 2)


def peak_mb(pid: int) -> float:
    """Return the peak resident memory (`VmHWM`)."""
    return _status(pid, "VmHWM") / 1024


def kept_mb(pid: int, name: str) -> float:
    """Return the current `Rss`, `Pss` (shared pages count in parts) or `Anonymous`."""
    return _field(f"/proc/{pid}/smaps_rollup", name) / 1024


def wakeups(pid: int) -> int:
    """Return how often the process has gone to sleep (voluntary context switches)."""
    return _status(pid, "voluntary_ctxt_switches")


def _status(pid: int, name: str) -> int:
    return _field(f"/proc/{pid}/status", name)


def _field(file: str, name: str) -> int:
    for line in Path(file).read_text(encoding="ascii").splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0])
    raise KeyError(name)
