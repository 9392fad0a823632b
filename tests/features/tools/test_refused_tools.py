"""Agents that fail because of the editor's tools: sessions open, and the chat shows a remedy."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.traffic import Traffic


def names(agent: Traffic, method: str = "session/new") -> list[list[str]]:
    """Return the names of the servers in each request of this method."""
    return [[one["name"] for one in it["params"]["mcpServers"]] for it in agent.received(method)]


def lines(editor: Editor, words: str) -> list[str]:
    return [line for line in editor.chat() if words in line]


def test_each_session_of_a_process_has_the_tools_under_another_name(editor: Editor) -> None:
    agent = editor.agent("one_name_one_server")
    for n in (1, 2, 3):
        editor.cmd(f"AcpPrompt! say {n}")
        editor.wait_event("AcpTurnEnd", n)
        assert editor.session(n)["status"] == "idle"
        assert editor.session(n)["tools"]["names"]
        assert not lines(editor, "without the editor's tools")
    assert names(agent) == [["neovim"], ["neovim"], ["neovim-2"], ["neovim-3"]]
    editor.turn("mcp_tools neovim-3")
    assert editor.session(3)["tools"]["connected"] == 1
    assert lines(editor, "nvim_definition")


def test_a_session_is_opened_again_under_another_name(editor: Editor) -> None:
    agent = editor.agent("one_name_one_server")
    editor.turn("say one")
    editor.cmd("AcpPrompt! say two")
    editor.wait_event("AcpTurnEnd", 2)
    editor.cmd("Acp restart")
    editor.wait("#require('acp').state().sessions[1].tools.names > 0")
    for _ in range(2):
        agent.wait("session/load", 2)
    editor.turn("say three")
    assert names(agent, "session/load") == [["neovim"], ["neovim"], ["neovim-2"]]
    assert len(names(agent)) == 3, "no session took the place of another"


@pytest.mark.parametrize("code", ["-32603", "-32602", "-32000"])
def test_a_session_is_opened_without_tools_that_its_agent_refuses(
    editor: Editor, code: str
) -> None:
    if code == "-32000":
        agent = editor.agent("refuses_tools", code)
        editor.prompt("say hello")
        editor.wait("require('acp').state().agents.refuses_tools.status == 'auth_required'")
        assert names(agent) == [["neovim"]], "a login is not a fault of the tools"
        return
    agent = editor.agent("refuses_tools", code, mcp_servers=[{"name": "mine", "command": "/bin/x"}])
    end = editor.turn("say hello")
    assert end["stop_reason"] == "end_turn"
    assert names(agent) == [["neovim", "mine"], ["neovim-2", "mine"], ["mine"]]
    assert "tools" not in editor.session(1)
    (line,) = lines(editor, "without the editor's tools")
    assert "MCP server: no such tool" in line
    editor.cmd("AcpPrompt! say two")
    editor.wait_event("AcpTurnEnd", 2)
    assert lines(editor, "without the editor's tools")


def test_a_failure_that_remains_without_the_tools_is_reported_unchanged(editor: Editor) -> None:
    agent = editor.agent("refuses_all_sessions")
    editor.prompt("say hello")
    editor.wait("require('acp').state().sessions[1].error ~= nil")
    assert names(agent) == [["neovim"], ["neovim-2"], []]
    assert lines(editor, "no room: 1")
    assert not lines(editor, "no room: 3")
    assert not lines(editor, "without the editor's tools")


@pytest.mark.parametrize("details", ["", "tool schema of nvim_definition: field kind"])
def test_a_prompt_that_fails_because_of_the_tools_shows_the_remedy(
    editor: Editor, details: str
) -> None:
    editor.agent("breaks_on_tools", *filter(None, [details]))
    end = editor.turn("say hello")
    assert end["error"] == "Internal error"
    (line,) = lines(editor, "tools = false")
    assert "breaks_on_tools" in line
    editor.agent("breaks_on_tools", *filter(None, [details]), name="bare", tools=False)
    editor.cmd("AcpPrompt! say hello")
    assert editor.wait_event("AcpTurnEnd", 2)["stop_reason"] == "end_turn"


def test_a_prompt_that_fails_for_another_reason_does_not(editor: Editor) -> None:
    editor.agent("breaks_on_tools", "the model is overloaded")
    editor.turn("say hello")
    assert lines(editor, "the model is overloaded")
    assert not lines(editor, "tools = false")
