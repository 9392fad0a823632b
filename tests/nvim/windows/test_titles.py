"""Statuslines of the plugin's windows: a description instead of the buffer's address."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start, session


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
    front.lua("require('acp.base.state').announce_change()")
    front.wait_screen("Claude · composer 1 ")
    front.wait_screen("Claude · chat 1 ")
    front.lua("require('acp.ui.report').open('acp://log/odd%name', 'acplog', { 'a' })")
    front.wait_screen("Odd%name · log ")


def test_the_users_winbar_has_the_title(front: Editor) -> None:
    front.cmd("set winbar=in\\ %f laststatus=0")
    for command in ("edit a.txt", "Acp chat", "Acp plan"):
        front.cmd(command)
    front.wait_screen("in Claude · plan")
    assert "in a.txt" in front.screen()[0]
    assert "acp://" not in "\n".join(front.screen())


def test_a_narrow_window_has_room_for_its_title(front: Editor) -> None:
    front.rpc.request("nvim_ui_try_resize", 80, 24)
    front.cmd("Acp chat")
    front.cmd("AcpPrompt")
    front.wait_screen(" Claude · composer  ")
    assert "<" not in front.screen()[-2]
    assert front.screen()[-2].rstrip().endswith(" All")


def test_a_file_in_a_split_of_the_chat_has_its_own_name(front: Editor) -> None:
    front.cmd("Acp chat")
    front.cmd("wincmd b | setlocal nowinfixbuf | split | edit other.txt")
    front.wait_screen("other.txt")
    front.wait_screen("Claude · chat")


def test_the_users_own_statuslines_stay(front: Editor) -> None:
    front.cmd("set statusline=mine:%f")
    front.cmd("Acp chat")
    front.wait_screen("mine:acp://chat/1")


def test_a_window_that_shows_the_users_buffer_has_their_statusline(front: Editor) -> None:
    front.cmd("Acp chat")
    front.cmd("wincmd b | only!")
    front.wait_screen("Claude · chat")
    front.cmd("edit back.txt")
    own = "vim.api.nvim_get_option_value('statusline', { scope = 'local', win = 0 })"
    assert front.lua(f"return {own}") == ""
