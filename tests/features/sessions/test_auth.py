"""Logins to an agent, in a real Neovim: at any request, by each method, and the work after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import pick, picker_questions
from tests.support.stalled_agent import let_answer, stalled_agent
from tests.support.traffic import Traffic
from tests.support.waiting import until


def agent(
    editor: Editor, kinds: str = "a", gated: str = "session/new", code: str = "0", **more: Any
) -> Traffic:
    mark = str(editor.home / "logged-in")
    more["env"] = {"ACP_MARK": mark, **more.get("env", {})}
    return editor.agent("wants_login", mark, kinds, gated, code, **more)


def wait_login(editor: Editor) -> None:
    editor.wait("require('acp').state().agents.wants_login.status == 'auth_required'")


def test_a_prompt_waits_for_the_login_and_is_then_sent(picker: Editor) -> None:
    traffic = agent(picker)
    picker.prompt("say done")
    event = picker.wait_event("AcpAuthRequired")
    assert (event["agent"], [m["id"] for m in event["methods"]]) == ("wants_login", ["account"])
    wait_login(picker)
    assert picker.session(1)["queue"] == ["say done"]
    assert any(":Acp login (1 waiting)" in line for line in picker.chat(1))
    picker.cmd("Acp login")
    picker.wait_event("AcpTurnEnd")
    assert "done" in picker.chat(1)
    state = picker.state()["agents"]["wants_login"]
    assert state["status"] == "ready"
    picker.wait("require('acp').state().agents.wants_login.auth.state == 'authenticated'")
    assert traffic.prompts() == ["say done"]
    assert traffic.received("authenticate")[0]["params"] == {"methodId": "account"}
    assert traffic.received("initialize")[0]["params"]["clientCapabilities"]["auth"] == {
        "terminal": True
    }
    assert len(picker.events("AcpAgentReady")) == 1


def test_a_login_from_the_composer_loses_no_prompt(picker: Editor) -> None:
    traffic = agent(picker)
    picker.keys(":AcpPrompt<CR>say")
    wait_login(picker)
    picker.wait_screen("Log in with :Acp login")
    picker.wait_message("needs you to log in with :Acp login")
    picker.keys(" done<C-s><Esc>:Acp login<CR>")
    picker.wait_event("AcpTurnEnd")
    assert traffic.prompts() == ["say done"]


def test_the_user_picks_one_of_several_methods(picker: Editor) -> None:
    traffic = agent(picker, "ab")
    picker.prompt("say done")
    wait_login(picker)
    pick(picker, "Acp login")
    assert "Browser" in picker_questions(picker)[0]["items"][1]
    assert not traffic.received("authenticate")
    picker.cmd("Acp login browser")
    picker.wait_event("AcpTurnEnd")
    assert traffic.received("authenticate")[0]["params"] == {"methodId": "browser"}


def test_an_open_session_that_needs_a_login_loses_no_prompt(picker: Editor) -> None:
    traffic = agent(picker, "a", "session/prompt")
    picker.turn("say first")
    wait_login(picker)
    picker.wait_screen("waits for :Acp login")
    lines = [line for line in picker.chat(1) if "log in" in line]
    assert lines == ["⚠ Scripted needs you to log in with :Acp login (1 waiting)"]
    assert "✗" not in "\n".join(picker.screen())
    picker.prompt("say second")
    picker.wait("#require('acp').state().sessions[1].queue == 2")
    picker.cmd("Acp login")
    # Whether the first one is sent again before the login depends on the order of the answers.
    both = ["first", "second"]
    until(lambda: [line for line in picker.chat(1) if line in both] == both)
    assert traffic.prompts()[-2:] == ["say first", "say second"]


def test_a_failed_login_is_reported_and_can_be_tried_again(picker: Editor) -> None:
    agent(picker, "af")
    picker.prompt("say done")
    wait_login(picker)
    picker.cmd("Acp login broken")
    picker.wait_message("no browser here. :Acp login tries again")
    assert picker.session(1)["queue"] == ["say done"]
    picker.cmd("Acp login account")
    picker.wait_event("AcpTurnEnd")


def test_the_configured_method_is_tried_once_without_a_question(picker: Editor) -> None:
    traffic = agent(picker, "ab", auth_method="browser")
    assert picker.turn("say done")["stop_reason"] == "end_turn"
    assert not picker.events("AcpAuthRequired")
    assert [f["params"]["methodId"] for f in traffic.received("authenticate")] == ["browser"]


def test_a_configured_method_that_does_not_help_is_not_tried_again(picker: Editor) -> None:
    traffic = agent(picker, "af", auth_method="broken")
    picker.prompt("say done")
    picker.wait_event("AcpAuthRequired")
    picker.prompt("say more")
    picker.wait_event("AcpAuthRequired", 2)
    assert len(traffic.received("authenticate")) == 1
    assert picker.session(1)["queue"] == ["say done", "say more"]


@pytest.mark.parametrize(("kinds", "mark"), [("t", "yes"), ("m", "in")])
def test_a_login_in_a_terminal_starts_a_new_process(picker: Editor, kinds: str, mark: str) -> None:
    traffic = agent(picker, kinds)
    picker.prompt("say done")
    wait_login(picker)
    if kinds == "m":
        [question] = pick(picker, "Acp login", "Run it")
        assert "wants to run this to log in: ACP_LOGIN=meta " in question["prompt"]
        assert question["prompt"].endswith("write_text('\"'\"'in'\"'\"')'")
    else:
        picker.cmd("Acp login")
        picker.wait_screen("Your code is 1234")
        assert picker.lua("return vim.bo.buftype") == "terminal"
        picker.keys("<CR>")
    picker.wait_event("AcpTurnEnd")
    assert (picker.home / "logged-in").read_text() == mark
    assert "done" in picker.chat(1)
    assert not traffic.received("authenticate")
    assert len(traffic.received("initialize")) == 2
    picker.wait(
        "#vim.tbl_filter(function(win) return vim.bo[vim.api.nvim_win_get_buf(win)]"
        ".buftype == 'terminal' end, vim.api.nvim_list_wins()) == 0"
    )
    capabilities = traffic.received("initialize")[0]["params"]["clientCapabilities"]
    assert capabilities["_meta"]["terminal-auth"] is True


def test_a_program_that_an_agent_names_for_the_login_needs_a_confirmation(picker: Editor) -> None:
    agent(picker, "m")
    picker.prompt("say done")
    wait_login(picker)
    for _ in range(2):
        [question] = pick(picker, "Acp login", "Do not run it")
        assert question["items"] == ["Run it", "Do not run it"]
    assert not (picker.home / "logged-in").exists()


def test_a_failed_terminal_login_changes_nothing(picker: Editor) -> None:
    traffic = agent(picker, "t", code="3")
    picker.prompt("say done")
    wait_login(picker)
    picker.cmd("Acp login")
    picker.wait_screen("Your code is 1234")
    picker.keys("<CR>")
    picker.wait_message("exit code 3. :Acp login tries again")
    assert picker.session(1)["queue"] == ["say done"]
    assert len(traffic.received("initialize")) == 1


def test_a_missing_value_is_named_and_may_be_configured(picker: Editor) -> None:
    traffic = agent(picker, "e")
    picker.prompt("say done")
    wait_login(picker)
    picker.keys(":Acp login<CR>")
    picker.wait_screen("ACP_TEST_KEY for Scripted:")
    picker.keys("<Esc>")
    picker.wait_message("set ACP_TEST_KEY in agents.wants_login.env")
    assert "ACP_TEST_EXTRA" not in picker.messages()
    assert not traffic.received("authenticate")
    picker.setup({"agents": {"wants_login": {"env": {"ACP_TEST_KEY": "k-123456"}}}})
    picker.cmd("Acp restart")
    picker.wait_event("AcpTurnEnd")
    assert "done" in picker.chat(1)


def test_a_value_is_typed_hidden_and_is_in_no_log(picker: Editor) -> None:
    traffic = agent(picker, "e")
    picker.prompt("say got kept-from-logs")
    wait_login(picker)
    picker.keys(":Acp login<CR>")
    picker.wait_screen("ACP_TEST_KEY for Scripted:")
    picker.keys("kept-from-logs")
    picker.wait_screen("**************")
    assert not any("kept-from-logs" in row for row in picker.screen() if "for Scripted" in row)
    picker.keys("<CR>")
    picker.wait_event("AcpTurnEnd")
    assert "got kept-from-logs" in picker.chat(1), "the agent was started again, the prompt went"
    assert len(traffic.pids()) == 2
    picker.cmd(f"Acp log save {picker.home}/log.jsonl")
    picker.wait_message("lines of traffic to")
    log = (picker.home / "log.jsonl").read_text()
    assert "say got" in log
    assert "kept-from-logs" not in log
    assert "kept-from-logs" not in picker.messages()
    assert "kept-from-logs" not in picker.lua("return vim.fn.execute('history all')")
    picker.cmd("Acp logout")
    picker.wait_message("Logged out of Scripted")
    picker.wait("require('acp').state().agents.wants_login.auth.state == 'unauthenticated'")


def test_a_value_may_come_from_the_users_environment(edit: Callable[..., Editor]) -> None:
    editor = edit(env={"MY_OWN_KEY": "from-elsewhere"})
    env = {"ACP_TEST_KEY": "$ENV{MY_OWN_KEY}", "ACP_MARK_2": "$ENV{NOT_SET}"}
    traffic = agent(editor, "e", env=env)
    assert editor.turn("say from-elsewhere")["stop_reason"] == "end_turn"
    assert len(traffic.pids()) == 1, "the agent is started once, with the values"
    editor.cmd(f"Acp log save {editor.home}/log.jsonl")
    editor.wait_message("lines of traffic to")
    assert "from-elsewhere" not in (editor.home / "log.jsonl").read_text()
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufexists('acp://info') == 1")
    info = "\n".join(editor.lines("acp://info"))
    assert "the environment variable NOT_SET is not set" in info


def test_a_prompt_after_a_logout_needs_a_login(picker: Editor) -> None:
    traffic = agent(picker, "a", "session/prompt")
    (picker.home / "logged-in").write_text("in")
    picker.turn("say one")
    assert picker.state()["agents"]["wants_login"]["auth"]["state"] == "authenticated"
    picker.cmd("Acp logout")
    traffic.wait("logout")
    picker.wait("require('acp').state().agents.wants_login.auth.state == 'unauthenticated'")
    picker.prompt("say two")
    wait_login(picker)
    picker.cmd("Acp login")
    picker.wait_event("AcpTurnEnd", 3)
    assert traffic.prompts() == ["say one", "say two", "say two"]


def test_an_agent_without_logout_gets_no_request(picker: Editor) -> None:
    traffic = picker.agent("script")
    picker.turn("hello")
    picker.cmd("Acp logout")
    picker.wait_message("has no logout")
    picker.cmd("Acp login")
    picker.wait_message("has no login. Use its own tool, then :Acp restart")
    assert not traffic.received("logout")


def test_the_list_of_sessions_continues_after_the_login(picker: Editor) -> None:
    traffic = agent(picker, "a", "session/list,session/load")
    picker.cmd("Acp sessions")
    wait_login(picker)
    picker.lua("_G.acp_answers = { 'Behind', 'load' }")
    picker.cmd("Acp login")
    picker.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
    assert [f["params"]["sessionId"] for f in traffic.received("session/load")] == ["x"]


def test_the_configured_method_also_opens_the_list(picker: Editor) -> None:
    agent(picker, "a", "session/list", auth_method="account")
    questions = pick(picker, "Acp sessions")
    assert questions[0]["items"][0].startswith("Behind")
    assert not picker.events("AcpAuthRequired")


@pytest.mark.parametrize("method", ["auth/status_update", "_auth/status_update"])
def test_an_agent_may_report_that_it_is_logged_in(picker: Editor, method: str) -> None:
    mark = picker.home / "logged-in"
    traffic = picker.agent("tells_login", str(mark), method)
    picker.prompt("say done")
    traffic.wait_note("refused")
    picker.wait("require('acp').state().agents.tells_login.status == 'auth_required'")
    mark.write_text("in")
    picker.wait_event("AcpTurnEnd")
    assert "done" in picker.chat(1)
    account = picker.state()["agents"]["tells_login"]["auth"]["accounts"][0]
    assert account == {"label": "me@example.org"}


def test_an_unanswered_login_is_reported_and_ended_by_a_cancel(editor: Editor) -> None:
    login = ("wants_login", str(editor.home / "logged-in"), "a", "session/new")
    traffic = stalled_agent(editor, "authenticate", *login)
    editor.prompt("say hello")
    editor.wait_event("AcpAuthRequired")
    editor.cmd("Acp login account")
    traffic.wait("authenticate")
    notice = editor.wait_event("AcpNotice")
    assert "has not answered the login for 10 s" in notice["title"]
    editor.cmd("AcpCancel")
    traffic.wait("$/cancel_request")
    editor.wait_message("Login to Scripted cancelled. :Acp login tries again")
    let_answer(editor, "authenticate")
    editor.cmd("Acp login account")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
