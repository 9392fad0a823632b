"""Option `keymaps.preset`: global maps for users who want them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, picker_questions
from tests.support.lua import lua_chunk

MAPS = lua_chunk(__file__, "acp_keymaps")


def setup(editor: Editor, keymaps: Any) -> None:
    editor.lua("vim.g.mapleader = ','")
    editor.lua("require('acp').setup({ keymaps = vim.json.decode(...) })", json.dumps(keymaps))


def maps(editor: Editor) -> dict[str, str]:
    found: Any = editor.lua(MAPS)
    return dict(found)


def test_no_key_is_mapped_by_default(editor: Editor) -> None:
    setup(editor, {})
    assert maps(editor) == {}


def test_the_preset_maps_the_everyday_commands(editor: Editor) -> None:
    setup(editor, {"preset": True})
    found = maps(editor)
    assert found["n ,aa"] == found["x ,aa"] == "<Plug>(acp-prompt)"
    assert found["n ,ay"] == "<Plug>(acp-allow)"
    assert found["n ,an"] == "<Plug>(acp-deny)"
    assert found["n ,ar"] == "<Cmd>Acp review<CR>"
    assert found["n ,ai"] == found["x ,ai"] == "<Plug>(acp-edit)"
    assert found["n ,ag"] == "<Plug>(acp-operator)"
    subcommands = {found[f"n ,a{key}"].split()[1].removesuffix("<CR>") for key in "AehkmopqRrSsv"}
    assert subcommands <= set(editor.lua("return vim.fn.getcompletion('Acp ', 'cmdline')"))


def test_a_new_session_and_the_library_have_keys(editor: Editor) -> None:
    install_picker(editor)
    editor.agent("script")
    setup(editor, {"preset": True})
    editor.open(editor.write("a.txt", "one\ntwo\n"))
    editor.keys(",ao")
    editor.wait("vim.fn.bufwinid('acp://chat/1') > 0")
    editor.keys("V,al")
    editor.wait("#_G.acp_asked == 1")
    editor.keys("<Esc>Vj,aimake it shorter<CR>")
    editor.wait("#_G.acp_asked == 2 and _G.acp_asked[2].prompt:find('1-2', 1, true)")


def test_the_key_of_sessions_opens_the_chosen_one_at_once(editor: Editor) -> None:
    install_picker(editor)
    editor.agent("script")
    setup(editor, {"preset": True})
    editor.turn("hello")
    editor.cmd("AcpPrompt! say two")
    editor.wait("(require('acp').state().sessions[2] or {}).stop_reason == 'end_turn'")
    editor.lua("_G.acp_answers = { 'hello' }")
    editor.keys(",as")
    editor.wait("require('acp').state().current == 1")
    assert [question["kind"] for question in picker_questions(editor)] == ["acp_session"]


def test_the_users_prefix_is_used_and_their_own_maps_are_kept(editor: Editor) -> None:
    editor.cmd("nnoremap gay :echo 'mine'<CR>")
    setup(editor, {"preset": "ga"})
    found = maps(editor)
    assert found["n gan"] == "<Plug>(acp-deny)"
    assert "n gay" not in found
    assert "mine" in editor.lua("return vim.fn.maparg('gay', 'n')")


def test_without_the_option_the_maps_are_removed_except_the_users_own(
    editor: Editor,
) -> None:
    setup(editor, {"preset": True})
    editor.cmd("nnoremap ,ac :echo 'mine'<CR>")
    setup(editor, {"preset": False})
    assert maps(editor) == {}
    assert "mine" in editor.lua("return vim.fn.maparg(',ac', 'n')")


def test_a_question_is_answered_with_two_keys_from_the_code(editor: Editor) -> None:
    editor.write("a.txt", "one\\n")
    editor.agent("permission")
    editor.lua("require('acp.config').get().keymaps.preset = ';'")
    editor.lua("require('acp.ui.preset').refresh()")
    editor.prompt("go")
    editor.wait("#(require('acp').state().sessions[1].permissions or {}) == 1")
    editor.press(";y")
    editor.wait_event("AcpTurnEnd")


@pytest.mark.parametrize("value", [1, "", {}, []])
def test_an_invalid_value_is_named(editor: Editor, value: Any) -> None:
    editor.errors_expected = True
    setup(editor, {"preset": value})
    assert maps(editor) == {}
    assert "keymaps.preset" in str(editor.lua("return require('acp.config').mistakes"))
