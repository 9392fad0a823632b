"""A project's own `mcp.json` starts programs only after the user has said so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import float_lines
from tests.support.traffic import Traffic

PENDING = "#require('acp').state().sessions[1].questions"


def project(editor: Editor, **servers: Any) -> Path:
    table = servers or {"theirs": {"command": "sh", "args": ["-c", "true"]}}
    return editor.write(".mcp.json", json.dumps({"mcpServers": table}))


def passed(agent: Traffic) -> list[list[str]]:
    """Names of the servers of each session that was opened, behind the editor's own."""
    return [
        [server["name"] for server in frame["params"]["mcpServers"][1:]]
        for frame in agent.received("session/new")
    ]


def asked(editor: Editor, scenario: str = "hello") -> Traffic:
    """A first turn in a project with servers of its own; returns the agent's traffic."""
    project(editor)
    agent = editor.agent(scenario)
    editor.turn("hi")
    return agent


def answer(editor: Editor, command: str) -> None:
    editor.answer(command)
    editor.wait(f"{PENDING} == 0")


def questions(editor: Editor) -> list[str]:
    """Titles of all that was asked so far."""
    return [event["data"]["title"] for event in editor.events("AcpNotice")]


def again(editor: Editor, count: int) -> None:
    editor.cmd("AcpPrompt! hi")
    editor.wait_event("AcpTurnEnd", count)


def test_the_first_prompt_goes_without_them_and_does_not_wait(editor: Editor) -> None:
    file = project(editor)
    agent = editor.agent("hello")
    editor.turn("hi")
    assert passed(agent) == [[]]
    left_out = f"MCP servers in {file}: theirs: left out until you allow them"
    assert any(left_out in line for line in editor.chat())
    [question] = editor.session(1)["questions"]
    assert question["title"] == f"Pass on MCP servers in {file}: theirs?"
    assert questions(editor) == [question["title"]]
    assert [option["kind"] for option in question["options"]] == [
        "allow_once",
        "allow_always",
        "reject_once",
        "reject_always",
    ]
    assert any("theirs: sh -c true" in line for line in editor.chat())
    answer(editor, "Acp allow")
    again(editor, 2)
    assert passed(agent) == [[], ["theirs"]]


def test_it_is_asked_once_at_a_time(editor: Editor) -> None:
    agent = asked(editor)
    again(editor, 2)
    assert len(questions(editor)) == 1
    assert passed(agent) == [[], []]


@pytest.mark.parametrize(("choice", "after"), [("allow_always", ["theirs"]), ("reject_always", [])])
def test_an_answer_for_good_is_remembered_for_this_content(
    edit: Callable[..., Editor], tmp_path: Path, choice: str, after: list[str]
) -> None:
    work = tmp_path / "work"
    first = edit(work=work, env={"XDG_DATA_HOME": str(tmp_path / "data")})
    asked(first)
    answer(first, f"Acp {choice.partition('_')[0].replace('reject', 'deny')} {choice}")
    second = edit(work=work, env={"XDG_DATA_HOME": str(tmp_path / "data")})
    agent = second.agent("hello")
    second.turn("hi")
    assert passed(agent) == [after]
    assert not questions(second)
    project(second, theirs={"command": "sh", "args": ["-c", "rm everything"]})
    again(second, 2)
    assert passed(agent)[1] == []
    assert len(questions(second)) == 1


def test_a_no_holds_for_this_neovim(editor: Editor) -> None:
    agent = asked(editor)
    answer(editor, "Acp deny")
    again(editor, 2)
    assert passed(agent) == [[], []]
    assert len(questions(editor)) == 1


def test_a_restart_passes_them_on(editor: Editor) -> None:
    agent = asked(editor)
    answer(editor, "Acp allow")
    assert any("this one after :Acp restart" in line for line in editor.chat())
    editor.cmd("Acp restart")
    editor.wait_event("AcpSession", 2)
    assert passed(agent)[-1] == ["theirs"]


def test_the_question_shows_what_is_run_with_what_and_a_change_of_that_asks_again(
    editor: Editor,
) -> None:
    server = {"command": "node", "args": ["s.js"]}
    project(editor, theirs={**server, "env": {"NODE_OPTIONS": "--require ./evil.js"}})
    agent = editor.agent("hello")
    editor.turn("hi")
    lines = "\n".join(editor.chat())
    assert "theirs: node s.js" in lines
    assert "  with NODE_OPTIONS=--require ./evil.js" in lines
    shown = "\n".join(float_lines(editor) or [])
    assert "with NODE_OPTIONS=--require ./evil.js" in shown
    answer(editor, "Acp allow allow_always")
    again(editor, 2)
    assert passed(agent) == [[], ["theirs"]]
    project(editor, theirs={**server, "env": {"NODE_OPTIONS": "--require ./worse.js"}})
    again(editor, 3)
    assert passed(agent)[2] == []
    assert len(questions(editor)) == 2


def test_the_users_own_servers_need_no_question(editor: Editor) -> None:
    editor.setup({"mcp_servers": [{"name": "mine", "command": "sh"}]})
    agent = editor.agent("hello")
    editor.turn("hi")
    assert passed(agent) == [["mine"]]
    assert not questions(editor)


def test_nothing_is_asked_of_a_file_without_servers(editor: Editor) -> None:
    project(editor, off={"command": "sh", "disabled": True})
    editor.agent("hello")
    editor.turn("hi")
    assert not questions(editor)


# ---- the agent's own questions come first


def both(editor: Editor) -> Traffic:
    """The agent asks for a permission while our question waits."""
    agent = asked(editor, "script")
    editor.prompt("permission")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    assert editor.lua(f"return {PENDING}") == 1
    return agent


@pytest.mark.parametrize(
    ("command", "choice"),
    [
        ("Acp allow", "allow"),
        ("Acp deny", "reject"),
        ("Acp allow always", "always"),
        ("call feedkeys(\"\\<Plug>(acp-allow)\", 'x')", "allow"),
        ("call feedkeys(\"\\<Plug>(acp-deny-always)\", 'x')", "never"),
    ],
)
def test_the_permission_that_the_agent_waits_for_is_meant(
    editor: Editor, command: str, choice: str
) -> None:
    agent = both(editor)
    editor.answer(command)
    editor.wait_event("AcpTurnEnd", 2)
    [told] = agent.wait_answers("session/request_permission")
    assert told["result"]["outcome"]["optionId"] == choice
    assert [event["data"]["option"] for event in editor.events("AcpPermissionDone")] == [choice]
    assert editor.lua(f"return {PENDING}") == 1
    answer(editor, "Acp allow")
    again(editor, 3)
    assert passed(agent)[-1] == ["theirs"]


def test_the_question_is_no_permission(editor: Editor) -> None:
    both(editor)
    assert len(editor.events("AcpPermission")) == 1
    [permission] = editor.session(1)["permissions"]
    assert permission["tool_call"] == "p1"
    assert editor.lua("return vim.fn.getcompletion('Acp allow ', 'cmdline')") == [
        "allow",
        "always",
        "reject",
        "never",
    ]
    assert "waiting for you · 2 questions" in editor.lua("return require('acp').statusline()")


def test_the_float_has_them_in_the_order_of_the_answers(editor: Editor) -> None:
    both(editor)
    lines = float_lines(editor) or []
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert heads[0] == "Scripted wants to run p1"
    assert heads[-1].startswith("Question: Pass on MCP servers in ")


def test_a_key_on_the_question_answers_it(editor: Editor) -> None:
    agent = both(editor)
    editor.cmd("Acp permissions")
    editor.keys("G")
    editor.press("n")
    editor.wait(f"{PENDING} == 0")
    assert not agent.answers("session/request_permission")
    answer(editor, "Acp allow")
    editor.wait_event("AcpTurnEnd", 2)
    again(editor, 3)
    assert passed(agent)[-1] == []
