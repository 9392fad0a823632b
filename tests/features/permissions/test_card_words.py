"""Text and place of a question: its subject and its keys, shown at most twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.windows import CARD_STATE

Start = Callable[..., Editor]


def ask(editor: Editor, **call: Any) -> None:
    """Let the agent ask about a tool call and wait for the answer."""
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    tool_call = {"toolCallId": "t", "title": "Do it", "kind": "edit", **call}
    editor.agent("permission_json", json.dumps({"toolCall": tool_call, "options": options}))
    editor.prompt("go")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")


def edit_of(editor: Editor) -> dict[str, Any]:
    path = editor.write("a.txt", "one\ntwo\nthree\n")
    texts = {"oldText": "one\ntwo\nthree\n", "newText": "one\nTWO\nthree\n"}
    return {"content": [{"type": "diff", "path": str(path), **texts}]}


def wait_float(editor: Editor, state: str) -> None:
    editor.wait(f"{CARD_STATE} == ...", state)


def count_messages(editor: Editor, text: str) -> int:
    """Return the number of messages with this text."""
    return sum(text in line for line in editor.messages().splitlines())


def test_a_card_shows_agent_and_action_then_the_diff_then_the_answers(editor: Editor) -> None:
    ask(editor, **edit_of(editor))
    editor.wait_screen("  2. Reject")
    chat = editor.chat()
    at = chat.index("○ Scripted wants to edit a.txt (+1 -1)")
    rows = ["  Do it", "    one", "  - two", "  + TWO", "    three", "  1. Allow", "  2. Reject"]
    assert chat[at + 1 : at + 8] == rows
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


def test_a_question_in_the_chat_has_no_float_and_no_message(editor: Editor) -> None:
    ask(editor, **edit_of(editor))
    wait_float(editor, "hidden")
    editor.wait_screen("  :Acp allow · :Acp deny")
    assert count_messages(editor, "wants to") == 0
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


def test_a_question_in_no_window_has_a_float_and_one_message(editor: Editor) -> None:
    editor.setup({"chat": {"open": False}})
    ask(editor, **edit_of(editor))
    wait_float(editor, "shown")
    editor.wait_screen("╭ Scripted wants to edit a.txt (+1 -1) ─")
    editor.wait_message("acp: Scripted wants to edit a.txt (+1 -1)")
    assert count_messages(editor, "wants to") == 1
    rows = [row for row in editor.screen() if "wants to" in row and "acp:" not in row]
    assert len(rows) == 1, "its title is not repeated in it"
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


@pytest.mark.parametrize("opened", [True, False])
def test_a_user_in_another_program_gets_one_message(editor: Editor, opened: bool) -> None:
    editor.setup({"chat": {"open": opened}})
    editor.cmd("doautocmd FocusLost")
    ask(editor, **edit_of(editor))
    editor.wait_message("acp: Scripted wants to edit a.txt (+1 -1)")
    wait_float(editor, "hidden" if opened else "shown")
    assert count_messages(editor, "wants to") == 1
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


def test_the_keys_below_a_card_are_those_that_work_at_the_cursor(editor: Editor) -> None:
    ask(editor, **edit_of(editor))
    editor.wait_screen("  :Acp allow · :Acp deny")
    editor.cmd("wincmd l")
    editor.wait_screen("  y allow · n deny · d diff · c deny, say why")
    editor.keys("gg")
    editor.wait_screen("  :Acp allow · :Acp deny")
    editor.keys("G")
    editor.wait_screen("  y allow · n deny")
    editor.cmd("wincmd h")
    editor.wait_screen("  :Acp allow · :Acp deny")
    editor.cmd("Acp permissions")
    editor.wait_screen(" y allow · n deny · d diff · c deny, say why · 1-2 choose · g? keys ")
    editor.press("n")
    editor.wait_event("AcpTurnEnd")


def test_the_users_own_keys_are_named(editor: Editor) -> None:
    editor.cmd("nmap gy <Plug>(acp-allow)")
    editor.setup({"chat": {"open": False}, "keymaps": {"preset": ";"}})
    ask(editor, **edit_of(editor))
    editor.wait_screen(";n deny · :Acp review ")
    editor.wait_screen("y allow · ;n deny")
    assert not any("keymaps.preset" in row for row in editor.screen())
    editor.press(";n")
    editor.wait_event("AcpTurnEnd")


@pytest.mark.parametrize("open_chat", [True, False])
def test_keys_are_named_with_escape_in_insert_mode(editor: Editor, open_chat: bool) -> None:
    editor.setup({"chat": {"open": open_chat}, "keymaps": {"preset": ";"}})
    ask(editor, **edit_of(editor))
    editor.wait_screen(";y allow · ;n deny")
    editor.keys("i")
    editor.wait_screen("<Esc>;y allow · <Esc>;n deny")
    editor.keys("<Esc>")
    editor.wait_screen(" ;y allow · ;n deny")
    editor.rpc.request("nvim_ui_try_resize", 50, 24)
    editor.wait_screen(" ;y/n allow/deny" if open_chat else " ;y allow · ;n deny")
    editor.press(";n")
    editor.wait_event("AcpTurnEnd")


def test_a_hint_about_maps_is_shown_with_the_first_question_only(editor: Editor) -> None:
    editor.setup({"chat": {"open": False}})
    editor.agent("script")
    editor.prompt("permission")
    editor.wait_screen("map <Plug>(acp-allow) or set keymaps.preset ╯")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    editor.prompt("permission")
    editor.wait_screen(" :Acp allow · :Acp deny ╯")


def test_only_the_question_that_the_command_answers_names_the_command(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permissions 2")
    editor.wait_event("AcpPermission", 2)
    editor.wait_screen("  :Acp permissions")
    rows = [row for row in editor.screen() if ":Acp allow" in row]
    assert len(rows) == 1
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")


def test_a_float_covers_no_chat_if_only_chats_are_open(edit: Start) -> None:
    editor = edit(screen=(80, 24))
    editor.agent("script")
    editor.turn("chunks 300")
    editor.cmd("wincmd l | only")
    editor.keys("gg")
    editor.cmd("AcpPrompt! chunks 300")
    editor.wait_event("AcpTurnEnd", 2)
    editor.prompt(f"until_there {editor.work}/go\npermission")
    editor.wait_event("AcpTurnStart", 3)
    editor.lua("vim.api.nvim_win_set_cursor(vim.fn.bufwinid('acp://chat/2'), { 1, 0 })")
    editor.write("go", "")
    editor.wait_event("AcpPermission")
    wait_float(editor, "hidden")
    editor.wait_message("acp: Scripted wants to run p1 · :Acp allow · :Acp deny")
    assert count_messages(editor, "wants to") == 1
    editor.cmd("Acp permissions")
    wait_float(editor, "shown")
    editor.wait_screen("╭ Scripted wants to run p1 ─")
    editor.press("y")
    editor.wait_event("AcpTurnEnd", 3)


@pytest.mark.parametrize(
    ("name", "mark"),
    [("/etc/hosts", "outside the project: /etc/hosts"), (".env", "a secret file: .env")],
)
def test_a_protected_file_is_marked_on_the_card(editor: Editor, name: str, mark: str) -> None:
    path = str(editor.work / name)
    ask(editor, kind="read", title="Look at it", locations=[{"path": path}])
    editor.wait_screen("Scripted wants to read")
    assert f"○ Scripted wants to read {mark}" in editor.chat()
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")
