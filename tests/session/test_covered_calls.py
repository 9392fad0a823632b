"""A permission that does not name its action, and the open calls that it may mean."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session import snapshot, state
from acp_nvim.session.calls import own_tools
from acp_nvim.session.calls.tool_use import Offered
from acp_nvim.session.questions import permissions
from acp_nvim.session.questions.decisions import Decision, Outcome
from acp_nvim.session.questions.questions import permission_decision
from tests.support.json_chat import JsonChat

OPTIONS = [
    schema.PermissionOption("yes", "Yes, proceed", "allow_once"),
    schema.PermissionOption("no", "Reject", "reject_once"),
]
RUN: dict[str, Any] = {
    "title": "terminal",
    "kind": "execute",
    "status": "in_progress",
    "rawInput": {"command": "rm -rf build"},
}
READ: dict[str, Any] = {
    "title": "file_editor",
    "kind": "read",
    "status": "in_progress",
    "locations": [{"path": "/w/notes.txt"}],
}
UNSAID = "The agent does not say what this allows"


def ask(chat: JsonChat, call_id: str = "confirmation-s", **fields: Any) -> Decision:
    """Ask as OpenHands does, with the question on the screen."""
    fields = {"title": "Confirm Agent Actions", "kind": "other", "status": "pending", **fields}
    tool_call = schema.PermissionToolCall(call_id, **fields)
    request = schema.RequestPermissionRequest("s", tool_call, OPTIONS)
    call = permissions.subject(chat.session, request)
    shown = permissions.call_with_question(chat.session, call)
    number = len(chat.session.tool_calls)
    decision = permission_decision(f"q{number}", call, request, shown)
    decision.set_covered(lambda: permissions.covered_calls(chat.session, call))
    decision.judge()
    chat.session.ask(decision, shown)
    state.take_changes(chat.session)
    return decision


def allow(decision: Decision) -> None:
    decision.resolve(Outcome("selected", decision.options[0]))


def trimmed(chat: JsonChat) -> list[str]:
    return [line.strip() for line in chat.lines if line.strip()]


def test_the_card_shows_the_open_calls() -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="old", **READ)
    chat.update("tool_call_update", toolCallId="old", status="completed")
    chat.update("tool_call", toolCallId="a", **RUN)
    chat.update("tool_call", toolCallId="b", **READ)
    for number in range(permissions.NEWEST):
        chat.update("tool_call", toolCallId=f"later {number}", **{**READ, "status": "completed"})
    decision = ask(chat)
    lines = trimmed(chat)
    at = lines.index("○ X asks for permission: Confirm Agent Actions")
    told = ["May allow: run rm -rf build", "May allow: read notes.txt", "1. Yes, proceed"]
    assert lines[at + 1 : at + 4] == told
    assert UNSAID not in chat.text
    state_of = snapshot.permission(decision)
    assert (state_of["may_allow"], state_of["kind"]) == (["a", "b"], "execute")


def test_the_card_shows_an_edit_with_its_diff() -> None:
    chat = JsonChat()
    diff = {"type": "diff", "path": "/w/a.txt", "oldText": "one\n", "newText": "two\n"}
    chat.update("tool_call", toolCallId="a", title="edit", kind="edit", content=[diff])
    ask(chat)
    lines = trimmed(chat)
    at = lines.index("May allow: edit a.txt (+1 -1)")
    assert lines[at + 1 : at + 4] == ["- one", "+ two", "1. Yes, proceed"]


def test_the_card_says_that_the_request_names_no_action() -> None:
    chat = JsonChat()
    ask(chat)
    assert UNSAID in trimmed(chat)
    assert "May allow" not in chat.text


@pytest.mark.parametrize(
    "fields",
    [
        {"raw_input": {"command": "ls"}},
        {"locations": [schema.ToolCallLocation("/w/a.txt")]},
        {"content": [schema.Content(schema.TextContent("Read a.txt"))]},
        {"meta": {"command": "ls"}},
    ],
)
def test_a_question_that_names_its_action_covers_no_other_call(fields: dict[str, Any]) -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="a", **RUN)
    assert ask(chat, **fields).covers == []
    assert "May allow" not in chat.text
    assert UNSAID not in chat.text


def test_a_kind_alone_names_no_action_before_the_first_call() -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="a", **RUN)
    decision = ask(chat, kind="edit")
    assert [call.id for call in decision.covers] == ["a"]
    assert decision.strictest_kind == "execute"


@pytest.mark.parametrize(
    "fields",
    [
        {"rawInput": {"command": "rm -rf /"}},
        {"title": "other", "kind": "edit"},
        {"status": "completed"},
        {"content": [{"type": "diff", "path": "/w/b.txt", "newText": "x\n"}]},
    ],
)
def test_a_change_to_an_open_call_makes_it_a_new_question(fields: dict[str, Any]) -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="a", **RUN)
    decision = ask(chat)
    before = decision.id
    chat.update("tool_call_update", toolCallId="a", **fields)
    assert decision.id != before
    assert chat.session.decisions.front == [decision]


def test_a_further_open_call_makes_it_a_new_question() -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="a", **READ)
    decision = ask(chat)
    before = decision.id
    chat.update("tool_call", toolCallId="b", **RUN)
    assert decision.id != before
    assert "May allow: run rm -rf build" in trimmed(chat)


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "pending"},
        {"rawOutput": "text"},
        {"content": [{"type": "content", "content": {"type": "text", "text": "printed"}}]},
    ],
)
def test_output_of_an_open_call_keeps_the_question(fields: dict[str, Any]) -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="a", **RUN)
    decision = ask(chat)
    before = decision.id
    chat.update("tool_call_update", toolCallId="a", **fields)
    assert decision.id == before


def test_a_waiting_question_shows_the_calls_that_are_open_when_its_turn_comes() -> None:
    chat = JsonChat()
    session = chat.session
    first = [Decision(f"d{n}", "permission", "?", options=()) for n in range(5)]
    for one in first:
        session.ask(one)
    chat.update("tool_call", toolCallId="a", **READ)
    decision = ask(chat)
    chat.update("tool_call", toolCallId="b", **RUN)
    assert [call.id for call in decision.covers] == ["a"]
    first[0].resolve(Outcome("cancelled"))
    assert not decision.lacks_card
    assert [call.id for call in decision.covers] == ["a", "b"]


def test_each_question_of_a_turn_stays_in_its_place() -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="a", **READ)
    allow(ask(chat))
    chat.update("tool_call_update", toolCallId="a", status="completed")
    chat.say("Next.\n")
    chat.update("tool_call", toolCallId="b", **RUN)
    second = ask(chat)
    lines = trimmed(chat)
    at = next(n for n, line in enumerate(lines) if "Confirm Agent Actions" in line)
    assert lines[at + 1 : at + 4] == ["↳ Yes, proceed", "Asked:", "May allow: read notes.txt"]
    assert lines.index("Next.") > at
    card = lines.index("○ X asks for permission: Confirm Agent Actions")
    assert card > lines.index("Next.")
    assert lines[card + 1] == "May allow: run rm -rf build"
    allow(second)
    chat.update("tool_call_update", toolCallId="b", status="completed")
    lines = trimmed(chat)
    assert lines.count("Asked:") == 2
    asked = [line for line in lines if line.startswith("May allow")]
    assert asked == ["May allow: read notes.txt", "May allow: run rm -rf build"]


def test_a_call_without_an_action_is_covered_once_the_agent_names_one() -> None:
    chat = JsonChat()
    ask(chat)
    assert ask(chat, "other").covers == []
    chat.update("tool_call_update", toolCallId="confirmation-s", rawInput={"command": "make"})
    assert [call.id for call in ask(chat, "third").covers] == ["confirmation-s"]
    chat.update("tool_call_update", toolCallId="confirmation-s", status="failed")
    assert ask(chat, "fourth").covers == []
    chat.update("tool_call_update", toolCallId="confirmation-s", status="in_progress")
    assert [call.id for call in ask(chat, "fifth").covers] == ["confirmation-s"]


def test_a_call_without_an_action_is_covered_once_it_runs_a_tool_of_the_editor() -> None:
    chat = JsonChat()
    chat.session.offer_tools(lambda: Offered(["nvim_read"]))
    ask(chat, title="nvim_read")
    assert ask(chat, "other").covers == []
    own_tools.on_start(chat.session, "nvim_read", "Read a.txt")
    assert [call.own for call in ask(chat, "third").covers] == ["Read a.txt"]


def test_a_second_question_while_the_first_waits_stays_with_its_call() -> None:
    chat = JsonChat()
    first, second = ask(chat), ask(chat)
    assert first.tool_call_id == second.tool_call_id
    assert len(chat.session.tool_calls) == 1


@pytest.mark.parametrize(("answer", "status"), [(0, "completed"), (1, "cancelled")])
def test_a_question_that_is_followed_by_another_is_closed(answer: int, status: str) -> None:
    chat = JsonChat()
    decision = ask(chat)
    decision.resolve(Outcome("selected", decision.options[answer]))
    ask(chat)
    first, second = chat.session.tool_calls
    assert (first.status, first.assumed, second.status) == (status, True, "pending")
