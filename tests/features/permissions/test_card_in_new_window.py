"""A question in a chat that is shown in a new window."""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

CLOSED = lua_chunk(__file__, "closed_folds")


def test_a_card_is_unfolded_in_a_chat_that_is_shown_again(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("tool_contents")
    editor.prompt("permission")
    editor.wait_event("AcpPermission")
    editor.cmd("Acp chat")
    editor.wait("#vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1')) == 0")
    editor.cmd("Acp chat")
    closed = editor.lua(CLOSED)
    assert closed
    assert not any("wants to" in line for line in closed)
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 2)
