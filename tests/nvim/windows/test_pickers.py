"""Replacements of `vim.ui.select` and `vim.ui.input`, correct or not."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until

MODES = {
    "modes": {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
    }
}
IN_MODE = "require('acp').state().sessions[1].modes.current == ..."
KEEPS = lua_chunk(__file__, "note_select")


@pytest.fixture
def with_modes(editor: Editor) -> Editor:
    editor.agent("script", new_session=MODES)
    editor.turn("say one")
    return editor


def test_a_picker_may_return_the_item_without_its_index(with_modes: Editor) -> None:
    with_modes.lua("vim.ui.select = function(items, _, done) done(items[2]) end")
    with_modes.cmd("Acp mode")
    with_modes.wait(IN_MODE, "code")


def test_a_picker_may_return_only_the_item_for_the_hosts_question(with_modes: Editor) -> None:
    with_modes.cmd("AcpPrompt! say two")
    with_modes.wait_event("AcpTurnEnd", 2)
    with_modes.lua(
        """vim.ui.select = function(items, opts, done)
          done(opts.kind == 'acp_session' and items[2] or items[1])
        end"""
    )
    with_modes.cmd("Acp sessions")
    with_modes.wait("require('acp').state().current == 1")


def test_a_picker_that_fails_does_not_block_later_ones(with_modes: Editor) -> None:
    with_modes.errors_expected = True
    with_modes.lua("vim.ui.select = function() error('no such picker') end")
    for command in ("Acp mode", "Acp sessions"):
        with_modes.cmd("messages clear")
        with_modes.cmd(command)
        with_modes.wait_message("no such picker")
    with_modes.lua("vim.ui.select = function(items, _, done) done(items[2], 2) end")
    with_modes.cmd("Acp mode")
    with_modes.wait(IN_MODE, "code")


def test_a_picker_that_chooses_twice_has_chosen_once(with_modes: Editor) -> None:
    with_modes.lua(KEEPS)
    with_modes.cmd("Acp mode")
    with_modes.wait("#_G.calls == 1")
    with_modes.lua("local c = _G.calls[1] c.on_choice(c.items[2], 2) c.on_choice(c.items[1], 1)")
    with_modes.wait(IN_MODE, "code")
    with_modes.turn("say two")
    until(lambda: len(with_modes.traffic[0].received("session/set_mode")) == 1)


def test_a_choice_is_shown_in_a_terminal_window(with_modes: Editor) -> None:
    with_modes.lua(KEEPS)
    with_modes.cmd("terminal cat")
    assert with_modes.lua("return vim.api.nvim_get_mode().mode") == "nt"
    with_modes.cmd("Acp mode")
    with_modes.wait("#_G.calls == 1")
    with_modes.cmd("bwipeout!")
