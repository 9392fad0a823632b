"""Messages about a tool call that its agent finished in an earlier turn."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.render.cards import card
from acp_nvim.session import turns
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.questions import permissions
from acp_nvim.session.questions.questions import permission_decision
from tests.support.json_chat import JsonChat

OUTPUT = [{"type": "content", "content": {"type": "text", "text": "old output"}}]
OLD: dict[str, Any] = {
    "title": "Read README.md",
    "kind": "read",
    "rawInput": {"path": "README.md"},
    "content": OUTPUT,
}
OPTIONS = [schema.PermissionOption("yes", "Allow", "allow_once")]


def chat_with_a_finished_call(status: str = "completed", version: int = 1) -> JsonChat:
    chat = JsonChat(version)
    tag = "tool_call" if version == 1 else "tool_call_update"
    chat.update(tag, toolCallId="c1", status="in_progress", **OLD)
    if status != "left open":
        chat.update("tool_call_update", toolCallId="c1", status=status)
    turns.end(chat.session, "end_turn")
    turns.begin(chat.session, Prompt("again"), "X")
    return chat


def calls(chat: JsonChat) -> list[ToolCall]:
    return list(chat.session.tool_calls)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("status", ["completed", "failed"])
@pytest.mark.parametrize(
    "fields",
    [
        {"title": "rm -rf"},
        {"kind": "execute"},
        {"status": "in_progress"},
        {"rawInput": {"command": "rm -rf ~"}},
    ],
)
def test_other_fields_begin_a_new_call(fields: dict[str, Any], status: str, version: int) -> None:
    chat = chat_with_a_finished_call(status, version)
    before = [line for line in chat.lines if "README" in line or "old output" in line]
    chat.update("tool_call_update", toolCallId="c1", **fields)
    old, new = calls(chat)
    assert (old.title, old.status, old.raw_input) == ("Read README.md", status, OLD["rawInput"])
    assert (new.title, new.raw_input) == (fields.get("title", ""), fields.get("rawInput"))
    assert new.content == ()
    assert [line for line in chat.lines if "README" in line or "old output" in line] == before
    chat.update("tool_call_update", toolCallId="c1", status="completed")
    assert [it.status for it in calls(chat)] == [status, "completed"]


@pytest.mark.parametrize(
    "fields",
    [{"status": "failed"}, {**OLD, "status": "completed"}, {"content": OUTPUT}, {"title": None}],
)
def test_a_late_end_belongs_to_the_old_call(fields: dict[str, Any]) -> None:
    chat = chat_with_a_finished_call()
    chat.update("tool_call_update", toolCallId="c1", **fields)
    assert len(calls(chat)) == 1


def test_a_call_that_continues_in_the_background_is_the_same() -> None:
    chat = chat_with_a_finished_call("left open")
    chat.update("tool_call_update", toolCallId="c1", status="in_progress")
    chat.update("tool_call_update", toolCallId="c1", status="failed")
    assert [it.status for it in calls(chat)] == ["failed"]
    turns.end(chat.session, "end_turn")
    turns.begin(chat.session, Prompt("again"), "X")
    chat.update("tool_call_update", toolCallId="c1", title="rm -rf")
    assert [it.title for it in calls(chat)] == ["Read README.md", "rm -rf"]


@pytest.mark.parametrize(("title", "count"), [("Read README.md", 2), (None, 1)])
def test_a_question_with_a_title_is_in_its_own_turn(title: str | None, count: int) -> None:
    """OpenHands asks all its questions about one call, which it never ends."""
    chat = chat_with_a_finished_call("left open")
    fields: dict[str, Any] = {} if title is None else {"title": title, "status": "pending"}
    asked = schema.RequestPermissionRequest("s", schema.PermissionToolCall("c1", **fields), OPTIONS)
    call = permissions.subject(chat.session, asked)
    assert len(calls(chat)) == count
    assert calls(chat)[-1] is call is permissions.call_with_question(chat.session, call)
    assert call.title == "Read README.md"


def test_a_call_may_change_in_its_own_turn() -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="c1", status="completed", **OLD)
    chat.update("tool_call_update", toolCallId="c1", title="Read all of it")
    assert [it.title for it in calls(chat)] == ["Read all of it"]


@pytest.mark.parametrize("fields", [{}, {"raw_input": {"command": "rm -rf ~"}}])
def test_a_question_about_a_finished_call_shows_nothing_of_it(fields: dict[str, Any]) -> None:
    chat = chat_with_a_finished_call()
    session = chat.session
    before = chat.lines
    asked = schema.RequestPermissionRequest("s", schema.PermissionToolCall("c1", **fields), OPTIONS)
    call = permissions.subject(session, asked)
    shown = permissions.call_with_question(session, call)
    assert shown is call is calls(chat)[1]
    decision = permission_decision("d1", call, asked, shown)
    session.ask(decision, shown)
    rows = "\n".join(row[0] for row in card(decision, session.entries[call], "/w"))
    assert "README" not in rows
    assert "old output" not in rows
    assert ("rm -rf ~" in rows) == bool(fields)
    assert chat.lines[: len(before)] == before


def test_a_question_about_a_call_that_runs_is_about_that_call() -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="c1", status="pending", **OLD)
    asked = schema.RequestPermissionRequest("s", schema.PermissionToolCall("c1"), OPTIONS)
    assert permissions.subject(chat.session, asked) is calls(chat)[0]
    assert len(calls(chat)) == 1


@pytest.mark.parametrize("status", ["completed", "in_progress"])
@pytest.mark.parametrize("is_replayed", [True, False])
def test_a_question_after_a_reopening_shows_nothing_of_an_earlier_call(
    status: str, is_replayed: bool
) -> None:
    """The agent may have changed the call in its replay, which is dropped."""
    chat = JsonChat()
    chat.update("tool_call", toolCallId="c1", status=status, **OLD)
    session = chat.session
    session.mark_ids()
    if is_replayed:
        session.keep_ids()
    asked = schema.RequestPermissionRequest("s", schema.PermissionToolCall("c1"), OPTIONS)
    call = permissions.subject(session, asked)
    shown = permissions.call_with_question(session, call)
    assert shown is call is calls(chat)[1]
    assert (call.title, call.raw_input, tuple(call.content)) == ("", None, ())
