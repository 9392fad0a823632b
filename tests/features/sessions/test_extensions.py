"""Extension requests and notifications of agents reach the user's handlers (v1/extensibility)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk


def answer(editor: Editor, line: str) -> dict[str, Any]:
    """Return the agent's own report of the answer to a request."""
    agent = editor.traffic[-1]
    method = line.partition(" ")[0]
    count = len(agent.answers(method))
    editor.turn(f"extension {line}")
    frame = agent.answers(method)[count]
    found: dict[str, Any] = frame["result"] if "result" in frame else frame["error"]
    return found


def handler(editor: Editor, name: str, body: str) -> None:
    editor.lua(
        "local name, body = ... require('acp').on_extension(name,"
        " assert(loadstring('local params, context = ... ' .. body)))",
        name,
        body,
    )


def test_a_request_is_answered_by_its_handler(editor: Editor) -> None:
    editor.agent("script")
    handler(editor, "_my/sum", "return { sum = params.a + params.b, from = context }")
    found = answer(editor, '_my/sum {"a":1,"b":2,"gone":null}')
    context = {"agent": "script", "method": "_my/sum", "session": 1, "request": True}
    assert found == {"sum": 3, "from": context}


def test_a_handler_may_be_added_and_removed_while_the_agent_runs(editor: Editor) -> None:
    editor.agent("script")
    assert answer(editor, "_my/x")["code"] == -32601
    handler(editor, "_my/x", "return {}")
    assert answer(editor, "_my/x") == {}
    editor.lua("require('acp').on_extension('_my/x', nil)")
    assert answer(editor, "_my/x")["code"] == -32601


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("error('no way')", {"code": -32603, "message": "no way"}),
        ("return nil, 'not now'", {"code": -32603, "message": "not now"}),
        (
            "return nil, { code = -32000, message = 'log in', data = { a = 1 } }",
            {"code": -32000, "message": "log in", "data": {"a": 1}},
        ),
        ("return function() error('later') end", {"code": -32603, "message": "later"}),
    ],
)
def test_a_handler_may_refuse(editor: Editor, body: str, error: dict[str, Any]) -> None:
    editor.agent("script")
    handler(editor, "_my/x", body)
    assert answer(editor, "_my/x") == error


def test_a_value_that_cannot_be_sent_is_an_error_of_the_handler(editor: Editor) -> None:
    editor.agent("script")
    handler(editor, "_my/x", "return { print }")
    assert answer(editor, "_my/x")["code"] == -32603


def test_a_handler_may_answer_later_but_only_once(editor: Editor) -> None:
    editor.agent("script")
    handler(
        editor,
        "_my/ask",
        "return function(reply) _G.reply = reply end",
    )
    editor.prompt("extension _my/ask")
    editor.wait("_G.reply ~= nil")
    assert editor.traffic[-1].answers("_my/ask") == []
    editor.lua("_G.reply({ word = 'yes' }) _G.reply({ word = 'no' })")
    editor.wait_event("AcpTurnEnd")
    assert [f["result"] for f in editor.traffic[-1].answers("_my/ask")] == [{"word": "yes"}]


def test_a_notification_arrives_after_the_text_before_it(editor: Editor) -> None:
    editor.agent("script")
    handler(
        editor,
        "_my/note",
        "_G.seen = { params, context, vim.api.nvim_buf_get_lines("
        "require('acp').state().sessions[1].chat_bufnr, 0, -1, false) }",
    )
    editor.turn('say before\nextension_told _my/note {"deep":{"list":[1,2]}}\nextension_told _o/t')
    editor.wait("_G.seen ~= nil")
    params, context, chat = editor.lua("return _G.seen")
    assert params == {"sessionId": "s1", "deep": {"list": [1, 2]}}
    assert context == {"agent": "script", "method": "_my/note", "session": 1, "request": False}
    assert "before" in chat


def test_an_error_in_a_notification_is_one_line(editor: Editor) -> None:
    editor.agent("script")
    handler(editor, "_my/note", "error('broken')")
    editor.turn("extension_told _my/note\nsay after")
    editor.wait("vim.fn.execute('messages'):find('_my/note handler: .*broken')")
    assert "after" in editor.chat()


def test_names_without_underscore_belong_to_the_protocol(editor: Editor) -> None:
    editor.agent("script")
    message = editor.lua(
        "local ok, why = pcall(require('acp').on_extension, 'my/x', print) return why"
    )
    assert message == "An extension's name must start with '_': 'my/x'"
    editor.turn("extension my/x")
    assert json.dumps(-32601) in "".join(editor.chat())


# ---- the user's own requests

ASK = lua_chunk(__file__, "send_request")


def test_a_request_of_the_user_gets_one_answer(editor: Editor) -> None:
    traffic = editor.agent("answers_extensions")
    editor.turn("go")
    editor.lua(ASK, "_my/echo", {"a": [1, 2], "deep": {"b": "ü"}})
    editor.wait("#_G.answers == 1")
    assert editor.lua("return _G.answers[1].result") == {"a": [1, 2], "deep": {"b": "ü"}}
    editor.lua(ASK, "_my/refuse", {})
    editor.wait("#_G.answers == 2")
    error = {"code": -32000, "message": "not now", "data": {"why": "busy"}}
    assert editor.lua("return _G.answers[2]") == {"err": error}
    assert traffic.received("_my/refuse")[0]["params"] == {}
    editor.lua(ASK, "_my/null", {})
    editor.wait("#_G.answers == 3")
    assert editor.lua("return next(_G.answers[3]) == nil")


def test_a_request_of_the_user_is_answered_when_the_agent_dies(editor: Editor) -> None:
    editor.errors_expected = True
    traffic = editor.agent("answers_extensions")
    editor.turn("go")
    editor.lua(ASK, "_my/never", {})
    traffic.wait("_my/never")
    editor.cmd("Acp stop")
    editor.wait("#_G.answers == 1")
    assert "was stopped" in editor.lua("return _G.answers[1].err.message")
    editor.lua(ASK, "_my/die", {})
    editor.wait("#_G.answers == 2")
    assert editor.lua("return _G.answers[2].err.code") == -32603
    editor.lua(ASK, "_my/echo", {"x": 1}, {"agent": "nobody"})
    editor.wait("#_G.answers == 3")
    assert "No agent named nobody" in editor.lua("return _G.answers[3].err.message")


def test_a_request_of_the_user_is_answered_when_the_host_dies(editor: Editor) -> None:
    editor.errors_expected = True
    traffic = editor.agent("answers_extensions")
    editor.turn("go")
    editor.lua(ASK, "_my/never", {})
    traffic.wait("_my/never")
    editor.lua("vim.fn.jobstop(require('acp.base.host').channel())")
    editor.wait("#_G.answers == 1")
    assert editor.lua("return _G.answers[1].err") == {
        "code": -32603,
        "message": "the Python host is not running",
    }


@pytest.mark.parametrize(
    ("args", "wrong"), [("'my/x', {}, print", "must start with '_'"), ("'_my/x', {}", "not a nil")]
)
def test_an_invalid_request_of_the_user_is_an_error(editor: Editor, args: str, wrong: str) -> None:
    ok, why = editor.lua(f"return {{ pcall(require('acp').request, {args}) }}")
    assert not ok
    assert wrong in why


@pytest.mark.parametrize("protocol", [1, 2])
def test_methods_with_a_handler_are_announced(editor: Editor, protocol: int) -> None:
    traffic = editor.agent("script", protocol=protocol)
    handler(editor, "_my/sum", "return {}")
    editor.turn("say hi")
    params = traffic.received("initialize")[0]["params"]
    capabilities = params["clientCapabilities" if protocol == 1 else "capabilities"]
    assert capabilities["_meta"]["acp.nvim"] == {"extensions": ["_my/sum"]}
