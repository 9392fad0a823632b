"""Random histories of an agent and a user on the same files.

`tests/torture/basic.py` runs many more.
"""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.torture import keys
from tests.torture.basic import history
from tests.torture.drawn_keys import drawn
from tests.torture.mortal import Mortal
from tests.torture.returns import Returning
from tests.torture.saving import Saving
from tests.torture.two import Two
from tests.torture.wide import Wide


@pytest.mark.parametrize("seed", [30, 38, 106])
def test_a_random_history_equals_the_model(editor: Editor, seed: int) -> None:
    editor.errors_expected = True
    history(editor, seed, 40)


@pytest.mark.parametrize("seed", [190005, 190031])
def test_a_random_history_of_files_of_all_kinds(editor: Editor, seed: int) -> None:
    editor.errors_expected = True
    history(editor, seed, 40, Wide)


@pytest.mark.parametrize("seed", [3, 5, 9530008])
def test_a_random_history_with_hosts_that_are_killed(editor: Editor, seed: int) -> None:
    editor.errors_expected = True
    history(editor, seed, 40, Mortal)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [(Saving, 2), (Saving, 16), (Returning, 7), (Returning, 11), (Two, 1), (Two, 831)],
)
def test_a_random_history_of_saves_restores_or_two_agents(
    editor: Editor, kind: type[Wide], seed: int
) -> None:
    editor.errors_expected = True
    history(editor, seed, 40, kind)


def test_random_keys_in_the_windows_of_the_plugin(editor: Editor) -> None:
    keys.history(editor, drawn(411, 8))
