"""Files by their resolved paths, reached without following a link.

A path is resolved when it is decided what may be done with it (`paths.place`), so no part of it is
a symbolic link. An agent can swap a part for a link between that decision and the act. Therefore
each act walks down from the root, one directory at a time, and refuses a link where it meets one;
the act itself is relative to the directory that it holds open. A pipe is never waited for.

A directory that is swapped for another directory is not noticed: whoever can put a foreign
directory into the place (by a mount, or by moving it there) can write to it anyway.
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
"""With O_PATH a directory need not be readable to be walked through, as for the kernel."""
_FILE: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class LinkError(OSError):
    """A part of a resolved path is a symbolic link now."""

    def __init__(self, link: str, path: str) -> None:
        what = "it" if link == path else f"the directory {os.path.basename(link)}"  # noqa: PTH119
        super().__init__(errno.ELOOP, f"{what} has become a symbolic link")
        self.above = link != path
        """A directory above the file is the link."""


class NotRegularError(OSError):
    """There is a pipe, a socket or a device."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "is not a regular file")


class SizeError(OSError):
    """The file has more bytes than are wanted."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(errno.EFBIG, f"{size} bytes, the limit is {limit}")


class Rights(msgspec.Struct, frozen=True):
    """Permission bits, owner and group of a file."""

    mode: int
    uid: int
    gid: int

    @classmethod
    def of(cls, info: os.stat_result) -> Rights:
        return cls(stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid)

    def give(self, handle: int) -> None:
        """Give them to an open file; another owner only where we may. OSError."""
        info = os.fstat(handle)
        if (info.st_uid, info.st_gid) != (self.uid, self.gid):
            with suppress(PermissionError):
                os.fchown(handle, self.uid, self.gid)
        if stat.S_IMODE(info.st_mode) != self.mode:
            os.fchmod(handle, self.mode)


class Spot:
    """A name in a directory that is held open. Links are never followed."""

    def __init__(self, folder: int, path: str) -> None:
        self.folder = folder
        self.path = path
        self.name = os.path.basename(path)  # noqa: PTH119

    def info(self, name: str = "") -> os.stat_result | None:
        """`lstat` of the name; None where nothing is."""
        try:
            return os.stat(name or self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, how: int = os.O_RDONLY) -> FileIO:
        """The regular file, unbuffered. FileNotFoundError, IsADirectoryError, LinkError,
        NotRegularError, OSError.
        """
        info = self.info()
        if info is not None:  # to open a device may do something
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
        """IsADirectoryError, LinkError or NotRegularError unless it is a regular file."""
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        if stat.S_ISLNK(info.st_mode):
            raise LinkError(self.path, self.path)
        if not stat.S_ISREG(info.st_mode):
            raise NotRegularError

    def may(self, how: int, name: str = "") -> bool:
        """`os.access` of the file, or of `.`, the directory itself."""
        return os.access(name or self.name, how, dir_fd=self.folder)

    def unlink(self, name: str = "") -> None:
        """Remove the name; of a link, not its target. OSError."""
        os.unlink(name or self.name, dir_fd=self.folder)

    def rename(self, old: str) -> None:
        """Rename another entry of the same directory to this name. OSError."""
        os.rename(old, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def sync_folder(self) -> None:
        """Have the directory's entries outlive a crash, where the system can do that."""
        with suppress(OSError):  # not readable, or no file system that knows of this
            handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.folder)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


@contextmanager
def spot(path: str, *, create: bool = False) -> Iterator[Spot]:
    """The place of a resolved absolute path; with ``create`` missing directories above are made.

    LinkError; FileNotFoundError and NotADirectoryError where its directory is none; OSError.
    """
    handle = _descend(path, create=create)
    try:
        yield Spot(handle, path)
    finally:
        os.close(handle)


def _descend(path: str, *, create: bool) -> int:
    handle = os.open(os.sep, _STEP)
    for name in filter(None, os.path.dirname(path).split("/")):  # noqa: PTH120
        try:
            below = _step(handle, name, path, create=create)
        finally:
            os.close(handle)
        handle = below
    return handle


def _step(handle: int, name: str, path: str, *, create: bool) -> int:
    """Open a directory on the way to a path."""
    try:
        return os.open(name, _STEP, dir_fd=handle)
    except FileNotFoundError:
        if not create:
            raise
    except OSError as error:
        if _is_link(handle, name):
            raise LinkError(name, path) from error
        raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=handle)
    return _step(handle, name, path, create=False)


def _is_link(handle: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode)
    except OSError:
        return False


def info(path: str) -> os.stat_result | None:
    """`lstat` of a resolved path; None where nothing is. LinkError for a link above it; OSError."""
    try:
        with spot(path) as at:
            return at.info()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read(path: str, limit: int | None = None) -> bytes | None:
    """The bytes of a regular file, None where nothing is. SizeError, and OSError as `Spot.open`."""
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


def _read_up_to(file: FileIO, most: int) -> bytes:
    parts: list[bytes] = []
    while most > 0 and (part := file.read(most)):
        parts.append(part)
        most -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def remove(path: str) -> os.stat_result | None:
    """Delete a regular file; returns its `stat`, None where nothing is. OSError as `Spot.open`."""
    try:
        with spot(path) as at:
            found = at.info()
            if found is not None:
                at.check_regular(found)
                at.unlink()
            return found
    except (FileNotFoundError, NotADirectoryError):
        return None


def rename(old: str, new: str) -> None:
    """Move a regular file to a path where nothing is; directories above are made. OSError."""
    with spot(old) as source, spot(new, create=True) as target:
        info = source.info()
        if info is None:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        source.check_regular(info)
        if target.info() is not None:
            raise FileExistsError(errno.EEXIST, "there is something already")
        os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


def symlink(path: str, target: bytes) -> None:
    """Make a link there, in place of a file or a link. OSError."""
    with spot(path, create=True) as at:
        found = at.info()
        if found is not None and not stat.S_ISLNK(found.st_mode):
            at.check_regular(found)
        if found is not None:
            at.unlink()
        os.symlink(target, os.fsencode(at.name), dir_fd=at.folder)


def give(path: str, rights: Rights) -> None:
    """Give rights to a regular file. OSError as `Spot.open`."""
    with spot(path) as at, at.open() as file:
        rights.give(file.fileno())
