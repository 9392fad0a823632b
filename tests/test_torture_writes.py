"""Random writes of agents; `tests/torture_writes.py` runs many more."""

from __future__ import annotations

import pytest

from tests.torture_writes import run

EACH = 10


@pytest.mark.parametrize("first", range(0, 200, EACH))
def test_random_writes_stand_and_lose_nothing(first: int) -> None:
    failed = {seed: why for seed in range(first, first + EACH) if (why := run(seed))}
    assert not failed, "\n".join(f"{seed}\n{why}" for seed, why in failed.items())
