"""Replaces the bytes of a file; a failure leaves the old ones.

The new bytes are written to a file beside it that takes its name. Where a new file would lose
something (other names, owner, attributes; a directory that is write-protected), the old bytes are
backed up first and the file is overwritten; they are put back when that fails.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from io import FileIO
from typing import Final

from acp_nvim.files.bytes.nofollow import Rights, Spot, spot

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PRIVATE: Final = 0o600
_COMMON: Final = 0o666
"""The mode of a new file before the umask and the directory's default ACL."""
_UNLINKABLE: Final = {errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""How file systems without hard links refuse one."""
_CAPABILITIES: Final = "security.capability"
"""The kernel takes them from a file that is written to."""


def write(path: str, data: bytes, rights: Rights | None = None) -> None:
    """Make these the bytes of the file at a resolved path; directories above it are made.

    An existing file keeps mode, owner, links and attributes, a new one gets ``rights``.
    PermissionError for a write-protected file, errors of `Spot.open`, OSError.
    """
    with spot(path, create=True) as at:
        info = at.info()
        if info is None:
            _create(at, data, rights)
            return
        at.check_regular(info)
        if not info.st_mode & 0o222 or not at.may(os.W_OK):
            raise PermissionError(errno.EACCES, "the file is write-protected")
        if not _replaced(at, info, data):
            _overwrite(at, info, data)


def replace(path: str, data: bytes, rights: Rights | None = None, *, sync: bool = True) -> None:
    """Put a new file in place of a file or link; without ``rights`` nobody else may read it."""
    with spot(path) as at, _beside(at, _PRIVATE) as (file, name):
        if rights is not None:
            rights.give(file.fileno())
        _fill(file, data, sync=sync)
        at.rename(name)
        if sync:
            at.sync_folder()


def _create(at: Spot, data: bytes, rights: Rights | None) -> None:
    """Make a new file; one that appears meanwhile stays. FileExistsError, OSError."""
    with _beside(at, _COMMON if rights is None else _PRIVATE) as (file, name):
        if rights is not None:
            rights.give(file.fileno())
        _fill(file, data)
        try:
            os.link(
                name, at.name, src_dir_fd=at.folder, dst_dir_fd=at.folder, follow_symlinks=False
            )
        except OSError as error:
            if error.errno not in _UNLINKABLE:
                raise
            if at.info() is not None:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
            at.rename(name)
    at.sync_folder()


def _replaced(at: Spot, info: os.stat_result, data: bytes) -> bool:
    """Whether a new file could take the place of the old one, with all its attributes. OSError."""
    if info.st_nlink > 1 or not at.may(os.W_OK | os.X_OK, "."):
        return False
    with _beside(at, _PRIVATE) as (file, name):
        if not _is_like(file, at, info):
            return False
        _fill(file, data)
        _check_same(at.info(), info)
        at.rename(name)
    at.sync_folder()
    return True


def _is_like(file: FileIO, at: Spot, info: os.stat_result) -> bool:
    """Whether a new file could be given owner, mode and attributes of the old one."""
    rights = Rights.of(info)
    rights.give(file.fileno())
    if Rights.of(os.fstat(file.fileno())) != rights:
        return False
    if not hasattr(os, "listxattr"):
        return True
    try:
        with at.open() as old:
            _copy_attributes(old.fileno(), file.fileno())
    except OSError as error:
        return error.errno == errno.ENOTSUP
    return True


def _copy_attributes(old: int, new: int) -> None:
    """Extended attributes, ACLs among them. OSError."""
    present = set(os.listxattr(new))
    for name in os.listxattr(old):
        value = os.getxattr(old, name)
        if name != _CAPABILITIES and (name not in present or os.getxattr(new, name) != value):
            os.setxattr(new, name, value)


def _check_same(now: os.stat_result | None, then: os.stat_result) -> None:
    if now is None or (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino):
        raise FileExistsError(errno.EEXIST, "the file has been replaced meanwhile")


# ---- the file itself is overwritten


def _overwrite(at: Spot, info: os.stat_result, data: bytes) -> None:
    with at.open(os.O_RDWR) as file, contextlib.ExitStack() as cleanup:
        _check_same(os.fstat(file.fileno()), info)
        old = file.read()
        backup = _backup(at, old, cleanup)
        try:
            _put(file.fileno(), old, data)
        except OSError as error:
            if _put_back(file.fileno(), old, data):
                raise
            cleanup.pop_all()  # the backup stays
            words = f"{error.strerror}; what it held is in {backup}"
            raise OSError(error.errno or errno.EIO, words) from error


def _temporary() -> str:
    from tempfile import gettempdir  # hardly ever needed, and slow to import

    return gettempdir()


def _backup(at: Spot, data: bytes, cleanup: contextlib.ExitStack) -> str:
    """Copy bytes to a file beside this one, or to a temporary file where that is not allowed.
    Returns its path; ``cleanup`` removes it. OSError.
    """
    name = f".{at.name[:40]}.{os.urandom(6).hex()}.acp-old"
    beside = at.may(os.W_OK | os.X_OK, ".")
    folder = os.path.dirname(at.path) if beside else _temporary()  # noqa: PTH120
    path = os.path.join(folder, name)  # noqa: PTH118
    where = at.folder if beside else None
    handle = os.open(name if beside else path, _NEW, _PRIVATE, dir_fd=where)
    cleanup.callback(os.unlink, name if beside else path, dir_fd=where)
    with FileIO(handle, "wb") as file:
        _fill(file, data)
    return path


def _put(handle: int, old: bytes, new: bytes) -> None:
    """Append the longer part first: where there is no room for it, nothing is overwritten."""
    _write_at(handle, new[len(old) :], len(old))
    _write_at(handle, new[: len(old)], 0)
    os.ftruncate(handle, len(new))
    os.fsync(handle)


def _put_back(handle: int, old: bytes, new: bytes) -> bool:
    """Whether the file holds the old bytes again."""
    try:
        _write_at(handle, old[: len(new)], 0)
        os.ftruncate(handle, len(old))
        os.fsync(handle)
    except OSError:
        return False
    return True


# ---- bytes


@contextlib.contextmanager
def _beside(at: Spot, mode: int) -> Iterator[tuple[FileIO, str]]:
    """A new file in the same directory, and its name. It is gone afterwards, if it still has that
    name.
    """
    name = f".{at.name[:50]}.{os.urandom(6).hex()}"
    handle = os.open(name, _NEW, mode, dir_fd=at.folder)
    try:
        with FileIO(handle, "wb") as file:
            yield file, name
    finally:
        with contextlib.suppress(FileNotFoundError):
            at.unlink(name)


def _fill(file: FileIO, data: bytes, *, sync: bool = True) -> None:
    _write_at(file.fileno(), data, 0)
    if sync:
        os.fsync(file.fileno())


def _write_at(handle: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        count = os.pwrite(handle, view, offset)
        view, offset = view[count:], offset + count
