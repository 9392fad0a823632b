"""Replays that are dropped because the agent ended before they were complete."""

from __future__ import annotations

from typing import Any

from acp_nvim.session import replays, subagents
from tests.support.json_chat import JsonChat

ENTRY = {"content": "look", "priority": "low", "status": "pending"}


def replay(chat: JsonChat, answer: str) -> None:
    """Replay a tool call, plans, a message and the child session `kid`."""
    report: dict[str, Any] = {"terminal_output": {"terminal_id": "t", "data": "out\n"}}
    chat.update("tool_call", toolCallId="c", title="Run", kind="execute", _meta=report)
    chat.update("plan", entries=[ENTRY])
    chat.update("plan_update", plan={"type": "markdown", "planId": "p", "content": "a plan"})
    chat.say(answer, messageId="m")
    chat.update("subagent_update", sessionId="kid", title="Kid")
    child = subagents.child_of(chat.session, "kid", lambda *it: subagents.Child(2, *it))
    chat.update("subagent_update", sessionId="kid", state={"state": "idle"})
    child.follow()


def test_a_dropped_replay_leaves_notices_and_prompts_and_can_be_repeated() -> None:
    chat = JsonChat()
    chat.session.status = "starting"
    chat.session.notice("info", "a notice")
    replay(chat, "half")
    half = chat.text
    card = chat.session.entries[chat.session.tool_calls.at(0)]
    child = chat.session.children["kid"]
    replays.drop(chat.session)
    chat.session.redraw(card)
    assert [line for line in chat.lines if line] == ["## You", "go", "— a notice"]
    assert (len(chat.session.terminals), len(child.transcript.entries)) == (0, 0)
    assert chat.changed()["plan"] == []
    replay(chat, "half and half")
    for words in ("Run", "a plan", "Kid", "a notice", "out", "look", "half"):
        assert chat.text.count(words) == half.count(words) + (words == "half")
    assert [call.index for call in chat.session.tool_calls] == [0]
    assert chat.session.children["kid"] is child
    assert len(child.transcript.entries) == 1
    assert chat.is_drawn
