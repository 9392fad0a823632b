"""Random writes of agents; `tests/torture/writes.py` runs many more."""

from __future__ import annotations

import anyio
import pytest

from tests.support.editor import Editor
from tests.torture import reborn, remembered, writes_nvim
from tests.torture.writes import run

EACH = 10


@pytest.mark.parametrize("first", range(0, 200, EACH))
def test_random_writes_stand_and_lose_nothing(first: int) -> None:
    failed = {seed: why for seed in range(first, first + EACH) if (why := run(seed))}
    assert not failed, "\n".join(f"{seed}\n{why}" for seed, why in failed.items())


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_random_writes_in_a_real_neovim(editor: Editor, seed: int) -> None:
    editor.errors_expected = True
    anyio.run(writes_nvim.history, editor, seed)


@pytest.mark.parametrize("both", [False, True])
def test_random_deaths_of_neovim_lose_nothing(both: bool) -> None:
    failed = {seed: why for seed in range(10) if (why := reborn.run(seed, both))}
    assert not failed, "\n".join(f"{seed}\n{why}" for seed, why in failed.items())


@pytest.mark.parametrize("both", [False, True])
def test_random_deaths_of_the_host_lose_nothing_of_what_was_said(both: bool) -> None:
    failed = {seed: why for seed in range(10) if (why := remembered.run(seed, both))}
    assert not failed, "\n".join(f"{seed}\n{why}" for seed, why in failed.items())
