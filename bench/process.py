"""What the kernel knows of a process."""

from __future__ import annotations

import time
from pathlib import Path


def cpu_s(pid: int) -> float:
    """CPU seconds of a process, all its threads, to the nanosecond (`clock_getcpuclockid`)."""
    return time.clock_gettime((~pid << 3) | 2)


def peak_mb(pid: int) -> float:
    """`VmHWM`."""
    return _status(pid, "VmHWM") / 1024


def kept_mb(pid: int, name: str) -> float:
    """`Rss`, `Pss` (shared pages count in parts) or `Anonymous`, as things are now."""
    return _field(f"/proc/{pid}/smaps_rollup", name) / 1024


def wakeups(pid: int) -> int:
    """How often the process has gone to sleep."""
    return _status(pid, "voluntary_ctxt_switches")


def _status(pid: int, name: str) -> int:
    return _field(f"/proc/{pid}/status", name)


def _field(file: str, name: str) -> int:
    for line in Path(file).read_text(encoding="ascii").splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0])
    raise KeyError(name)
