"""The permission float hides while the chat shows its cards."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_call, lua_chunk
from tests.support.windows import CARD_STATE

HEIGHT = lua_call(__file__, "card_height")


def wait_float(editor: Editor, state: str) -> None:
    editor.wait(f"{CARD_STATE} == ...", state)


def test_the_float_is_hidden_while_the_chat_shows_the_card(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("chunks 500")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    wait_float(editor, "hidden")
    editor.cmd("wincmd l")
    wait_float(editor, "hidden")
    editor.keys("gg")
    wait_float(editor, "shown")
    editor.keys("G")
    wait_float(editor, "hidden")
    editor.cmd("wincmd p")
    wait_float(editor, "hidden")
    editor.cmd("Acp chat")
    wait_float(editor, "shown")


def test_the_float_covers_no_chat_if_there_is_room_elsewhere(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("chunks 500")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    editor.lua("vim.api.nvim_win_set_cursor(vim.fn.bufwinid('acp://chat/1'), { 1, 0 })")
    wait_float(editor, "shown")
    ends = editor.wait(lua_call(__file__, "float_position"))
    chat = editor.lua("return vim.fn.win_screenpos(vim.fn.bufwinid('acp://chat/1'))[2]")
    assert ends[0][1] == "E"
    assert ends[1] < chat
    assert ends[2] + 2 <= ends[1]


def test_a_card_that_is_partly_visible_is_not_in_view(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("chunks 500")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    editor.cmd("wincmd l")
    wait_float(editor, "hidden")
    editor.lua("vim.fn.search('^  1. ', 'b') vim.cmd('normal! zb')")
    wait_float(editor, "shown")
    editor.cmd("normal! G")
    wait_float(editor, "hidden")
    editor.lua("vim.fn.search('wants to run', 'b') vim.cmd('foldclose')")
    editor.keys("j")
    wait_float(editor, "shown")


def test_a_card_with_unwrapped_lines_is_not_in_view(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    wait_float(editor, "hidden")
    editor.cmd("wincmd l | setlocal nowrap | wincmd h")
    wait_float(editor, "shown")


@pytest.mark.parametrize(("columns", "state"), [(30, "shown"), (1, "hidden")])
def test_a_card_in_the_chat_that_a_float_covers_is_not_in_view(
    editor: Editor, columns: int, state: str
) -> None:
    editor.agent("script")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    wait_float(editor, "hidden")
    editor.lua(
        """
        local config = { relative = 'editor', row = 5, col = 119, anchor = 'NE', height = 3 }
        config.width, config.zindex = ..., 200
        vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, config)
        """,
        columns,
    )
    wait_float(editor, state)


@pytest.mark.parametrize(("border", "state"), [("none", "hidden"), ("single", "shown")])
def test_the_border_of_a_float_moves_its_text_over_the_card(
    editor: Editor, border: str, state: str
) -> None:
    editor.agent("script")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    wait_float(editor, "hidden")
    editor.lua(lua_chunk(__file__, "float_above_card"), border)
    editor.keys("l")
    wait_float(editor, state)


def test_the_float_hides_only_if_all_cards_are_in_view(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permissions 40")
    editor.wait_event("AcpPermission", 40)
    editor.cmd("wincmd l")
    editor.keys("G")
    wait_float(editor, "shown")


def test_acp_permissions_shows_a_hidden_float(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    editor.cmd("wincmd l")
    wait_float(editor, "hidden")
    editor.cmd("wincmd h | only")  # closes the chat, and the hidden float
    wait_float(editor, "shown")
    editor.cmd("Acp chat")
    editor.cmd("wincmd l")
    wait_float(editor, "hidden")
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    assert editor.lua(f"return {CARD_STATE}") == "shown"
    editor.press("y")
    editor.wait_event("AcpTurnEnd")
    wait_float(editor, "none")


def test_the_float_does_not_cover_the_edits_it_asks_about(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("a.txt", "old\n")
    editor.prompt(f"propose none {path} old new")
    editor.wait_event("AcpPermission")
    editor.cmd("wincmd l")
    editor.cmd("Acp review")
    editor.wait("vim.fn.tabpagenr('$') == 2")
    wait_float(editor, "hidden")
    editor.cmd("Acp permissions")
    editor.wait_screen("y allow · n deny · d diff")
    editor.cmd("wincmd p")
    editor.cmd("tabprevious")
    editor.cmd("wincmd h")
    wait_float(editor, "hidden")
    editor.cmd("Acp chat")
    wait_float(editor, "shown")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


def test_the_float_does_not_cover_the_form_it_asks_for(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt('elicit_form {"name": {"type": "string"}}')
    editor.wait_event("AcpElicitation")
    wait_float(editor, "hidden")
    editor.cmd("Acp chat")
    wait_float(editor, "shown")
    editor.cmd("Acp permissions")
    editor.press("y")
    editor.wait("vim.bo.filetype == 'acpform'")
    wait_float(editor, "hidden")
    editor.cmd("1wincmd w")
    wait_float(editor, "shown")
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")


def test_the_float_follows_scrolling_in_another_window(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("chunks 500")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    wait_float(editor, "hidden")
    editor.lua("vim.api.nvim_win_set_cursor(vim.fn.bufwinid('acp://chat/1'), { 1, 0 })")
    wait_float(editor, "shown")
    editor.wait(f"{HEIGHT} > 3")
    editor.lua("local w = vim.fn.bufwinid('acp://chat/1') vim.fn.win_execute(w, 'normal! G')")
    wait_float(editor, "hidden")
    editor.cmd("Acp permissions")
    wait_float(editor, "shown")
    editor.keys("G")
    editor.cmd("wincmd p")
    wait_float(editor, "hidden")
    editor.cmd("tabnew")
    wait_float(editor, "shown")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 2)


def test_the_float_names_the_session_of_each_card(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    editor.agent("script", name="other")
    editor.cmd("AcpPrompt! permission")
    editor.wait_event("AcpPermission", 2)
    editor.wait_screen("│session 2 · permission")
    editor.wait_screen("│session 1 · permission")
    editor.wait_screen("│Scripted wants to run p1")
    for count in (1, 2):
        editor.answer("Acp allow")
        editor.wait_event("AcpTurnEnd", count)


def test_checking_a_chat_in_another_window_keeps_the_selection(editor: Editor) -> None:
    editor.agent("script")
    editor.open(editor.write("a.txt", "one two three\nfour five six\nseven\n"))
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    wait_float(editor, "hidden")
    editor.keys("wve")
    editor.keys("j")
    editor.wait("vim.fn.line('.') == 2")
    editor.keys("<C-v>l")
    assert editor.lua("return vim.fn.mode()") == "\x16"
    assert editor.lua("return vim.fn.getpos('v')[3]") == 5
    editor.keys("<Esc>ciwX")
    editor.wait("vim.fn.getline(2) == 'four X six'")
    assert editor.lua("return vim.fn.mode()") == "i"
    editor.keys("<Esc>")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")


def test_a_small_screen_shows_what_is_asked_and_scrolls_to_each_option(editor: Editor) -> None:
    editor.agent("permission")
    editor.rpc.request("nvim_ui_try_resize", 24, 8)
    editor.prompt("ask")
    editor.wait_event("AcpPermission")
    for row in ("Scripted wants to", "run p1", ":Acp allow/deny"):
        editor.wait_screen(row)
    editor.keys(":Acp permissions<CR>")
    editor.wait_screen("y allow")
    labels = [option["name"] for option in editor.session()["permissions"][0]["options"]]
    assert len(labels) == 4
    editor.keys("gg")
    for _ in range(12):  # more steps than lines
        seen = "\n".join(editor.screen())
        labels = [label for label in labels if label not in seen]
        editor.keys("<C-e>")
    assert not labels
    editor.wait("require('acp').state().sessions[1].permissions[1].shown_ms >= 400")
    editor.keys("4")
    assert editor.wait_event("AcpPermissionDone")["option"] == "never"
