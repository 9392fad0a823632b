"""Collection of reference cycles by the host."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from acp_nvim.nvim import memory


class Knot:
    """Object that refers to itself."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def by_hand() -> Iterator[None]:
    """Turn off Python's automatic collection."""
    thresholds = gc.get_threshold()
    gc.set_threshold(10_000_000, 10, 10)
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def collect(count: int) -> None:
    """Run the collection this many times, each time with enough new objects."""
    for _ in range(count):
        objects = [[n] for n in range(2 * memory.MIN_NEW_OBJECTS)]
        memory.collect_garbage()
        del objects


def test_a_cycle_is_collected_in_a_small_heap_and_in_a_large_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    knot = weakref.ref(Knot())
    collect(1)
    assert knot() is None
    monkeypatch.setattr(memory, "MAX_VISITED", 10)
    knot = weakref.ref(Knot())
    collect(300)
    assert knot() is None
    assert gc.get_freeze_count() > 10


def test_frozen_objects_are_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    alive = Knot()
    known = weakref.ref(alive)
    monkeypatch.setattr(memory, "MAX_VISITED", 10)
    collect(300)
    del alive
    collect(300)
    assert known() is not None
    monkeypatch.setattr(memory, "MAX_VISITED", 10_000_000)
    memory.unfreeze_objects()
    collect(300)
    assert known() is None
