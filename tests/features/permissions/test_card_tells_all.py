"""A question shows beginning and end of its action wherever the user can answer it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.cases import case
from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

METHOD = "session/request_permission"
FLOAT = lua_chunk(__file__, "visible_card_area")
IN_VIEW = """
local state = require('acp').state()
local cards = { { id = state.sessions[state.current].permissions[1].id } }
return require('acp.features.permissions.in_view').where(cards)
"""
SIZES = [(80, 24), (120, 40)]
LONG = "echo begins; " + "echo word-and-word; " * 148 + "; rm -rf ~"
ONE_WORD = "begins" + "x" * 2984 + ";rm -rf ~"
BLANKS = "echo begin" + " " * 3000 + "; rm -rf ~"
SCRIPT = "cat <<X\n" + "\n".join(f"line {n}" for n in range(200)) + "\nX\nrm -rf ~"


ASKED = """
local state = require('acp').state()
local session = state.sessions[state.current]
return session and #(session.permissions or {}) == 1
"""


def ask(editor: Editor, raw: Any, title: str = "Run tests", **more: Any) -> Any:
    """Let an agent ask in a new session about a call with this raw input; return its traffic."""
    call = {"toolCallId": "t", "title": title, "kind": "execute", "rawInput": raw, **more}
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    params = {"toolCall": call, "options": options}
    return begin(editor, "permission_json", json.dumps(params))


def begin(editor: Editor, scenario: str, text: str) -> Any:
    """Begin a turn in a new session of a new agent, and wait for its question."""
    agent = editor.agent(scenario, text, name=f"agent{len(editor.traffic)}")
    editor.cmd("AcpPrompt! go")
    editor.wait(ASKED)
    return agent


def cancel(editor: Editor) -> None:
    """Cancel the turn and wait for its end."""
    before = len(editor.events("AcpTurnEnd"))
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd", before + 1)


def float_text(editor: Editor) -> str | None:
    """Return the visible text of the float as one line, or None without a float."""
    place = editor.lua("vim.cmd.redraw() " + FLOAT)
    if place is None:
        return None
    row, column, height, width = place
    rows = editor.grid.cells[row + 1 : row + 1 + height]
    return " ".join("".join("".join(r[column + 1 : column + 1 + width]).split("\n")) for r in rows)


def wait_float(editor: Editor, *texts: str) -> None:
    """Wait until the float shows these texts, ignoring blanks."""

    def found() -> bool:
        text = re.sub(r"\s", "", float_text(editor) or "")
        return all(re.sub(r"\s", "", each) in text for each in texts)

    try:
        until(found)
    except AssertionError as error:
        raise AssertionError(editor.report(f"not in the float: {texts}")) from error


@pytest.mark.parametrize("size", [(80, 24), (50, 12), (40, 10)])
@pytest.mark.parametrize("chat", [True, False], ids=["chat", "no chat"])
def test_both_ends_are_visible_in_few_rows(
    edit: Callable[..., Editor], size: tuple[int, int], chat: bool
) -> None:
    editor = edit(screen=size)
    editor.setup({"chat": {"open": chat}})
    for command in (LONG, ONE_WORD, BLANKS):
        with case(command[:10]):
            ask(editor, {"command": command})
            if not chat or size[1] > 12:  # otherwise the float has no room beside the chat
                wait_float(editor, command[:10], "rm -rf ~")
            editor.cmd("Acp permissions")
            wait_float(editor, command[:10], "rm -rf ~")
            if chat:
                number = editor.state()["current"]
                window = "vim.fn.bufwinid('acp://chat/' .. ...)"
                editor.lua(f"vim.api.nvim_set_current_win({window})", number)
                assert not editor.lua(IN_VIEW), "a part of the card in the chat is not all of it"
            cancel(editor)


@pytest.mark.parametrize("size", [(80, 24), (50, 12)])
def test_both_ends_of_a_script_are_visible_above_other_rows(
    edit: Callable[..., Editor], size: tuple[int, int]
) -> None:
    editor = edit(screen=size)
    editor.setup({"chat": {"open": False}})
    for script in (SCRIPT, "one\n" * 4 + "rm -rf ~"):
        with case(script[:4]):
            ask(editor, {"command": script})
            wait_float(editor, "run " + script[:3], "rm -rf ~", "2. Reject")
            editor.cmd("Acp permissions")
            wait_float(editor, "run " + script[:3], "rm -rf ~", "2. Reject")
            cancel(editor)


@pytest.mark.parametrize("size", [(80, 24), (50, 12)])
def test_both_ends_of_an_open_call_are_visible(
    edit: Callable[..., Editor], size: tuple[int, int]
) -> None:
    editor = edit(screen=size)
    editor.setup({"chat": {"open": False}})
    for command in (LONG, BLANKS, SCRIPT):
        with case(command[:10]):
            call = {"title": "terminal", "kind": "execute", "rawInput": {"command": command}}
            begin(editor, "confirms", json.dumps(call))
            wait_float(editor, "May allow: run " + command[:7], "rm -rf ~")
            editor.cmd("Acp permissions")
            wait_float(editor, "May allow: run " + command[:7], "rm -rf ~")
            cancel(editor)


@pytest.mark.parametrize("size", SIZES)
def test_both_ends_of_a_long_command_are_visible(
    edit: Callable[..., Editor], size: tuple[int, int]
) -> None:
    editor = edit(screen=size)
    for command in (LONG, ONE_WORD, BLANKS, SCRIPT):
        with case(command[:10]):
            agent = ask(editor, {"command": command})
            ends = (command[:10], "rm -rf ~", "1. Allow", "2. Reject")
            wait_float(editor, "lines between", *ends)
            editor.cmd("Acp permissions")
            wait_float(editor, "Scripted wants to run " + command[:10], "Run tests", *ends)
            editor.press("n")
            assert agent.wait_answers(METHOD)[0]["result"]["outcome"]["optionId"] == "no"


def test_a_short_question_is_whole_in_the_least_rows(editor: Editor) -> None:
    card = {"lines": ["one", "two"], "head": 1, "options": []}
    lua = "return require('acp.features.permissions.card_fitting').card(..., 40, 1, false).lines"
    assert editor.lua(lua, card) == card["lines"]


def test_a_single_hidden_line_is_named_in_the_singular(editor: Editor) -> None:
    card = {"lines": ["word " * 30 + "end"], "head": 1, "options": []}
    lua = "return require('acp.features.permissions.card_fitting').card(..., 40, 3, false).lines[1]"
    assert "… 1 line between …" in editor.lua(lua, card)


@pytest.mark.parametrize("size", SIZES)
def test_a_command_that_fits_on_the_screen_is_not_cut(
    edit: Callable[..., Editor], size: tuple[int, int]
) -> None:
    editor = edit(screen=size)
    editor.setup({"chat": {"open": False}})
    ask(editor, {"command": "echo begins; " + "echo more words; " * 30 + "rm -rf ~"})
    wait_float(editor, "echo begins; " + "echo more words; " * 30 + "rm -rf ~", "2. Reject")
    assert "between" not in (float_text(editor) or "")
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")


def test_the_end_of_a_diff_is_visible_and_all_of_it_opens(editor: Editor) -> None:
    new = "".join(f"line {n}\n" for n in range(300))
    diff = {"type": "diff", "path": str(editor.work / "a"), "oldText": None, "newText": new}
    ask(editor, None, "Write a", kind="edit", content=[diff])
    editor.cmd("1wincmd w")
    wait_float(editor, "+ line 0", "lines between", "+ line 299")
    editor.cmd("Acp permissions")
    wait_float(editor, "+ line 0", "lines between, <CR> shows all", "+ line 299")
    editor.keys("<CR>")
    editor.wait("vim.api.nvim_buf_get_name(0):match('^acp://question/')")
    lines = editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    assert "  + line 150" in lines
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")


def test_a_diff_without_context_lines_leaves_no_blank_rows(
    edit: Callable[..., Editor],
) -> None:
    editor = edit(screen=(80, 24))
    old = "".join(f"line {n}\n" for n in range(40))
    new = old.replace("line 4\n", "four\n").replace("line 20\n", "twenty\n")
    new = new.replace("line 36\n", "last\n")
    diff = {"type": "diff", "path": str(editor.work / "a"), "oldText": old, "newText": new}
    editor.setup({"chat": {"open": False}})
    ask(editor, None, "Write a", kind="edit", content=[diff])
    wait_float(editor, "+ four", "+ last", "2. Reject")
    place = editor.lua("vim.cmd.redraw() " + FLOAT)
    rows = [editor.grid.cells[row] for row in range(place[0] + 1, place[0] + 1 + place[2])]
    texts = ["".join(row[place[1] + 1 : place[1] + 1 + place[3]]).strip() for row in rows]
    assert all(texts), texts
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")


def test_all_of_a_large_input_opens_from_the_chat(editor: Editor) -> None:
    ask(editor, {"command": SCRIPT})
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    chat = editor.chat()
    assert "    line 1" in chat
    assert "    line 100" not in chat
    assert "    rm -rf ~" in chat
    editor.lua("vim.fn.search('between, <CR> shows all', 'bw')")
    editor.keys("<CR>")
    editor.wait("vim.api.nvim_buf_get_name(0) == 'acp://content/1'")
    assert "line 100" in "\n".join(editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    editor.cmd("AcpCancel")
    editor.wait_event("AcpTurnEnd")


def test_a_deeply_nested_input_stops_no_other_question(editor: Editor) -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = [deep]
    editor.agent("script")
    editor.turn("say hello")
    agent = StepwiseAgent.at_work(editor)
    agent.ask("asks_about", "deep", json.dumps({"rawInput": deep}))
    agent.ask("asks_about", "plain", json.dumps({"rawInput": {"command": "echo shown"}}))
    editor.wait_screen("wants to run echo shown")
    refused = [one for one in agent.traffic.entries() if "nested deeper" in str(one)]
    assert [one["frame"]["id"] for one in refused] == ["about deep"]


def test_a_review_of_edits_does_not_hide_a_command_beside_them(editor: Editor) -> None:
    path = editor.write("a.txt", "old\n")
    diff = {"type": "diff", "path": str(path), "oldText": "old\n", "newText": "new\n"}
    ask(editor, {"command": "rm -rf ~"}, "Edit a.txt", kind="edit", content=[diff])
    editor.cmd("Acp review")
    editor.wait("vim.fn.tabpagenr('$') == 2")
    wait_float(editor, "$ rm -rf ~")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


def test_the_question_about_an_agents_command_shows_its_lines_and_variables(
    edit: Callable[..., Editor],
) -> None:
    editor = edit()
    rules = [{"action": "ask", "kind": "execute"}]
    editor.setup({"permission": {"rules": rules}, "chat": {"open": False}})
    value = "--require ./" + "d/" * 150 + "evil.js"
    env = [{"name": "NODE_OPTIONS", "value": value}, {"name": "API_KEY", "value": "sk-12345678"}]
    params = {"command": "sh", "args": ["-c", "ls\nrm -rf ~"], "env": env}
    editor.agent("term_create", "t", json.dumps(params))
    editor.prompt("go")
    wait_float(
        editor,
        "Scripted wants to run sh -c 'ls",
        "rm -rf ~'",
        value,
        "API_KEY=**** (11 characters)",
    )
    assert "sk-12345678" not in (float_text(editor) or "")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")
