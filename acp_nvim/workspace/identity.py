"""Tells a directory from others wherever it is moved to: by its inode, and when that was made."""

from __future__ import annotations

import os
import struct
import sys
from typing import Final

import msgspec

_AT_FDCWD: Final = -100
_BORN: Final = 0x800
"""STATX_BTIME: when the inode was made."""
_SIZE: Final = 256
"""Bytes of a `struct statx`; the time stands at..."""
_TIME: Final = 80
SECOND_NS: Final = 1_000_000_000


class Identity(msgspec.Struct, frozen=True, array_like=True):
    """A directory, as its file system knows it."""

    inode: int
    device: int
    """Another one perhaps after the machine was started again."""
    born: int
    """When the inode was made, in nanoseconds since 1970; 0: not known. An inode's number is used
    again.
    """

    def is_same(self, other: Identity | None) -> bool:
        """Whether both are one directory."""
        if other is None or self.inode != other.inode:
            return False
        if self.born and other.born:
            return self.born == other.born
        return self.device == other.device


def identity_of(path: str) -> Identity | None:
    """The identity of a directory; None where there is none, or it has no number."""
    try:
        info = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    if not info.st_ino:
        return None
    return Identity(info.st_ino, info.st_dev, _born(path, info))


def _born(path: str, info: os.stat_result) -> int:
    """Python knows the time only on some systems; on Linux one has to ask the C library."""
    if sys.platform != "linux":
        return int(getattr(info, "st_birthtime", 0) * SECOND_NS)
    import ctypes

    statx = getattr(ctypes.CDLL(None), "statx", None)
    found = ctypes.create_string_buffer(_SIZE)
    if statx is None or statx(_AT_FDCWD, os.fsencode(path), 0, _BORN, found) != 0:
        return 0
    if not struct.unpack_from("I", found)[0] & _BORN:
        return 0
    seconds, more = struct.unpack_from("qI", found, _TIME)
    return int(seconds * SECOND_NS + more)
