"""What a directory held at some moment: the shapes that both kinds of store share, and the limits.

A store notices what changed since it last looked, and keeps the contents, so that a tree can be
compared and brought back later. Everything in it may block: call it in a worker thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

MAX_FILE_BYTES: Final = 8 * 1024 * 1024
"""A larger file is not kept: its changes on disk are neither reviewed nor restored."""
MAX_SCAN_BYTES: Final = 256 * 1024 * 1024
"""Of new contents that one look takes in; what is beyond waits for none and is left out."""
MAX_FILES: Final = 20_000
"""Files of a directory without git. Above, nothing in it is kept."""
MAX_INDEX: Final = 300_000
"""Entries of a git index. Above, nothing of that work tree is kept."""
MAX_NAMES: Final = 5
"""How many names a message gives before it counts the rest."""


class Blob(msgspec.Struct, frozen=True):
    """A kept content: its name in the store, and the file's mode as git writes it."""

    id: str
    mode: int = 0o100644

    @property
    def link(self) -> bool:
        """The content is the target of a symbolic link."""
        return stat.S_IFMT(self.mode) == stat.S_IFLNK


class Change(msgspec.Struct, frozen=True):
    """A file (absolute path) that differs; None where there is none."""

    path: str
    before: Blob | None
    after: Blob | None

    @property
    def same_bytes(self) -> bool:
        """Only the mode differs."""
        return (self.before and self.before.id) == (self.after and self.after.id)


class Scan(msgspec.Struct, frozen=True):
    """The tree as it is now, what changed since the look before, and what could not be kept.

    ``nested`` are repositories of their own inside (absolute paths), which the tree lacks.
    """

    tree: str
    changes: list[Change]
    left_out: list[str]
    nested: list[str] = []


class StoreError(Exception):
    """Nothing can be kept of this directory now; the message says why in one line."""


class LimitError(StoreError):
    """The directory is too large; nor will it be smaller soon."""


class Store(Protocol):
    """The kept states of one directory."""

    @property
    def root(self) -> str:
        """The directory, absolute, symlinks resolved."""
        ...

    def scan(self, paths: Sequence[str] | None = None) -> Scan:
        """Look at everything, or at these files only. StoreError."""
        ...

    def held(self) -> list[str]:
        """The files (absolute paths) of the present tree. StoreError."""
        ...

    def unkept(self, paths: Sequence[str]) -> list[str]:
        """Those of these files (below the root), there or not, that `scan` passes over."""
        ...

    def differences(self, old: str, new: str) -> list[Change]:
        """What differs between two trees. StoreError."""
        ...

    def contents(self, wanted: Sequence[tuple[str, Blob]]) -> dict[str, bytes]:
        """The kept bytes by absolute path, as the work tree has them; those that are gone lack."""
        ...


class Room:
    """Sorts files into those that fit the limits of one look and those that do not."""

    def __init__(self) -> None:
        self.left_out: list[str] = []
        self._bytes = 0

    def fits(self, path: str | Path) -> bool:
        """Whether to keep the file; one that is gone, or no file, costs nothing."""
        try:
            info = os.lstat(path)
        except OSError:
            return True
        if not (stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
            return False
        if info.st_size > MAX_FILE_BYTES or self._bytes + info.st_size > MAX_SCAN_BYTES:
            self.left_out.append(str(path))
            return False
        if not stat.S_ISLNK(info.st_mode) and not os.access(path, os.R_OK):
            self.left_out.append(str(path))
            return False
        self._bytes += info.st_size
        return True


def names(paths: Sequence[str], root: str) -> str:
    """Some paths in words: relative to the root, the rest counted."""
    shown = [os.path.relpath(path, root) for path in paths[:MAX_NAMES]]
    if len(paths) > MAX_NAMES:
        shown.append(f"{len(paths) - MAX_NAMES} more")
    return ", ".join(shown)
