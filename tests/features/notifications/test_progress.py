"""Option `progress`: turns in the tab of the terminal and as progress messages."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.outer_terminal import NAME_QUERY, Terminal

WORKING, WAITING, NONE = "\x1b]9;4;3\x1b\\", "\x1b]9;4;4;100\x1b\\", "\x1b]9;4;0\x1b\\"


def test_the_tab_shows_that_a_turn_works_waits_and_has_ended(editor: Editor) -> None:
    terminal = Terminal(editor, "ghostty 1.2.0")
    editor.agent("permission")
    editor.setup({"progress": ["osc"]})
    editor.prompt("ask")
    editor.wait_event("AcpPermission")
    terminal.wait(WAITING)
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    terminal.wait(NONE)
    terminal.forget()
    editor.agent("wait_for_cancel")
    editor.cmd("AcpPrompt! more")
    terminal.wait(WORKING)
    editor.quit()
    assert terminal.written().endswith(NONE), "Neovim has ended"


@pytest.mark.parametrize("name", ["XTerm(390)", "kitty(0.46.0)", "WezTerm 20240203-110809"])
def test_a_terminal_that_would_notify_instead_gets_nothing(editor: Editor, name: str) -> None:
    terminal = Terminal(editor, name)
    editor.agent("permission")
    editor.setup({"progress": True})
    editor.prompt("ask")
    terminal.answer()
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    assert "\x1b]9;4;3" not in terminal.written()
    assert "\x1b]9;4;4" not in terminal.written()


def test_neovim_shows_progress_messages(editor: Editor) -> None:
    if not editor.lua("return vim.fn.has('nvim-0.12') == 1"):
        pytest.skip("progress messages are new in Neovim 0.12")
    editor.lua(
        "_G.seen = {} vim.api.nvim_create_autocmd('Progress', { callback = function(args)"
        " table.insert(_G.seen, args.data.status .. ' ' .. args.data.percent) end })"
    )
    editor.agent("permission")
    editor.setup({"progress": ["message"]})
    editor.prompt("ask")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    editor.wait("_G.seen[#_G.seen] == 'success 100'")
    assert set(editor.lua("return _G.seen")) == {"running 0", "success 100"}


def test_by_default_there_is_no_progress(editor: Editor) -> None:
    terminal = Terminal(editor, "ghostty 1.2.0")
    editor.agent("hello")
    editor.turn("hi")
    assert NAME_QUERY not in terminal.written()
    assert not editor.lua("return package.loaded['acp.features.progress.progress'] ~= nil")
