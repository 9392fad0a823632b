"""File access by resolved paths, without following links.

A path is resolved when access is decided (`paths.place`), so it contains no symbolic link then. An
agent can replace a part of it with a link between the decision and the access. Each function
therefore walks down from the root, opens one directory at a time, refuses links, and acts relative
to the open directory. No function waits for a pipe.

A directory that is replaced by another directory is not detected. A process that can do that (by a
mount or a move) can also write to the directory.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from typing import Final

import msgspec

_STEP: Final = (
    os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | (getattr(os, "O_PATH", 0) or os.O_RDONLY)
)
"""With O_PATH, a directory need not be readable to be traversed."""
_FILE: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class LinkError(OSError):
    """A part of a resolved path has become a symbolic link."""

    def __init__(self, link: str, path: str) -> None:
        what = "it" if link == path else f"the directory {os.path.basename(link)}"  # noqa: PTH119
        super().__init__(errno.ELOOP, f"{what} has become a symbolic link")
        self.above = link != path
        """Whether the link is a directory above the file."""


class NotRegularError(OSError):
    """The path is a pipe, a socket or a device."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "is not a regular file")


class SizeError(OSError):
    """The file is larger than the limit."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(errno.EFBIG, f"{size} bytes; the limit is {limit}")


class Rights(msgspec.Struct, frozen=True):
    """Permission bits, owner and group of a file."""

    mode: int
    uid: int
    gid: int

    @classmethod
    def of(cls, info: os.stat_result) -> Rights:
        return cls(stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid)

    def apply(self, handle: int) -> None:
        """Apply the rights to an open file. Raise OSError.

        The owner is left alone if it may not be changed.
        """
        info = os.fstat(handle)
        if (info.st_uid, info.st_gid) != (self.uid, self.gid):
            with suppress(PermissionError):
                os.fchown(handle, self.uid, self.gid)
        if stat.S_IMODE(info.st_mode) != self.mode:
            os.fchmod(handle, self.mode)


class Spot:
    """A name in an open directory. Links are never followed."""

    def __init__(self, folder: int, path: str) -> None:
        """`folder` is a file descriptor of the directory of `path`. The caller closes it."""
        self.folder = folder
        self.path = path
        self.name = os.path.basename(path)  # noqa: PTH119

    def info(self, name: str = "") -> os.stat_result | None:
        """Return `lstat` of the name, or None if there is no such entry."""
        try:
            return os.stat(name or self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, how: int = os.O_RDONLY) -> FileIO:
        """Open the regular file, unbuffered.

        Raise FileNotFoundError, IsADirectoryError, LinkError, NotRegularError or another OSError.
        """
        info = self.info()
        if info is not None:  # opening a device may have side effects
            self.check_regular(info)
        try:
            handle = os.open(self.name, how | _FILE, dir_fd=self.folder)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise LinkError(self.path, self.path) from error
            raise
        try:
            self.check_regular(os.fstat(handle))
        except OSError:
            os.close(handle)
            raise
        return FileIO(handle, "rb" if how == os.O_RDONLY else "r+b")

    def check_regular(self, info: os.stat_result) -> None:
        """Raise IsADirectoryError, LinkError or NotRegularError unless it is a regular file."""
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        if stat.S_ISLNK(info.st_mode):
            raise LinkError(self.path, self.path)
        if not stat.S_ISREG(info.st_mode):
            raise NotRegularError

    def can_access(self, how: int, name: str = "") -> bool:
        """Return `os.access` of the file, or of the directory itself (`.`)."""
        return os.access(name or self.name, how, dir_fd=self.folder)

    def unlink(self, name: str = "") -> None:
        os.unlink(name or self.name, dir_fd=self.folder)

    def rename(self, old: str) -> None:
        """Rename another entry of the same directory to this name."""
        os.rename(old, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def sync_folder(self) -> None:
        """Flush the directory's entries to disk, if the system supports that."""
        with suppress(OSError):  # not readable, or not supported by the file system
            handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.folder)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


@contextmanager
def spot(path: str, *, create: bool = False) -> Iterator[Spot]:
    """Open the directory of a resolved absolute path. With `create`, make missing directories.

    If the body fails, these are removed again. Raise FileNotFoundError or NotADirectoryError if
    there is no such directory, LinkError, or another OSError.
    """
    made: list[str] = []
    try:
        handle = _descend(path, made if create else None)
        try:
            yield Spot(handle, path)
        finally:
            os.close(handle)
    except OSError:
        _remove_empty(made)
        raise


def _descend(path: str, made: list[str] | None) -> int:
    handle, at = os.open(os.sep, _STEP), ""
    for name in filter(None, os.path.dirname(path).split("/")):  # noqa: PTH120
        at = f"{at}/{name}"
        try:
            below = _step(handle, name, at, made)
        finally:
            os.close(handle)
        handle = below
    return handle


def _remove_empty(made: list[str]) -> None:
    """Remove those directories in `made` that are empty, the last one first."""
    with suppress(OSError):
        for folder in reversed(made):
            with spot(folder) as at:
                os.rmdir(at.name, dir_fd=at.folder)


def _step(handle: int, name: str, path: str, made: list[str] | None) -> int:
    """Open the directory `name` in the directory `handle`. `path` is its full path.

    With `made`, create the directory if it is missing, and add the path to `made`.
    """
    try:
        return os.open(name, _STEP, dir_fd=handle)
    except FileNotFoundError:
        if made is None:
            raise
    except OSError as error:
        if _is_link(handle, name):
            raise LinkError(name, path) from error
        raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=handle)
        made.append(path)
    return _step(handle, name, path, None)


def _is_link(handle: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode)
    except OSError:
        return False


def info(path: str) -> os.stat_result | None:
    """Return `lstat` of a resolved path, or None if nothing is there.

    Raise LinkError for a link in its parent directories, or OSError.
    """
    try:
        with spot(path) as at:
            return at.info()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read(path: str, limit: int | None = None) -> bytes | None:
    """Return the bytes of a regular file, or None if nothing is there.

    Raise SizeError, or OSError as `Spot.open` does.
    """
    try:
        with spot(path) as at, at.open() as file:
            size = os.fstat(file.fileno()).st_size
            if limit is None:
                return file.read()
            data = b"" if size > limit else _read_up_to(file, limit + 1)
            if len(data) > limit or size > limit:
                raise SizeError(max(size, len(data)), limit)
            return data
    except (FileNotFoundError, NotADirectoryError):
        return None


def _read_up_to(file: FileIO, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def remove(path: str) -> os.stat_result | None:
    """Delete a regular file and return its `stat`, or None if nothing is there.

    Raise OSError as `Spot.open` does.
    """
    try:
        with spot(path) as at:
            info = at.info()
            if info is not None:
                at.check_regular(info)
                at.unlink()
            return info
    except (FileNotFoundError, NotADirectoryError):
        return None


def rename(old: str, new: str) -> None:
    """Move a regular file to an unused path. Create missing directories. Raise OSError."""
    with spot(old) as source, spot(new, create=True) as target:
        info = source.info()
        if info is None:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        source.check_regular(info)
        if target.info() is not None:
            raise FileExistsError(errno.EEXIST, "the path is already in use")
        os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


def symlink(path: str, target: bytes) -> None:
    """Create a symbolic link, or replace a file or link with it. Raise OSError."""
    with spot(path, create=True) as at:
        status = at.info()
        if status is not None and not stat.S_ISLNK(status.st_mode):
            at.check_regular(status)
        if status is not None:
            at.unlink()
        os.symlink(target, os.fsencode(at.name), dir_fd=at.folder)


def set_rights(path: str, rights: Rights) -> None:
    """Give rights to a regular file. Raise OSError as `Spot.open` does."""
    with spot(path) as at, at.open() as file:
        rights.apply(file.fileno())
