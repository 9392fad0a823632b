"""The winbar of a composer, its placeholder, and the completion menu."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import (
    HOST,
    RECORD_NOTIFY,
    Start,
    composer,
    last,
    session,
)
from tests.support.lua import lua_chunk
from tests.support.waiting import until

SHOWN = "vim.fn.pumvisible() == 1"


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host that shows a file, with a session."""
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(120, 40))
    editor.write("alpha.py", "")
    session(editor)
    return editor


def type_one_by_one(front: Editor, text: str) -> None:
    """Type one key at a time, so that the editor handles each."""
    for key in text:
        front.keys(key)


def test_an_empty_composer_shows_a_placeholder(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.wait_screen("Ask anything. @ file  / command  { context")
    front.wait_screen("<C-s> send · g? keys")
    front.cmd("vertical resize 60")
    front.wait_screen("Ask anything. @ file  / command  { context  # prompt")
    front.cmd("vertical resize 36")
    front.wait_screen("@ file  / command  { context")
    session(front, 2)
    front.lua("require('acp.features.chat.view').open(2, 1)")
    front.wait("vim.fn.bufwinid('acp://composer/2') > 0")
    until(lambda: any(row.endswith("│@ file  / command  { context") for row in front.screen()))
    front.keys("x")
    until(lambda: not any("/ command" in row for row in front.screen()))


def test_a_narrow_bar_keeps_the_key_that_sends(front: Editor) -> None:
    front.open(front.write("a.txt", "one\n"))
    front.cmd("1AcpPrompt")
    for width, shown in (
        (70, " Message Claude · Ask · + a.txt:1                <C-s> send · g? keys"),
        (50, " Message Claude · Ask · + a.txt:1      <C-s> send"),
        (40, " Claude · Ask · + a.txt:1    <C-s> send"),
        (30, " Claude · Ask · + a.txt:1"),
    ):
        front.cmd(f"vertical resize {width}")
        front.wait_screen(shown)


def test_a_prompt_for_a_running_session_is_queued(front: Editor) -> None:
    session(front, status="running")
    front.cmd("AcpPrompt")
    front.wait_screen("<C-s> queue · g? keys")


def test_the_bar_is_shown_with_a_global_statusline(front: Editor) -> None:
    front.cmd("set laststatus=3")
    front.cmd("AcpPrompt")
    front.wait_screen(" Message Claude · Ask")


def test_commands_pop_up_and_are_filtered(front: Editor) -> None:
    front.cmd("AcpPrompt")
    type_one_by_one(front, "/")
    front.wait(SHOWN)
    type_one_by_one(front, "in")
    front.wait("#vim.fn.complete_info({ 'items' }).items == 1")
    front.keys("<C-n>")
    assert composer(front) == ["/init "]


@pytest.mark.parametrize("columns", [80, 110])
def test_descriptions_in_the_menu_end_before_the_edge_of_the_screen(
    front: Editor, columns: int
) -> None:
    front.rpc.request("nvim_ui_try_resize", columns, 24)
    front.cmd("AcpPrompt")
    for sign in ("{", "#", "/"):
        type_one_by_one(front, sign)
        front.wait(SHOWN)
        rows = front.screen()
        items = front.lua("return vim.fn.complete_info({ 'items' }).items")
        for item in items:
            assert any(item["abbr"] in row and item["menu"] in row for row in rows[:23])
        assert any(item["menu"] for item in items) or columns == 80
        front.keys("<C-e><BS>")


@pytest.mark.parametrize("choose", ["", "<C-n>"])
def test_sending_closes_the_popup(front: Editor, choose: str) -> None:
    front.cmd("AcpPrompt")
    type_one_by_one(front, "one oneself on")
    front.keys(f"<C-x><C-n>{choose}")
    front.wait(SHOWN)
    front.keys("<C-s>")
    front.wait("vim.fn.pumvisible() == 0 and vim.api.nvim_get_mode().mode == 'i'")
    assert composer(front) == [""]
    front.keys("two")
    until(lambda: composer(front) == ["two"])


def test_files_pop_up_after_an_at_sign_that_starts_a_word(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.wait("#require('acp.features.prompts.composer.files').list(vim.fn.getcwd()) == 1")
    type_one_by_one(front, "me@")
    assert not front.lua("return " + SHOWN)
    type_one_by_one(front, " @")
    front.wait(SHOWN)
    type_one_by_one(front, "al")
    front.keys("<C-n>")
    assert composer(front) == ["me@ @alpha.py"]
    # Keys that come together fire one event.
    front.keys("<CR>see @al")
    front.wait("not (" + SHOWN + ")")
    front.keys(", @al")
    front.wait(SHOWN)
    front.keys("<C-n>")
    assert composer(front) == ["me@ @alpha.py", "see @al, @alpha.py"]


@pytest.mark.parametrize(
    ("key", "text"), [("<CR>", ["/", ""]), ("<Esc>", ["/"]), ("<Space>", ["/ "])]
)
def test_no_key_selects_an_item_by_itself(front: Editor, key: str, text: list[str]) -> None:
    before = front.lua("return { vim.o.completeopt, vim.o.shortmess }")
    front.cmd("AcpPrompt")
    type_one_by_one(front, "/")
    front.wait(SHOWN)
    front.keys(key)
    front.wait("not (" + SHOWN + ")")
    assert composer(front) == text
    assert front.lua("return { vim.o.completeopt, vim.o.shortmess }") == before


def test_a_prompt_is_sent_while_the_menu_is_open(front: Editor) -> None:
    front.cmd("AcpPrompt")
    type_one_by_one(front, "/rev")
    front.wait(SHOWN)
    front.keys("<C-s>")
    assert last(front)[1]["text"] == "/rev"
    type_one_by_one(front, "next")
    assert composer(front) == ["next"]


def test_a_sent_word_is_no_longer_completed(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.lua(lua_chunk(__file__, "blink_and_mini"))
    front.keys("hello<C-s>")
    assert front.lua("return _G.line") == "hello", "before the text goes"
    assert front.lua("return _G.blink.buffer_events.last_char") == "", "of the next change"
    assert front.lua("return _G.stopped") == ["completion"]
    assert composer(front) == [""]


def test_commands_that_arrive_later_pop_up_then(front: Editor) -> None:
    session(front, commands=[])
    front.cmd("AcpPrompt")
    type_one_by_one(front, "/")
    assert not front.lua("return " + SHOWN)
    session(front)
    front.lua("require('acp.base.state').announce_change()")
    front.wait(SHOWN)


BLINK = "package.loaded['blink.cmp'] = {} "
BLINK_IS_ON = (
    BLINK + "package.loaded['blink.cmp.completion.trigger'] = { hide = function() end }"
    " package.loaded['blink.cmp.config'] = { enabled = %s }"
)


@pytest.mark.parametrize(
    "off",
    [
        "require('acp').setup({ composer = { popup = false } })",
        "package.loaded['cmp'] = {}",
        BLINK_IS_ON % "true",
        BLINK_IS_ON % "function() return true end",
    ],
)
def test_the_menu_is_off_beside_a_completion_plugin(front: Editor, off: str) -> None:
    front.cmd("AcpPrompt")
    front.lua(off)
    type_one_by_one(front, "/")
    assert not front.lua("return " + SHOWN)
    front.keys("<C-x><C-o>")
    front.wait(SHOWN)


@pytest.mark.parametrize(
    "on", [BLINK, BLINK_IS_ON % "false", BLINK_IS_ON % "true" + " vim.b.completion = false"]
)
def test_the_menu_is_on_beside_a_completion_plugin_that_is_off(front: Editor, on: str) -> None:
    front.cmd("AcpPrompt")
    front.lua(on)
    type_one_by_one(front, "/")
    front.wait(SHOWN)
