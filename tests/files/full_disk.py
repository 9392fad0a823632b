"""A full disk: `with room_for(100):` lets a file grow to at most 100 bytes."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let writes of this process beyond ``size`` bytes of a file fail (EFBIG), as on a full disk
    (ENOSPC).

    The bytes that fit are written. Python ignores the signal that comes with the error.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
