"""Permissions: shown in full, answered from anywhere, resolved exactly once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.rpc import EditorError
from tests.support.traffic import Traffic
from tests.support.waiting import until

METHOD = "session/request_permission"


def wait_pending(editor: Editor, count: int = 1, n: int = 1) -> list[dict[str, Any]]:
    """Wait until session n has this number of pending permissions, and return them."""
    editor.wait(f"#require('acp').state().sessions[{n}].permissions == {count}")
    found: list[dict[str, Any]] = editor.session(n)["permissions"]
    return found


def ask(editor: Editor, scenario: str = "permission", *args: str, count: int = 1) -> Traffic:
    """Run a scenario that asks, and wait for the permissions."""
    traffic = editor.agent(scenario, *args)
    editor.prompt("ask")
    wait_pending(editor, count)
    return traffic


def outcomes(traffic: Traffic, count: int = 1) -> list[str]:
    """Return the agent's answers: option ids, or `cancelled`."""
    answers = [frame["result"]["outcome"] for frame in traffic.wait_answers(METHOD, count)]
    return [answer.get("optionId", answer["outcome"]) for answer in answers]


def move_to_card(editor: Editor) -> None:
    """Enter the chat and put the cursor on the first option of a pending permission."""
    editor.lua(
        """
        local win = vim.fn.bufwinid('acp://chat/1')
        vim.api.nvim_set_current_win(win)
        vim.fn.search('\\\\[1\\\\]', 'bw')
        """
    )


def test_a_question_without_options_is_cancelled_at_once(editor: Editor) -> None:
    asked = {"toolCall": {"toolCallId": "c1", "title": "Delete it"}, "options": []}
    traffic = editor.agent("permission_json", json.dumps(asked))
    assert editor.turn("ask")["stop_reason"] == "end_turn"
    assert outcomes(traffic) == ["cancelled"]
    assert editor.session(1).get("permissions", []) == []
    reported = "asks without any options, so it is answered as cancelled: Delete it"
    until(lambda: reported in " ".join(editor.chat()))
    assert "cancelled (no options)" in " ".join(editor.chat())


@pytest.mark.parametrize(
    ("keys", "option"),
    [
        ("1", "allow"),
        ("2", "always"),
        ("4", "never"),
        ("y", "allow"),
        ("Y", "always"),
        ("n", "reject"),
        ("N", "never"),
    ],
)
def test_keys_on_the_card_in_the_chat(editor: Editor, keys: str, option: str) -> None:
    traffic = ask(editor)
    move_to_card(editor)
    editor.press(keys)
    assert outcomes(traffic) == [option]
    done = editor.wait_event("AcpPermissionDone")
    assert (done["outcome"], done["option"]) == ("selected", option)
    assert wait_pending(editor, 0) == []


def test_keys_keep_their_meaning_elsewhere_in_the_chat(editor: Editor) -> None:
    traffic = ask(editor)
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    editor.keys("ggyy")
    assert editor.lua("return vim.fn.getreg('\"')") == "## You\n"
    editor.see_question()
    editor.click("ask", times=2)  # the prompt
    assert editor.lua("return vim.fn.mode()") == "v"
    assert traffic.answers(METHOD) == []
    editor.keys("<Esc>")
    editor.see_question()
    editor.click("3. ", times=2)
    assert outcomes(traffic) == ["reject"]


def test_keys_in_the_float(editor: Editor) -> None:
    traffic = ask(editor)
    editor.cmd("Acp permissions")
    editor.wait("vim.bo.filetype == 'acppermission'")
    editor.press("n")
    assert outcomes(traffic) == ["reject"]


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("Acp allow", "allow"),
        ("Acp allow always", "always"),
        ("Acp deny", "reject"),
        ("Acp deny never", "never"),
    ],
)
def test_commands_answer(editor: Editor, command: str, option: str) -> None:
    traffic = ask(editor)
    editor.answer(command)
    assert outcomes(traffic) == [option]


@pytest.mark.parametrize(
    ("plug", "option"),
    [
        ("allow", "allow"),
        ("allow-always", "always"),
        ("deny", "reject"),
        ("deny-always", "never"),
    ],
)
def test_plug_maps_answer(editor: Editor, plug: str, option: str) -> None:
    traffic = ask(editor)
    editor.cmd(f"nmap <F5> <Plug>(acp-{plug})")
    editor.press("<F5>")
    assert outcomes(traffic) == [option]


@pytest.mark.parametrize(("choice", "outcome"), [("never", "never"), (None, "cancelled")])
def test_answer_from_lua(editor: Editor, choice: str | None, outcome: str) -> None:
    traffic = ask(editor)
    event = editor.wait_event("AcpPermission")
    assert [option["id"] for option in event["options"]] == ["allow", "always", "reject", "never"]
    editor.lua("local id, choice = ... require('acp').answer(id, choice)", event["id"], choice)
    assert outcomes(traffic) == [outcome]


def test_an_unknown_option_answers_nothing(editor: Editor) -> None:
    traffic = ask(editor)
    with pytest.raises(EditorError, match="nonsense"):
        editor.answer("Acp allow nonsense")
    assert traffic.answers(METHOD) == []
    editor.answer("Acp allow")
    assert outcomes(traffic) == ["allow"]


@pytest.mark.parametrize("which", ["two_always", "free_text", "unknown_kind", "many"])
def test_all_options_are_shown_whatever_their_kind(editor: Editor, which: str) -> None:
    traffic = ask(editor, "permission_odd", which)
    options = editor.session(1)["permissions"][0]["options"]
    sent = traffic.sent(METHOD)[0]["params"]["options"]
    assert [option["id"] for option in options] == [option["optionId"] for option in sent]
    chat = " ".join(" ".join(editor.chat(1)).split())
    assert all(" ".join(option["name"].split()) in chat for option in sent)
    editor.cmd("AcpCancel")
    assert outcomes(traffic) == ["cancelled"]


def test_allow_without_a_name_never_picks_another_kind(editor: Editor) -> None:
    traffic = ask(editor, "permission_odd", "two_always")
    editor.answer("Acp allow")
    editor.wait("vim.fn.execute('messages'):find('folder, everywhere, no') ~= nil")
    assert traffic.answers(METHOD) == []
    editor.answer("Acp deny")
    assert outcomes(traffic) == ["no"]


def test_the_line_of_the_call_takes_the_keys(editor: Editor) -> None:
    traffic = ask(editor)
    move_to_card(editor)
    editor.lua("vim.fn.search('wants to run', 'bw')")
    editor.press("n")
    assert outcomes(traffic) == ["reject"]


def test_the_whole_action_is_shown(editor: Editor) -> None:
    ask(editor, "permission_rich")
    chat = "\n".join(editor.chat(1))
    assert " && ".join(f"echo step {n}" for n in range(30)) in chat
    assert "in /tmp" in chat
    assert "/tmp/file.txt" in chat
    assert "- old" in chat
    assert "+ new" in chat
    assert "Because." in chat
    editor.answer("Acp deny")


def test_many_permissions_of_which_half_are_withdrawn_are_answered(editor: Editor) -> None:
    traffic = editor.agent("permissions_half_cancelled", "50")
    editor.prompt("ask")
    editor.wait_event("AcpPermissionDone", 25)
    wait_pending(editor, 25)
    for left in reversed(range(25)):
        editor.answer("Acp allow")
        wait_pending(editor, left)
    answers = outcomes(traffic, 50)
    assert answers == ["allow", "cancelled"] * 25
    editor.wait_event("AcpPermissionDone", 50)


def test_a_cancel_answers_all_permissions(editor: Editor) -> None:
    traffic = ask(editor, "permissions", "5", count=5)
    editor.cmd("AcpCancel")
    assert outcomes(traffic, 5) == ["cancelled"] * 5
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert wait_pending(editor, 0) == []


def test_the_end_of_the_agent_resolves_its_permissions(editor: Editor) -> None:
    editor.agent("permission_and_exit", "3")
    editor.prompt("ask")
    done = editor.wait_event("AcpPermissionDone")
    assert done["outcome"] == "cancelled"
    editor.wait_event("AcpTurnEnd")
    assert wait_pending(editor, 0) == []


def test_an_answer_after_the_end_of_the_turn_is_refused(editor: Editor) -> None:
    traffic = ask(editor, "permission_ignores_answer")
    editor.wait_event("AcpTurnEnd")
    editor.answer("Acp allow")
    assert outcomes(traffic) == ["allow"]


def test_permissions_work_without_any_window_of_the_plugin(editor: Editor) -> None:
    editor.setup({"chat": {"open": False}})
    traffic = ask(editor)
    editor.see_question()
    editor.cmd("silent! only!")
    editor.cmd("Acp allow")
    assert outcomes(traffic) == ["allow"]


def test_a_permission_changes_no_focus_mode_or_text(editor: Editor) -> None:
    editor.write("a.txt", "one\n")
    editor.open("a.txt")
    traffic = editor.agent("permission")
    editor.keys("onew ")
    editor.lua("require('acp').prompt('ask')")
    wait_pending(editor)
    editor.keys("text")
    assert editor.lua("return vim.api.nvim_get_mode().mode") == "i"
    assert editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)") == ["one", "new text"]
    editor.keys("<Esc>")
    editor.answer("Acp allow")
    assert outcomes(traffic) == ["allow"]


@pytest.mark.parametrize(("action", "option"), [("allow", "allow"), ("deny", "reject")])
def test_rules_answer_without_a_question(editor: Editor, action: str, option: str) -> None:
    editor.setup({"permission": {"rules": [{"action": action, "kind": "execute"}]}})
    traffic = editor.agent("permission")
    editor.turn("ask")
    assert outcomes(traffic) == [option]
    assert any("(rule)" in line for line in editor.chat(1))
    assert any("· denied by a rule" in line for line in editor.chat(1)) == (option == "reject")


def test_a_rule_that_does_not_match_leaves_the_question(editor: Editor) -> None:
    editor.setup({"permission": {"rules": [{"action": "allow", "kind": "read"}]}})
    traffic = ask(editor)
    editor.answer("Acp deny")
    assert outcomes(traffic) == ["reject"]
    editor.wait_event("AcpTurnEnd")
    assert any(line.endswith("· denied") for line in editor.chat(1))


def test_a_hidden_command_needs_an_answer_if_a_rule_denies_some_commands(
    editor: Editor,
) -> None:
    refused, allowed = {"action": "deny", "command": "rm *"}, {"action": "allow", "kind": "execute"}
    editor.setup({"permission": {"rules": [refused, allowed]}})
    traffic = ask(editor)
    editor.answer("Acp deny")
    assert outcomes(traffic) == ["reject"]
