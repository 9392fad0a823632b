"""Undoing decisions on pending edits by `u` and by `:Acp unreject`."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.pending_edits import LINES, two_changed_lines, wait_hunks
from tests.support.waiting import until


@pytest.fixture
def changed(editor: Editor) -> Editor:
    return two_changed_lines(editor)


def test_an_obtain_in_the_review_is_undone(changed: Editor) -> None:
    changed.cmd("Acp review")
    changed.wait("#vim.api.nvim_list_tabpages() == 2")
    changed.keys("do")
    wait_hunks(changed, 1)
    changed.keys("]cdo")
    wait_hunks(changed)
    changed.keys("u")
    wait_hunks(changed, 1)
    changed.keys("u")
    wait_hunks(changed, 2)
    changed.cmd("tabclose")
    changed.cmd("Acp reject all")
    until(lambda: (changed.work / "a.txt").read_text() == LINES)


def test_a_reject_is_undone(changed: Editor) -> None:
    changed.cmd("3")
    changed.cmd("Acp reject")
    wait_hunks(changed, 1)
    changed.keys("u")
    wait_hunks(changed, 2)
    changed.cmd("Acp reject all")
    wait_hunks(changed)
    changed.keys("u")
    wait_hunks(changed, 2)
    changed.keys("<C-r>")
    wait_hunks(changed)


def test_unreject_restores_text_and_disk(changed: Editor) -> None:
    path = changed.work / "a.txt"
    after = path.read_text()
    changed.cmd("Acp reject all")
    wait_hunks(changed)
    until(lambda: path.read_text() == LINES)
    changed.cmd("Acp unreject")
    wait_hunks(changed, 2)
    until(lambda: path.read_text() == after)
