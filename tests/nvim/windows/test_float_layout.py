"""A chat in a float (`chat.layout = 'float'`)."""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.lua import lua_call

BOTTOM = lua_call(__file__, "row_below_chat")


def test_a_split_at_the_bottom_is_visible_below_the_float(editor: Editor) -> None:
    editor.setup({"chat": {"layout": "float"}})
    editor.agent("script")
    editor.turn("say hello")
    before = editor.lua(f"return {BOTTOM}")
    editor.cmd("Acp checkpoints")
    pane = editor.wait("vim.bo.filetype == 'acpcheckpoints' and vim.fn.win_screenpos(0)[1]")
    editor.wait(f"{BOTTOM} < ...", pane - 1)
    editor.keys("q")
    editor.wait(f"{BOTTOM} == ...", before)


def test_the_agents_name_has_the_background_of_the_float(editor: Editor) -> None:
    editor.cmd("set termguicolors | hi Normal guibg=#111111 guifg=#eeeeee")
    editor.lua("require('acp.ui.highlights').define()")
    look = editor.lua("return vim.api.nvim_get_hl(0, { name = 'AcpAgent', link = false })")
    assert "bg" not in look
