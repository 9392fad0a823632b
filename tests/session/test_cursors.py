"""Cursors of a session, and the one at which a fork ends exactly before a prompt."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session import turns
from acp_nvim.session.lists import LISTED
from acp_nvim.session.prompts import Prompt
from tests.support.json_chat import JsonChat

FORK: dict[str, Any] = {"capabilities": {"fork": {}}}


def anchor(kind: str, position: str, **ids: str) -> dict[str, Any]:
    return {"type": kind, "position": position, **ids}


def after(message_id: str) -> dict[str, Any]:
    return anchor("agent_message", "after", messageId=message_id)


@pytest.fixture(params=[1, 2])
def chat(request: pytest.FixtureRequest) -> JsonChat:
    """Return a chat with an answer `m1`."""
    chat = JsonChat(request.param)
    chat.say("first", messageId="m1")
    return chat


def next_prompt(chat: JsonChat) -> int:
    """Begin the next turn, and return the index of its prompt."""
    turns.end(chat.session, "end_turn")
    turns.begin(chat.session, Prompt("next", blocks=[schema.TextContent("next")]), "X")
    prompt = chat.session.prompt_message
    assert prompt is not None
    return chat.session.transcript.entries.index(prompt)


def found(chat: JsonChat, at: int) -> str | None:
    return chat.session.cursors.fork_point(chat.session.transcript, at)


def test_a_cursor_after_the_last_entry_before_a_prompt_is_found(chat: JsonChat) -> None:
    chat.update("cursor_update", cursorId="c", anchor=after("m1"), **FORK)
    assert found(chat, next_prompt(chat)) == "c"
    assert chat.notes == []


def test_a_fork_never_lacks_an_entry(chat: JsonChat) -> None:
    chat.update("cursor_update", cursorId="m", anchor=after("m1"), **FORK)
    tag = "tool_call" if chat.version == 1 else "tool_call_update"
    chat.update(tag, toolCallId="t", title="Run")
    at = next_prompt(chat)
    assert found(chat, at) is None
    anchored = anchor("tool_call", "after", toolCallId="t")
    chat.update("cursor_update", cursorId="t", anchor=anchored, **FORK)
    assert found(chat, at) == "t"


def test_a_cursor_before_the_prompt_is_found_once_the_prompt_has_its_id(chat: JsonChat) -> None:
    at = next_prompt(chat)
    anchored = anchor("user_message", "before", messageId="u2")
    chat.update("cursor_update", cursorId="c", anchor=anchored, **FORK)
    assert found(chat, at) is None
    chat.update("user_message_chunk", content={"type": "text", "text": "next"}, messageId="u2")
    chat.say("second", messageId="m2")
    assert found(chat, at) == "c"
    assert [line for line in chat.lines if line == "next"] == ["next"]


def test_capabilities_are_patched(chat: JsonChat) -> None:
    chat.update("cursor_update", cursorId="c", anchor=after("m1"))
    at = next_prompt(chat)
    assert found(chat, at) is None
    for more, expected in ((FORK, "c"), ({}, "c"), ({"capabilities": None}, None), (FORK, "c")):
        chat.update("cursor_update", cursorId="c", **more)
        assert found(chat, at) == expected
    chat.update("cursor_update", cursorId="c", capabilities={})
    assert found(chat, at) is None


@pytest.mark.parametrize(
    "wrong",
    [
        anchor("agent_message", "inside", messageId="m1"),
        anchor("agent_message", "before", messageId="m1"),
        anchor("agent_message", "after", toolCallId="m1"),
        anchor("agent_message", "after"),
        anchor("_own", "after", messageId="m1"),
        anchor("tool_call", "after", toolCallId="m1"),
    ],
)
def test_other_anchors_are_not_fork_points(chat: JsonChat, wrong: dict[str, Any]) -> None:
    chat.update("cursor_update", cursorId="c", anchor=wrong, **FORK)
    chat.update("cursor_update", cursorId="without anchor", **FORK)
    assert found(chat, next_prompt(chat)) is None


def test_an_id_that_is_used_again_means_its_last_entry() -> None:
    chat = JsonChat()
    chat.say("first", messageId="m1")
    early = next_prompt(chat)
    chat.say("second, of a restarted agent", messageId="m1")
    late = next_prompt(chat)
    chat.update("cursor_update", cursorId="c", anchor=after("m1"), **FORK)
    assert (found(chat, early), found(chat, late)) == (None, "c")


def test_a_message_without_an_id_is_not_an_anchor() -> None:
    chat = JsonChat()
    chat.say("first")
    chat.update("cursor_update", cursorId="c", anchor=after(""), **FORK)
    assert found(chat, next_prompt(chat)) is None


def test_the_number_of_cursors_is_bounded(chat: JsonChat) -> None:
    at = next_prompt(chat)
    chat.update("cursor_update", cursorId="c", anchor=after("m1"), **FORK)
    for n in range(LISTED):
        assert found(chat, at) == "c"
        chat.update("cursor_update", cursorId=str(n), anchor=after("m1 of another"), **FORK)
    assert found(chat, at) is None
