"""Oddities seen in real agents, each survived and shown correctly."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.traffic import Traffic
from tests.support.waiting import until

METHOD = "session/request_permission"


def allow_all(editor: Editor) -> None:
    """Answer every permission with its first option as it arrives."""
    editor.lua(lua_chunk(__file__, "answer_permissions"))


def calls(editor: Editor) -> list[tuple[str, str, str]]:
    """Return id, title and status of the tool calls, in order."""
    return [(it["id"], it["title"], it["status"]) for it in editor.session()["tool_calls"]]


def answers(traffic: Traffic) -> list[Any]:
    return [frame["result"]["outcome"]["optionId"] for frame in traffic.answers(METHOD)]


def test_1_tool_calls_in_any_order_are_shown(editor: Editor) -> None:
    allow_all(editor)
    traffic = editor.agent("field_order")
    assert editor.turn("go")["stop_reason"] == "end_turn"
    assert answers(traffic) == ["allow", "allow", "allow"]
    assert calls(editor) == [
        ("asked-first", "Run asked-first", "completed"),
        ("changed-first", "Announced late", "completed"),
        ("twice", "Twice", "completed"),
        ("twice", "A new one", "completed"),
        ("never", "", "completed"),
    ]
    chat = "\n".join(editor.chat())
    for title in ("Run asked-first", "Announced late", "Twice", "A new one", "never"):
        assert title in chat
    editor.turn("again")
    assert len(calls(editor)) > 5, "ids of an earlier turn are new calls"


def test_2_permissions_with_few_fields_are_shown(editor: Editor) -> None:
    traffic = editor.agent("field_partial")
    editor.prompt("go")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    [permission] = editor.session()["permissions"]
    assert (permission["title"], permission["kind"]) == ("Known title", "edit")
    assert [it["id"] for it in permission["options"]] == ["never", "reject", "allow"]
    editor.answer("Acp allow")
    editor.wait_event("AcpPermission", 2)
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.wait(
        "table.concat(vim.fn.getbufline('acp://chat/1', 1, '$'), ' '):find('ls -l', 1, true)"
    )
    editor.answer("Acp allow")
    editor.wait_message("No option of kind allow_once")
    editor.answer("Acp deny")
    editor.wait_event("AcpTurnEnd")
    assert answers(traffic) == ["allow", "abort"]


def test_3_diffs_with_any_old_text_are_shown(editor: Editor) -> None:
    editor.agent("field_diffs")
    editor.turn("go")
    chat = editor.chat()
    counts = [line.strip() for line in chat if line.strip().startswith("/tmp/f")]
    assert counts == [
        "/tmp/f0 +1 -1",
        "/tmp/f1 +3 -1",
        "/tmp/f2 +3 -0",
        "/tmp/f3 +3 -0",
        "/tmp/f4 +3 -0",
    ]


def test_4_terminals_that_the_agent_runs_are_shown(editor: Editor) -> None:
    editor.agent("field_terminals")
    assert editor.turn("go")["stop_reason"] == "end_turn"
    chat = "\n".join(editor.chat())
    assert "make" in chat
    assert "one" in chat
    assert "two" in chat


def test_5_a_command_may_be_one_line(editor: Editor) -> None:
    traffic = editor.agent("field_shell_line")
    editor.turn("go")
    assert "output: 0ne" in editor.chat()
    assert "two" in editor.chat()
    assert "waited True" in traffic.notes()


def test_6_updates_outside_a_turn_are_shown(editor: Editor) -> None:
    editor.agent("field_outside")
    editor.turn("go")
    editor.wait("require('acp').state().sessions[1].title == 'Named late'")
    session = editor.session()
    assert [it["name"] for it in session["commands"]] == ["early"]
    assert session["usage"] == {"used": 7, "size": 100}
    assert session["status"] == "idle"
    editor.wait("vim.tbl_contains(vim.fn.getbufline('acp://chat/1', 1, '$'), 'after the turn')")


def test_7_an_agent_may_ignore_a_cancel(editor: Editor) -> None:
    editor.agent("field_deaf")
    editor.prompt("go")
    editor.wait("#require('acp').state().sessions[1].tool_calls == 1")
    editor.cmd("AcpCancel")
    assert editor.wait_event("AcpTurnEnd")["stop_reason"] == "end_turn"
    assert calls(editor) == [("left", "Left open", "cancelled")]
    assert editor.session()["status"] == "idle"
    assert "went on" in editor.chat()


def test_8_prompts_are_sent_one_at_a_time(editor: Editor) -> None:
    traffic = editor.agent("field_one_at_a_time")
    for words in ("first", "second", "third"):
        editor.prompt(words)
    for number in (1, 2, 3):
        assert editor.wait_event("AcpTurnEnd", number)["stop_reason"] == "end_turn"
    assert traffic.prompts() == ["first", "second", "third"]
    chat = "\n".join(editor.chat())
    assert chat.index("begun first") < chat.index("begun second") < chat.index("begun third")
    assert "a turn is running" not in chat


@pytest.mark.parametrize("which", ["object", "list", "string", "code"])
def test_9_errors_of_the_model_are_shown(editor: Editor, which: str) -> None:
    editor.agent("script")
    end = editor.turn(f"field_errors {which}")
    assert "overloaded" in end["error"]
    chat = "\n".join(editor.chat())
    assert "overloaded" in chat
    assert ("quota" in chat) == (which != "code")
    assert editor.session()["status"] == "idle"
    assert editor.lines("acp://composer/1") == [f"field_errors {which}"]


def test_9_an_error_without_a_message_is_shown_by_its_number(editor: Editor) -> None:
    editor.agent("script")
    assert editor.turn("field_errors silent") == {"session": 1, "error": "error -32603"}
    assert "✗ error -32603" in editor.chat()
    assert editor.session()["error"] == "error -32603"


def test_10_ids_may_be_of_every_kind(editor: Editor) -> None:
    allow_all(editor)
    traffic = editor.agent("field_ids")
    assert editor.turn("go")["stop_reason"] == "end_turn"
    assert [note for note in traffic.notes() if note.startswith("answered")] == [
        "answered '6f1c0f7e-8a53-4d4b-9d9a-2f6f4f3a1c00' allow",
        "answered 0 allow",
        "answered '0' allow",
        "answered -1 allow",
    ]


def test_11_null_may_be_anywhere(editor: Editor) -> None:
    editor.agent("field_nulls")
    assert editor.turn("go")["stop_reason"] == "end_turn"
    session = editor.session()
    assert session["commands"] == [{"name": "c", "description": "d"}]
    [call] = session["tool_calls"]
    assert call == {
        "id": "n",
        "title": "Nulls",
        "kind": "read",
        "status": "completed",
        "locations": [{"path": "/tmp/x"}],
    }
    assert session["usage"] == {"used": 5, "size": 10}
    assert "through" in editor.chat()


def test_12_unknown_updates_and_requests_are_survived(editor: Editor) -> None:
    traffic = editor.agent("field_unknown")
    assert editor.turn("go")["stop_reason"] == "end_turn"
    assert "drained -32601" in traffic.notes()
    chat = "\n".join(editor.chat())
    assert "— Update of an unknown kind: moon_phase" in chat
    assert "through" in chat


def test_12_mode_ids_may_be_addresses(editor: Editor) -> None:
    editor.agent("field_modes")
    editor.turn("go")
    editor.cmd("Acp mode https://example.org/modes#plan")
    editor.wait("require('acp').state().sessions[1].modes.current:find('#plan', 1, true)")
    editor.wait("vim.tbl_contains(vim.fn.getbufline('acp://chat/1', 1, '$'), '[MODE_UPDATE] plan')")
    assert editor.session()["modes"]["current"] == "https://example.org/modes#plan"


def test_13_version_1_is_requested(editor: Editor) -> None:
    traffic = editor.agent("field_version", "echo")
    editor.turn("go")
    assert "asked 1" in traffic.notes()
    assert "same version" in editor.chat()


@pytest.mark.parametrize("version", ["2", "99"])
def test_13_another_version_is_refused_with_its_number(editor: Editor, version: str) -> None:
    editor.agent("field_version", version)
    editor.prompt("go")
    editor.wait("require('acp').state().sessions[1].status == 'failed'")
    assert f"protocol {version}" in editor.session()["error"]
    assert editor.lines("acp://composer/1") == ["go"]


def test_14_a_badly_behaved_process_is_survived_and_ended(editor: Editor) -> None:
    traffic = editor.agent("field_process")
    assert editor.turn("go")["stop_reason"] == "end_turn"
    traffic.wait_note("stays")
    assert len(editor.session()["commands"]) == 100
    assert "word in two" in editor.chat()
    editor.quit()
    until(lambda: not editor.processes(), 10, "it does not end by itself, so it is ended")
