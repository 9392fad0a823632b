"""Wrong arguments of the Lua functions: one line of error, and no other effect."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.waiting import until

WRONG = [
    (
        "prompt(nil)",
        "acp: prompt(): the prompt should be a text or a list of content blocks, not nil",
    ),
    (
        "prompt(12)",
        "acp: prompt(): the prompt should be a text or a list of content blocks, not 12",
    ),
    (
        "prompt({ text = 'x' })",
        "acp: prompt() takes text or a list of content blocks, not a table with keys",
    ),
    ("prompt('x', 5)", "acp: prompt(): opts should be a table, not 5"),
    (
        "prompt('x', { sesion = 1 })",
        "acp: Unknown option of prompt() 'sesion', did you mean 'session'?",
    ),
    ("prompt('x', { session = 'a' })", "acp: prompt(): session should be a number, not 'a'"),
    ("prompt('x', { session = 99 })", "acp: No session 99. :Acp sessions lists them"),
    ("prompt('x', { attach = 'a' })", "acp: prompt(): attach should be a list of paths, not 'a'"),
    ("prompt('x', { agent = 'ecko' })", "acp: Unknown agent 'ecko', did you mean 'echo'?"),
    ("prompt('x', { new = 1 })", "acp: prompt(): new should be true or false, not 1"),
    ("prompt('x', { meta = 1 })", "acp: prompt(): meta should be a table, not 1"),
    ("cancel('x')", "acp: cancel(): session should be a number, not 'x'"),
    ("cancel(99)", "acp: No session 99. :Acp sessions lists them"),
    (
        "attach('a.txt')",
        "acp: attach(): items should be a list of paths or { path, first, last }, not 'a.txt'",
    ),
    (
        "attach({ 5 })",
        "acp: attach(): items should be a list of paths or { path, first, last }, not a table",
    ),
    ("answer(nil)", "acp: answer(): id should be a question's id, not nil"),
    ("answer('d1', 5)", "acp: answer(): choice should be an optionId, or nil, not 5"),
    ("answer('d1', 'x', 5)", "acp: answer(): content should be a table, not 5"),
    ("answer('d1', 'x')", "acp: No pending question d1"),
]


def test_a_wrong_argument_is_named_in_one_line(editor: Editor) -> None:
    editor.setup({"agents": {"echo": {"command": ["echo"]}}})
    editor.lua("vim.notify = function(m) table.insert(_G.notified, m) end")
    for call, line in WRONG:
        editor.lua("_G.notified = {}")
        editor.lua(f"require('acp').{call}")
        assert editor.lua("return _G.notified") == [line], call
    assert editor.state()["host"] == "stopped"


def test_an_rpc_caller_may_pass_nil(editor: Editor) -> None:
    agent = editor.agent("script")
    call = "require('acp')[...](select(2, ...))"
    editor.lua(call, "prompt", "say one", None)
    editor.wait_event("AcpTurnEnd")
    editor.lua(call, "prompt", "say two", {"session": None, "new": None, "attach": None})
    until(lambda: agent.prompts() == ["say one", "say two"])
    editor.lua(call, "cancel", None)
    assert "is a number" not in editor.messages()


def test_vim_nil_counts_as_nil(editor: Editor) -> None:
    editor.agent("script")
    editor.lua("require('acp').setup(...)", None)
    editor.setup({})
    editor.lua("require('acp').prompt(...)", "permission", None)
    permission = editor.wait_event("AcpPermission")
    editor.lua("require('acp').answer(...)", permission["id"], None, None)
    assert editor.wait_event("AcpPermissionDone")["outcome"] == "cancelled"
    editor.wait_event("AcpTurnEnd")
    editor.lua("require('acp').prompt(...)", "wait_for_cancel", {"session": None})
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    editor.lua("require('acp').cancel(...)", None)
    assert editor.wait_event("AcpTurnEnd", 2)["stop_reason"] == "cancelled"


def test_a_single_block_is_a_list_of_one(editor: Editor) -> None:
    agent = editor.agent("script")
    editor.lua("require('acp').prompt({ type = 'text', text = 'say alone' })")
    editor.wait_event("AcpTurnEnd")
    assert agent.prompts() == ["say alone"]


def test_without_python_a_prompt_returns_to_the_composer(editor: Editor) -> None:
    editor.setup({"python": "/nowhere/python"})
    editor.lua("vim.notify = function() end")
    editor.cmd("AcpPrompt say one")
    assert editor.lines("acp://composer/1") == ["say one"]
    editor.lua("require('acp').prompt('say two')")
    assert editor.lines("acp://composer/1") == ["say two", "say one"]


@pytest.mark.parametrize("blocks", ["{ type = 'text' }", "{ type = 'text', text = ' ' }", "' '"])
def test_blocks_without_content_are_not_sent(editor: Editor, blocks: str) -> None:
    agent = editor.agent("script")
    editor.lua(f"require('acp').prompt({{ {blocks} }})")
    editor.wait_message("An empty prompt is not sent")
    editor.turn("say one")
    assert agent.prompts() == ["say one"]


def test_a_session_of_another_agent_is_refused(editor: Editor) -> None:
    editor.agent("script", name="other")
    agent = editor.agent("script")
    editor.turn("say one")
    editor.cmd("messages clear")
    editor.lua("require('acp').prompt('say two', { session = 1, agent = 'other' })")
    assert (
        editor.messages()
        == "acp: Session 1 belongs to script, not to other. Give only one of the two"
    )
    editor.lua("require('acp').prompt('say two', { session = 1, agent = 'script' })")
    editor.wait_event("AcpTurnEnd", 2)
    assert agent.prompts() == ["say one", "say two"]


def test_a_file_that_is_named_twice_is_sent_once(editor: Editor) -> None:
    agent = editor.agent("script")
    path = editor.write("a.txt", "one\n")
    editor.lua(
        "require('acp').prompt('say @a.txt', { attach = { 'a.txt', ... } })",
        str(path),
    )
    editor.wait_event("AcpTurnEnd")
    sent = agent.received("session/prompt")[0]["params"]["prompt"]
    assert [block["type"] for block in sent] == ["text", "resource"]


@pytest.mark.parametrize("block", ["{ text = 'x' }", "5", "{ type = 5 }"])
def test_a_block_without_a_type_is_a_mistake(editor: Editor, block: str) -> None:
    agent = editor.agent("script")
    editor.lua(f"require('acp').prompt({{ 'say one', {block} }})")
    line = "acp: prompt: block 2 is not a content block: it has no type"
    editor.wait_message(line)
    assert not agent.prompts()
