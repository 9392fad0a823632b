"""Small private files, replaced atomically.

Only the user may read them. Even after a crash, a reader sees either the old or the new content.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from acp_nvim.files.bytes import atomic_write

if sys.platform != "win32":
    import fcntl

DIRECTORY: Final = 0o700
FILE: Final = 0o600
LOCK_S: Final = 1.0
"""Maximum time that a change waits for another process's change, in seconds."""
RETRY_S: Final = 0.002


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
    """Open a file for the builtin `open`. A new file is readable only by the user."""
    return os.open(path, flags | os.O_CLOEXEC, FILE)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that does not exist yet. Raise OSError."""
    with open(path, "xb", opener=opener) as file:
        file.write(data)


def write(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace the content of a file. With `sync`, flush it to disk. Raise OSError.

    The directory may be behind the user's symbolic links.
    """
    directory(path.parent)
    atomic_write.replace(os.path.realpath(path.parent) + os.sep + path.name, data, sync=sync)


def change(path: Path, make: Callable[[bytes | None], bytes]) -> None:
    """Replace the content of a file with the result of `make` for the current content.

    `make` gets None if there is no file. Changes by several processes follow each other, so none
    is lost. Raise OSError.
    """
    directory(path.parent)
    with _locked(path.with_name(f"{path.name}.lock")):
        try:
            present = path.read_bytes()
        except FileNotFoundError:
            present = None
        write(path, make(present))


def try_lock(handle: int, *, shared: bool = False) -> bool:
    """Lock a file, exclusively unless `shared`. Return False if another process's lock prevents it.

    Windows has no such locks: each process gets the lock.
    """
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file. Raise TimeoutError if another process does not release it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE)
    try:
        until = time.monotonic() + LOCK_S
        while not try_lock(handle):
            if time.monotonic() > until:
                raise TimeoutError("another process is writing it")
            time.sleep(RETRY_S)
        yield
    finally:
        os.close(handle)
