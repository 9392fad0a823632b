"""Detection of changes in directories since they were scanned, by inotify.

Linux queues an event for each change in a watched directory. If the queue is empty, nothing has
changed and the last scan is still valid. The queue is read only when a prompt is about to be sent.
Nothing waits for events. On other systems, and for very many directories, changes cannot be
detected and the caller has to scan.

Changes through a hard link in another directory, through a memory mapping, or by another machine
are not detected.
"""

from __future__ import annotations

import os
import struct
import weakref
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from anyio import to_thread

from acp_nvim.files.bytes.paths import is_below

MAX_PATHS: Final = 4000
"""Maximum number of watched directories, since the system limits the watches of a user."""
ATTEMPTS: Final = 4
"""Maximum number of times that directories are listed if new ones keep appearing."""
AT_ONCE: Final = 1 << 16

_MODIFY, _ATTRIB, _FROM, _TO, _CREATE, _DELETE = 0x2, 0x4, 0x40, 0x80, 0x100, 0x200
_SELF: Final = 0x400 | 0x800
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_ONLY_DIRECTORY, _NO_LINK, _NOT_UNLINKED = 0x1000000, 0x2000000, 0x4000000
_IS_DIRECTORY: Final = 0x40000000
_MASK: Final = (_MODIFY | _ATTRIB | _FROM | _TO | _CREATE | _DELETE | _SELF) | (
    _ONLY_DIRECTORY | _NO_LINK | _NOT_UNLINKED
)
_EVENT: Final = struct.Struct("iIII")
RULES: Final = b".gitignore"
"""File that determines the directories that a scan skips."""

Folders = Callable[[str], Awaitable[Sequence[str] | None]]
"""Function that returns the directories that a scan of a root visits, or None without a scan."""


class FolderWatch:
    """Watches of the directories below some roots."""

    def __init__(self, folders: Folders, limit: int = MAX_PATHS) -> None:
        self._folders = folders
        self._limit = limit
        self._fd: int | None = None
        self._end: Callable[[], object] = lambda: None
        """Function that closes the queue, since a user may have only a few queues.

        It is called at the latest when this object is garbage-collected.
        """
        self._add: Callable[[str], int] | None = None
        self._remove: Callable[[int], int] | None = None
        self._paths: dict[int, str] = {}
        """Watched directories by watch descriptor."""
        self._watched: dict[str, set[str]] = {}
        """Watched directories of each root."""
        self._places: dict[str, tuple[int, int] | None] = {}
        """Device and inode of each root, to detect that a parent directory was moved."""
        self._is_unchanged: dict[str, bool] = {}
        """Whether nothing has changed below each root since `begin`."""
        self._unwatchable: set[str] = set()
        """Roots that cannot be watched and are not tried again."""
        self._to_list: set[str] = set()
        """Roots whose directories have to be listed again."""

    async def begin(self, roots: Iterable[str]) -> None:
        """Watch these directories, right before all of them are scanned."""
        self._read()
        for root in roots:
            if root in self._unwatchable:
                continue
            self._is_unchanged[root] = True
            place = _place(root)
            if self._places.get(root) != place:
                self._watched.pop(root, None)
                self._places[root] = place
            is_watched = root in self._watched and root not in self._to_list
            if not is_watched and not await self._watch(root):
                self._forget(root)

    async def begin_known(self, roots: Iterable[str]) -> None:
        """Call `begin` for each of these roots that is watched."""
        await self.begin([root for root in roots if root in self._watched])

    def has_no_changes(self, roots: Iterable[str]) -> bool:
        """Return whether nothing has changed below these directories since their last scan."""
        self._read()
        return all(
            self._is_unchanged.get(root, False) and self._places[root] == _place(root)
            for root in roots
        )

    def has_all(self, roots: Iterable[str]) -> bool:
        """Return whether all of these directories are watched."""
        return all(root in self._is_unchanged for root in roots)

    def close(self) -> None:
        """Stop watching."""
        self._end()
        self._fd = self._add = self._remove = None
        for known in (self._paths, self._watched, self._places, self._is_unchanged, self._to_list):
            known.clear()

    async def _watch(self, root: str) -> bool:
        """Watch each directory below a root. Return False if that is not possible.

        List the directories again until no new one is found, since some may have been created
        during the listing.
        """
        self._to_list.discard(root)
        for _ in range(ATTEMPTS):
            listed = await self._folders(root)
            if listed is None or len(listed) > self._limit:
                return False
            known = self._watched.setdefault(root, set())
            fresh = [path for path in listed if path not in known]
            if not fresh:
                self._watched[root] = set(listed)
                return True
            added, is_refused = await to_thread.run_sync(self._add_watches, fresh)
            self._paths.update(added)
            known.update(fresh)
            if is_refused or len(self._paths) > self._limit:
                return False
        return False

    def _forget(self, root: str) -> None:
        """Stop watching a root, and the directories that no other root needs."""
        self._unwatchable.add(root)
        self._watched.pop(root, None)
        self._is_unchanged.pop(root, None)
        self._to_list.discard(root)
        wanted = set().union(*self._watched.values())
        for descriptor, path in list(self._paths.items()):
            if path not in wanted and self._remove is not None:
                self._remove(descriptor)
                del self._paths[descriptor]

    def _add_watches(self, paths: Sequence[str]) -> tuple[dict[int, str], bool]:
        """Watch directories, and return them by watch descriptor. This call blocks.

        Also return whether the system refused to watch an existing one.
        """
        watches: dict[int, str] = {}
        if self._add is None and not self._open():
            return watches, True
        assert self._add is not None
        for path in paths:
            descriptor = self._add(path)
            if descriptor >= 0:
                watches[descriptor] = path
            elif os.path.isdir(path):  # noqa: PTH112 - otherwise it is gone again
                return watches, True
        return watches, False

    def _open(self) -> bool:
        try:
            import ctypes

            library: Any = ctypes.CDLL(None)
            self._fd = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (ImportError, OSError, AttributeError):
            return False  # not Linux, or a Python without ctypes
        if self._fd is None or self._fd < 0:
            self._fd = None
            return False
        fd, add, remove = self._fd, library.inotify_add_watch, library.inotify_rm_watch
        self._add = lambda path: int(add(fd, os.fsencode(path), _MASK))
        self._remove = lambda descriptor: int(remove(fd, descriptor))
        self._end = weakref.finalize(self, os.close, fd)
        return True

    # -- events -----------------------------------------------------------------------------------

    def _read(self) -> None:
        while self._fd is not None:
            try:
                data = os.read(self._fd, AT_ONCE)
            except BlockingIOError:
                return
            start = 0
            while start < len(data):
                descriptor, mask, _, length = _EVENT.unpack_from(data, start)
                start += _EVENT.size
                self._process_event(descriptor, mask, data[start : start + length].rstrip(b"\0"))
                start += length

    def _process_event(self, descriptor: int, mask: int, name: bytes) -> None:
        path = self._paths.get(descriptor)
        if mask & _IGNORED:
            self._paths.pop(descriptor, None)
        roots = [
            root
            for root in self._is_unchanged
            if path is None or path == root or is_below(path, root)
        ]
        must_list = path is None or mask & (_IS_DIRECTORY | _SELF | _IGNORED | _OVERFLOW)
        for root in roots:
            self._is_unchanged[root] = False
            if must_list or name == RULES:
                self._to_list.add(root)
                if path is not None:
                    self._watched.get(root, set()).discard(os.path.join(path, os.fsdecode(name)))  # noqa: PTH118


def _place(root: str) -> tuple[int, int] | None:
    try:
        info = os.stat(root)  # noqa: PTH116
    except OSError:
        return None
    return info.st_dev, info.st_ino
