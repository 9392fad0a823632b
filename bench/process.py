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


def wakeups(pid: int) -> int:
    """How often the process has gone to sleep."""
    return _status(pid, "voluntary_ctxt_switches")


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0])
    raise KeyError(name)
