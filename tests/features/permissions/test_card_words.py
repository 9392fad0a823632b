"""What a question says and where: who wants what, and the keys that answer; at most twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.windows import CARD_STATE

Start = Callable[..., Editor]


def ask(editor: Editor, **call: Any) -> None:
    """The agent asks about a tool call, and waits for the answer."""
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    asked = {"toolCallId": "t", "title": "Do it", "kind": "edit", **call}
    editor.agent("permission_json", json.dumps({"toolCall": asked, "options": options}))
    editor.prompt("go")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")


def edit_of(editor: Editor) -> dict[str, Any]:
    path = editor.write("a.txt", "one\ntwo\nthree\n")
    texts = {"oldText": "one\ntwo\nthree\n", "newText": "one\nTWO\nthree\n"}
    return {"content": [{"type": "diff", "path": str(path), **texts}]}


def float_is(editor: Editor, state: str) -> None:
    editor.wait(f"{CARD_STATE} == ...", state)


def said(editor: Editor, text: str) -> int:
    """How many messages say it."""
    return sum(text in line for line in editor.messages().splitlines())


def test_a_card_says_who_wants_what_then_the_diff_then_the_answers(editor: Editor) -> None:
    ask(editor, **edit_of(editor))
    editor.wait_screen("  2. Reject")
    chat = editor.chat()
    at = chat.index("○ Scripted wants to edit a.txt (+1 -1)")
    rows = ["  Do it", "    one", "  - two", "  + TWO", "    three", "  1. Allow", "  2. Reject"]
    assert chat[at + 1 : at + 8] == rows
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


def test_what_the_chat_shows_is_said_by_no_float_and_no_message(editor: Editor) -> None:
    ask(editor, **edit_of(editor))
    float_is(editor, "hidden")
    editor.wait_screen("  :Acp allow · :Acp deny")
    assert said(editor, "wants to") == 0
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


def test_what_no_window_shows_is_said_by_the_float_and_one_message(editor: Editor) -> None:
    editor.setup({"chat": {"open": False}})
    ask(editor, **edit_of(editor))
    float_is(editor, "shown")
    editor.wait_screen("╭ Scripted wants to edit a.txt (+1 -1) ─")
    editor.wait_message("acp: Scripted wants to edit a.txt (+1 -1)")
    assert said(editor, "wants to") == 1
    rows = [row for row in editor.screen() if "wants to" in row and "acp:" not in row]
    assert len(rows) == 1, "its title is not repeated in it"
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


@pytest.mark.parametrize("opened", [True, False])
def test_who_is_in_another_program_is_told_once(editor: Editor, opened: bool) -> None:
    editor.setup({"chat": {"open": opened}})
    editor.cmd("doautocmd FocusLost")
    ask(editor, **edit_of(editor))
    editor.wait_message("acp: Scripted wants to edit a.txt (+1 -1)")
    float_is(editor, "hidden" if opened else "shown")
    assert said(editor, "wants to") == 1
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


def test_the_keys_below_a_card_are_those_that_work_where_the_cursor_is(editor: Editor) -> None:
    ask(editor, **edit_of(editor))
    editor.wait_screen("  :Acp allow · :Acp deny")
    editor.cmd("wincmd l")
    editor.wait_screen("  y allow · n deny · d diff · 1-2 choose")
    editor.keys("gg")
    editor.wait_screen("  :Acp allow · :Acp deny")
    editor.keys("G")
    editor.wait_screen("  y allow · n deny")
    editor.cmd("wincmd h")
    editor.wait_screen("  :Acp allow · :Acp deny")
    editor.cmd("Acp permissions")
    editor.wait_screen(" y allow · n deny · d diff · 1-2 choose · g? keys ")
    editor.press("n")
    editor.wait_event("AcpTurnEnd")


def test_keys_of_the_users_own_are_named(editor: Editor) -> None:
    editor.cmd("nmap gy <Plug>(acp-allow)")
    editor.setup({"chat": {"open": False}, "keymaps": {"preset": ";"}})
    ask(editor, **edit_of(editor))
    editor.wait_screen(";n deny · :Acp review ")
    editor.wait_screen("y allow · ;n deny")
    assert not any("keymaps.preset" in row for row in editor.screen())
    editor.press(";n")
    editor.wait_event("AcpTurnEnd")


def test_how_to_map_a_key_is_told_with_the_first_question_alone(editor: Editor) -> None:
    editor.setup({"chat": {"open": False}})
    editor.agent("script")
    editor.prompt("permission")
    editor.wait_screen("map <Plug>(acp-allow) or set keymaps.preset ╯")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    editor.prompt("permission")
    editor.wait_screen(" :Acp allow · :Acp deny ╯")


def test_only_the_question_that_the_command_answers_names_it(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt("permissions 2")
    editor.wait_event("AcpPermission", 2)
    editor.wait_screen("  :Acp permissions")
    rows = [row for row in editor.screen() if ":Acp allow" in row]
    assert len(rows) == 1
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")


def test_a_float_covers_no_chat_where_only_chats_are_open(edit: Start) -> None:
    editor = edit(screen=(80, 24))
    editor.agent("script")
    editor.turn("chunks 300")
    editor.cmd("wincmd l | only")
    editor.keys("gg")
    editor.cmd("AcpPrompt! chunks 300")
    editor.wait_event("AcpTurnEnd", 2)
    editor.lua("vim.api.nvim_win_set_cursor(vim.fn.bufwinid('acp://chat/2'), { 1, 0 })")
    editor.cmd("AcpPrompt permission")
    editor.wait_event("AcpPermission")
    float_is(editor, "hidden")
    editor.wait_message("acp: Scripted wants to run p1 · :Acp allow · :Acp deny")
    assert said(editor, "wants to") == 1
    editor.cmd("Acp permissions")
    float_is(editor, "shown")
    editor.wait_screen("╭ Scripted wants to run p1 ─")
    editor.press("y")
    editor.wait_event("AcpTurnEnd", 3)


@pytest.mark.parametrize(
    ("name", "said"),
    [("/etc/hosts", "outside the project: /etc/hosts"), (".env", "a secret file: .env")],
)
def test_a_file_that_is_always_asked_about_is_named_as_such(
    editor: Editor, name: str, said: str
) -> None:
    path = str(editor.work / name)
    ask(editor, kind="read", title="Look at it", locations=[{"path": path}])
    editor.wait_screen("Scripted wants to read")
    assert f"○ Scripted wants to read {said}" in editor.chat()
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")
