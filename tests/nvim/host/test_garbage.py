"""Collection of reference cycles by the host.

Each check runs in a process of its own: the one of the tests has a million objects.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from unittest.mock import patch

import pytest

from acp_nvim import memory

NEW_OBJECTS = 100


class Knot:
    """Object that refers to itself."""

    def __init__(self) -> None:
        self.self = self


def collect(count: int) -> None:
    """Run the collection this many times, each time with enough new objects."""
    for _ in range(count):
        objects = [[n] for n in range(2 * NEW_OBJECTS)]
        memory.collect_garbage()
        del objects


def begin() -> None:
    """Turn off Python's automatic collection, and let few new objects count as enough."""
    gc.set_threshold(10_000_000, 10, 10)
    patch.object(memory, "MIN_NEW_OBJECTS", NEW_OBJECTS).start()


def check_that_cycles_are_collected() -> None:
    begin()
    knot = weakref.ref(Knot())
    collect(1)
    assert knot() is None, "in a small heap"
    with patch.object(memory, "MAX_VISITED", 10):
        knot = weakref.ref(Knot())
        collect(300)
        assert knot() is None, "in a large heap"
        assert gc.get_freeze_count() > 10


def check_that_frozen_objects_are_checked_again() -> None:
    begin()
    alive = Knot()
    known = weakref.ref(alive)
    with patch.object(memory, "MAX_VISITED", 10):
        collect(300)
        del alive
        collect(300)
        assert known() is not None
    memory.unfreeze_objects()
    collect(300)
    assert known() is None


@pytest.mark.parametrize(
    "check", [check_that_cycles_are_collected, check_that_frozen_objects_are_checked_again]
)
def test_garbage(check: Callable[[], None]) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(check).result()
