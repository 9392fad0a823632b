"""The editor's own tools, called by an agent through the relay, in a real Neovim."""

from __future__ import annotations

import json
from typing import Any

from tests.support.editor import Editor
from tests.support.traffic import Traffic


def result(agent: Traffic, tool: str, nth: int = 0) -> dict[str, Any]:
    """What the nth call of a tool gave."""
    head = f"mcp {tool} "
    told = [note.removeprefix(head) for note in agent.notes() if note.startswith(head)]
    outcome: dict[str, Any] = json.loads(told[nth])["result"]
    return outcome


def entry(agent: Traffic, nth: int = 0) -> dict[str, Any]:
    """The server that the nth session was offered."""
    server: dict[str, Any] = agent.received("session/new")[nth]["params"]["mcpServers"][0]
    return server


def test_an_agent_reads_unsaved_text(editor: Editor) -> None:
    path = editor.write("app.py", "one\ntwo\n")
    editor.open(path)
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, {'unsaved'})")
    agent = editor.agent("script")
    editor.turn('mcp nvim_read {"path": "app.py"}')
    assert result(agent, "nvim_read") == {
        "content": [{"type": "text", "text": "unsaved\ntwo\n"}],
        "structuredContent": {"path": str(path), "line": 1, "text": "unsaved\ntwo\n"},
    }
    tools = editor.session()["tools"]
    assert tools.pop("slowest_ms") >= 0
    assert "nvim_read" in tools.pop("names")
    assert tools == {"connected": 1, "calls": 1, "failed": 0}
