"""Several cases of one test, which follow each other in one editor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def case(*values: object) -> Iterator[None]:
    """Name the case in an exception that leaves the block."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the case {values}")
        raise
