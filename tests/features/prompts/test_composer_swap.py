"""The composer below a chat belongs to that chat, and says so if there are several sessions."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start, sent, session
from tests.support.lua import lua_chunk

SHOWN = lua_chunk(__file__, "window_options")


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return a small screen without a host, with a chat beside a file and its composer below it."""
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(100, 30))
    editor.cmd("set number")
    session(editor)
    editor.lua("require('acp.features.chat.view').open(1)")
    editor.lua("require('acp.features.prompts.composer').open({ session = 1 })")
    return editor


def add_session(editor: Editor, **more: str) -> None:
    """Add a second session, as a frame would."""
    session(editor, 2, **more)
    editor.lua("require('acp.base.state').announce_change()")


def open_second_chat(editor: Editor) -> None:
    """Open a second session; its chat only has room in the first one's window."""
    session(editor, 2)
    editor.cmd("wincmd p | wincmd t")
    editor.lua("vim.api.nvim_win_set_height(vim.fn.bufwinid('acp://composer/1'), 12)")
    editor.lua("require('acp.features.chat.view').open(2)")


def test_a_chat_in_anothers_window_replaces_its_composer_too(front: Editor) -> None:
    front.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'half a prompt' })")
    front.wait_screen("Claude · composer ")
    open_second_chat(front)
    front.lua("require('acp.base.state').announce_change()")
    front.wait_screen("Claude · composer 2 ")
    shown = front.lua(SHOWN)
    assert shown[1:] == [
        ["acp://chat/2", True, False, False],
        ["acp://composer/2", True, True, False],
    ]
    assert front.lua("return vim.fn.winnr()") == 1
    assert front.lines("acp://composer/1") == ["half a prompt"]
    front.cmd("wincmd b")
    front.keys("ihello<C-s>")
    front.wait("#_G.sent > 0 and _G.sent[#_G.sent][1] == 'prompt'")
    assert sent(front)[-1][1]["session"] == 2


def test_a_composer_that_the_user_is_in_stays(front: Editor) -> None:
    add_session(front)
    front.lua("vim.api.nvim_win_set_height(0, 12)")
    front.lua("require('acp.features.chat.view').open(2)")
    assert [name for name, *_ in front.lua(SHOWN)][1:] == ["acp://chat/2", "acp://composer/1"]
    front.wait_screen("Claude · session 1 · Ask")


@pytest.fixture
def tall(edit: Start) -> Editor:
    """Return a screen with room for a second chat below the first, which has its composer."""
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(100, 44))
    session(editor)
    editor.lua("require('acp.features.chat.view').open(1)")
    editor.lua("require('acp.features.prompts.composer').open({ session = 1 })")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'half a prompt' })")
    return editor


def names(editor: Editor) -> list[str]:
    return [name for name, *_ in editor.lua(SHOWN)][1:]


def test_chats_and_composers_do_not_stack_up(tall: Editor) -> None:
    tall.cmd("wincmd t")
    session(tall, 2)
    tall.lua("require('acp.features.chat.view').open(2)")
    assert names(tall) == ["acp://chat/2", "acp://composer/2"]
    bar = tall.lua("return vim.wo[vim.fn.bufwinid('acp://composer/2')].winbar")
    assert "session 2" in bar, "at once, not with the next change of the state"
    assert tall.lua("return vim.fn.winnr()") == 1
    tall.lua("require('acp.features.prompts.composer').open({ session = 1 })")
    assert names(tall) == ["acp://chat/1", "acp://composer/1"]
    assert tall.lines("acp://composer/1") == ["half a prompt"]


def test_opening_another_composer_keeps_the_current_one(tall: Editor) -> None:
    tall.cmd("AcpPrompt!")
    assert names(tall) == ["acp://chat/2", "acp://composer/2"]
    assert tall.lua("return vim.fn.bufname()") == "acp://composer/2"
    assert tall.lines("acp://composer/1") == ["half a prompt"]
    tall.keys("<C-c>")


def test_a_chat_that_opens_while_the_user_writes_is_below(tall: Editor) -> None:
    session(tall, 2)
    tall.lua("require('acp.features.chat.view').open(2)")
    assert names(tall) == ["acp://chat/1", "acp://composer/1", "acp://chat/2"]
    assert tall.lua("return vim.fn.bufname()") == "acp://composer/1"


def test_a_composer_names_its_session_if_there_are_several(front: Editor) -> None:
    front.wait_screen("Message Claude · Ask")
    add_session(front)
    front.wait_screen("Claude · session 1 · Ask")
    add_session(front, status="closed")
    front.wait_screen("Message Claude · Ask")
