"""Tools of the user (`require('acp').tool()`) in a real Neovim, called by a real agent process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.killed_host import kill_host
from tests.support.lua import lua_chunk

PUT = lua_chunk(__file__, "register_tool")
REFUSED = "local ok, why = pcall(require('acp').tool, ...) assert(not ok) return why"


def register(editor: Editor, name: str, body: str, **more: Any) -> None:
    """Register a tool whose function has this Lua body."""
    editor.lua(PUT, name, body, more or {"write": False})


def call(editor: Editor, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the agent's answer for a call."""
    agent = editor.traffic[-1]
    noted = f"mcp {tool} "
    count = sum(note.startswith(noted) for note in agent.notes())
    editor.turn(f"mcp {tool} {json.dumps(arguments)}")
    found = [note.removeprefix(noted) for note in agent.notes() if note.startswith(noted)]
    answer: dict[str, Any] = json.loads(found[count])
    return answer


def text(answer: dict[str, Any]) -> tuple[bool, str]:
    """Return whether a call failed, and its text."""
    result = answer["result"]
    return bool(result.get("isError")), result["content"][0]["text"]


def names(editor: Editor) -> list[str]:
    found: list[str] = editor.session(1)["tools"]["names"]
    return found


def test_arguments_and_context_arrive_unchanged(editor: Editor) -> None:
    editor.agent("script")
    register(editor, "echo", "return { args = args, ctx = ctx, none = args.gone == nil }")
    sent: dict[str, Any] = {
        "a": [1, None, {}],
        "b": {},
        "gone": None,
        "big": 2**70,
        "path": "ü\x00",
    }
    answer = call(editor, "echo", **sent)
    found = answer["result"]["structuredContent"]
    assert found["ctx"] == {"session": 1, "cwd": str(editor.work), "agent": "script"}
    assert found["none"] is True
    arguments = found["args"]
    assert arguments["a"][:2] == [1, None]
    assert (arguments["b"], arguments["path"], "gone" in arguments) == ({}, "ü\x00", False)
    assert json.loads(text(answer)[1]) == found


RESULTS = [
    ("return 'said'", (False, "said")),
    ("return 7", (False, "7")),
    ("return", (False, "done")),
    ("return vim.NIL", (False, "done")),
    ("return {}", (False, "[]")),
    ("return vim.empty_dict()", (False, "{}")),
    ("return { path = 'a/b' }", (False, '{"path":"a/b"}')),
    ("return '\\255x\\0'", (False, "�x")),
    ("return nil, 'no such ticket'", (True, "no such ticket")),
    ("error('broken')", (True, "broken")),
    ("error({ message = 'by table' })", (True, "by table")),
    ("error()", (True, "it failed and did not say why")),
    ("return function(reply) reply('later') end", (False, "later")),
    ("return function(reply) vim.schedule(function() reply('soon') end) end", (False, "soon")),
    ("return function(reply) reply('one') reply('two') error('three') end", (False, "one")),
    ("return function(reply) reply(nil, 'no') end", (True, "no")),
    ("return function() error('at start') end", (True, "at start")),
]


def test_results_of_a_tool_are_sent(editor: Editor) -> None:
    editor.agent("script")
    for body, gives in RESULTS:
        register(editor, "mine", body)
        failed, answer = text(call(editor, "mine"))
        assert (failed, answer.replace("\\udcff", "�")) == gives, body


def test_a_timers_callback_can_answer(editor: Editor) -> None:
    editor.agent("script")
    register(
        editor,
        "mine",
        "return function(reply) local timer = vim.uv.new_timer()"
        " timer:start(0, 0, function() timer:close() reply({ fast = vim.in_fast_event() }) end)"
        " end",
    )
    assert text(call(editor, "mine")) == (False, '{"fast":true}')


UNSENDABLE = [
    ("{ print }", "Cannot serialise function: type not supported"),
    ("{ vim.uv.new_timer() }", "Cannot serialise userdata: type not supported"),
    ("(function() local t = {} t.t = t return t end)()", "Cannot serialise, excessive nesting"),
    ("{ 0 / 0 }", "Cannot serialise number: must not be NaN or Infinity"),
]


def test_a_value_that_cannot_be_sent_is_one_line(editor: Editor) -> None:
    editor.agent("script")
    for value, why in UNSENDABLE:
        register(editor, "mine", f"return {value}")
        failed, answer = text(call(editor, "mine"))
        assert failed
        assert answer.startswith(f"the result cannot be sent: {why}")
        assert "\n" not in answer
    register(editor, "mine", "return 'well'")
    assert text(call(editor, "mine")) == (False, "well")


def test_a_result_of_fifty_megabytes_is_cut(editor: Editor) -> None:
    editor.agent("script")
    for value in ("big", "{ big }", "nil, big"):
        register(editor, "mine", f"local big = ('ü'):rep(25 * 2 ^ 20) return {value}")
        failed, answer = text(call(editor, "mine"))
        assert failed == value.startswith("nil")
        assert len(answer) <= 1 << 20
        assert "ü" in answer
        assert failed or answer.endswith("more bytes are left out; ask for a part")
    assert not editor.lua("return require('acp').state().sessions[1].error")


def test_a_tool_is_listed_as_its_spec_says(editor: Editor) -> None:
    agent = editor.agent("script")
    register(editor, "plain", "return 1", description="Gives one.")
    schema = {"properties": {"id": {"type": "string"}}, "required": ["id"]}
    register(editor, "typed", "return 1", schema=schema, write=True)
    editor.turn("mcp_tools")
    noted = next(note for note in agent.notes() if note.startswith("mcp tools/list "))
    listed = json.loads(noted.removeprefix("mcp tools/list "))["result"]["tools"]
    plain, typed = listed[-2:]
    assert (plain["name"], plain["description"]) == ("plain", "Gives one.")
    assert plain["inputSchema"] == {"type": "object"}
    assert plain["annotations"]["readOnlyHint"] is True
    assert typed["inputSchema"] == {"type": "object", **schema}
    assert typed["annotations"]["readOnlyHint"] is False


def test_tools_are_added_and_removed_in_an_open_session(editor: Editor) -> None:
    editor.agent("script")
    register(editor, "mine", "return 'one'")
    assert text(call(editor, "mine")) == (False, "one")
    register(editor, "mine", "return 'two'")
    register(editor, "other", "return 1")
    editor.wait("vim.list_contains(require('acp').state().sessions[1].tools.names, 'other')")
    assert text(call(editor, "mine")) == (False, "two")
    editor.lua("require('acp').tool('mine', nil)")
    editor.wait("not vim.list_contains(require('acp').state().sessions[1].tools.names, 'mine')")
    assert call(editor, "mine")["error"]["message"] == "no tool mine"
    assert "other" in names(editor)
    notes = [note for note in editor.traffic[-1].notes() if note.startswith("mcp told ")]
    assert ["tools/list_changed" in note for note in notes] == [True, True]  # one more, one less


def test_the_option_tools_may_name_them(editor: Editor) -> None:
    editor.agent("script")
    editor.setup({"tools": ["mine", "nvim_read"]})
    register(editor, "mine", "return 'one'")
    register(editor, "other", "return 1")
    assert text(call(editor, "mine")) == (False, "one")
    assert sorted(names(editor)) == ["mine", "nvim_read"]


def test_the_next_host_knows_them(editor: Editor) -> None:
    editor.agent("script")
    register(editor, "mine", "return 'one'")
    assert text(call(editor, "mine")) == (False, "one")
    kill_host(editor)
    assert text(call(editor, "mine")) == (False, "one")


def test_a_cancel_reaches_the_tool(editor: Editor) -> None:
    editor.agent("script")
    register(
        editor,
        "mine",
        "_G.begun = true return function() return function() _G.ended = true end end",
    )
    editor.prompt("mcp mine {}")
    editor.wait("_G.begun")
    editor.cmd("AcpCancel")
    editor.wait("_G.ended")
    editor.wait_event("AcpTurnEnd")


# -- a tool that writes


def wait_question(editor: Editor, arguments: str = "{}") -> dict[str, Any]:
    """Return the question before a call of `mine`, which writes."""
    register(editor, "mine", "_G.done = args return 'written'", write=True)
    editor.prompt(f"mcp mine {arguments}")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    found: dict[str, Any] = editor.session(1)["permissions"][0]
    return found


def test_a_tool_that_writes_needs_a_permission(editor: Editor) -> None:
    agent = editor.agent("script")
    found = wait_question(editor, '{"to": "the shop", "command": "rm"}')
    assert (found["title"], found["kind"]) == ("Call mine", "other")
    assert [it["name"] for it in found["options"]][1] == "Allow mine for the session"
    editor.wait_screen("Scripted wants to call mine")
    editor.wait_screen('to: "the shop"')
    editor.wait_screen('command: "rm"')
    assert editor.lua("return _G.done == nil")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    assert any('"written"' in note for note in agent.notes() if note.startswith("mcp mine"))
    assert editor.lua("return _G.done") == {"to": "the shop", "command": "rm"}


def test_a_refusal_is_reported_and_nothing_runs(editor: Editor) -> None:
    agent = editor.agent("script")
    wait_question(editor)
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")
    assert any('"the user refused"' in note for note in agent.notes())
    question = wait_question(editor)
    editor.lua("require('acp').answer(..., 'allow_once') vim.cmd('AcpCancel')", question["id"])
    editor.wait_event("AcpTurnEnd", 2)
    assert editor.lua("return _G.done == nil")


@pytest.mark.parametrize(
    ("action", "gives"),
    [("allow", (False, "written")), ("deny", (True, "a rule of the user refuses"))],
)
def test_rules_answer_for_user_tools(editor: Editor, action: str, gives: tuple[bool, str]) -> None:
    editor.agent("script")
    editor.setup({"permission": {"rules": [{"action": action, "kind": "other"}]}})
    register(editor, "mine", "return 'written'", write=True)
    assert text(call(editor, "mine")) == gives


# -- mistakes -------------------------------------------------------------------------------------


MISTAKES: list[tuple[Any, Any, str]] = [
    ("my tool", {}, "not 'my tool'"),
    ("a" * 65, {}, "up to 64"),
    ("", {}, "not ''"),
    (7, {}, "not '7'"),
    ("nvim_mine", {}, "'nvim_mine'"),
    ("mine", "text", "The spec of tool mine should be a table, not a string"),
    ("mine", {"description": "d"}, "Tool mine: run should be a function, not nil"),
    ("mine", {"run": 1}, "Tool mine: description should be a text, not nil"),
    ("mine", {"description": " "}, "description should be a text, not ' '"),
    ("mine", {"writes": True}, "'writes', did you mean 'write'"),
    ("mine", {"description": "d", "write": 1}, "run should be a function"),
]


def test_a_mistake_is_named(editor: Editor) -> None:
    for name, spec, message in MISTAKES:
        assert message in editor.lua(REFUSED, name, spec)


SCHEMAS = [
    ("'text'", "schema should be a table, a JSON schema of type 'object', not 'text'"),
    ("{ type = 'array' }", "schema should be a table"),
    (
        "{ properties = { a = print } }",
        "The schema of tool mine cannot be sent: Cannot serialise",
    ),
    ("vim.json.decode(('{\"a\":'):rep(60) .. '1' .. ('}'):rep(60))", "deeper than 50 levels"),
    ("{ type = 'object' }, write = 'yes'", "write should be true or false, not 'yes'"),
]


def test_a_wrong_schema_is_named(editor: Editor) -> None:
    for schema, message in SCHEMAS:
        spec = f"{{ description = 'd', run = print, schema = {schema} }}"
        code = f"local ok, why = pcall(require('acp').tool, 'mine', {spec}) return {{ ok, why }}"
        ok, why = editor.lua(code)
        assert not ok
        assert message in why


def test_a_tool_may_be_registered_in_a_fast_event(editor: Editor) -> None:
    editor.agent("script")
    editor.lua(
        "local timer = vim.uv.new_timer() timer:start(0, 0, function() timer:close()"
        " require('acp').tool('mine', { description = 'd', run = function() return 'fast' end })"
        " _G.put = true end)"
    )
    editor.wait("_G.put")
    assert text(call(editor, "mine")) == (False, "fast")
