"""Random writes of agents. `tests/torture/writes.py` runs many more."""

from __future__ import annotations

import anyio
import pytest

from tests.support.editor import Editor
from tests.torture import killed, reborn, remembered, unsent, writes_nvim
from tests.torture.writes import run

EACH = 10


@pytest.mark.parametrize("first", range(0, 50, EACH))
def test_random_writes_lose_no_lines(first: int) -> None:
    failed = {seed: why for seed in range(first, first + EACH) if (why := run(seed))}
    assert not failed, "\n".join(f"{seed}\n{why}" for seed, why in failed.items())


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_random_writes_in_a_real_neovim(editor: Editor, seed: int) -> None:
    editor.errors_expected = True
    anyio.run(writes_nvim.history, editor, seed)


@pytest.mark.parametrize("both", [False, True])
def test_pending_edits_survive_random_kills_of_neovim(both: bool) -> None:
    seeds = [*range(10), 700916]  # the last seed is about an agent that only a note names
    failed = {seed: why for seed in seeds if (why := reborn.run(seed, both))}
    assert not failed, "\n".join(f"{seed}\n{why}" for seed, why in failed.items())


@pytest.mark.parametrize("both", [False, True])
def test_transcripts_survive_random_kills_of_the_host(both: bool) -> None:
    failed = {seed: why for seed in range(10) if (why := remembered.run(seed, both))}
    assert not failed, "\n".join(f"{seed}\n{why}" for seed, why in failed.items())


@pytest.mark.parametrize("both", [False, True])
def test_written_state_survives_sigkill_at_random_moments(both: bool) -> None:
    failed = {seed: why for seed in range(2) if (why := killed.run(seed, both, 10))}
    assert not failed, "\n".join(f"{seed}\n{why}" for seed, why in failed.items())


@pytest.mark.timeout(180)  # starts several Neovims and hosts, one after the other
@pytest.mark.parametrize(("seed", "both"), [(5, False), (2, True)])
def test_unsent_prompts_survive_random_kills(seed: int, both: bool) -> None:
    assert not (why := unsent.run(seed, both, 5)), why
