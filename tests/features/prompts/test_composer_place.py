"""Place of a composer: below its chat, whichever of the two is opened first."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start, session
from tests.support.lua import lua_chunk

WHERE = lua_chunk(__file__, "window_places")
BESIDE = [["a.txt", "left", ""], ["acp://chat/1", "right", ""], ["acp://composer/1", "right", ""]]


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host that shows a file."""
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(120, 40))
    editor.open(editor.write("a.txt", "one\n"))
    return editor


@pytest.mark.parametrize("known", [True, False])
def test_a_composer_that_is_opened_first_opens_its_chat_above_it(
    front: Editor, known: bool
) -> None:
    if known:
        session(front)
    front.cmd("AcpPrompt")
    assert front.lua(WHERE) == BESIDE
    assert front.lua("return { vim.fn.bufname(), vim.fn.winheight(0) }") == ["acp://composer/1", 6]
    front.keys("<Esc><C-w>p")
    assert front.lua("return vim.fn.bufname()").endswith("a.txt")


def test_the_chat_above_it_is_that_of_the_next_session(editor: Editor) -> None:
    editor.agent("script")
    editor.cmd("AcpPrompt")
    chat = editor.lua("return vim.fn.bufnr('acp://chat/1')")
    assert editor.lua("return vim.tbl_count(require('acp').state().sessions)") == 0
    editor.keys("say hello<C-s>")
    editor.wait_event("AcpTurnEnd")
    assert "hello" in editor.chat()
    assert editor.session()["chat_bufnr"] == chat
    assert editor.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 3


def test_a_chat_that_is_opened_later_is_above_its_composer(front: Editor) -> None:
    session(front)
    front.setup({"chat": {"open": False}})
    front.cmd("AcpPrompt")
    assert len(front.lua(WHERE)) == 2
    front.keys("half a pro")
    front.lua("require('acp.features.chat.view').toggle(1)")
    assert front.lua(WHERE) == BESIDE
    assert front.lua("return vim.fn.winheight(0)") == 6
    front.keys("mpt")
    assert front.lines("acp://composer/1") == ["half a prompt"]


def test_a_reopened_chat_is_above_its_composer(front: Editor) -> None:
    session(front)
    front.cmd("AcpPrompt")
    for _ in range(2):
        front.lua("require('acp.features.chat.view').toggle(1)")
    assert front.lua(WHERE) == BESIDE
    # The composer is beside the file while the chat opens, and narrows it.
    front.rpc.request("nvim_ui_try_resize", 80, 24)
    front.cmd("wincmd b | only")
    front.cmd("vsplit a.txt")
    front.lua("require('acp.features.chat.view').toggle(1)")
    assert front.lua(WHERE) == BESIDE
    assert front.lua("return vim.fn.winwidth(vim.fn.bufwinid('acp://chat/1'))") == 32


def test_a_floating_chat_has_its_composer_with_it(front: Editor) -> None:
    session(front)
    front.setup({"chat": {"open": False, "layout": "float"}})
    front.cmd("AcpPrompt")
    front.lua("require('acp.features.chat.view').toggle(1)")
    assert sorted(front.lua(WHERE)[1:]) == [
        ["acp://chat/1", "right", "editor"],
        ["acp://composer/1", "right", "editor"],
    ]


def test_q_closes_the_chat_and_can_be_unmapped(front: Editor) -> None:
    session(front)
    front.lua("require('acp.features.chat.view').open(1)")
    front.cmd("wincmd l")
    front.keys("q")
    assert [name for name, _, _ in front.lua(WHERE)] == ["a.txt"]
    front.setup({"keymaps": {"chat": {"q": False}}})
    front.lua("require('acp.features.chat.view').open(1)")
    assert front.lua("return vim.fn.maparg('q', 'n')") == ""
