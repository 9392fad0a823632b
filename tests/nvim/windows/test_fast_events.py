"""The Lua functions in fast events (`:help api-fast`), such as timer callbacks."""

from __future__ import annotations

import re
from typing import Any

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

TIMER = lua_chunk(__file__, "run_in_fast_event")


def run_fast(editor: Editor, code: str) -> Any:
    """Run code in a fast event and return its result."""
    editor.lua(TIMER, code)
    editor.wait("_G.fast ~= nil")
    was, ok, why, *result = editor.lua("return _G.fast")
    assert was
    assert ok, why
    return result[0] if result else None


def test_a_prompt_may_be_the_first_call(editor: Editor) -> None:
    agent = editor.agent("script")
    run_fast(editor, "require('acp').prompt('say hello', { attach = {} })")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    assert agent.prompts() == ["say hello"]
    assert "hello" in editor.chat(1)


def test_arguments_are_copied_at_the_call(editor: Editor) -> None:
    agent = editor.agent("script")
    code = "local block = { type = 'text', text = 'say one' } require('acp').prompt({ block })"
    run_fast(editor, f"{code} block.text = 'say two'")
    editor.wait_event("AcpTurnEnd")
    assert agent.prompts() == ["say one"]


def test_a_permission_can_be_answered(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permission")
    permission = editor.wait_event("AcpPermission")
    run_fast(editor, f"require('acp').answer('{permission['id']}', 'allow')")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    assert "p1: allow" in editor.chat(1)


def test_a_turn_can_be_cancelled(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("wait_for_cancel")
    editor.wait_event("AcpTurnStart")
    run_fast(editor, "require('acp').cancel()")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"


def test_calls_keep_their_order(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.turn("say ready")
    code = "local acp = require('acp') acp.prompt('say one') acp.prompt('say two') acp.cancel(99)"
    run_fast(editor, f"{code} acp.prompt('say three')")
    editor.wait_event("AcpTurnEnd", 4)
    assert agent.prompts()[1:] == ["say one", "say two", "say three"]
    editor.wait_message("No session 99")


def test_a_mistake_is_reported(editor: Editor) -> None:
    editor.lua("_G.notified = {} vim.notify = function(m) table.insert(_G.notified, m) end")
    run_fast(editor, "require('acp').prompt('x', { session = 99 })")
    run_fast(editor, "require('acp').cancel('x')")
    run_fast(editor, "require('acp').answer(nil)")
    editor.wait("#_G.notified == 3")
    assert editor.lua("return _G.notified") == [
        "acp: No session 99. :Acp sessions lists them",
        "acp: cancel(): session should be a number, not 'x'",
        "acp: answer(): id should be a question's id, not nil",
    ]


def test_snapshot_and_statusline_are_returned_at_once(editor: Editor) -> None:
    state = run_fast(editor, "return require('acp').state()")
    assert isinstance(state, dict)
    assert state["host"] == "stopped"
    assert run_fast(editor, "return require('acp').statusline()") == ""
    editor.agent("script")
    editor.turn("say hello")
    assert run_fast(editor, "return require('acp').state().sessions[1].status") == "idle"
    statusline = run_fast(editor, "return require('acp').statusline()")
    assert re.fullmatch(r"done in \d+ s · Scripted", statusline)


def test_a_handler_may_be_registered_and_may_answer_there(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.turn("say ready")
    handler = "function() return function(reply) _G.reply = reply end end"
    run_fast(editor, f"require('acp').on_extension('_my/ask', {handler})")
    editor.prompt("extension _my/ask {}")
    editor.wait("_G.reply ~= nil")
    run_fast(editor, "_G.reply({ chosen = 1 })")
    editor.wait_event("AcpTurnEnd", 2)
    assert agent.answers("_my/ask")[0]["result"] == {"chosen": 1}
