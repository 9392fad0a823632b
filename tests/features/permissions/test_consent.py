"""Consent for the servers in a project's own `mcp.json`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker
from tests.support.front_without_host import float_lines
from tests.support.traffic import Traffic

PENDING = "#require('acp').state().sessions[1].questions"


def project(editor: Editor, **servers: Any) -> Path:
    table = servers or {"theirs": {"command": "sh", "args": ["-c", "true"]}}
    return editor.write(".mcp.json", json.dumps({"mcpServers": table}))


def passed_servers(agent: Traffic) -> list[list[str]]:
    """Return the names of the servers of each opened session, without the editor's own."""
    return [
        [server["name"] for server in frame["params"]["mcpServers"][1:]]
        for frame in agent.received("session/new")
    ]


def first_turn(editor: Editor, scenario: str = "hello") -> Traffic:
    """Run the first turn in a project with its own servers; return the agent's traffic."""
    project(editor)
    agent = editor.agent(scenario)
    editor.turn("hi")
    return agent


def answer(editor: Editor, command: str) -> None:
    editor.answer(command)
    editor.wait(f"{PENDING} == 0")


def questions(editor: Editor) -> list[str]:
    """Return the titles of all questions so far."""
    return [event["data"]["title"] for event in editor.events("AcpNotice")]


def prompt_again(editor: Editor, count: int) -> None:
    editor.cmd("AcpPrompt! hi")
    editor.wait_event("AcpTurnEnd", count)


def test_the_first_prompt_does_not_wait_for_the_answer(editor: Editor) -> None:
    file = project(editor)
    agent = editor.agent("hello")
    editor.turn("hi")
    assert passed_servers(agent) == [[]]
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
    prompt_again(editor, 2)
    assert passed_servers(agent) == [[], ["theirs"]]


def test_only_one_question_is_open_at_a_time(editor: Editor) -> None:
    agent = first_turn(editor)
    prompt_again(editor, 2)
    assert len(questions(editor)) == 1
    assert passed_servers(agent) == [[], []]


@pytest.mark.parametrize(("choice", "after"), [("allow_always", ["theirs"]), ("reject_always", [])])
def test_a_permanent_answer_is_remembered_for_this_content(
    edit: Callable[..., Editor], tmp_path: Path, choice: str, after: list[str]
) -> None:
    work = tmp_path / "work"
    first = edit(work=work, env={"XDG_DATA_HOME": str(tmp_path / "data")})
    first_turn(first)
    answer(first, f"Acp {choice.partition('_')[0].replace('reject', 'deny')} {choice}")
    second = edit(work=work, env={"XDG_DATA_HOME": str(tmp_path / "data")})
    agent = second.agent("hello")
    second.turn("hi")
    assert passed_servers(agent) == [after]
    assert not questions(second)
    project(second, theirs={"command": "sh", "args": ["-c", "rm everything"]})
    prompt_again(second, 2)
    assert passed_servers(agent)[1] == []
    assert len(questions(second)) == 1


def test_a_denial_is_valid_for_this_neovim(editor: Editor) -> None:
    agent = first_turn(editor)
    answer(editor, "Acp deny")
    prompt_again(editor, 2)
    assert passed_servers(agent) == [[], []]
    assert len(questions(editor)) == 1


def test_a_restart_passes_allowed_servers(editor: Editor) -> None:
    agent = first_turn(editor)
    answer(editor, "Acp allow")
    assert any("this one after :Acp restart" in line for line in editor.chat())
    editor.cmd("Acp restart")
    editor.wait_event("AcpSession", 2)
    assert passed_servers(agent)[-1] == ["theirs"]


def test_the_question_shows_command_and_variables_and_is_asked_again_after_a_change(
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
    prompt_again(editor, 2)
    assert passed_servers(agent) == [[], ["theirs"]]
    project(editor, theirs={**server, "env": {"NODE_OPTIONS": "--require ./worse.js"}})
    prompt_again(editor, 3)
    assert passed_servers(agent)[2] == []
    assert len(questions(editor)) == 2


def test_the_users_own_servers_need_no_question(editor: Editor) -> None:
    editor.setup({"mcp_servers": [{"name": "mine", "command": "sh"}]})
    agent = editor.agent("hello")
    editor.turn("hi")
    assert passed_servers(agent) == [["mine"]]
    assert not questions(editor)


def test_a_file_without_servers_causes_no_question(editor: Editor) -> None:
    project(editor, off={"command": "sh", "disabled": True})
    editor.agent("hello")
    editor.turn("hi")
    assert not questions(editor)


# ---- the agent's own questions come first


def ask_both(editor: Editor) -> Traffic:
    """Let the agent ask for a permission while the question about servers is open."""
    agent = first_turn(editor, "script")
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
def test_a_command_answers_the_permission_that_the_agent_waits_for(
    editor: Editor, command: str, choice: str
) -> None:
    agent = ask_both(editor)
    editor.answer(command)
    editor.wait_event("AcpTurnEnd", 2)
    [permission] = agent.wait_answers("session/request_permission")
    assert permission["result"]["outcome"]["optionId"] == choice
    assert [event["data"]["option"] for event in editor.events("AcpPermissionDone")] == [choice]
    assert editor.lua(f"return {PENDING}") == 1
    answer(editor, "Acp allow")
    prompt_again(editor, 3)
    assert passed_servers(agent)[-1] == ["theirs"]


def test_the_question_is_not_a_permission(editor: Editor) -> None:
    ask_both(editor)
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


def test_the_float_shows_them_in_the_order_of_the_answers(editor: Editor) -> None:
    ask_both(editor)
    lines = float_lines(editor) or []
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert heads[0] == "Scripted wants to run p1"
    assert heads[-1].startswith("Question: Pass on MCP servers in ")


def test_a_key_on_the_question_answers_it(editor: Editor) -> None:
    install_picker(editor)
    agent = ask_both(editor)
    editor.cmd("Acp permissions")
    editor.keys("G")
    editor.lua("_G.acp_answers = { 'a reason' }")
    editor.press("c")
    editor.wait_message("No agent is waiting for this answer")
    editor.wait("vim.tbl_contains(vim.fn.getbufline('acp://composer/1', 1, '$'), 'a reason')")
    editor.press("n")
    editor.wait(f"{PENDING} == 0")
    assert not agent.answers("session/request_permission")
    answer(editor, "Acp allow")
    editor.wait_event("AcpTurnEnd", 2)
    prompt_again(editor, 3)
    assert passed_servers(agent)[-1] == []
