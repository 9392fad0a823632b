"""How the host looks for reference cycles."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from acp_nvim.nvim import garbage


class Knot:
    """Refers to itself."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def by_hand() -> Iterator[None]:
    """Python looks for no garbage of its own accord."""
    thresholds = gc.get_threshold()
    gc.set_threshold(10_000_000, 10, 10)
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def looks(count: int) -> None:
    """So many looks, each with enough new objects."""
    for _ in range(count):
        kept = [[n] for n in range(2 * garbage.YOUNG)]
        garbage.look()
        del kept


def test_a_cycle_goes_in_a_small_heap_and_in_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    knot = weakref.ref(Knot())
    looks(1)
    assert knot() is None
    monkeypatch.setattr(garbage, "MANY", 10)
    knot = weakref.ref(Knot())
    looks(300)
    assert knot() is None
    assert gc.get_freeze_count() > 10


def test_what_was_put_aside_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    alive = Knot()
    known = weakref.ref(alive)
    monkeypatch.setattr(garbage, "MANY", 10)
    looks(300)
    del alive
    looks(300)
    assert known() is not None
    monkeypatch.setattr(garbage, "MANY", 10_000_000)
    garbage.look_again()
    looks(300)
    assert known() is None
