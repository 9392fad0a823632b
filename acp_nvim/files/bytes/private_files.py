"""Small private files, replaced atomically.

Only the user may read them. A reader, also after a crash, sees either the old or the new content.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from acp_nvim.files.bytes import atomic_write

DIRECTORY: Final = 0o700
FILE: Final = 0o600


def directory(path: Path) -> Path:
    """Create a directory that only the user may read, and its parents. Raise OSError."""
    try:
        path.mkdir(mode=DIRECTORY, exist_ok=True)
    except FileNotFoundError:
        directory(path.parent)
        path.mkdir(mode=DIRECTORY, exist_ok=True)
    if path.stat().st_mode & 0o077:  # created by an earlier version
        path.chmod(DIRECTORY)
    return path


def opener(path: str, flags: int) -> int:
    """Open a file for the builtin `open`; a new file is readable only by the user."""
    return os.open(path, flags | os.O_CLOEXEC, FILE)


def write(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace the content of a file; with ``sync``, flush it to disk. Raise OSError.

    The directory may be behind symbolic links of the user.
    """
    directory(path.parent)
    atomic_write.replace(os.path.realpath(path.parent) + os.sep + path.name, data, sync=sync)
