"""Every method of version 2 of the protocol, in a real Neovim: its frames and what a user sees. At
the end of an editor all frames are checked against the schema of version 2.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.editor import Editor
from tests.support.fake_picker import pick
from tests.support.stored_sessions import MODES, storing_agent
from tests.support.traffic import Traffic
from tests.support.waiting import until

PERMISSION = "session/request_permission"
HISTORY = [["user", "what was it?"], ["agent", "It was so."], ["tool", "t1"]]
IDLE = "(require('acp').state().sessions[{n}] or {{}}).status == 'idle'"


def last(traffic: Traffic, method: str) -> Any:
    return traffic.wait(method)["params"]


def test_sessions_are_listed_reopened_forked_and_ended(picker: Editor) -> None:
    traffic = storing_agent(
        picker,
        {
            "x1": {"title": "Old talk", "said": HISTORY},
            "x2": {"title": "Another"},
            "x3": {"title": "Put away", "archived": True},
        },
        protocol=2,
        new_session=MODES,
    )
    pick(picker, "Acp sessions", "Old talk", "load")
    assert "cursor" not in last(traffic, "session/list")
    picker.wait(IDLE.format(n=1))
    params = last(traffic, "session/resume")
    assert params["replayFrom"] == {"type": "start"}
    assert {server["type"] for server in params["mcpServers"]} == {"stdio"}
    chat = [line for line in picker.chat(1) if line]
    assert chat[:4] == ["## You", "what was it?", "## Scripted", "It was so."]
    picker.wait("#require('acp').state().sessions[1].commands == 1")
    picker.cmd("Acp model large")
    option = {"sessionId": "x1", "configId": "model", "type": "id", "value": "large"}
    assert last(traffic, "session/set_config_option") == option
    pick(picker, "Acp sessions", "Old talk", "rename", "new name")
    assert last(traffic, "session/set_title")["title"] == "new name"
    pick(picker, "Acp sessions", "New name", "close")
    assert last(traffic, "session/close") == {"sessionId": "x1"}
    picker.wait("require('acp').state().sessions[1].status == 'closed'")
    pick(picker, "Acp sessions", "New name", "resume")
    picker.wait(IDLE.format(n=2))
    assert "replayFrom" not in traffic.received("session/resume")[1]["params"]
    assert last(traffic, "session/status") == {"sessionId": "x1"}
    pick(picker, "Acp sessions", "New name", "archive")
    assert last(traffic, "session/archive") == {"sessionId": "x1"}
    pick(picker, "Acp sessions", "Put away", "unarchive")
    assert last(traffic, "session/unarchive") == {"sessionId": "x3"}
    pick(picker, "Acp sessions", "Another", "delete")
    assert last(traffic, "session/delete") == {"sessionId": "x2"}
    pick(picker, "Acp sessions", "New name", "fork")
    assert last(traffic, "session/fork")["sessionId"] == "x1"
    picker.wait(IDLE.format(n=3))


def test_login_and_logout_work(picker: Editor) -> None:
    mark = picker.home / "logged-in"
    traffic = picker.agent("wants_login", str(mark), "ab", "session/new", protocol=2)
    picker.prompt("say one")
    picker.wait("require('acp').state().agents.wants_login.status == 'auth_required'")
    methods = picker.state()["agents"]["wants_login"]["auth_methods"]
    assert [method["id"] for method in methods] == ["account", "browser"]
    picker.cmd("Acp login account")
    assert last(traffic, "auth/login") == {"methodId": "account"}
    picker.wait_event("AcpTurnEnd")
    assert "one" in picker.chat()
    assert traffic.received("auth/status")
    picker.cmd("Acp logout")
    assert last(traffic, "auth/logout") == {}
    picker.wait("require('acp').state().agents.wants_login.auth.state == 'unauthenticated'")


def test_an_agent_may_report_a_login(picker: Editor) -> None:
    mark = picker.home / "logged-in"
    traffic = picker.agent("tells_login", str(mark), protocol=2)
    picker.prompt("say done")
    traffic.wait_note("refused")
    picker.wait("require('acp').state().agents.tells_login.status == 'auth_required'")
    mark.write_text("in")
    picker.wait_event("AcpTurnEnd")
    assert "done" in picker.chat()


def test_questions_with_forms_and_addresses_are_answered(editor: Editor) -> None:
    traffic = editor.agent("script", protocol=2)
    wait = traffic.wait  # the first prompt starts the agent
    editor.lua("vim.ui.open = function(url) _G.opened = url end")
    editor.prompt("elicit_form\nelicit_url")
    capabilities = wait("initialize")["params"]["capabilities"]
    assert capabilities == {"auth": {"terminal": {}}, "elicitation": {"form": {}, "url": {}}}
    waiting = "#require('acp').state().sessions[1].elicitations == 1"
    editor.wait(waiting)
    [form] = editor.session()["elicitations"]
    answer = "local id, c, v = ... require('acp').answer(id, c, v)"
    editor.lua(answer, form["id"], "accept", {"name": "Ada"})
    editor.wait(f"{waiting} and require('acp').state().sessions[1].elicitations[1].mode == 'url'")
    editor.lua(answer, editor.session()["elicitations"][0]["id"], "accept")
    editor.wait_event("AcpTurnEnd")
    results = [frame["result"] for frame in traffic.wait_answers("elicitation/create", 2)]
    assert results == [{"action": "accept", "content": {"name": "Ada"}}, {"action": "accept"}]
    assert any("accepted, completed" in line for line in editor.chat())


def test_a_withdrawn_question_and_one_about_an_unknown_request_are_handled(editor: Editor) -> None:
    traffic = editor.agent("script2", protocol=2)
    editor.turn("permission_taken_back")
    [answer] = traffic.wait_answers(PERMISSION, 1)
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    subject = {"type": "budget", "amount": 5}
    question = {"title": "Spend it?", "description": "Five euros.", "subject": subject}
    editor.prompt("asks2 " + json.dumps(question))
    event = editor.wait_event("AcpPermission", 2)
    assert (event["title"], event.get("tool_call")) == ("Spend it?", None)
    assert any("Five euros." in line for line in editor.chat())
    assert any("budget" in line for line in editor.chat())
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd", 2)


def test_one_answer_of_two_keeps_the_state_waiting(editor: Editor) -> None:
    editor.agent("script2", protocol=2)
    editor.prompt("permissions 2")
    editor.wait("#require('acp').state().sessions[1].permissions == 2")
    assert editor.session()["status"] == "running"
    editor.answer("Acp allow")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    assert editor.session()["status"] == "running"
    editor.answer("Acp allow")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"


def test_a_tool_call_and_a_terminal_end_separately(editor: Editor) -> None:
    traffic = editor.agent("ends_alone", protocol=2)
    editor.prompt("go")
    editor.wait("#require('acp').state().sessions[1].terminals == 1")
    editor.wait("#require('acp').state().sessions[1].tool_calls == 1")
    stop = "require('acp.base.host').notify('stop_target', { session = 1, target = ... })"
    editor.lua(stop, {"kind": "tool", "call": 0})
    assert last(traffic, "tool_call/cancel") == {"sessionId": "s1", "toolCallId": "c"}
    editor.wait("require('acp').state().sessions[1].tool_calls[1].status == 'cancelled'")
    assert editor.session()["status"] == "running"
    editor.lua(stop, {"kind": "terminal", "id": "t"})
    assert last(traffic, "terminal/cancel") == {"sessionId": "s1", "terminalId": "t"}
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    assert editor.session()["terminals"][0]["signal"] == "SIGTERM"


def test_methods_that_the_client_lacks_are_refused(editor: Editor) -> None:
    traffic = editor.agent("script2", protocol=2)
    lines = ["fs/read_text_file", "terminal/create", "_vendor/thing"]
    editor.turn("\n".join(f"request {method} {{}}" for method in lines))
    for method in lines:
        assert traffic.answers(method)[0]["error"]["code"] == -32601, method
    assert editor.turn("notify _vendor/note {}\nnotify $/odd {}\nsay on")["stop_reason"]
    assert "on" in editor.chat()


def test_a_failed_turn_gives_the_reason_and_returns_the_prompt(editor: Editor) -> None:
    editor.agent("script2", protocol=2)
    end = editor.turn("stop error")
    assert end["error"] == "the model is overloaded"
    assert "stop_reason" not in end
    chat = "\n".join(editor.chat())
    assert "the model is overloaded" in chat
    assert "retry: true" in chat, "what the error holds beside its message"
    for reason, words in (("refusal", "refused"), ("max_tokens", "token limit")):
        assert editor.turn(f"stop {reason}")["stop_reason"] == reason
        assert words in "\n".join(editor.chat())
    assert editor.turn('uses {"totalTokens":3,"inputTokens":2,"outputTokens":1}')["usage"] == {
        "total": 3,
        "input": 2,
        "output": 1,
    }


def test_commands_in_an_answer_and_a_state_before_it_are_applied(editor: Editor) -> None:
    editor.agent("works_at_once", protocol=2)
    editor.prompt("hello")
    editor.wait("#(require('acp').state().sessions[1].commands or {}) == 1")
    assert [it["name"] for it in editor.session()["commands"]] == ["at-once"]
    editor.wait("require('acp').state().sessions[1].status == 'idle'")
    until(lambda: "done with both" in editor.chat())


def test_a_subagent_can_ask_in_version_2(editor: Editor) -> None:
    editor.agent("subagent_asks", protocol=2)
    editor.prompt("go")
    permission = editor.wait_event("AcpPermission")
    assert permission["subagent"] == 2
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    assert editor.session(1)["subagents"][0]["title"] == "Explorer"
