"""Undoing decisions on pending edits by `u` and by `:Acp unreject`."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.pending_edits import LINES, lines, two_changed_lines, wait_hunks
from tests.support.stepwise_agent import StepwiseAgent
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


def go_to(editor: Editor, change: int, *hunks: int) -> None:
    """Go to a change in the undo tree, and wait until so many hunks are pending."""
    editor.cmd(f"undo {change}")
    wait_hunks(editor, *hunks)


def reject_all_to(editor: Editor, text: str) -> None:
    """Reject everything, and wait until the file has this text."""
    editor.cmd("Acp reject all")
    wait_hunks(editor)
    until(lambda: (editor.work / "a.txt").read_text() == text)


def test_writes_of_two_branches_are_pending_again(changed: Editor) -> None:
    go_to(changed, 0)
    changed.cmd("silent write")
    changed.turn(f"replace {changed.work / 'a.txt'} 'line 15' fifteen")
    wait_hunks(changed, 1)
    go_to(changed, 2, 2)
    changed.cmd("silent write")
    go_to(changed, 3, 1)
    changed.cmd("silent write")
    reject_all_to(changed, LINES)


def test_nothing_is_pending_before_the_first_write(changed: Editor) -> None:
    """A later write has replaced lines that the user accepted."""
    path = changed.work / "a.txt"
    changed.cmd("3")
    changed.cmd("Acp accept")
    wait_hunks(changed, 1)
    changed.turn(f"replace {path} three 3")
    wait_hunks(changed, 2)
    go_to(changed, 0)
    go_to(changed, 3, 2)
    reject_all_to(changed, lines(l3="three"))


def test_a_write_is_pending_again_after_a_redo_from_the_undo_file(editor: Editor) -> None:
    """A later write has replaced lines that the user accepted."""
    editor.cmd(f"set undofile undodir={editor.home}")
    changed = two_changed_lines(editor)
    changed.cmd("3")
    changed.cmd("Acp accept")
    wait_hunks(changed, 1)
    changed.turn(f"replace {changed.work / 'a.txt'} three 3")
    wait_hunks(changed, 2)
    go_to(changed, 0)
    changed.cmd("silent write")
    changed.cmd("enew")
    changed.cmd("bwipeout a.txt")
    changed.open("a.txt")
    changed.turn(f"read {changed.work / 'a.txt'}")
    go_to(changed, 3, 2)
    changed.cmd("silent write")
    reject_all_to(changed, lines(l3="three"))


def test_an_accepted_hunk_is_undone_and_redone(changed: Editor) -> None:
    """The other hunks of the file remain the agent's."""
    changed.turn(f"replace {changed.work / 'a.txt'} 'line 15' fifteen")
    wait_hunks(changed, 3)
    changed.cmd("3")
    changed.cmd("Acp accept")
    wait_hunks(changed, 2)
    go_to(changed, 0)
    go_to(changed, 2, 1)
    go_to(changed, 3, 2)
    reject_all_to(changed, lines(l3="three"))


def test_a_reload_is_undone_during_a_turn(editor: Editor) -> None:
    path = editor.write("a.txt", LINES)
    editor.agent("script")
    editor.open("a.txt")
    editor.lua("vim.api.nvim_buf_set_lines(0, 14, 15, true, { 'mine' })")
    agent = StepwiseAgent(editor)
    agent.begin()
    agent.ask("read", str(path))
    editor.cmd("edit!")
    editor.lua("vim.api.nvim_buf_set_lines(0, 17, 18, true, { 'mine too' })")
    agent.ask("replace", str(path), "line 3\n", "three\n")
    wait_hunks(editor, 1)
    newest = editor.lua("return vim.fn.changenr()")  # Neovim may join the reload and the line
    go_to(editor, 1)
    go_to(editor, newest, 1)
    agent.end()


def test_an_undo_and_a_typed_line_at_once(changed: Editor) -> None:
    """Neovim reports both together."""
    type_line = "vim.api.nvim_buf_set_lines(0, 17, 18, true, { 'mine' })"
    go_to(changed, 0)
    changed.lua(f"vim.cmd('undo 1') {type_line}")
    wait_hunks(changed, 1)
    changed.lua(f"vim.cmd('undo 2 | undo 1 | redo') {type_line}")
    wait_hunks(changed, 2)
    changed.lua(f"vim.cmd('undo 0 | redo') {type_line}")
    wait_hunks(changed, 1)
    changed.cmd("silent write")
    reject_all_to(changed, lines(l18="mine"))


def test_an_undone_reload_and_a_typed_line_at_once(changed: Editor) -> None:
    changed.cmd("Acp reject all")
    wait_hunks(changed)
    until(lambda: (changed.work / "a.txt").read_text() == LINES)
    (changed.work / "a.txt").write_text(lines(l20="elsewhere"))
    changed.cmd("checktime")
    changed.wait("vim.fn.getline(20) == 'elsewhere'")
    changed.lua("vim.cmd('undo 2') vim.api.nvim_buf_set_lines(0, 17, 18, true, { 'mine' })")
    wait_hunks(changed, 2)


def test_lines_typed_in_two_changes_at_once_are_the_users(changed: Editor) -> None:
    """The first of them belongs to a change that was reported before."""
    changed.cmd("3")
    changed.cmd("Acp reject")
    wait_hunks(changed, 1)
    for n in (18, 19):
        changed.lua(f"vim.api.nvim_buf_set_lines(0, {n - 1}, {n}, true, {{ 'mine' }})")
    changed.lua("vim.api.nvim_buf_set_lines(0, 19, 20, true, { 'mine' }) vim.cmd('norm! 3GCthree')")
    changed.cmd("silent write")
    reject_all_to(changed, lines(l3="three", l18="mine", l19="mine", l20="mine"))


def test_a_line_typed_as_it_was_once_accepted_settles_nothing(changed: Editor) -> None:
    """Only an undo or a redo returns to an earlier text."""
    path = changed.work / "a.txt"
    changed.cmd("3")
    changed.cmd("Acp accept")
    wait_hunks(changed, 1)
    changed.lua("vim.api.nvim_buf_set_lines(0, 2, 3, true, { 'line 3' })")
    changed.turn(f"replace {path} 'line 3' three\nreplace {path} 'line 15' fifteen")
    wait_hunks(changed, 3)
    changed.lua("vim.api.nvim_buf_set_lines(0, 14, 15, true, { 'line 15' })")
    wait_hunks(changed, 2)
