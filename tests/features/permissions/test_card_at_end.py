"""A question at the end of a chat that follows."""

from __future__ import annotations

from tests.support.editor import Editor

HEAD = """
local head = vim.fn.search('^[^p ].*[Ee]dit', 'bnw')
return { vim.fn.getline(head), vim.fn.foldclosed(head) == head }
"""


def test_keys_answer_from_the_last_row_and_the_question_then_folds(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("a.txt", "old\n")
    editor.prompt(f"propose none {path} old new")
    editor.wait_event("AcpPermission")
    editor.cmd("wincmd l")
    editor.wait("vim.fn.line('.') == vim.fn.line('$') and vim.fn.search('  1. ', 'nw') > 0")
    assert editor.lua("return vim.api.nvim_get_current_line()") == ""
    assert editor.lua(HEAD) == ["○ Scripted wants to edit a.txt (+1 -1)", False]
    editor.press("y")
    editor.wait_event("AcpTurnEnd")
    editor.wait(f"(function() {HEAD} end)()[2]")
    assert editor.lua(HEAD)[0] == "✓ Edited a.txt +1 -1"
