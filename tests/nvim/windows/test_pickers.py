"""Replacements of `vim.ui.select` and `vim.ui.input`, correct or not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.plugins import add_plugins
from tests.support.waiting import until

MODES = {
    "modes": {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
    }
}
IN_MODE = "require('acp').state().sessions[1].modes.current == ..."
KEEPS = lua_chunk(__file__, "note_select")
STAND_IN = lua_chunk(__file__, "stand_in_picker")
WAYS: dict[str, dict[str, Any]] = {
    "dressing": {"opens_later": True, "answers": "later"},
    "fzf-lua": {"answers": "later"},
    "telescope": {"answers": "item", "is_silent": True},
    "a window that opens before the answer": {"answers": "elsewhere"},
}
IN_PICKER = "vim.api.nvim_win_get_config(0).relative ~= '' and not vim.w.acp"


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


def choose(editor: Editor, command: str, keys: str) -> None:
    """Run a command that opens the picker, and press keys in it."""
    editor.cmd(command)
    editor.wait(IN_PICKER)
    editor.keys(keys)


def open_session(editor: Editor, n: int, title: str) -> None:
    """Choose a session, and then the action `open`."""
    before = editor.lua("return _G.opened")
    choose(editor, "Acp sessions", f"/{title}<CR><CR>")
    editor.wait(f"_G.opened == {before + 2} and {IN_PICKER}")
    editor.keys("<CR>")
    editor.wait("require('acp').state().current == ...", n)


def test_choices_work_with_each_way_of_pickers_to_answer(with_modes: Editor) -> None:
    """The Lua front asks for a mode or prompt, the host for a session."""
    editor, prompts = with_modes, 2
    editor.cmd("AcpPrompt! say two")
    editor.wait_event("AcpTurnEnd", 2)
    editor.setup({"prompts": {"speak": "say three"}})
    editor.lua(STAND_IN)
    for way in WAYS.values():
        editor.lua("_G.way = ...", way)
        open_session(editor, 1, "say one")
        choose(editor, "Acp mode", "q")
        choose(editor, "Acp mode", "jq")
        choose(editor, "Acp mode", "j<CR>")
        editor.wait(IN_MODE, "code")
        choose(editor, "Acp mode", "gg<CR>")
        editor.wait(IN_MODE, "ask")
        choose(editor, "Acp ask", "/speak<CR><CR>")
        prompts += 1
        editor.traffic[0].wait("session/prompt", prompts)
        open_session(editor, 2, "say two")


def test_choices_work_with_mini_pick(with_modes: Editor) -> None:
    editor = with_modes
    editor.cmd("AcpPrompt! say two")
    editor.wait_event("AcpTurnEnd", 2)
    add_plugins(editor, "mini.pick")
    editor.lua(lua_chunk(__file__, "mini_picker"))
    steps = (
        ("Acp mode", "<Esc>", "sessions[2].modes.current == 'ask'"),
        ("Acp mode", "<C-n><CR>", "sessions[2].modes.current == 'code'"),
        ("Acp sessions", "one<CR>", "current == 2"),
        ("", "<CR>", "current == 1"),  # open
    )
    for n, (command, keys, state) in enumerate(steps, 1):
        editor.keys(f":{command}<CR>" if command else "")
        editor.wait(f"_G.opened == {n} and MiniPick.is_picker_active()")
        editor.wait("(MiniPick.get_picker_matches() or {}).current")
        editor.keys(keys)
        editor.wait(f"require('acp').state().{state}")
    editor.wait("not MiniPick.is_picker_active()")


def test_a_question_waits_for_a_picker_that_opens_later(with_modes: Editor) -> None:
    with_modes.lua(STAND_IN + "_G.way = { opens_later = true, answers = 'later' }")
    with_modes.lua("vim.cmd('Acp mode') vim.cmd('Acp mode')")
    for mode, keys in (("code", "j<CR>"), ("ask", "gg<CR>")):
        with_modes.wait(IN_PICKER)
        with_modes.keys(keys)
        with_modes.wait(IN_MODE, mode)
    assert with_modes.lua("return _G.opened") == 2


def test_a_question_follows_one_whose_picker_was_closed_without_an_answer(
    with_modes: Editor,
) -> None:
    with_modes.lua(STAND_IN + "_G.way = { is_silent = true }")
    with_modes.lua("vim.cmd('Acp mode') vim.cmd('Acp mode')")
    with_modes.wait(IN_PICKER)
    with_modes.keys("jq")
    with_modes.wait(f"_G.opened == 2 and {IN_PICKER}")
    with_modes.keys("j<CR>")
    with_modes.wait(IN_MODE, "code")


@pytest.mark.parametrize("opens_later", [False, True])
def test_the_host_learns_at_once_that_a_picker_was_closed_without_an_answer(
    with_modes: Editor, opens_later: bool
) -> None:
    way = {"is_silent": True, "opens_later": opens_later}
    with_modes.lua(STAND_IN + "_G.way = ...", way)
    with_modes.lua("require('acp.ui.pick').select('none', 'Which', 'session', { 'a', 'b' })")
    with_modes.lua(
        "local host = require('acp.base.host') _G.answers = {}"
        " host.notify = function(verb, answer)"
        " if verb == 'picked' then table.insert(_G.answers, answer) end end"
    )
    with_modes.wait(IN_PICKER)
    with_modes.keys("jq")
    with_modes.wait("#_G.answers == 1")
    assert with_modes.lua("return _G.answers[1]") == {"id": "none"}


def test_a_late_dialog_does_not_take_the_keys_of_a_user_who_types_on(editor: Editor) -> None:
    editor.open(editor.write("a.txt", "one\n" * 9))
    editor.lua(
        "vim.on_key(function() _G.key_at = vim.uv.now() end)"
        " vim.ui.select = function(_, _, done) _G.gap = vim.uv.now() - _G.key_at done(nil) end"
    )
    editor.keys(":Acp history<CR>")  # there is none, so no dialog
    editor.wait_message("acp: ")
    editor.keys("j")
    editor.lua("require('acp.ui.pick').select('none', 'Which', 'session', { 'a', 'b' })")
    editor.keys("jj")
    editor.wait("_G.gap ~= nil")
    assert editor.lua("return _G.gap") >= 400
    assert editor.lua("return vim.fn.line('.')") == 4
    editor.lua("_G.gap = nil require('acp.ui.pick').select('none', 'Which', 'session', { 'a' })")
    editor.wait("_G.gap ~= nil")  # it opens at once if nothing was typed since the request
    assert editor.lua("return require('acp.buffers.typed_keys').pause_left()") == 0
