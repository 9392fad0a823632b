"""Only a question that is on the screen, not hidden by a window or fold, is answered.

The clock of the front end stands still in these tests and is set forward by hand.
"""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import Start, cards, float_lines, last
from tests.support.lua import lua_chunk
from tests.support.stopped_clock import (
    CHAT,
    advance,
    assert_answers_after_400_ms,
    assert_answers_at_second_press,
    assert_refused,
    draw_rows,
    press,
    shown_ms,
    start,
    wait_drawn,
)


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host whose clock stands still."""
    return start(edit)


def test_a_card_that_was_shown_briefly_is_new_when_it_returns(front: Editor) -> None:
    cards(front, "p1")
    wait_drawn(front, "p1")
    advance(front, 300)
    front.cmd("silent! only!")
    front.wait("not require('acp.features.permissions.answer_rule').shown_ms('p1')")
    advance(front, 9000)
    assert_answers_at_second_press(front, "Acp allow")


def test_a_card_that_was_seen_may_be_closed(front: Editor) -> None:
    cards(front, "p1")
    wait_drawn(front, "p1")
    advance(front, 400)
    front.cmd("silent! only!")
    assert float_lines(front) is None
    front.cmd("Acp allow")
    assert last(front) == ["allow", {"id": "p1"}]


def test_a_card_under_another_float_is_not_on_the_screen(front: Editor) -> None:
    front.lua(
        "_G.over = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true,"
        " { relative = 'editor', row = 0, col = 0, width = 98, height = 26, zindex = 50 })"
    )
    cards(front, "p1")
    front.keys("<Esc>")
    assert shown_ms(front, "p1") is None
    advance(front, 9000)
    assert_answers_at_second_press(front, "gy")


COVER = lua_chunk(__file__, "cover_and_press")


@pytest.mark.parametrize("glimpsed", [True, False])
def test_a_card_under_a_float_that_has_just_opened_is_not_on_the_screen(
    front: Editor, glimpsed: bool
) -> None:
    """The position of the float is known only when the screen has been drawn, after SafeState."""
    if glimpsed:
        cards(front, "p1")
        wait_drawn(front, "p1")
        advance(front, 399)
    else:
        cards(front, "p1")
    front.lua(COVER)
    assert_refused(front)


OVER_ALL = """
local covers = { relative = 'editor', row = 0, col = 0, width = 100, height = 26, zindex = 50 }
_G.over = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, covers)
"""


@pytest.mark.parametrize("keys", ["y", "1", "n", "gy"])
def test_a_covered_card_under_the_cursor_is_not_on_the_screen(front: Editor, keys: str) -> None:
    front.lua(CHAT)
    draw_rows(front, 0, 1, "", "p1", "p1")
    front.keys("G")
    front.lua(OVER_ALL)
    cards(front, "p1")
    front.wait("require('acp.features.permissions.float').here() == 'p1'")
    advance(front, 9000)
    assert_answers_at_second_press(front, keys)


def test_a_register_before_a_key_on_a_card_in_a_chat_answers_nothing(front: Editor) -> None:
    front.lua(CHAT)
    draw_rows(front, 0, 1, "", "p1", "p1")
    front.keys("G")
    cards(front, "p1")
    front.wait("require('acp.features.permissions.float').here() == 'p1'")
    advance(front, 9000)
    front.keys('"ayy')
    assert front.lua("return { vim.fn.getreg('a'), #_G.sent }") == ["card p1\n", 0]
    front.lua("vim.g.clipboard = { name = 'test', copy = {}, paste = {} }")
    front.cmd("set clipboard=unnamedplus")
    front.keys('"+y<Esc>')
    assert front.lua("return #_G.sent") == 0
    front.keys("y")
    assert last(front)[0] == "choose"


def test_a_card_in_a_closed_fold_under_the_cursor_is_not_on_the_screen(front: Editor) -> None:
    front.cmd("silent! only!")
    front.lua(CHAT)
    draw_rows(front, 0, 1, "", "p1", "p1")
    front.keys("Gk:setlocal foldmethod=manual<CR>zfj")
    front.lua(OVER_ALL)
    cards(front, "p1")
    front.wait("require('acp.features.permissions.float').here() == 'p1'")
    advance(front, 9000)
    front.lua("vim.api.nvim_win_close(_G.over, true)")
    front.keys("y")
    assert_refused(front)


def test_a_covered_float_that_has_the_focus_is_not_on_the_screen(front: Editor) -> None:
    cards(front, "p1")
    front.cmd("Acp permissions")
    front.lua(OVER_ALL)
    cards(front, "p2")
    front.wait("require('acp.features.permissions.float').here() == 'p2'")
    advance(front, 9000)
    if not front.lua("return require('acp.base.compat').raises_floats"):
        front.keys("y")
        assert_refused(front)
        front.lua("vim.api.nvim_win_close(_G.over, true)")
    assert_answers_at_second_press(front, "y", "p2")


def test_if_no_card_fits_the_first_press_shows_it(edit: Start) -> None:
    front = start(edit, screen=(80, 6))
    front.lua(CHAT)
    draw_rows(front, 0, 1, *[""] * 30)
    front.keys("G")
    cards(front, "p1")
    front.keys("<Esc>")
    assert shown_ms(front, "p1") is None
    advance(front, 9000)
    assert_answers_at_second_press(front, "Acp allow")


def test_without_a_screen_a_question_is_answered_after_400_ms(edit: Start) -> None:
    front = start(edit, screen=None)
    cards(front, "p1")
    press(front, "Acp allow")
    assert_refused(front)
    assert_answers_after_400_ms(front, "Acp allow")


def test_in_a_terminal_a_question_is_answered_after_400_ms(front: Editor) -> None:
    front.cmd("tnoremap <F5> <Cmd>Acp allow<CR>")
    front.cmd("terminal cat")
    front.keys("i")
    cards(front, "p1")
    assert_answers_after_400_ms(front, "<F5>")


ABSENCES = [("VimSuspend", "VimResume"), ("FocusLost", "FocusGained")]


@pytest.mark.parametrize(("leaves", "returns"), ABSENCES)
def test_a_question_that_arrived_while_the_user_was_away_is_new(
    front: Editor, leaves: str, returns: str
) -> None:
    front.cmd(f"doautocmd {leaves}")
    cards(front, "p1")
    wait_drawn(front, "p1")
    advance(front, 9000)
    front.cmd(f"doautocmd {returns}")
    assert_answers_at_second_press(front, "gy")


def test_a_question_that_was_seen_before_the_focus_was_lost_is_not_new(front: Editor) -> None:
    cards(front, "p1")
    wait_drawn(front, "p1")
    advance(front, 400)
    front.cmd("doautocmd FocusLost")
    advance(front, 9000)
    front.cmd("doautocmd FocusGained")
    front.keys("gy")
    assert last(front) == ["allow", {"id": "p1"}]


@pytest.mark.parametrize(
    "change",
    [
        "vim.wo[win].winfixbuf = false vim.api.nvim_win_set_buf(win, 1)",
        "vim.api.nvim_win_set_config(win, { hide = true })",
        "vim.api.nvim_win_set_config(win, { width = 1, height = 1 })",
    ],
)
def test_a_float_that_a_plugin_has_changed_shows_no_card(front: Editor, change: str) -> None:
    cards(front, "p1")
    wait_drawn(front, "p1")
    front.lua(
        f"local win = vim.fn.win_getid(2) vim.o.eventignore = 'all' {change} vim.o.eventignore = ''"
    )
    front.keys("<Esc>")
    assert shown_ms(front, "p1") is None
    advance(front, 9000)
    assert_answers_at_second_press(front, "Acp allow")


def test_a_file_that_the_user_opens_in_the_float_stays_and_the_float_comes_back(
    front: Editor,
) -> None:
    path = front.write("a.txt", "text\n")
    cards(front, "p1")
    wait_drawn(front, "p1")
    front.cmd("Acp permissions")
    window = front.lua("return vim.api.nvim_get_current_win()")
    front.keys(f":edit! {path}<CR>")
    front.wait_screen("decision p1")
    cards(front)
    assert float_lines(front) is None
    assert front.lua("return vim.api.nvim_get_current_win()") == window
    assert front.lua("return vim.api.nvim_get_current_line()") == "text"


def test_a_click_on_a_card_in_insert_mode_loses_no_key(front: Editor) -> None:
    cards(front, "p1")
    wait_drawn(front, "p1")
    front.keys("iabc")
    front.click("rm file")
    front.wait("vim.bo.filetype == 'acppermission' and vim.fn.mode() == 'n'")
    front.keys("<C-w>p")
    assert front.lua("return vim.api.nvim_get_current_line()") == "abc"
