"""Inline marks, review and follow mode with the real host and a scripted agent."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import Start

BODY = "".join(f"def f{n}(alpha):\n    return alpha + {n}\n\n" for n in range(20))
EDITS = "require('acp').state().sessions[1].edits or {}"


@pytest.fixture
def worked(edit: Start) -> Editor:
    """Return an editor in which an agent has changed a.py in two places and b.py in one, and made
    new.txt.
    """
    editor = edit(screen=(120, 34))
    editor.setup({"chat": {"open": False}})
    for name in ("a.py", "b.py"):
        editor.write(name, BODY)
    editor.agent("script")
    editor.open("a.py")
    work = editor.work
    lines = [
        f"replace {work}/a.py f3(alpha f3(gamma",
        f"replace {work}/a.py f9(alpha f9(gamma",
        f"replace {work}/b.py f1(alpha f1(gamma",
        f"write {work}/new.txt hello",
    ]
    editor.turn("\n".join(lines))
    editor.wait(f"#({EDITS}) == 3")
    return editor


def count(editor: Editor, files: int) -> None:
    editor.wait(f"#({EDITS}) == {files}")


def test_one_hunk_is_accepted_one_rejected_and_the_next_file_shown(worked: Editor) -> None:
    worked.wait_screen("┃ def f3(gamma):")
    worked.wait_screen("  def f3(alpha):")
    worked.keys("]h\\a")
    worked.wait(f"({EDITS})[1].hunks == 1")
    worked.wait("vim.fn.line('.') == 28")
    worked.keys("\\r")
    worked.wait("vim.fn.expand('%:t') == 'b.py' and vim.fn.line('.') == 4")
    text = (worked.work / "a.py").read_text()
    assert text == BODY.replace("f3(alpha", "f3(gamma")
    assert worked.lua("return vim.fn.maparg(']h', 'n', false, true).buffer") == 1
    worked.cmd("buffer a.py")
    assert worked.lua("return vim.fn.maparg(']h', 'n')") == ""
    worked.cmd("Acp unreject")
    worked.wait_screen("┃ def f9(gamma):")


def test_an_unrejected_last_hunk_is_not_drawn_between_the_sides(worked: Editor) -> None:
    worked.keys(":Acp accept file<CR>")
    worked.wait("vim.fn.expand('%:t') == 'b.py'")
    worked.keys(":Acp review b.py<CR>")
    worked.wait_screen("b.py · +1 -1")
    worked.keys("\\r")
    count(worked, 1)
    worked.keys(":Acp unreject<CR>")
    count(worked, 2)
    worked.wait_screen("M b.py  +1 -1")
    worked.keys("[f")
    worked.wait_screen("b.py · +1 -1")
    assert sum("def f1(alpha):" in row for row in worked.screen()) == 1
    worked.keys("\\q")
    worked.cmd("edit b.py")
    worked.wait_screen("┃ def f1(gamma):")
    assert sum("def f1(alpha):" in row for row in worked.screen()) == 1


def test_a_review_works_from_opening_to_end(worked: Editor) -> None:
    worked.cmd("Acp review")
    worked.wait("#vim.api.nvim_list_tabpages() == 2")
    worked.wait_screen("1/3 a.py · +2 -2")
    worked.keys("do")
    worked.wait(f"({EDITS})[1].hunks == 1")
    worked.keys("]cdp")
    count(worked, 2)
    assert (worked.work / "a.py").read_text() == BODY.replace("f9(alpha", "f9(gamma")
    worked.keys("]f\\A")
    count(worked, 1)
    worked.wait("vim.fn.expand('%:t') == 'new.txt'")
    worked.keys("\\R")
    count(worked, 0)
    assert not (worked.work / "new.txt").exists()
    worked.wait_message("left to review, \\q closes it")
    worked.wait_screen("next file · \\q closes")  # the message may be followed by another
    worked.keys("\\q")
    worked.wait("#vim.api.nvim_list_tabpages() == 1")
    assert (worked.work / "b.py").read_text() == BODY.replace("f1(alpha", "f1(gamma")


def test_the_agent_may_edit_while_the_review_is_open(worked: Editor) -> None:
    worked.cmd("Acp review")
    worked.wait("#vim.api.nvim_list_tabpages() == 2")
    worked.turn(f"replace {worked.work}/a.py f5(alpha f5(delta\nwrite {worked.work}/more.txt x")
    worked.wait_screen("1/4 a.py · +3 -3")
    worked.wait_screen("def f5(delta):")
    worked.wait_screen("more.txt")
    left = [row.partition("│")[0] for row in worked.screen()]
    assert any("def f5(alpha)" in row for row in left)
    worked.keys("]c]cdp")
    worked.wait(f"({EDITS})[1].hunks == 2")
    base = worked.lines(f"acp://base/1//{(worked.work / 'a.py').resolve()}")
    assert [line for line in base if "gamma" in line or "delta" in line] == ["def f9(gamma):"]


def test_the_quickfix_list_has_every_hunk(worked: Editor) -> None:
    worked.cmd("Acp edits")
    worked.wait("#vim.fn.getqflist() == 4")
    assert worked.lua("return vim.bo.buftype") == ""
    worked.cmd("cnext")
    assert worked.lua("return vim.fn.line('.')") == 28


def test_the_follow_window_shows_the_agents_place(worked: Editor) -> None:
    worked.cmd("Acp follow")
    worked.cmd("new")
    worked.prompt(f"replace {worked.work}/b.py f7(alpha f7(beta")
    code = "vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(select(2,"
    worked.wait(f"{code} require('acp.features.follow.window').status())))) == 'b.py'")
    assert worked.lua("return vim.api.nvim_buf_get_name(0)") == ""
