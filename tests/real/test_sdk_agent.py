"""An agent built with the official Python SDK, whose models validate every frame of the client."""

from __future__ import annotations

import sys

import pytest

from tests.support.editor import ROOT, Editor
from tests.support.traffic import Traffic


@pytest.fixture
def traffic(editor: Editor) -> Traffic:
    """Configure the SDK's agent for new sessions. `editor` checks every frame at its end."""
    traffic = Traffic(editor.home / "sdk.jsonl", "sdk")
    editor.traffic.append(traffic)
    tee = [sys.executable, str(ROOT / "tests/real/tee.py"), str(traffic.path)]
    agent = [sys.executable, str(ROOT / "tests/agents_sdk/example.py")]
    editor.setup({"agent": "sdk", "agents": {"sdk": {"command": [*tee, *agent]}}})
    return traffic


def test_a_turn_with_a_permission(editor: Editor, traffic: Traffic) -> None:
    path = editor.write("a.txt", "one\ntwo\n")
    buffer = editor.open(path)
    editor.prompt(f"edit {path}")
    asked = editor.wait_event("AcpPermission")
    assert [option["name"] for option in asked["options"]] == ["Do it", "Leave it"]
    assert asked["title"] == f"Capitals for {path}"
    editor.answer("Acp allow")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    lines = "table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, false), '|')"
    assert editor.lua(f"return {lines}", buffer) == "ONE|TWO"
    assert path.read_text() == "ONE\nTWO\n"
    chat = "\n".join(editor.chat())
    assert "## SDK Example" in chat
    assert chat.index("Capitals for") < chat.index("Written.")
    session = editor.session()
    assert [call["status"] for call in session["tool_calls"]] == ["completed"]
    assert [(e["content"], e["status"]) for e in session["plan"]] == [
        ("Write it in capitals", "completed")
    ]


def test_a_permission_denied(editor: Editor, traffic: Traffic) -> None:
    path = editor.write("a.txt", "one\n")
    editor.prompt(f"edit {path}")
    editor.wait_event("AcpPermission")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")
    assert "Left as it was." in "\n".join(editor.chat())
    assert path.read_text() == "one\n"
    assert not traffic.sent("fs/write_text_file")


def test_a_terminal(editor: Editor, traffic: Traffic) -> None:
    editor.turn("shell echo out | tr a-z A-Z; exit 3")
    chat = "\n".join(editor.chat())
    assert "OUT" in chat
    assert "Code 3," in chat
    assert [call["status"] for call in editor.session()["tool_calls"]] == ["failed"]
    assert [t["exit_code"] for t in editor.session()["terminals"]] == [3]


def test_a_cancel_and_the_next_turn(editor: Editor, traffic: Traffic) -> None:
    editor.prompt("wait")
    traffic.wait("session/prompt")
    editor.wait("#vim.tbl_filter(function(e) return e.name == 'AcpTurnStart' end, acp_events) == 1")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert editor.turn("all the same")["stop_reason"] == "end_turn"
    assert "all the same" in "\n".join(editor.chat())


def test_two_sessions_at_once(editor: Editor, traffic: Traffic) -> None:
    editor.prompt("wait")
    traffic.wait("session/prompt")
    editor.cmd("AcpPrompt! in the second")
    end = editor.wait_event("AcpTurnEnd")
    assert (end["session"], end["stop_reason"]) == (2, "end_turn")
    assert "in the second" in "\n".join(editor.chat(2))
    assert editor.session(1)["status"] == "running"
    assert "in the second" not in "\n".join(editor.chat(1))
