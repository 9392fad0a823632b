"""Position of the permission float: never over the text that the user writes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, OPTIONS, RECORD_NOTIFY, Start, session
from tests.support.lua import lua_call
from tests.support.waiting import until

FLOAT = lua_call(__file__, "card_area")


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host, with long lines in a small terminal."""
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(80, 24))
    editor.open(editor.write("a.txt", ("x" * 70 + "\n") * 40))
    return editor


def ask(editor: Editor, lines: int, card: int = 1) -> None:
    """Show a card with this number of lines."""
    found = {
        "id": card,
        "lines": [f"line {n}" for n in range(lines)],
        "spans": [],
        "options": OPTIONS,
    }
    editor.lua("require('acp.features.permissions.float').set(1, ...)", [found])


def covers_cursor(editor: Editor) -> bool:
    """Return whether the float covers the cursor once Neovim is idle."""
    return bool(
        editor.lua(
            f"vim.cmd.redraw() local f = {FLOAT} "
            "local row, col = vim.fn.screenrow(), vim.fn.screencol() "
            "return row >= f[1] and row < f[1] + f[4] and col >= f[2] and col < f[2] + f[3]"
        )
    )


def place(editor: Editor) -> list[Any]:
    """Return row and column (from 1), width and height of the float with its border."""
    found: list[Any] = editor.lua(f"return {FLOAT}")
    return found


def test_the_float_moves_away_from_the_cursor_and_stays_there(front: Editor) -> None:
    ask(front, 30)
    assert place(front)[0] > 3, "below the lines that the user reads"
    front.keys("22G$")
    front.wait(f"{FLOAT}[1] == 1")
    assert not covers_cursor(front)
    above = place(front)
    front.keys("2k0")
    front.lua("vim.cmd.redraw()")
    assert place(front) == above


def test_the_float_moves_away_from_typed_text(front: Editor) -> None:
    front.open(front.write("b.txt", "\n"))
    ask(front, 30)
    assert place(front)[0] == 1
    front.keys("i" + "typed " * 12)
    front.wait(f"{FLOAT}[1] > 1")
    assert not covers_cursor(front)


def test_the_float_does_not_cover_a_composer(front: Editor) -> None:
    ask(front, 30)
    front.lua("vim.cmd('topleft 14new') vim.bo.filetype = 'acpcomposer'")
    front.wait(f"{FLOAT}[1] > 14")
    row, _, _, height = place(front)
    assert row + height <= 24


def test_hidden_lines_are_counted_and_shown_on_the_whole_screen(front: Editor) -> None:
    ask(front, 60)
    front.wait_screen(" :Acp allow · :Acp deny · +48 lines, :Acp permissions ")
    front.cmd("Acp permissions")
    front.wait(f"{FLOAT}[4] == 22")
    front.wait_screen("y allow · n deny · c deny, say why · 1-3 choose")
    front.keys("G")
    front.cmd("wincmd p")
    front.wait(f"{FLOAT}[4] == 14")
    ask(front, 60, card=2)
    front.wait_screen("│line 0 ")
    front.cmd("Acp permissions")
    front.keys("Gq")
    ask(front, 60, card=3)
    front.wait_screen("│line 0 ")


def test_a_card_that_fits_has_no_count(front: Editor) -> None:
    ask(front, 5)
    front.wait_screen(" :Acp allow · :Acp deny · ")
    assert not any(" lines" in row for row in front.screen())
    assert place(front)[3] == 7


def test_the_float_does_not_cover_a_tabline_or_winbar(front: Editor) -> None:
    front.keys("20G")
    front.lua("vim.wo.winbar = 'what is going on'")
    ask(front, 5)
    assert place(front)[0] == 2
    front.cmd("tabnew | tabprevious")
    front.wait(f"{FLOAT}[1] == 3")
    front.lua("vim.wo.winbar = ''")
    front.cmd("tabnext | tabprevious")
    front.wait(f"{FLOAT}[1] == 2")


@pytest.mark.parametrize(
    "option", ["r" * 200, "some words " * 20, "漢" * 90, "a" * 75 + " " + "b" * 80]
)
def test_a_card_that_wraps_at_words_is_shown_to_its_last_line(front: Editor, option: str) -> None:
    """A word that does not fit takes all of the next row."""
    found = {"id": 1, "lines": ["what", f"  1. {option}", "  2. Last"], "spans": []}
    front.lua(
        "require('acp.features.permissions.float').set(1, ...)", [{**found, "options": OPTIONS}]
    )
    front.wait_screen("2. Last")


def test_a_small_screen_shows_the_question_and_all_answers(front: Editor) -> None:
    """The float covers the text if a message has no room for them."""
    title = "Tutor wants to edit till.py (+2 -2)"
    head = [title, *(f"  line {n}" for n in range(10))]
    lines = [*head, "  1. Yes, this once", "  2. Yes, and always in this session", "  3. No"]
    card = {"id": 1, "title": title, "lines": lines, "spans": [], "head": len(head)}
    front.lua(
        "require('acp.features.permissions.float').set(1, ...)", [{**card, "options": OPTIONS}]
    )
    for columns, rows in ((60, 15), (40, 12), (32, 15), (24, 15), (24, 8)):
        front.rpc.request("nvim_ui_try_resize", columns, rows)
        for keys in ("gg", "6G", "12G"):
            front.keys(keys)
            front.wait_screen("Tutor wants")
            front.wait_screen("deny")
            if rows > 8:
                front.wait_screen("3. No")
        front.keys("A")
        front.wait_screen("deny")
        front.wait("vim.api.nvim_get_mode().mode == 'i'")
        until(lambda: not covers_cursor(front), what="the line that the user types is in view")
        front.keys("<Esc>")
    front.rpc.request("nvim_ui_try_resize", 24, 15)
    front.cmd(r"terminal printf '\n\nabcdef'; cat")
    front.keys("i")
    front.wait("vim.fn.getline(3) == 'abcdef'")
    until(lambda: not covers_cursor(front), what="the line in a terminal is in view, too")


@pytest.mark.parametrize("closing", ["tabclose", "quit"])
def test_closing_a_tab_page_does_not_close_the_float(front: Editor, closing: str) -> None:
    front.cmd("tabnew")
    ask(front, 3)
    front.wait(f"{FLOAT} ~= nil")
    front.cmd(closing)
    front.wait(f"#vim.api.nvim_list_tabpages() == 1 and {FLOAT} ~= nil")


def test_closing_the_float_closes_it_in_all_tab_pages(front: Editor) -> None:
    front.cmd("tabnew")
    ask(front, 3)
    front.cmd("Acp permissions")
    front.keys("q")
    front.wait(f"{FLOAT} == nil")
    front.cmd("tabclose")
    assert front.lua(f"return {FLOAT}") is None


def test_the_float_stays_above_a_chat_with_the_cursor(front: Editor) -> None:
    front.setup({"chat": {"layout": "bottom"}})
    session(front)
    front.lua("require('acp.features.chat.view').open(1)")
    front.keys("<C-w>b")
    assert front.lua("return vim.fn.bufname()") == "acp://chat/1"
    ask(front, 30)
    row, _, _, height = place(front)
    assert row + height <= front.lua("return vim.fn.win_screenpos(0)[1]")
