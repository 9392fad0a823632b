"""Statuslines of the plugin's windows: a description instead of the buffer's address."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start, session
from tests.support.waiting import until


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor with a session and Neovim's own statuslines."""
    editor = edit(init=HOST + RECORD_NOTIFY)
    session(editor)
    return editor


def test_windows_have_descriptive_titles(front: Editor) -> None:
    for command in ("Acp chat", "Acp plan", "AcpPrompt"):
        front.cmd(command)
    for kind in ("chat", "plan", "composer"):
        front.wait_screen(f"Claude · {kind} ")
    assert "acp://" not in "\n".join(front.screen())
    front.keys("<Esc>")
    session(front, 2)
    front.lua("require('acp.base.state').changed()")
    front.wait_screen("Claude · composer 1 ")
    front.wait_screen("Claude · chat 1 ")
    front.lua("require('acp.ui.report').open('acp://log/odd%name', 'acplog', { 'a' })")
    front.wait_screen("Odd%name · log ")


def test_the_tabline_has_titles_and_is_otherwise_that_of_neovim(front: Editor) -> None:
    for name in ("a.txt", "deep/er/than/b%.txt", "c" * 30):
        front.open(front.write(name, "text\n"))
        front.cmd("split | tabnew")
    front.cmd("edit $HOME/notes.txt | 2tabnext")
    front.keys("xi")
    own = front.screen()[0]
    front.keys("<Esc>")
    front.cmd("tablast | Acp chat")
    front.cmd("wincmd p | tabnext 2 | redrawtabline")
    assert front.lua("return vim.go.tabline") != ""
    assert front.screen()[0].split() == own.replace(" ~/notes.txt ", " 2 ~/notes.txt ").split()
    front.cmd("tablast | wincmd l")
    until(lambda: " 2 Claude · chat " in front.screen()[0])


def test_a_file_in_a_split_of_the_chat_has_its_own_name(front: Editor) -> None:
    front.cmd("Acp chat")
    front.cmd("wincmd b | setlocal nowinfixbuf | split | edit other.txt")
    front.wait_screen("other.txt")
    front.wait_screen("Claude · chat")


def test_the_users_own_statuslines_stay(front: Editor) -> None:
    front.cmd("set statusline=mine:%f tabline=mine showtabline=2")
    front.cmd("Acp chat")
    front.wait_screen("mine:acp://chat/1")
    assert front.screen()[0] == "mine"


def test_a_window_that_shows_the_users_buffer_has_their_statusline(front: Editor) -> None:
    front.cmd("Acp chat")
    front.cmd("wincmd b | only!")
    front.wait_screen("Claude · chat")
    front.cmd("edit back.txt")
    own = "vim.api.nvim_get_option_value('statusline', { scope = 'local', win = 0 })"
    assert front.lua(f"return {own}") == ""
