"""Locks of worktrees.

They prevent a Neovim from landing or removing a worktree in which another has a session. The system
releases them when a host ends for any reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from acp_nvim.files.bytes import private_files


class Claims:
    """Locks that this host holds, by id of the worktree."""

    def __init__(self, folder: Callable[[], Path | None]) -> None:
        """`folder` returns the directory of the lock files, or None before it is known."""
        self._folder = folder
        self._files: dict[str, int] = {}
        """Open descriptors of the lock files."""
        self._shared: set[str] = set()
        """Ids of worktrees with sessions of this host."""

    def share(self, id: str) -> None:
        """Lock a worktree for a session. The lock is shared with sessions of other hosts."""
        self._shared.add(id)
        self._lock(id, shared=True)

    def release(self, id: str) -> None:
        """Unlock a worktree that no longer has a session."""
        self._shared.discard(id)
        self._close(id)

    def try_alone(self, id: str) -> bool:
        """Lock a worktree exclusively. Return False if another host has locked it."""
        if self._lock(id, shared=False):
            return True
        self.end_alone(id)
        return False

    def end_alone(self, id: str) -> None:
        """Replace the exclusive lock with the sessions' shared lock, or unlock the worktree."""
        if id in self._shared:
            self._lock(id, shared=True)
        else:
            self._close(id)

    def _lock(self, id: str, *, shared: bool) -> bool:
        folder = self._folder()
        if folder is None:
            return True
        if id not in self._files:
            private_files.directory(folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._files[id] = os.open(folder / f"{id}.lock", flags, private_files.FILE)
        return private_files.try_lock(self._files[id], shared=shared)

    def _close(self, id: str) -> None:
        handle = self._files.pop(id, None)
        if handle is not None:
            os.close(handle)
