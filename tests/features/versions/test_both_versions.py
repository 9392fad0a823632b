"""One agent in both versions of the protocol: the screen and `state()` are the same."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.stored_sessions import storing_agent

BEFORE = "one\ntwo\nthree\n"
AFTER = BEFORE.replace("two", "TWO")

pytestmark = pytest.mark.parametrize("version", [1, 2])


def test_a_turn_with_all_kinds_of_updates_is_shown(editor: Editor, version: int) -> None:
    editor.agent("script", protocol=version)
    end = editor.turn("say one\nthink why\ntool\nplan\nupdates\nsay two")
    assert end["stop_reason"] == "end_turn"
    session = editor.session()
    assert session["status"] == "idle"
    assert session["title"] == "A title"
    assert session["usage"]["used"] == 1234
    assert [command["name"] for command in session["commands"]] == ["tour", "edit"]
    assert [e["status"] for e in session["plan"]] == ["completed", "in_progress", "pending"]
    assert [(c["id"], c["status"]) for c in session["tool_calls"]] == [("t1", "completed")]
    assert [option["id"] for option in session["options"]] == ["model"]
    chat = editor.chat()
    assert [line for line in chat if line in ("one", "two")] == ["one", "two"]
    assert chat.count("## Scripted") == 1
    assert editor.state()["agents"]["script"]["protocol"] == version
    statuses = [event["data"]["status"] for event in editor.events("AcpToolCall")]
    assert statuses == ["pending", "in_progress", "completed"]


@pytest.mark.parametrize("key", ["allow", "deny"])
def test_a_permission_is_answered(editor: Editor, version: int, key: str) -> None:
    editor.agent("script", protocol=version)
    editor.prompt("permission p1")
    permission = editor.wait_event("AcpPermission")
    assert permission["tool_call"] == "p1"
    assert editor.session()["status"] == "running"
    editor.answer(f"Acp {key}")
    editor.wait_event("AcpTurnEnd")
    wanted = "allow" if key == "allow" else "reject"
    assert any(line.startswith(f"p1: {wanted}") for line in editor.chat())
    assert not editor.session()["permissions"]


def test_a_cancel_ends_a_question(editor: Editor, version: int) -> None:
    editor.agent("script", protocol=version)
    editor.prompt("permission p1")
    editor.wait_event("AcpPermission")
    editor.prompt("say later")
    editor.cmd("AcpCancel")
    editor.wait_event("AcpPermissionDone")
    editor.wait_event("AcpTurnEnd")
    assert editor.session()["queue"] == ["say later"]
    editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd", 2)
    assert "later" in editor.chat()


def test_an_edit_on_disk_can_be_reviewed(editor: Editor, version: int) -> None:
    path = editor.write("a.txt", BEFORE)
    editor.open(path)
    editor.agent("script", protocol=version)
    editor.turn(f"edits_disk {path} {json.dumps(AFTER)}")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.read_text() == BEFORE


def test_an_agent_that_dies_is_started_again(editor: Editor, version: int) -> None:
    editor.errors_expected = True
    editor.agent("script", protocol=version)
    editor.prompt("say last\ndie")
    assert editor.wait_event("AcpTurnEnd").get("error")
    assert editor.session()["status"] == "failed"
    assert editor.turn("say again")["stop_reason"] == "end_turn"
    assert "again" in editor.chat()


def test_a_session_is_resumed_after_a_restart_and_continues(editor: Editor, version: int) -> None:
    traffic = storing_agent(editor, {}, protocol=version)
    editor.turn("say one\ntool")
    editor.cmd("Acp restart")
    editor.wait_event("AcpSession", 2)
    editor.wait("require('acp').state().sessions[1].status == 'idle'")
    assert [f["params"]["sessionId"] for f in traffic.received("session/resume")] == ["s1"]
    assert editor.turn("say two")["stop_reason"] == "end_turn"
    chat = editor.chat()
    assert [line for line in chat if line in ("one", "two")] == ["one", "two"]
    assert any("The session was resumed" in line for line in chat)
    assert len(traffic.pids()) == 2


def test_a_turn_is_cancelled_while_text_streams(editor: Editor, version: int) -> None:
    editor.agent("script", protocol=version)
    call = {"toolCallId": "t", "title": "Look", "status": "in_progress"}
    line = json.dumps({"sessionUpdate": "tool_call", **call})
    editor.prompt(f"update {line}\nwait_for_cancel")
    editor.wait("#require('acp').state().sessions[1].tool_calls == 1")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "cancelled"
    assert editor.session()["tool_calls"][0]["status"] == "cancelled"
    assert editor.turn("say on")["stop_reason"] == "end_turn"
