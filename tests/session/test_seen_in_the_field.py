"""Behaviour of real agents, at the level of a session and its chat."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.session import options, retries, turns
from acp_nvim.session.calls import call_updates
from acp_nvim.session.prompts import Prompt
from tests.support.json_chat import JsonChat


def test_text_after_the_end_of_a_turn_begins_a_new_message() -> None:
    chat = JsonChat()
    chat.say("The answer.")
    turns.end(chat.session, "end_turn")
    chat.say("Something")
    chat.say(" else.")
    assert "The answer." in chat.lines
    assert "Something else." in chat.lines


def test_text_after_the_end_of_a_turn_continues_the_message_of_its_id() -> None:
    chat = JsonChat()
    chat.say("The ans", messageId="m")
    turns.end(chat.session, "end_turn")
    chat.say("wer.", messageId="m")
    assert "The answer." in chat.lines


@pytest.mark.parametrize(
    ("reason", "status", "words"),
    [
        ("end_turn", "completed", "assumed done"),
        ("max_tokens", "cancelled", "assumed cancelled"),
        ("refusal", "cancelled", "assumed cancelled"),
    ],
)
def test_open_calls_are_closed_at_the_end_of_the_turn(reason: str, status: str, words: str) -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="a", title="Look", status="in_progress")
    asked = schema.ToolCallUpdate("b", title="Asked about")
    call_updates.upsert(chat.session, asked)  # as a permission does
    chat.update("tool_call", toolCallId="c", title="Done", status="completed")
    turns.end(chat.session, reason)
    assert chat.statuses() == {"a": status, "b": status, "c": "completed"}
    found = [line for line in chat.lines if words in line]
    assert [line[2:].partition(" ·")[0] for line in found] == ["Look", "Asked about"]


def test_a_later_status_overrides_the_assumed_one() -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="a", title="Look", status="in_progress")
    turns.end(chat.session, "end_turn")
    assert any("assumed" in line for line in chat.lines)
    chat.update("tool_call_update", toolCallId="a", status="failed")
    assert chat.statuses() == {"a": "failed"}
    assert not any("assumed" in line for line in chat.lines)


def test_a_terminal_has_the_current_name_of_its_call() -> None:
    chat = JsonChat()
    info = {"terminal_info": {"terminal_id": "t"}}
    chat.update("tool_call", toolCallId="a", title="Terminal", kind="execute", _meta=info)
    assert any(line.strip() == "$ Terminal" for line in chat.lines)
    chat.session.changes.names.clear()
    chat.update("tool_call_update", toolCallId="a", rawInput={"command": "make all"})
    assert any(line.strip() == "$ make all" for line in chat.lines)
    assert not any("$ Terminal" in line for line in chat.lines)
    assert [it.snapshot()["command"] for it in chat.session.terminals] == ["make all"]
    assert "terminals" in chat.session.changes.names


def test_a_terminal_without_a_command_follows_the_title() -> None:
    chat = JsonChat()
    info = {"terminal_info": {"terminal_id": "t"}}
    chat.update("tool_call", toolCallId="a", title="Terminal", kind="execute", _meta=info)
    call_updates.upsert(
        chat.session, schema.ToolCallUpdate("a", title="npm test")
    )  # by a permission
    assert any(line.strip() == "$ npm test" for line in chat.lines)


@pytest.mark.parametrize(
    "raw",
    [
        "one\ntwo\n",
        {"stdout": "one\ntwo\n", "stderr": "", "exitCode": 0},
        {"stdout": "one\n", "stderr": "two\n", "exitCode": 0},
        [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        [{"type": "content", "content": {"type": "text", "text": "one\ntwo"}}],
        {"content": [{"type": "text", "text": "one\ntwo"}]},
        {"output": "\x1b[31mone\x1b[0m\ntwo"},
    ],
)
def test_output_that_is_only_raw_output_is_shown(raw: Any) -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="a", title="Run it", kind="execute", status="in_progress")
    chat.update("tool_call_update", toolCallId="a", status="completed", rawOutput=raw)
    shown = [line.strip() for line in chat.lines]
    assert shown[shown.index("✓ Run it") + 1 :][:2] == ["one", "two"]


def test_raw_output_beside_content_is_not_shown_twice() -> None:
    chat = JsonChat()
    content = [{"type": "content", "content": {"type": "text", "text": "one"}}]
    chat.update(
        "tool_call",
        toolCallId="a",
        title="Run",
        kind="execute",
        status="completed",
        content=content,
        rawOutput="one",
    )
    assert [line.strip() for line in chat.lines].count("one") == 1


def test_an_exit_code_in_raw_output_is_shown() -> None:
    chat = JsonChat()
    raw = {"stdout": "", "stderr": "no such file\n", "exitCode": 2}
    chat.update(
        "tool_call", toolCallId="a", title="Run", kind="execute", status="failed", rawOutput=raw
    )
    assert any(line.endswith("Run · exit 2") for line in chat.lines)
    assert any(line.strip() == "no such file" for line in chat.lines)


def test_the_kind_other_is_not_shown() -> None:
    chat = JsonChat()
    chat.update("tool_call", toolCallId="a", title="Think hard", kind="other", status="completed")
    assert "✓ Think hard" in chat.lines


# ---- notices


def test_an_empty_turn_has_a_notice() -> None:
    chat = JsonChat()
    turns.end(chat.session, "end_turn")
    notices = [line for line in chat.lines if line.startswith("— ")]
    assert notices == [f"— {wording.TURN_WITHOUT_ANSWER}"]


@pytest.mark.parametrize("what", ["text", "call", "error", "cancelled"])
def test_a_turn_with_anything_is_not_empty(what: str) -> None:
    chat = JsonChat()
    if what == "text":
        chat.say("Hello")
    elif what == "call":
        chat.update("tool_call", toolCallId="a", title="Look", status="completed")
    error = "It broke" if what == "error" else None
    turns.end(chat.session, "cancelled" if what == "cancelled" else "end_turn", error)
    assert not any(wording.TURN_WITHOUT_ANSWER in line for line in chat.lines)


def test_the_result_of_a_subagent_is_folded() -> None:
    chat = JsonChat()
    content = [{"type": "text", "text": "<result>\nAll is well.\n</result>"}]
    chat.update("session_message", messageId="m", senderSessionId="child", content=content)
    lines = chat.lines
    assert (lines.index("✉ child → unknown"), len(lines) - 1) in chat.screen.fold_lines()


def test_the_usage_of_a_turn_is_shown() -> None:
    chat = JsonChat()
    chat.say("Hello")
    turns.end(chat.session, "end_turn", usage=schema.Usage(30, 20, 10, cached_read_tokens=5))
    state = chat.changed()
    assert state["turn_usage"] == {"total": 30, "input": 20, "output": 10, "cached_read": 5}
    turns.begin(chat.session, Prompt("more"), "X")
    state = chat.changed()
    assert state["turn_usage"] is None


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"sessionId": "s", "attempt": 2}, "retrying"),
        ({"sessionId": "s", "reason": "is_rate_limited", "attempt": 2}, "rate limited, retrying"),
        ({"sessionId": "s", "error": {"status": 429}}, "rate limited, retrying"),
        ({"sessionId": "s", "message": "HTTP 429: Too Many Requests"}, "rate limited, retrying"),
        ({"sessionId": "s", "message": "request 4290 failed"}, "retrying"),
        (None, "retrying"),
    ],
)
def test_the_reason_of_a_retry_is_shown(params: Any, why: str) -> None:
    assert retries.retry_reason(params) == why


@pytest.mark.parametrize("name", ["_session/retrying", "_retrying", "_acme.dev/session/retry"])
def test_notifications_about_retries_are_recognized(name: str) -> None:
    assert retries.METHODS.match(name)


def test_a_rate_limit_is_shown_in_the_bar_during_the_turn() -> None:
    chat = JsonChat()
    chat.update("notice", severity="warning", title="API error (429), retrying in 8 s")
    assert chat.changed()["retrying"] == "rate limited, retrying"
    turns.end(chat.session, "end_turn")
    assert chat.changed()["retrying"] is None
    chat.update("notice", severity="warning", title="HTTP 429")
    assert "retrying" not in chat.changed()


# ---- the model


def select(id: str, *values: str, category: str | None = "model", name: str = "") -> dict[str, Any]:
    options = [{"value": value, "name": value.title()} for value in values]
    return {
        "id": id,
        "name": name or id,
        "type": "select",
        "category": category,
        "currentValue": values[0],
        "options": options,
    }


@pytest.mark.parametrize(
    ("lists", "chosen"),
    [
        ([[select("provider", "a"), select("model", "x")]], "model"),
        ([[select("provider", "a"), select("llm", "x", name="Model")]], "llm"),
        ([[select("provider", "a", "b"), select("llm", "x")]], "provider"),
        (
            [
                [select("provider", "a", "b"), select("llm", "x", "y")],
                [select("provider", "b", "a"), select("llm", "z")],
            ],
            "llm",
        ),
        ([[select("provider", "a", category=None), select("model", "x", category=None)]], "model"),
        ([[select("mode", "a", category="mode")]], None),
    ],
)
def test_the_option_of_the_model_is_found(lists: list[Any], chosen: str | None) -> None:
    chat = JsonChat()
    for listed in lists:
        chat.update("config_option_update", configOptions=listed)
    found = options.model(chat.session)
    assert (found and found.id) == chosen
    state = chat.changed()
    assert (state["model"] and state["model"]["option"]) == chosen
    if chosen == "model":
        assert state["model"] == {"option": "model", "value": "x", "name": "X"}
