"""Limits on the size and age of snapshot stores.

Stores that have not been used for `MAX_AGE_S` are removed. The contents of a large store become
read-only, and are removed once they are older than any checkpoint. All Neovims that work in a
directory share its store. Each holds the store's lock as long as it lives, so that no process
removes a store in use.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from acp_nvim.files.bytes import private_files
from acp_nvim.files.checkpoints.store import MAX_AGE_S, OLDER

if sys.platform != "win32":
    import fcntl

MAX_KEPT_BYTES: Final = 2 * 1024 * 1024 * 1024
"""Maximum size of all stores together, in bytes.

Those unused for the longest time are removed first.
"""
MAX_STORE_BYTES: Final = 512 * 1024 * 1024
"""Maximum size of one store, in bytes.

The contents of a larger store are moved to `OLDER`, and replace the old ones there.
"""
LOCK: Final = "lock"
MAX_TRIES: Final = 300
"""Number of attempts to get a lock that another process holds exclusively for a moment."""
PAUSE_S: Final = 0.01
_TEMPORARY: Final = ("index-*", "git-*", "tmp*")
"""Files and directories that a killed process may leave behind."""


class StoreLock:
    """Lock that marks a store as in use while this process lives. Raise OSError."""

    def __init__(self, home: Path, pause: Callable[[float], None] = time.sleep) -> None:
        """Lock a store. Create its directory if needed. Wait while another process prunes it."""
        tries = MAX_TRIES
        while (handle := _take_shared_lock(home)) is None:
            tries -= 1
            if not tries:
                raise BlockingIOError(errno.EAGAIN, "another process holds it", str(home / LOCK))
            pause(PAUSE_S)
        self._handle = handle
        os.utime(home)

    def close(self) -> None:
        """Release the lock."""
        os.close(self._handle)


def _take_shared_lock(home: Path) -> int | None:
    """Lock a store in shared mode. Return the handle of the lock.

    Return None if another process holds the lock exclusively or has just removed it.
    """
    private_files.directory(home)
    try:
        handle = os.open(home / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        return None
    try:
        if _try_lock(handle):
            _tidy(home)
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if os.fstat(handle).st_nlink:
            return handle
    except BlockingIOError:
        pass
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def prune(home: Path) -> list[str]:
    """Remove old and excess stores in this directory unless they are in use. Return their names."""
    times = {path: _time_of_last_use(path) for path in home.glob("*")}
    removed: list[str] = []
    total = 0
    for store in sorted(
        (store for store in times if times[store]), key=lambda store: -times[store]
    ):
        total += _size(store)
        is_old = time.time() - times[store] > MAX_AGE_S
        if (is_old or total > MAX_KEPT_BYTES) and _remove(store):
            removed.append(store.name)
    return removed


def _remove(store: Path) -> bool:
    """Remove a store unless it is in use. Return whether it was removed."""
    try:
        handle = os.open(store / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        if not _try_lock(handle):
            return False
        shutil.rmtree(store, ignore_errors=True)
        return True
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    """Try to lock a store exclusively. Return whether that succeeded."""
    if sys.platform == "win32":
        return False
    try:
        return private_files.try_lock(handle)
    except OSError:
        return False


def _tidy(store: Path) -> None:
    """Remove files of killed processes, and old contents of a store that is too large."""
    for pattern in _TEMPORARY:
        for path in store.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    older = store / OLDER
    if older.is_dir() and time.time() - _time_of_last_use(older) > MAX_AGE_S:
        shutil.rmtree(older, ignore_errors=True)
    if _size(store) - _size(older) > MAX_STORE_BYTES:
        _move_aside(store, older)


def _move_aside(store: Path, older: Path) -> None:
    """Move the contents of a store to `older`, from which they are only read."""
    shutil.rmtree(older, ignore_errors=True)
    older.mkdir(mode=private_files.DIRECTORY)
    for path in list(store.iterdir()):
        if path.name not in (LOCK, OLDER):
            path.rename(older / path.name)


def _time_of_last_use(directory: Path) -> float:
    """Return the time of the last use of a store, or 0 if it does not exist."""
    try:
        return directory.stat().st_mtime if directory.is_dir() else 0
    except OSError:
        return 0


def _size(directory: Path) -> int:
    """Return the size of all files in a directory. Other processes may remove some of them."""
    total = 0
    for folder, _, files in os.walk(directory):
        for name in files:
            with suppress(OSError):
                total += (Path(folder) / name).lstat().st_size
    return total
