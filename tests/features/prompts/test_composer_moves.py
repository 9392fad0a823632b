"""A composer whose session number was given to a session that has ended."""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick


def test_the_draft_continues_in_the_composer_of_a_new_session(editor: Editor) -> None:
    install_picker(editor)
    agent = editor.agent("script")
    editor.turn("say first")
    pick(editor, "Acp sessions", "say first", "close")
    editor.wait("require('acp').state().sessions[1].status == 'closed'")
    editor.lua("require('acp.features.prompts.composer').open({ session = 1 })")
    editor.keys("isay dra")
    editor.lua("require('acp.base.host').notify('begin', { n = 1, cwd = vim.fn.getcwd() })")
    editor.wait("vim.api.nvim_buf_get_name(0):match('composer/2$')")
    editor.keys("ft<C-s>")
    editor.wait_event("AcpTurnEnd", 2)
    assert agent.prompts() == ["say first", "say draft"]
    assert editor.events("AcpTurnEnd")[-1]["data"]["session"] == 2
    assert editor.lines("acp://composer/1") == [""]
