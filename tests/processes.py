"""Which processes of a test are alive: found by a mark in their environment, which is inherited.

A parent's number would miss what an agent's grandchildren become once their parent is gone.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "ACP_TEST_MARK"


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
    try:
        return (directory / "environ").read_bytes()
    except OSError:  # gone meanwhile, a kernel thread, or another user's
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
