"""Orders of floats, tab pages and menus in which Neovim itself crashes, avoided by the plugin."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.editor import ROOT, Editor
from tests.support.front_without_host import HOST, Start, session
from tests.support.processes import MARK, outlasting
from tests.support.terminal import Terminal

SESSION = "require('acp').state().sessions[1]"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """Return `make try` in a terminal, driven by keys."""
    socket = tmp_path / "nvim.sock"
    mark = uuid.uuid4().hex
    home = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", MARK: mark, **home}
    argv = [str(ROOT / ".ci/try"), "--listen", str(socket)]
    found = Terminal(argv, cwd=ROOT, env=env, socket=socket)
    yield found
    found.close()
    assert outlasting(mark, 10) == []


def wait_question(terminal: Terminal) -> None:
    """Wait until the tutor has asked for a permission in a float, with the chat hidden."""
    terminal.wait(":AcpPrompt hello")
    terminal.keys(":AcpPrompt /edit\r")
    terminal.wait_lua(f"#{SESSION}.permissions", "1")
    terminal.keys(":Acp chat\r")
    terminal.wait_gone("acp://chat")
    terminal.wait("╭ Tutor wants to edit")  # the float appears if no chat shows the question
    terminal.keys("\x17w")
    terminal.wait_lua("vim.bo.filetype", "acppermission")


def test_a_proposal_opens_from_the_float_after_its_help_was_shown(
    terminal: Terminal,
) -> None:
    wait_question(terminal)
    terminal.keys("g?")
    terminal.wait("this list")
    terminal.keys("q")
    terminal.wait_gone("this list")
    terminal.wait_lua("vim.bo.filetype", "acppermission")
    terminal.keys("d")
    terminal.wait_lua("#vim.api.nvim_list_tabpages()", "2")
    terminal.keys(":Acp allow\r")
    terminal.wait_lua("#vim.api.nvim_list_tabpages()", "1")
    terminal.wait_lua(f"{SESSION}.status", "idle")
    terminal.keys(":Acp accept all\r")  # otherwise `make try` offers to continue it
    terminal.wait_lua(f"#({SESSION}.edits or {{}})", "0")
    terminal.keys(":qa!\r")
    assert terminal.wait_end() == 0


# -- other ways to the same state


def in_float(editor: Editor, line: str) -> None:
    """Ask a question, enter its float, and open and close another float there."""
    editor.agent("script")
    editor.prompt(line)
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.cmd("Acp chat")
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    editor.see_question()
    editor.lua(
        "local place = { relative = 'editor', row = 1, col = 1, width = 9, height = 2 }"
        " local win = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true, place)"
        " vim.api.nvim_win_close(win, true)"
    )
    assert editor.lua("return vim.bo.filetype") == "acppermission"
    # This makes Neovim crash: the float is also the previous window.
    assert editor.lua("return vim.fn.winnr('#') == vim.fn.winnr()")


def assert_alive(editor: Editor, tabs: int) -> None:
    editor.wait(f"#vim.api.nvim_list_tabpages() == {tabs}")
    editor.keys("<C-w>p")
    editor.cmd("wincmd w | redraw!")
    editor.cmd("wincmd p | redraw!")


@pytest.mark.parametrize(
    "command", ["tabnew", "noautocmd tabnew", "tab split", "tab checkhealth acp"]
)
def test_the_user_leaves_the_float_for_a_new_tab_page(editor: Editor, command: str) -> None:
    in_float(editor, "permission p1")
    editor.cmd(command)
    editor.cmd("Acp deny")
    editor.wait_event("AcpTurnEnd")
    editor.cmd("tabclose")
    assert_alive(editor, 1)


def test_the_review_is_opened_from_the_float(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("a.txt", "one\ntwo\n")
    editor.turn(f"replace {path} one uno")
    in_float(editor, "permission p1")
    editor.cmd(f"Acp review {path}")
    editor.wait("#vim.api.nvim_list_tabpages() == 2")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd", 2)
    editor.cmd("tabclose")
    assert_alive(editor, 1)


def test_the_buffer_of_a_float_is_deleted_from_another_tab_page(editor: Editor) -> None:
    in_float(editor, "permission p1")
    editor.cmd("tabnew")
    editor.lua(
        "for _, b in ipairs(vim.api.nvim_list_bufs()) do"
        " if vim.bo[b].filetype == 'acppermission' then"
        " vim.api.nvim_buf_delete(b, { force = true }) end end"
    )
    editor.cmd("tabprevious")
    editor.cmd("Acp deny")
    editor.wait_event("AcpTurnEnd")
    assert_alive(editor, 2)


def test_leaving_and_returning_keeps_the_user_in_the_float(editor: Editor) -> None:
    """Only the window of CTRL-W p differs."""
    editor.setup({"chat": {"layout": "float"}})
    editor.agent("hello")
    editor.turn("hello")
    editor.wait("vim.fn.bufwinid('acp://chat/1') > 0")
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    editor.keys("g?")
    editor.wait("vim.bo.filetype == ''")
    editor.keys("q")
    editor.wait("vim.bo.filetype == 'acpchat'")
    editor.cmd("tabnew")
    editor.cmd("tabprevious")
    assert editor.lua("return vim.bo.filetype") == "acpchat"
    editor.keys("<C-w>p")
    assert editor.lua("return vim.bo.filetype") == ""
    assert_alive(editor, 2)


COLORS = "return vim.wo[vim.fn.bufwinid('acp://chat/1')].winhighlight"


LITTLE_ROOM = [
    ("set lines=6", "A"),
    ("pedit a.txt | resize 3", "0i"),
]


@pytest.mark.parametrize(("command", "insert"), LITTLE_ROOM)
def test_a_completion_menu_may_have_no_room_beside_the_chat(
    edit: Start, command: str, insert: str
) -> None:
    front = edit(init=f"{HOST} vim.o.completeopt = 'menuone,noselect'", screen=(40, 20))
    session(front)
    front.lua("require('acp.features.chat.view').open(1)")
    colors = front.lua(COLORS)
    front.cmd(command)
    front.keys("A" + "one two three four five six " * 5 + "<Esc>")
    front.keys(f"{insert}<C-x><C-n>")
    front.wait("vim.fn.pumvisible() == 1 and vim.fn.pum_getpos().height < 2")
    front.cmd("redraw")
    front.keys("<C-n> more")
    front.wait("vim.api.nvim_get_current_line():find('more', 1, true) ~= nil")
    front.keys("<Esc>")
    front.cmd("wincmd z | set lines=20")
    front.wait(f"(function() {COLORS} end)() == ...", colors)


def test_the_composer_opens_no_menu_that_may_have_no_room(edit: Start) -> None:
    front = edit(init=HOST, screen=(40, 5))
    front.cmd("set winhighlight=Folded:Normal")  # as other plugins do in their windows
    session(front)
    front.cmd("AcpPrompt")
    front.keys("/")
    front.cmd("redraw")
    front.keys("in")
    front.wait("vim.api.nvim_get_current_line() == '/in'")
    assert front.lua("return vim.fn.pumvisible()") == 0
