"""Small files of ours: a reader sees the old content or the new one, and so does a crash.

Nobody but the user may look into them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from acp_nvim.files.bytes import atomic_write

DIRECTORY: Final = 0o700
FILE: Final = 0o600


def directory(path: Path) -> Path:
    """Make a directory of ours, and those above it, for the user alone; returns it. OSError."""
    try:
        path.mkdir(mode=DIRECTORY, exist_ok=True)
    except FileNotFoundError:
        directory(path.parent)
        path.mkdir(mode=DIRECTORY, exist_ok=True)
    if path.stat().st_mode & 0o077:  # an earlier version made it
        path.chmod(DIRECTORY)
    return path


def opener(path: str, flags: int) -> int:
    """For `open`: a file that it makes is for the user alone."""
    return os.open(path, flags | os.O_CLOEXEC, FILE)


def write(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write it, all or nothing; with ``sync`` it outlives a crash of the machine. Raises `OSError`.

    The directory may lie behind the user's own links.
    """
    directory(path.parent)
    atomic_write.replace(os.path.realpath(path.parent) + os.sep + path.name, data, sync=sync)
