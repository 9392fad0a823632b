"""Elicitation with forms and addresses, in a real Neovim (v1/elicitation)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.elicit import EVERY
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.traffic import Traffic
from tests.support.waiting import until

METHOD = "elicitation/create"


def wait_pending(editor: Editor, count: int = 1) -> list[dict[str, Any]]:
    """Wait until session 1 has this number of questions, and return them."""
    editor.wait(f"#require('acp').state().sessions[1].elicitations == {count}")
    found: list[dict[str, Any]] = editor.session(1)["elicitations"]
    return found


def ask(editor: Editor, line: str, count: int = 1) -> Traffic:
    """Let the agent run a script line that asks."""
    traffic = editor.agent("script")
    editor.prompt(line)
    wait_pending(editor, count)
    return traffic


def results(traffic: Traffic, count: int = 1) -> list[Any]:
    return [frame["result"] for frame in traffic.wait_answers(METHOD, count)]


def answer(editor: Editor, choice: str | None, content: Any = None, at: int = 0) -> None:
    """Answer with `require('acp').answer`."""
    id = wait_pending(editor, at + 1)[at]["id"]
    editor.lua("local id, c, v = ... require('acp').answer(id, c, v)", id, choice, content)


def choose(editor: Editor, index: int) -> None:
    """Make `vim.ui.select` choose this index, and record its prompts."""
    editor.lua(lua_chunk(__file__, "answer_select"), index)


def open_form(editor: Editor) -> None:
    """Open the form of the only card from the float."""
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    editor.keys("<CR>")
    editor.wait("vim.bo.filetype == 'acpform'")


def record_opened(editor: Editor) -> None:
    """Record calls of `vim.ui.open`."""
    editor.lua("_G.opened = {} vim.ui.open = function(url) table.insert(_G.opened, url) end")


def test_allow_names_the_fields_of_a_form_and_answers_nothing(editor: Editor) -> None:
    traffic = ask(editor, "elicit_every")
    editor.answer("Acp allow")
    editor.wait_message(":Acp permissions opens the form")
    assert traffic.answers(METHOD) == []
    open_form(editor)
    editor.answer("Acp allow")
    editor.wait_message("Fill in the form, then :w for a summary")
    assert traffic.answers(METHOD) == []
    answer(editor, None)
    editor.wait_event("AcpTurnEnd")
    editor.cmd("Acp allow")
    editor.wait("vim.fn.execute('messages'):find('No pending permission$')")


def test_allow_opens_no_address(editor: Editor) -> None:
    record_opened(editor)
    traffic = ask(editor, "elicit_url")
    editor.answer("Acp allow")
    editor.wait_message(":Acp permissions shows the address")
    assert traffic.answers(METHOD) == []
    assert editor.lua("return #_G.opened") == 0
    editor.answer("Acp deny")
    assert results(traffic) == [{"action": "decline"}]


@pytest.mark.parametrize("line", ["elicit_every", "elicit_form {}", "elicit_url"])
def test_deny_declines_a_question(editor: Editor, line: str) -> None:
    traffic = ask(editor, line)
    editor.answer("Acp deny")
    assert results(traffic) == [{"action": "decline"}]
    editor.wait_event("AcpTurnEnd")
    assert editor.session()["elicitations"] == []
    editor.cmd("Acp deny")
    editor.wait("vim.fn.execute('messages'):find('No pending permission$')")
    assert len(traffic.answers(METHOD)) == 1


@pytest.mark.parametrize("place", ["code", "form"])
def test_the_deny_key_declines_a_form(editor: Editor, place: str) -> None:
    traffic = ask(editor, "elicit_every")
    editor.cmd("nmap gn <Plug>(acp-deny)")
    if place == "form":
        open_form(editor)
    editor.press("gn")
    assert results(traffic) == [{"action": "decline"}]


def test_deny_in_a_form_declines_that_form(editor: Editor) -> None:
    traffic = ask(editor, "elicit_cancel", 2)
    second = editor.session(1)["elicitations"][1]
    assert second["mode"] == "url"
    editor.answer("Acp deny")
    assert results(traffic, 1) == [{"action": "decline"}]
    wait_pending(editor, 1)
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")


def test_deny_takes_a_permission_before_a_question_unless_the_user_is_in_its_form(
    editor: Editor,
) -> None:
    traffic = editor.agent("elicit_and_permission")
    editor.prompt("go")
    wait_pending(editor)
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    editor.keys("/asks<CR><CR>")
    editor.wait("vim.bo.filetype == 'acpform'")
    editor.answer("Acp deny")
    assert results(traffic) == [{"action": "decline"}]
    assert len(editor.session()["permissions"]) == 1
    editor.wait("vim.bo.filetype ~= 'acpform'")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")
    (permission,) = traffic.wait_answers("session/request_permission", 1)
    assert permission["result"]["outcome"] == {"outcome": "selected", "optionId": "reject"}


# ---- questions about a request


def unscoped(editor: Editor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = editor.lua("return require('acp').state().elicitations or {}")
    return found


def test_a_question_about_a_login_ends_with_the_login(editor: Editor) -> None:
    traffic = editor.agent("elicit_login", "answered", auth_method="token")
    editor.prompt("hello")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    assert results(traffic) == [{"action": "cancel"}]
    assert unscoped(editor) == []
    # The message about the question may be in the last row.
    until(lambda: not any("Please tell" in row for row in editor.screen()[:-1]))


@pytest.mark.parametrize(("command", "action"), [("AcpCancel", "cancel"), ("Acp deny", "decline")])
def test_a_question_about_a_login_ends_by_a_command(
    editor: Editor, command: str, action: str
) -> None:
    traffic = editor.agent("elicit_login", auth_method="token")
    editor.prompt("hello")
    editor.wait("#(require('acp').state().elicitations or {}) == 1")
    editor.answer("Acp allow")
    editor.wait_message("opens the form")
    editor.answer(command)
    assert results(traffic) == [{"action": action}]
    editor.wait("#require('acp').state().elicitations == 0")


def test_a_question_about_the_prompt_belongs_to_its_session_and_ends_with_the_turn(
    editor: Editor,
) -> None:
    traffic = ask(editor, "elicit_of_prompt")
    assert unscoped(editor) == []
    assert editor.wait_event("AcpElicitation")["session"] == 1
    answer(editor, "accept", {"name": "Ada"})
    assert results(traffic)[0]["content"] == {"name": "Ada"}
    editor.wait_event("AcpTurnEnd")
    editor.turn("elicit_of_prompt end")
    assert results(traffic, 2)[1] == {"action": "cancel"}
    wait_pending(editor, 0)
    assert "↳ cancelled (request ended)" in "\n".join(editor.chat())


def test_a_cancel_ends_a_question_about_the_prompt(editor: Editor) -> None:
    traffic = ask(editor, "elicit_of_prompt cancel")
    editor.cmd("AcpCancel")
    assert results(traffic) == [{"action": "cancel"}]
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert len(traffic.answers(METHOD)) == 1


def test_a_question_about_a_finished_request_is_not_asked(editor: Editor) -> None:
    traffic = editor.agent("script")
    editor.turn("elicit_of_prompt over")
    assert results(traffic) == [{"action": "cancel"}]
    assert editor.events("AcpElicitation") == []


def test_a_question_about_an_unknown_request_can_be_answered(editor: Editor) -> None:
    traffic = editor.agent("script")
    editor.prompt("elicit_of_prompt unknown")
    question = editor.wait("require('acp').state().elicitations[1]")
    editor.lua("require('acp').answer(..., 'accept', {name = 'Ada'})", question["id"])
    assert results(traffic)[0]["content"] == {"name": "Ada"}
    editor.wait_event("AcpTurnEnd")


def test_both_modes_are_advertised(editor: Editor) -> None:
    traffic = editor.agent("hello")
    editor.turn("hi")
    sent = traffic.received("initialize")[0]["params"]["clientCapabilities"]
    assert sent["elicitation"] == {"form": {}, "url": {}}


def test_a_form_is_asked_without_taking_the_focus(editor: Editor) -> None:
    before = editor.lua("return vim.api.nvim_get_current_win()")
    traffic = ask(editor, "elicit_every")
    event = editor.wait_event("AcpElicitation")
    [question] = editor.session()["elicitations"]
    assert question.pop("since") > 0
    assert question == {"id": event["id"], "mode": "form", "message": "Please tell"}
    assert (event["session"], event["mode"]) == (1, "form")
    editor.wait_screen("Scripted asks: Please tell")
    editor.cmd("Acp chat")
    editor.wait_screen(":Acp permissions")
    chat = "\n".join(editor.chat())
    assert "○ Scripted asks: Please tell" in chat
    assert "  Your name (required)" in chat
    assert "1. Fill in the form" in chat
    assert editor.lua("return vim.api.nvim_get_current_win()") == before
    assert editor.lua("return vim.api.nvim_get_mode().mode") == "n"
    assert traffic.answers(METHOD) == []
    answer(editor, "decline")
    assert results(traffic) == [{"action": "decline"}]


def test_a_form_is_filled_in_reviewed_and_sent(editor: Editor) -> None:
    traffic = ask(editor, "elicit_every")
    open_form(editor)
    lines = editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    assert lines[0] == "│ Scripted asks: Please tell"
    assert "(x) green" in lines
    assert editor.lua("return vim.bo.buftype .. vim.api.nvim_buf_get_name(0)").startswith("acwrite")
    editor.keys("iAda<Esc>")
    editor.keys("/Large<CR><CR>")
    editor.keys("/\\] b$<CR><CR>")
    editor.keys("/\\] yes<CR><CR>")
    choose(editor, 1)
    editor.cmd("write")
    [result] = results(traffic)
    assert result == {
        "action": "accept",
        "content": {
            "name": "Ada",
            "site": "https://example.org/",
            "color": "green",
            "size": "l",
            "count": 3,
            "sure": False,
            "tags": ["b"],
            "langs": ["lua"],
        },
    }
    assert "Your name: Ada" in editor.lua("return _G.asked[1]")
    assert editor.wait("vim.fn.bufexists('acp://form/e1') == 0")
    editor.wait_event("AcpTurnEnd")
    chat = editor.chat()
    at = chat.index("Scripted asks: Please tell ↳ accepted")
    assert chat[at + 1] == "  Your name: Ada", "what was sent stays in the chat"
    assert "  count: 3" in chat
    assert editor.session()["elicitations"] == []


def test_mistakes_are_shown_at_their_fields(editor: Editor) -> None:
    traffic = ask(editor, "elicit_every")
    open_form(editor)
    choose(editor, 1)
    editor.keys("/^3$<CR>Clots<Esc>")
    editor.cmd("write")
    found = editor.wait("#vim.diagnostic.get(0) > 0 and vim.diagnostic.get(0)")
    texts = sorted(item["message"] for item in found)
    assert texts == ["count: 'lots' is not a whole number", "name: is required"]
    heads = {
        editor.lua("return vim.fn.getline(...)", item["lnum"] + 1).split(" · ")[0] for item in found
    }
    assert heads == {"━━ 1. Your name (required)", "━━ 10. count (required)"}
    assert "name: is required" in editor.messages()
    editor.wait_screen("■ count: 'lots' is not a whole number")
    assert editor.lua("return #_G.asked") == 0
    editor.keys("/lots<CR>C4<Esc>")
    assert editor.lua("return #vim.diagnostic.get(0)") == 0
    editor.keys("gg/━━ 1\\.<CR>}kiBob<Esc>")
    editor.cmd("write")
    assert results(traffic)[0]["content"]["count"] == 4


def test_keep_editing_sends_nothing_and_decline_declines(editor: Editor) -> None:
    traffic = ask(editor, 'elicit_form {"name": {"type": "string", "default": "Ada"}}')
    open_form(editor)
    choose(editor, 2)
    editor.cmd("write")
    editor.wait("#_G.asked == 1")
    assert traffic.answers(METHOD) == []
    choose(editor, 3)
    editor.cmd("write")
    assert results(traffic) == [{"action": "decline"}]


@pytest.mark.parametrize(("keys", "action"), [("n", "decline"), ("2", "decline"), ("3", "cancel")])
def test_keys_on_the_card(editor: Editor, keys: str, action: str) -> None:
    traffic = ask(editor, "elicit_every")
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    editor.press(keys)
    assert results(traffic) == [{"action": action}]


def test_enter_in_the_chat_opens_the_form(editor: Editor) -> None:
    traffic = ask(editor, "elicit_every")
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    editor.keys("/Fill in<CR><CR>")
    editor.wait("vim.bo.filetype == 'acpform'")
    editor.cmd("quit")
    assert traffic.answers(METHOD) == [], "closing a window answers nothing"
    answer(editor, None)
    assert results(traffic) == [{"action": "cancel"}]


def test_an_answer_from_lua_is_checked_against_the_form(editor: Editor) -> None:
    traffic = ask(editor, "elicit_every")
    answer(editor, "accept", {"name": "Ada", "count": 12})
    editor.wait_message("count: at most 9")
    answer(editor, "accept", {"name": "Ada", "nam": "x"})
    editor.wait_message("nam: no such field")
    answer(editor, "accept")
    editor.wait_message("name: is required")
    answer(editor, "maybe")
    editor.wait_message("No answer maybe")
    assert traffic.answers(METHOD) == []
    answer(editor, "accept", {"name": "Ada", "ratio": 1.5, "tags": ["a"]})
    content = {"name": "Ada", "count": 3, "ratio": 1.5, "tags": ["a"]}
    assert results(traffic) == [{"action": "accept", "content": content}]


def test_a_form_without_fields_is_accepted_by_a_key(editor: Editor) -> None:
    traffic = ask(editor, "elicit_form {}")
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    editor.press("y")
    assert results(traffic) == [{"action": "accept", "content": {}}]


def test_a_form_of_a_tool_call_is_shown_under_it(editor: Editor) -> None:
    traffic = ask(editor, "elicit_for_tool")
    chat = editor.chat()
    assert any("Deploy" in line for line in chat)
    question = next(line for line in chat if "Scripted asks" in line)
    assert question.startswith("  "), "indented under its tool call"
    answer(editor, "accept", {"where": "here"})
    assert results(traffic)[0]["content"] == {"where": "here"}


# ---- addresses


def test_an_address_is_opened_only_after_consent(editor: Editor) -> None:
    record_opened(editor)
    traffic = ask(editor, "elicit_url")
    [question] = editor.session()["elicitations"]
    assert question["url"] == "https://example.org/login?x=1"
    chat = "\n".join(editor.chat())
    assert "  https://example.org/login?x=1\n  Host: example.org" in chat
    assert editor.lua("return #_G.opened") == 0
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    editor.press("y")
    assert results(traffic) == [{"action": "accept"}]
    assert editor.wait("#_G.opened == 1 and _G.opened") == ["https://example.org/login?x=1"]
    editor.wait_event("AcpTurnEnd")
    assert any("accepted, completed" in line for line in editor.chat())


@pytest.mark.parametrize("choice", ["decline", None])
def test_an_address_that_is_declined_is_not_opened(editor: Editor, choice: str | None) -> None:
    record_opened(editor)
    traffic = ask(editor, "elicit_url")
    answer(editor, choice)
    assert results(traffic) == [{"action": choice or "cancel"}]
    editor.wait_event("AcpTurnEnd")
    assert editor.lua("return #_G.opened") == 0
    assert not any("completed" in line for line in editor.chat())


@pytest.mark.parametrize(
    ("url", "warning"),
    [
        ("https://xn--pple-43d.com/", "punycode"),
        ("https://аpple.com/", "beyond ASCII"),
        ("https://bank.com@evil.org/", "The host is evil.org"),
    ],
)
def test_a_deceiving_address_is_named(editor: Editor, url: str, warning: str) -> None:
    traffic = ask(editor, f"elicit_url {url}")
    chat = "\n".join(editor.chat())
    assert url in chat
    assert warning in chat
    answer(editor, "decline")
    assert results(traffic) == [{"action": "decline"}]


def test_an_address_that_is_not_on_the_web_is_never_opened(editor: Editor) -> None:
    record_opened(editor)
    traffic = ask(editor, "elicit_url file:///etc/passwd")
    answer(editor, "accept")
    editor.wait_message("not opened")
    assert traffic.answers(METHOD) == []
    assert editor.lua("return #_G.opened") == 0
    answer(editor, "decline")
    assert results(traffic) == [{"action": "decline"}]


# ---- the end of a question


def test_a_cancel_answers_all_questions_once(editor: Editor) -> None:
    traffic = ask(editor, "elicit_cancel", 2)
    opened_form = editor.lua("return require('acp').state().sessions[1].elicitations[1].id")
    editor.lua("require('acp').answer(..., 'open')", opened_form)
    editor.wait("vim.fn.bufexists('acp://form/' .. ...) == 1", opened_form)
    editor.cmd("AcpCancel")
    assert results(traffic, 2) == [{"action": "cancel"}, {"action": "cancel"}]
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    editor.wait("vim.fn.bufexists('acp://form/' .. ...) == 0", opened_form)
    editor.lua("require('acp').answer(..., 'decline')", opened_form)
    editor.wait_message("No pending question")
    assert len(traffic.answers(METHOD)) == 2


def test_typed_text_stays_when_the_question_is_withdrawn(editor: Editor) -> None:
    ask(editor, "elicit_cancel", 2)
    editor.lua(
        "require('acp').answer(require('acp').state().sessions[1].elicitations[1].id, 'open')"
    )
    editor.wait("vim.fn.bufwinid('acp://form/e1') > 0")
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://form/e1'))")
    editor.keys("iprecious<Esc>")
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")
    editor.wait_screen("Nothing was sent: the question is cancelled")
    assert "↳ cancelled" in "".join(editor.chat())
    assert "(cancel)" not in "".join([*editor.chat(), *editor.screen()])
    assert "precious" in editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    editor.cmd("quit")


def test_a_question_in_a_cancelled_turn_is_answered_at_once(editor: Editor) -> None:
    traffic = editor.agent("elicit_while_cancelling")
    editor.prompt("go")
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    editor.cmd("AcpCancel")
    assert results(traffic) == [{"action": "cancel"}]
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert editor.events("AcpElicitation") == []


def test_a_withdrawn_question_is_still_answered(editor: Editor) -> None:
    traffic = editor.agent("elicit_taken_back")
    editor.turn("go")
    assert results(traffic) == [{"action": "cancel"}]
    assert editor.session()["elicitations"] == []


def test_the_end_of_the_agent_removes_its_questions(editor: Editor) -> None:
    traffic = editor.agent("elicit_and_exit")
    editor.prompt("go")
    editor.wait_event("AcpAgentExit")
    wait_pending(editor, 0)
    assert traffic.answers(METHOD) == []
    editor.wait("vim.tbl_isempty(require('acp').state().sessions[1].elicitations)")


@pytest.mark.parametrize("which", ["mode", "scope", "session"])
def test_a_mode_that_was_not_advertised_is_refused(editor: Editor, which: str) -> None:
    traffic = editor.agent("script")
    editor.turn(f"elicit_odd {which}")
    [frame] = traffic.answers(METHOD)
    assert frame["error"]["code"] == -32602
    assert editor.events("AcpElicitation") == []


def test_a_question_about_a_login_needs_no_session(editor: Editor) -> None:
    traffic = editor.agent("elicit_login", auth_method="token")
    editor.prompt("hello")
    question = editor.wait("require('acp').state().elicitations[1]")
    assert question["message"] == "Please tell"
    assert "session" not in editor.wait_event("AcpElicitation")
    editor.wait_screen("Scripted asks: Please tell")
    assert not editor.session().get("elicitations")
    editor.lua("require('acp').answer(..., 'accept', {token = 'abc'})", question["id"])
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    note = traffic.wait_note("answered")
    assert json.loads(note.removeprefix("answered ")) == {
        "action": "accept",
        "content": {"token": "abc"},
    }
    assert "logged in" in editor.chat()
    assert not editor.lua("return next(require('acp').state().elicitations)")


def test_every_type_of_property_is_in_the_form(editor: Editor) -> None:
    ask(editor, "elicit_every")
    open_form(editor)
    heads = [
        line
        for line in editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
        if line.startswith("━━ ")
    ]
    assert len(heads) == len(EVERY)
    answer(editor, None)
    editor.wait("vim.bo.filetype ~= 'acpform'")
