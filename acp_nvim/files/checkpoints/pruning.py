"""The stores of snapshots do not grow for ever: those that nobody has used for long go, and what is
in a large one is read only from then on, until that is older than any checkpoint.

All Neovims that work in a directory share its store. Each holds its lock for as long as it lives,
so that nobody removes what it uses.
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
"""Of all stores together; those that were not used for the longest time go first."""
MAX_STORE_BYTES: Final = 512 * 1024 * 1024
"""Of one store; beyond that a new one is begun, and the one before the last goes."""
LOCK: Final = "lock"
TRIES: Final = 300
"""How often a lock is tried that another process has to itself for a moment."""
PAUSE_S: Final = 0.01
_TEMPORARY: Final = ("index-*", "git-*", "tmp*")
"""What a killed process may have left."""


class StoreLock:
    """A store is in use as long as this process lives. OSError."""

    def __init__(self, home: Path, pause: Callable[[float], None] = time.sleep) -> None:
        """Make the store's directory where there is none. Blocks: another process may tidy or
        remove it just now.
        """
        tries = TRIES
        while (handle := _shared(home)) is None:
            tries -= 1
            if not tries:
                raise BlockingIOError(errno.EAGAIN, "another process holds it", str(home / LOCK))
            pause(PAUSE_S)
        self._handle = handle
        os.utime(home)

    def close(self) -> None:
        """It is not in use any more."""
        os.close(self._handle)


def _shared(home: Path) -> int | None:
    """A handle on the lock of a store, which is used from now on; None: another process alone has
    it, or has just removed it.
    """
    private_files.directory(home)
    try:
        handle = os.open(home / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        return None
    try:
        if _is_free(handle):
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
    """Remove the stores in this directory that are old, or too many, but those in use; returns
    their names.
    """
    found = {path: _used_at(path) for path in home.glob("*")}
    removed: list[str] = []
    total = 0
    for store in sorted((it for it in found if found[it]), key=lambda it: -found[it]):
        total += _size(store)
        is_old = time.time() - found[store] > MAX_AGE_S
        if (is_old or total > MAX_KEPT_BYTES) and _remove(store):
            removed.append(store.name)
    return removed


def _remove(store: Path) -> bool:
    """Remove a store that nobody uses."""
    try:
        handle = os.open(store / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        if not _is_free(handle):
            return False
        shutil.rmtree(store, ignore_errors=True)
        return True
    finally:
        os.close(handle)


def _is_free(handle: int) -> bool:
    """Whether no process uses a store; this one is its only user then."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _tidy(store: Path) -> None:
    """Remove what killed processes have left, and old contents of a store that is too large."""
    for pattern in _TEMPORARY:
        for path in store.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    older = store / OLDER
    if older.is_dir() and time.time() - _used_at(older) > MAX_AGE_S:
        shutil.rmtree(older, ignore_errors=True)
    if _size(store) - _size(older) > MAX_STORE_BYTES:
        _begin_anew(store, older)


def _begin_anew(store: Path, older: Path) -> None:
    """Put aside all contents: they are read only from now on."""
    shutil.rmtree(older, ignore_errors=True)
    older.mkdir(mode=private_files.DIRECTORY)
    for path in list(store.iterdir()):
        if path.name not in (LOCK, OLDER):
            path.rename(older / path.name)


def _used_at(directory: Path) -> float:
    """When a store was used last; 0 where there is none."""
    try:
        return directory.stat().st_mtime if directory.is_dir() else 0
    except OSError:
        return 0


def _size(directory: Path) -> int:
    """Bytes of all files below. Some may go while this looks: another process may write there."""
    total = 0
    for folder, _, files in os.walk(directory):
        for name in files:
            with suppress(OSError):
                total += (Path(folder) / name).lstat().st_size
    return total
