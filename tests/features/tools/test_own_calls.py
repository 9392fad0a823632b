"""Calls of the editor's tools by agents that ask the user first, and their lines in the chat."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.waiting import until

READ = 'mcp_asked nvim_read {"path": "app.py"}'


def test_a_question_about_a_reading_tool_is_answered_and_shown(editor: Editor) -> None:
    editor.write("app.py", "one\n")
    agent = editor.agent("script")
    editor.turn(READ)
    assert "chosen nvim_read allow" in agent.notes()
    editor.wait_screen("✓ Read · ")
    until(lambda: any("neovim's own tool" in row for row in editor.chat()))
    assert not any("mcp__neovim" in row for row in editor.chat() if "mcp_asked" not in row)


def test_a_failed_call_shows_its_reason_in_its_line(editor: Editor) -> None:
    editor.agent("script")
    editor.turn('mcp_asked nvim_read {"path": "none.py"}')
    until(lambda: any(row.startswith("✓ Read · none.py: no such file") for row in editor.chat()))


def test_a_secret_still_needs_an_answer(editor: Editor) -> None:
    editor.write(".env", "KEY=1\n")
    editor.agent("script")
    editor.prompt('mcp_asked nvim_read {"path": ".env"}')
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.wait_screen("read a secret file")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")


def test_a_writing_tool_asks_once(editor: Editor) -> None:
    path = editor.write("app.py", "one\n")
    editor.agent("script")
    edits = '[{"old": "one", "new": "two"}]'
    editor.prompt(f'mcp_asked nvim_edit {{"path": "app.py", "edits": {edits}}}')
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    assert path.read_text() == "two\n"


def test_rules_and_an_option_take_precedence(editor: Editor) -> None:
    editor.write("app.py", "one\n")
    agent = editor.agent("script")
    editor.setup({"tools_ask": True})
    editor.prompt(READ)
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")
    editor.setup({"tools_ask": False, "permission": {"rules": [{"action": "deny"}]}})
    editor.turn(READ)
    assert agent.notes().count("chosen nvim_read reject") == 2


@pytest.mark.parametrize("drawn_before", [True, False])
def test_a_call_of_a_writing_tool_is_shown_once(editor: Editor, drawn_before: bool) -> None:
    path = editor.write("app.py", "one\n")
    editor.agent("script")
    go = editor.work.parent / "go"
    wait = {"_wait": str(go)} if drawn_before else {}
    arguments = {"path": "app.py", "edits": [{"old": "one", "new": "two"}], **wait}
    editor.prompt(f"say begin\nmcp_announced nvim_edit {json.dumps(arguments)}")
    if drawn_before:
        editor.wait_screen("mcp__neovim__nvim_edit")
        go.touch()
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    assert path.read_text() == "two\n"
    editor.wait("#require('acp').state().sessions[1].tool_calls == 2")
    rows = [row.rstrip() for row in editor.chat()]
    answer = rows[max(at for at, row in enumerate(rows) if row.startswith("## ")) :]
    lines = [row for row in answer if row.startswith(("✓", "○", "●", "✗")) or "nvim_edit" in row]
    assert len([row for row in lines if not row.startswith("nvim_edit: ")]) == 1, lines
    assert lines[0].startswith("✓ ")
    assert "app.py" in lines[0]
    at = answer.index(lines[0])
    assert answer[at - 1] == "", "a blank row stands above it"
    assert answer[at - 2] == "begin", "and one only"


def test_a_call_that_fails_before_its_question_keeps_the_agents_line(editor: Editor) -> None:
    editor.write("app.py", "one\n")
    editor.agent("script")
    arguments = {"path": "app.py", "edits": [{"old": "none", "new": "two"}]}
    editor.turn(f"mcp_announced nvim_edit {json.dumps(arguments)}")
    until(lambda: any(row.startswith("✓ Edit · ") for row in editor.chat()))
