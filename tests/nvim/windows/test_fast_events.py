"""The Lua functions where Neovim allows little (`:help api-fast`): in a timer's callback, say."""

from __future__ import annotations

import re
from typing import Any

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

TIMER = lua_chunk(__file__, "run_in_fast_event")


def fast(editor: Editor, code: str) -> Any:
    """Run it in a fast event; returns what it returns."""
    editor.lua(TIMER, code)
    editor.wait("_G.fast ~= nil")
    was, ok, why, *result = editor.lua("return _G.fast")
    assert was
    assert ok, why
    return result[0] if result else None


def test_a_prompt_may_be_the_first_thing(editor: Editor) -> None:
    agent = editor.agent("script")
    fast(editor, "require('acp').prompt('say hello', { attach = {} })")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    assert agent.prompts() == ["say hello"]
    assert "hello" in editor.chat(1)


def test_what_is_given_is_taken_as_it_was(editor: Editor) -> None:
    agent = editor.agent("script")
    code = "local block = { type = 'text', text = 'say one' } require('acp').prompt({ block })"
    fast(editor, f"{code} block.text = 'say two'")
    editor.wait_event("AcpTurnEnd")
    assert agent.prompts() == ["say one"]


def test_an_answer(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permission")
    asked = editor.wait_event("AcpPermission")
    fast(editor, f"require('acp').answer('{asked['id']}', 'allow')")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    assert "p1: allow" in editor.chat(1)


def test_a_cancel(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    editor.wait_event("AcpTurnStart")
    fast(editor, "require('acp').cancel()")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"


def test_what_is_called_first_is_done_first(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.turn("say ready")
    code = "local acp = require('acp') acp.prompt('say one') acp.prompt('say two') acp.cancel(99)"
    fast(editor, f"{code} acp.prompt('say three')")
    editor.wait_event("AcpTurnEnd", 4)
    assert agent.prompts()[1:] == ["say one", "say two", "say three"]
    editor.wait_message("No session 99")


def test_a_mistake_is_told(editor: Editor) -> None:
    editor.lua("_G.told = {} vim.notify = function(m) table.insert(_G.told, m) end")
    fast(editor, "require('acp').prompt('x', { session = 99 })")
    fast(editor, "require('acp').cancel('x')")
    fast(editor, "require('acp').answer(nil)")
    editor.wait("#_G.told == 3")
    assert editor.lua("return _G.told") == [
        "acp: No session 99. :Acp sessions lists them",
        "acp: cancel(): session should be a number, not 'x'",
        "acp: answer(): id should be a question's id, not nil",
    ]


def test_the_snapshot_and_the_statusline_are_there_at_once(editor: Editor) -> None:
    state = fast(editor, "return require('acp').state()")
    assert isinstance(state, dict)
    assert state["host"] == "stopped"
    assert fast(editor, "return require('acp').statusline()") == ""
    editor.agent("script")
    editor.turn("say hello")
    assert fast(editor, "return require('acp').state().sessions[1].status") == "idle"
    said = fast(editor, "return require('acp').statusline()")
    assert re.fullmatch(r"Scripted · done in \d+ s", said)


def test_a_handler_may_be_made_and_may_answer_there(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.turn("say ready")
    handler = "function() return function(reply) _G.reply = reply end end"
    fast(editor, f"require('acp').on_extension('_my/ask', {handler})")
    editor.prompt("extension _my/ask {}")
    editor.wait("_G.reply ~= nil")
    fast(editor, "_G.reply({ chosen = 1 })")
    editor.wait_event("AcpTurnEnd", 2)
    assert agent.answers("_my/ask")[0]["result"] == {"chosen": 1}
