"""A project's own `mcp.json` starts programs only after the user has said so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.editor import Editor
from tests.traffic import Traffic

PENDING = "#require('acp').state().sessions[1].permissions"


def project(editor: Editor, **servers: Any) -> Path:
    table = servers or {"theirs": {"command": "sh", "args": ["-c", "true"]}}
    return editor.write(".mcp.json", json.dumps({"mcpServers": table}))


def passed(agent: Traffic) -> list[list[str]]:
    """Names of the servers of each session that was opened."""
    return [
        [server["name"] for server in frame["params"]["mcpServers"]]
        for frame in agent.received("session/new")
    ]


def again(editor: Editor, count: int) -> None:
    editor.cmd("AcpPrompt! hi")
    editor.wait_event("AcpTurnEnd", count)


def test_the_first_prompt_goes_without_them_and_does_not_wait(editor: Editor) -> None:
    file = project(editor)
    agent = editor.agent("hello")
    editor.turn("hi")
    assert passed(agent) == [[]]
    left_out = f"MCP servers of {file}: theirs: left out until you allow them"
    assert any(left_out in line for line in editor.chat())
    [asked] = editor.session(1)["permissions"]
    assert asked["title"] == f"pass on MCP servers of {file}: theirs?"
    assert [option["kind"] for option in asked["options"]] == [
        "allow_once",
        "allow_always",
        "reject_once",
        "reject_always",
    ]
    assert any("theirs: sh -c true" in line for line in editor.chat())
    editor.cmd("Acp allow")
    editor.wait(f"{PENDING} == 0")
    again(editor, 2)
    assert passed(agent) == [[], ["theirs"]]


def test_it_is_asked_once_at_a_time(editor: Editor) -> None:
    project(editor)
    agent = editor.agent("hello")
    editor.turn("hi")
    again(editor, 2)
    assert len(editor.events("AcpPermission")) == 1
    assert passed(agent) == [[], []]


@pytest.mark.parametrize(("choice", "after"), [("allow_always", ["theirs"]), ("reject_always", [])])
def test_an_answer_for_good_is_remembered_for_this_content(
    edit: Callable[..., Editor], tmp_path: Path, choice: str, after: list[str]
) -> None:
    work = tmp_path / "work"
    first = edit(work=work, env={"XDG_DATA_HOME": str(tmp_path / "data")})
    project(first)
    first.agent("hello")
    first.turn("hi")
    first.cmd(f"Acp {choice.partition('_')[0].replace('reject', 'deny')} {choice}")
    first.wait(f"{PENDING} == 0")
    second = edit(work=work, env={"XDG_DATA_HOME": str(tmp_path / "data")})
    agent = second.agent("hello")
    second.turn("hi")
    assert passed(agent) == [after]
    assert not second.events("AcpPermission")
    project(second, theirs={"command": "sh", "args": ["-c", "rm everything"]})
    again(second, 2)
    assert passed(agent)[1] == []
    assert len(second.events("AcpPermission")) == 1


def test_a_no_holds_for_this_neovim(editor: Editor) -> None:
    project(editor)
    agent = editor.agent("hello")
    editor.turn("hi")
    editor.cmd("Acp deny")
    editor.wait(f"{PENDING} == 0")
    again(editor, 2)
    assert passed(agent) == [[], []]
    assert len(editor.events("AcpPermission")) == 1


def test_a_restart_passes_them_on(editor: Editor) -> None:
    project(editor)
    agent = editor.agent("hello")
    editor.turn("hi")
    editor.cmd("Acp allow")
    editor.wait(f"{PENDING} == 0")
    assert any("this one is after :Acp restart" in line for line in editor.chat())
    editor.cmd("Acp restart")
    editor.wait_event("AcpSession", 2)
    assert passed(agent)[-1] == ["theirs"]


def test_the_users_own_servers_need_no_question(editor: Editor) -> None:
    editor.setup({"mcp_servers": [{"name": "mine", "command": "sh"}]})
    agent = editor.agent("hello")
    editor.turn("hi")
    assert passed(agent) == [["mine"]]
    assert not editor.events("AcpPermission")


def test_nothing_is_asked_of_a_file_without_servers(editor: Editor) -> None:
    project(editor, off={"command": "sh", "disabled": True})
    editor.agent("hello")
    editor.turn("hi")
    assert not editor.events("AcpPermission")
