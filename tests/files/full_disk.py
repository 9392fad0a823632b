"""A disk that is full: `with room_for(100):` lets a file grow to 100 bytes and no further."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Writes of this process beyond ``size`` bytes of a file fail (EFBIG), as on a full disk
    (ENOSPC): what fits before them is written. Python ignores the signal that comes with it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
