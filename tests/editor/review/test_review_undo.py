"""Undone decisions and remarks that are sent at once, in a real Neovim."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.waiting import until

TEXT = "".join(f"line {n}\n" for n in range(1, 21))
HUNKS = (
    "(function(list) return #list == %d and (list[1] or {}).hunks == %s end)"
    "(require('acp').state().sessions[1].edits)"
)


@pytest.fixture
def changed(editor: Editor) -> Editor:
    """`a.txt` is open, the agent has changed its lines 3 and 10."""
    path = editor.write("a.txt", TEXT)
    editor.agent("script")
    editor.open("a.txt")
    editor.turn(f"replace {path} 'line 3' three\nreplace {path} 'line 10' ten")
    wait_hunks(editor, 2)
    return editor


def wait_hunks(editor: Editor, count: int) -> None:
    editor.wait(HUNKS % ((1, count) if count else (0, "nil")))


def test_an_obtain_in_the_review_is_undone(changed: Editor) -> None:
    changed.cmd("Acp review")
    changed.wait("#vim.api.nvim_list_tabpages() == 2")
    changed.keys("do")
    wait_hunks(changed, 1)
    changed.keys("]cdo")
    wait_hunks(changed, 0)
    changed.keys("u")
    wait_hunks(changed, 1)
    changed.keys("u")
    wait_hunks(changed, 2)
    changed.cmd("tabclose")
    changed.cmd("Acp reject all")
    until(lambda: (changed.work / "a.txt").read_text() == TEXT)


def test_a_reject_is_undone(changed: Editor) -> None:
    changed.cmd("3")
    changed.cmd("Acp reject")
    wait_hunks(changed, 1)
    changed.keys("u")
    wait_hunks(changed, 2)
    changed.cmd("Acp reject all")
    wait_hunks(changed, 0)
    changed.keys("u")
    wait_hunks(changed, 2)
    changed.keys("<C-r>")
    wait_hunks(changed, 0)


def test_a_remark_goes_with_a_prompt_that_is_sent_at_once(changed: Editor) -> None:
    code = "vim.cmd('3') vim.cmd('Acp comment why?') vim.cmd('7') vim.cmd('Acp comment odd') "
    changed.lua(code + "vim.cmd('AcpPrompt say ok')")
    changed.wait_event("AcpTurnEnd", 2)
    [words, *rest] = changed.traffic[0].received("session/prompt")[-1]["params"]["prompt"]
    assert "- a.txt:3: why?\n- a.txt:7: odd" in words["text"]
    assert [block["resource"]["text"] for block in rest] == ["three", "line 7"]
