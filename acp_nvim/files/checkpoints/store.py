"""Contents of a directory at some moment: the types of stores, and their limits."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from acp_nvim.files.bytes import nofollow, private_files

T = TypeVar("T")

MAX_AGE_S: Final = 14 * 24 * 3600
"""Checkpoints, and stores that nobody has used since, are forgotten after that."""
OLDER: Final = "older"
"""The directory in a store for what was in it before it grew too large (`pruning`)."""
MAX_FILE_BYTES: Final = 8 * 1024 * 1024
"""Larger files are not stored: their changes on disk are neither reviewed nor restored."""
MAX_SCAN_BYTES: Final = 256 * 1024 * 1024
"""New contents that one look stores; further files are left out."""
NO_ROOM: Final = "more than one look takes in"
MAX_FILES: Final = 20_000
"""Files of a directory that is in no repository. Of a larger one nothing is stored."""
SKIPPED: Final = frozenset(
    {
        *(".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "__pycache__", ".tox"),
        *(".cache", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".direnv", ".gradle"),
    }
)
"""Directories of generated files, or of another store's data, that it leaves out."""
MAX_INDEX: Final = 300_000
"""Entries of a git index. Of a larger work tree nothing is stored."""
MAX_AROUND: Final = 5000
"""Files unknown to git in a work tree around a session's directory. Of more nothing is stored."""
MAX_CHANGES: Final = 1000
"""Files that one look takes up for review; of more, the first by name."""
MAX_NAMES: Final = 5
"""How many names a message gives before it counts the rest."""


UNKNOWN: Final = "?"
"""The mark of a content that is not known."""


SOCKET, DEVICE = "a socket", "a device"


class Blob(msgspec.Struct, frozen=True):
    """A stored content: its name in the store, and the file's mode as git writes it.

    With ``why`` the content is not stored, for that reason; ``id`` is then the file's `signature`.
    """

    id: str
    mode: int = 0o100644
    why: str = ""

    @property
    def is_stored(self) -> bool:
        """The content can be brought back."""
        return not self.why

    @property
    def is_missed(self) -> bool:
        """It is not stored, and users would want it to be: no socket or device."""
        return not self.is_stored and self.why not in (SOCKET, DEVICE)

    @property
    def link(self) -> bool:
        """The content is the target of a symbolic link."""
        return stat.S_IFMT(self.mode) == stat.S_IFLNK

    @property
    def fifo(self) -> bool:
        """A FIFO, which has no content."""
        return stat.S_IFMT(self.mode) == stat.S_IFIFO


class Unstored(msgspec.Struct, frozen=True):
    """A file, link or device whose content is not stored, for the reason ``why``."""

    why: str
    mark: str = UNKNOWN
    """Distinguishes links and FIFOs from others."""


UNREADABLE: Final = Blob("", 0, "unreadable")


def blob_mark(blob: Blob | None) -> str:
    """A name for a stored content and mode; empty for no file."""
    if blob is None:
        return ""
    return f"o{blob.id}.{blob.mode:o}" if blob.is_stored else UNKNOWN


class Change(msgspec.Struct, frozen=True):
    """A file (absolute path) that differs; None where there is none."""

    path: str
    before: Blob | None
    after: Blob | None

    @property
    def same_bytes(self) -> bool:
        """Only the mode differs."""
        return (self.before and self.before.id) == (self.after and self.after.id)


class Brought(msgspec.Struct, frozen=True):
    """The content that git has given a file: None removed it; ``until``: in nanoseconds."""

    data: bytes | None
    until: int


class Scan(msgspec.Struct, frozen=True):
    """The present tree, the changes since the last look, and the files that were not stored.

    ``nested`` are repositories of their own inside (absolute paths), which the tree lacks.
    """

    tree: str
    changes: list[Change]
    left_out: list[str]
    read: list[str]
    """The files that are not as they were at the last look; perhaps in nothing but their mode."""
    nested: list[str] = []


class StoreError(Exception):
    """Nothing can be stored of this directory now; the message says why in one line."""


class LimitError(StoreError):
    """The directory is too large; nor will it be smaller soon."""


class Room:
    """Sorts files: those within the limits of one look, those to leave out, missing ones."""

    def __init__(self) -> None:
        self.fitting: dict[str, os.stat_result] = {}
        self.out: dict[str, Blob] = {}
        self.settled: dict[str, os.stat_result] = {}
        """Left out as long as they do not change."""
        self.gone: list[str] = []

    def sort(self, paths: Iterable[str]) -> None:
        """Look at each of these files (absolute paths). Where they are more than one look takes in,
        those that changed last are stored: the agent's are among them.
        """
        for path in paths:
            self._sort(path)
        if sum(info.st_size for info in self.fitting.values()) > MAX_SCAN_BYTES:
            self._leave_out_oldest()

    def _sort(self, path: str) -> None:
        try:
            info = os.lstat(path)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                self.gone.append(path)
            else:
                self.out[path] = UNREADABLE
            return
        if stat.S_ISDIR(info.st_mode):
            self.gone.append(path)
        elif out := left_out(path, info):
            self.out[path] = out
            if out.why != UNREADABLE.why:
                self.settled[path] = info
        else:
            self.fitting[path] = info

    def _leave_out_oldest(self) -> None:
        left = MAX_SCAN_BYTES
        for path, info in sorted(self.fitting.items(), key=lambda item: -item[1].st_ctime_ns):
            left -= info.st_size
            if left < 0:
                left += info.st_size
                self.out[path] = Blob(signature(info), 0, NO_ROOM)
                del self.fitting[path]


def write_packed(place: Path, data: bytes, *, sync: bool) -> None:
    """Write a packed file of ours, unless there is one. StoreError."""
    try:
        if not place.exists():
            private_files.write(place, zlib.compress(data, 1), sync=sync)
    except OSError as error:
        raise StoreError(f"{place.parent}: {error.strerror}") from error


def read_packed(place: Path, kind: type[T]) -> T:
    """The value in a packed file of ours. StoreError when it is gone."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(read_stored(place)), type=kind)
    except (OSError, zlib.error, msgspec.DecodeError) as error:
        raise StoreError("that state is no longer kept") from error


def read_stored(place: Path, below: int = 1) -> bytes:
    """The bytes of a file of ours, which may be in `OLDER`: its place is so many directories below
    the store. OSError.
    """
    try:
        return place.read_bytes()
    except FileNotFoundError:
        store = place.parents[below]
        return (store / OLDER / place.relative_to(store)).read_bytes()


def left_out(path: str, info: os.stat_result) -> Blob | None:
    """The blob of a file (no directory) that is not stored; None for one to store."""
    why = ""
    mode = 0
    if stat.S_ISFIFO(info.st_mode):
        return Blob("", stat.S_IFIFO | stat.S_IMODE(info.st_mode))
    if stat.S_ISLNK(info.st_mode):
        return None
    if not stat.S_ISREG(info.st_mode):
        why = SOCKET if stat.S_ISSOCK(info.st_mode) else DEVICE
    elif info.st_size > MAX_FILE_BYTES:
        why = too_large()
    elif not os.access(path, os.R_OK):
        why = UNREADABLE.why
    return Blob(signature(info), mode, why) if why else None


def content(path: str, mode: int) -> bytes:
    """The bytes of a file, or where a link points to. OSError, also where it is neither: a FIFO may
    have taken the file's place, and reading that would never end.
    """
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(path))  # noqa: PTH115
    found = nofollow.read(path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return found


def is_beyond_link(path: str) -> bool:
    """Whether a directory on the way to a file (absolute real path) is a link now."""
    parent = os.path.dirname(path)  # noqa: PTH120
    return os.path.realpath(parent) != parent


def too_large() -> str:
    """Why a file over the limit is not stored."""
    return f"over {MAX_FILE_BYTES >> 20} MiB"


def signature(info: os.stat_result) -> str:
    """The same string as long as a file that is not stored does not change."""
    return f"{info.st_mtime_ns}.{info.st_size}.{info.st_ino}.{info.st_mode:o}"


def signature_of(path: str) -> str | None:
    """The same of a path; None where there is nothing."""
    try:
        return signature(os.lstat(path))
    except OSError:
        return None


def names(paths: Sequence[str], root: str, most: int = MAX_NAMES) -> str:
    """Some paths in words: relative to the root, the rest counted."""
    listed = [os.path.relpath(path, root) for path in paths[:most]]
    if len(paths) > most:
        listed.append(f"{len(paths) - most} more")
    return ", ".join(listed)
