"""View of a chat whose window gets fewer rows."""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.lua import lua_call

SHOWS_END = lua_call(__file__, "shows_last_line")
WORDS = " ".join(f"word{n}" for n in range(40))


def test_a_chat_of_a_few_wrapped_lines_shows_its_end_above_a_composer(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(f"say '{WORDS}\\n\\n{WORDS}'")
    editor.wait(SHOWS_END)
    rows = "vim.fn.winheight(vim.fn.bufwinid('acp://chat/1'))"
    before = editor.lua(f"return {rows}")
    assert editor.lua("return vim.fn.line('w0', vim.fn.bufwinid('acp://chat/1'))") == 1
    editor.cmd("AcpPrompt")
    editor.wait(f"{rows} < ...", before)
    editor.wait(SHOWS_END)


def test_a_chat_that_is_scrolled_up_stays_where_it_is(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(f"say '{WORDS}\\n\\n{WORDS}'")
    editor.cmd("wincmd l | normal! gg")
    editor.cmd("wincmd p | botright 15new")
    top = "return vim.fn.line('w0', vim.fn.bufwinid('acp://chat/1'))"
    editor.wait("vim.fn.winheight(vim.fn.bufwinid('acp://chat/1')) < 25")
    assert editor.lua(top) == 1
