"""Types and limits of stores for the contents of a directory."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from acp_nvim import wording
from acp_nvim.files.bytes import nofollow, private_files

T = TypeVar("T")

MAX_AGE_S: Final = 14 * 24 * 3600
"""Age at which checkpoints and unused stores are removed."""
OLDER: Final = "older"
"""Subdirectory for the contents of a store that grew too large (`pruning`)."""
MAX_FILE_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of a stored file, in bytes. Changes to larger ones are not reviewed or restored."""
MAX_SCAN_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of the new contents that one scan stores, in bytes. Further files are left out."""
NO_ROOM: Final = "more than one scan can store"
MAX_FILES: Final = 20_000
"""Maximum number of files in a directory outside of repositories. A larger one is not stored."""
SKIPPED: Final = frozenset(
    {
        *(".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "__pycache__", ".tox"),
        *(".cache", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".direnv", ".gradle"),
    }
)
"""Directories with generated files or other version control data, which are skipped."""
MAX_INDEX: Final = 300_000
"""Maximum number of entries in a git index. A larger work tree is not stored."""
MAX_AROUND: Final = 5000
"""Maximum number of files unknown to git in a work tree around a session's directory."""
MAX_CHANGES: Final = 1000
"""Maximum number of files reviewed after one scan: the first ones by name."""
MAX_NAMES: Final = 5
"""Maximum number of names in a message. The rest is counted."""


UNKNOWN: Final = "?"
"""Mark of a file whose content is not known."""


SOCKET, DEVICE = "a socket", "a device"


class Blob(msgspec.Struct, frozen=True):
    """Stored content: its name in the store, and the file's mode in git's form.

    `why` is the reason if the content is not stored. `id` is then the file's `signature`.
    """

    id: str
    mode: int = 0o100644
    why: str = ""

    @property
    def is_stored(self) -> bool:
        """Return whether the content can be restored."""
        return not self.why

    @property
    def is_missed(self) -> bool:
        """Return whether a file that a user would want stored is left out."""
        return not self.is_stored and self.why not in (SOCKET, DEVICE)

    @property
    def is_link(self) -> bool:
        """Return whether the content is the target of a symbolic link."""
        return stat.S_IFMT(self.mode) == stat.S_IFLNK

    @property
    def is_fifo(self) -> bool:
        """Return whether this is a FIFO, which has no content."""
        return stat.S_IFMT(self.mode) == stat.S_IFIFO


class Unstored(msgspec.Struct, frozen=True):
    """File, link or device whose content is not stored, for the reason `why`."""

    why: str
    mark: str = UNKNOWN
    """Mark that distinguishes links and FIFOs."""


UNREADABLE: Final = Blob("", 0, "unreadable")


def blob_mark(blob: Blob | None) -> str:
    """Return the mark of a blob and its mode, or an empty string for no file."""
    if blob is None:
        return ""
    return f"o{blob.id}.{blob.mode:o}" if blob.is_stored else UNKNOWN


class Change(msgspec.Struct, frozen=True):
    """Difference of one file (absolute path). A side is None if there is no file."""

    path: str
    before: Blob | None
    after: Blob | None

    @property
    def has_same_bytes(self) -> bool:
        """Return whether only the mode differs."""
        return (self.before and self.before.id) == (self.after and self.after.id)


class GitContent(msgspec.Struct, frozen=True):
    """Content that git gave a file, or None for a removal.

    `until` is the latest possible time, in nanoseconds.
    """

    data: bytes | None
    until: int


class Scan(msgspec.Struct, frozen=True):
    """Result of a scan: tree, changes since the last scan, and files that were not stored.

    `nested` are repositories inside (absolute paths), which the tree lacks.
    """

    tree: str
    changes: list[Change]
    left_out: list[str]
    read: list[str]
    """Files that differ from the last scan, even if only in mode. The first scan has all files."""
    nested: list[str] = []


class StoreError(Exception):
    """A directory cannot be stored now. The message is the reason, in one line."""


class LimitError(StoreError):
    """A directory is too large, which will not change soon."""


class ScannedFiles:
    """Files of one scan, sorted into files to store, files to leave out, and missing ones."""

    def __init__(self) -> None:
        self.fitting: dict[str, os.stat_result] = {}
        self.left_out: dict[str, Blob] = {}
        self.missing: list[str] = []

    def sort(self, paths: Iterable[str]) -> None:
        """Sort files (absolute paths).

        If they exceed the limit of one scan, the most recently changed are stored, because the
        agent's files are among them.
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
                self.missing.append(path)
            elif error.errno != errno.ENAMETOOLONG or _exists_deep(path):
                self.left_out[path] = UNREADABLE
            return
        if stat.S_ISDIR(info.st_mode):
            self.missing.append(path)
        elif out := blob_if_left_out(path, info):
            self.left_out[path] = out
        else:
            self.fitting[path] = info

    def _leave_out_oldest(self) -> None:
        left = MAX_SCAN_BYTES
        for path, info in sorted(self.fitting.items(), key=lambda item: -item[1].st_ctime_ns):
            left -= info.st_size
            if left < 0:
                left += info.st_size
                self.left_out[path] = Blob(signature(info), 0, NO_ROOM)
                del self.fitting[path]


def _exists_deep(path: str) -> bool:
    """Return whether a file exists whose path is longer than the system accepts at once."""
    try:
        return nofollow.info(path) is not None
    except OSError:  # a single name is too long for any file
        return False


def existing_path(path: str, root: str) -> str:
    """Return a path below the root if it exists, else the nearest directory above it that does."""
    stem = root.rstrip(os.sep) + os.sep
    while path.startswith(stem) and not os.path.lexists(path):
        path = os.path.dirname(path)  # noqa: PTH120
    return path if path.startswith(stem) else root


def write_packed(place: Path, data: bytes) -> None:
    """Write a packed file unless it exists. Raise StoreError."""
    try:
        if not place.exists():
            private_files.write(place, zlib.compress(data, 1))
    except OSError as error:
        raise StoreError(f"{place.parent}: {error.strerror}") from error


def read_packed(place: Path, kind: type[T]) -> T:
    """Return the value in a packed file. Raise StoreError if it is gone."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(read_stored(place)), type=kind)
    except (OSError, zlib.error, msgspec.DecodeError) as error:
        raise StoreError(wording.WHY_STATE_MISSING) from error


def read_stored(place: Path) -> bytes:
    """Return the bytes of a file that may be in `OLDER`. Raise OSError."""
    try:
        return place.read_bytes()
    except FileNotFoundError:
        store = place.parents[1]
        return (store / OLDER / place.relative_to(store)).read_bytes()


def blob_if_left_out(path: str, info: os.stat_result) -> Blob | None:
    """Return the blob of a file that is left out, or None if the file is to be stored."""
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
    """Return the bytes of a file or the target of a link. Raise OSError otherwise.

    Check the type, since reading a FIFO that has replaced the file could block forever.
    """
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(path))  # noqa: PTH115
    data = nofollow.read(path)
    if data is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return data


def is_beyond_link(path: str) -> bool:
    """Return whether a directory above a file (absolute real path) has become a link."""
    parent = os.path.dirname(path)  # noqa: PTH120
    return os.path.realpath(parent) != parent


def too_large() -> str:
    """Return the reason to leave out a file over the size limit."""
    return f"over {MAX_FILE_BYTES >> 20} MiB"


def signature(info: os.stat_result) -> str:
    """Return a string that changes when a file that is not stored changes."""
    return f"{info.st_mtime_ns}.{info.st_size}.{info.st_ino}.{info.st_mode:o}"


def signature_of(path: str) -> str | None:
    """Return the signature of a path, or None if it does not exist."""
    try:
        return signature(os.lstat(path))
    except OSError:
        return None


def list_names(paths: Sequence[str], root: str, limit: int = MAX_NAMES) -> str:
    """List some paths relative to the root. Count the rest."""
    listed = [os.path.relpath(path, root) for path in paths[:limit]]
    if len(paths) > limit:
        listed.append(f"{len(paths) - limit} more")
    return ", ".join(listed)
