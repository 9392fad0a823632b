"""Atomic writes: a write that fails leaves the file with its old bytes.

The new bytes go to a temporary file in the same directory, which is then renamed. If a rename would
lose something (hard links, owner, extended attributes) or the directory is write-protected, the
file is overwritten instead. Its old bytes are backed up first, and restored if the write fails.
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
"""Mode of a new file, before the umask and the default ACL of its directory."""
_UNLINKABLE: Final = {errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""Errors of `link` on file systems without hard links."""
_CAPABILITIES: Final = "security.capability"
"""Attribute that the kernel removes when a file is written to."""


def write(path: str, data: bytes, rights: Rights | None = None) -> None:
    """Write the bytes to a file, given by its resolved path. Create missing parent directories.

    An existing file keeps its mode, owner, links and attributes. A new one gets `rights`. Raise
    PermissionError if the file is write-protected, otherwise OSError as `Spot.open` does.
    """
    with spot(path, create=True) as at:
        info = at.info()
        if info is None:
            _create(at, data, rights)
            return
        at.check_regular(info)
        if not info.st_mode & 0o222 or not at.can_access(os.W_OK):
            raise PermissionError(errno.EACCES, "the file is write-protected")
        if not _try_replace(at, info, data):
            _overwrite(at, info, data)


def replace(path: str, data: bytes, rights: Rights | None = None, *, sync: bool = True) -> None:
    """Replace a file or link with a new file. Without `rights` only the owner may read it."""
    with spot(path) as at, _new_file_beside(at, _PRIVATE) as (file, name):
        if rights is not None:
            rights.apply(file.fileno())
        _fill(file, data, sync=sync)
        at.rename(name)
        if sync:
            at.sync_folder()


def _create(at: Spot, data: bytes, rights: Rights | None) -> None:
    """Create the file. Raise FileExistsError if another process creates it first, or OSError."""
    with _new_file_beside(at, _COMMON if rights is None else _PRIVATE) as (file, name):
        if rights is not None:
            rights.apply(file.fileno())
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


def _try_replace(at: Spot, info: os.stat_result, data: bytes) -> bool:
    """Replace the file with a new one. Return False, without a change, if that would lose data."""
    if info.st_nlink > 1 or not at.can_access(os.W_OK | os.X_OK, "."):
        return False
    with _new_file_beside(at, _PRIVATE) as (file, name):
        if not _copy_metadata(file, at, info):
            return False
        _fill(file, data)
        _check_same(at.info(), info)
        at.rename(name)
    at.sync_folder()
    return True


def _copy_metadata(file: FileIO, at: Spot, info: os.stat_result) -> bool:
    """Copy owner, mode and attributes to the new file. Return whether all were copied."""
    rights = Rights.of(info)
    rights.apply(file.fileno())
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
    """Copy the extended attributes, including ACLs."""
    present = set(os.listxattr(new))
    for name in os.listxattr(old):
        value = os.getxattr(old, name)
        if name != _CAPABILITIES and (name not in present or os.getxattr(new, name) != value):
            os.setxattr(new, name, value)


def _check_same(now: os.stat_result | None, then: os.stat_result) -> None:
    if now is None or (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino):
        raise FileExistsError(errno.EEXIST, "the file has since been replaced")


# -- overwriting in place -------------------------------------------------------------------------


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
            cleanup.pop_all()  # keeps the backup
            words = f"{error.strerror}; its old content is in {backup}"
            raise OSError(error.errno or errno.EIO, words) from error


def _temporary() -> str:
    from tempfile import gettempdir  # rarely needed, and slow to import

    return gettempdir()


def _backup(at: Spot, data: bytes, cleanup: contextlib.ExitStack) -> str:
    """Copy `data` to a file beside the original, or in a temporary directory if necessary.

    Return the path of the copy. `cleanup` removes the copy.
    """
    name = f".{at.name[:40]}.{os.urandom(6).hex()}.acp-old"
    beside = at.can_access(os.W_OK | os.X_OK, ".")
    folder = os.path.dirname(at.path) if beside else _temporary()  # noqa: PTH120
    path = os.path.join(folder, name)  # noqa: PTH118
    where = at.folder if beside else None
    handle = os.open(name if beside else path, _NEW, _PRIVATE, dir_fd=where)
    cleanup.callback(os.unlink, name if beside else path, dir_fd=where)
    with FileIO(handle, "wb") as file:
        _fill(file, data)
    return path


def _put(handle: int, old: bytes, new: bytes) -> None:
    """Overwrite a file. Append first, so a full disk is noticed before a byte is overwritten."""
    _write_at(handle, new[len(old) :], len(old))
    _write_at(handle, new[: len(old)], 0)
    os.ftruncate(handle, len(new))
    os.fsync(handle)


def _put_back(handle: int, old: bytes, new: bytes) -> bool:
    """Restore the old bytes. Return whether that worked."""
    try:
        _write_at(handle, old[: len(new)], 0)
        os.ftruncate(handle, len(old))
        os.fsync(handle)
    except OSError:
        return False
    return True


# -- helpers --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _new_file_beside(at: Spot, mode: int) -> Iterator[tuple[FileIO, str]]:
    """Yield a new file in the directory of `at`, and the name of the new file.

    Unlink the new file unless it was renamed.
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
