"""Calls of our tools by agents that ask the user before, and how the chat shows them."""

from __future__ import annotations

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


def test_what_cannot_be_done_is_said_in_the_calls_line(editor: Editor) -> None:
    editor.agent("script")
    editor.turn('mcp_asked nvim_read {"path": "none.py"}')
    until(lambda: any(row.startswith("✓ Read · none.py: no such file") for row in editor.chat()))


def test_a_secret_is_asked_about_all_the_same(editor: Editor) -> None:
    editor.write(".env", "KEY=1\n")
    editor.agent("script")
    editor.prompt('mcp_asked nvim_read {"path": ".env"}')
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.wait_screen("read a secret file")
    editor.cmd("Acp deny")
    editor.wait_event("AcpTurnEnd")


def test_a_writing_tool_asks_once(editor: Editor) -> None:
    path = editor.write("app.py", "one\n")
    editor.agent("script")
    edits = '[{"old": "one", "new": "two"}]'
    editor.prompt(f'mcp_asked nvim_edit {{"path": "app.py", "edits": {edits}}}')
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.cmd("Acp allow")
    editor.wait_event("AcpTurnEnd")
    assert path.read_text() == "two\n"


def test_rules_and_an_option_count_more(editor: Editor) -> None:
    editor.write("app.py", "one\n")
    agent = editor.agent("script")
    editor.setup({"tools_ask": True})
    editor.prompt(READ)
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.cmd("Acp deny")
    editor.wait_event("AcpTurnEnd")
    editor.setup({"tools_ask": False, "permission": {"rules": [{"action": "deny"}]}})
    editor.turn(READ)
    assert agent.notes().count("chosen nvim_read reject") == 2
