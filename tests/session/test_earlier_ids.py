"""Ids that an agent uses again after a restart."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session import turns
from acp_nvim.session.prompts import Prompt
from tests.support.json_chat import JsonChat


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def ask(chat: JsonChat, words: str, id: str = "u1") -> None:
    """Begin the turn of a prompt, with the agent's update about it."""
    turns.begin(chat.session, Prompt(words, blocks=[schema.TextContent(words)]), "X")
    chat.update("user_message", messageId=id, content=[text(words)])


def call(chat: JsonChat, **fields: Any) -> None:
    chat.update("tool_call_update", toolCallId="c1", **fields)


@pytest.fixture
def chat() -> JsonChat:
    """Return a session that was opened again after a turn with a message and a tool call."""
    chat = JsonChat(version=2)
    turns.end(chat.session, "end_turn")
    ask(chat, "first")
    call(chat, title="Read it", status="completed")
    chat.update("agent_message_chunk", messageId="m1", content=text("one answer"))
    turns.end(chat.session, "end_turn")
    chat.session.mark_ids()
    return chat


def place(chat: JsonChat, words: str) -> int:
    """Return the row of these words, which are in the chat once."""
    (row,) = [row for row, line in enumerate(chat.lines) if words in line]
    return row


@pytest.mark.parametrize("tag", ["agent_message_chunk", "agent_message"])
def test_reused_ids_make_new_entries_below_the_prompt(chat: JsonChat, tag: str) -> None:
    ask(chat, "second")
    call(chat, title="Look again", status="completed")
    content = text("another answer")
    chat.update(tag, messageId="m1", content=[content] if tag == "agent_message" else content)
    assert place(chat, "one answer") < place(chat, "second") < place(chat, "Look again")
    assert place(chat, "Look again") < place(chat, "another answer")
    assert place(chat, "Read it") < place(chat, "second")
    assert [it.title for it in chat.session.tool_calls] == ["Read it", "Look again"]


def test_the_new_meaning_of_an_id_lasts(chat: JsonChat) -> None:
    ask(chat, "second")
    for words in ("another ", "answer"):
        chat.update("agent_message_chunk", messageId="m1", content=text(words))
    call(chat, title="Look again", status="in_progress")
    call(chat, title="Look further", status="completed")
    call(chat, title="Look further", status="completed")
    assert place(chat, "another answer") > place(chat, "second")
    assert [it.title for it in chat.session.tool_calls] == ["Read it", "Look further"]


def test_a_prompt_that_is_inserted_under_an_old_id_is_shown(chat: JsonChat) -> None:
    chat.update("user_message", messageId="u1", content=[text("second")])
    turns.begin(chat.session, Prompt("second", blocks=[schema.TextContent("second")]), "X", "u1")
    chat.update("user_message", messageId="u1", content=[text("second")])
    assert place(chat, "second") > place(chat, "one answer")


def test_continued_work_keeps_its_ids(chat: JsonChat) -> None:
    chat.update("agent_message_chunk", messageId="m1", content=text(" goes on"))
    call(chat, status="in_progress")
    ask(chat, "second", "u2")
    chat.update("agent_message_chunk", messageId="m1", content=text(" to its end"))
    call(chat, title="Read it all", status="completed")
    call(chat, content=[])
    assert "one answer goes on to its end" in chat.text
    assert [it.title for it in chat.session.tool_calls] == ["Read it all"]


def test_a_late_end_of_an_old_call_is_not_a_new_one(chat: JsonChat) -> None:
    ask(chat, "second", "u2")
    call(chat, status="failed")
    assert [it.status for it in chat.session.tool_calls] == ["failed"]


def test_preserved_ids_keep_their_meaning(chat: JsonChat) -> None:
    chat.session.keep_ids()
    ask(chat, "second", "u2")
    chat.update("agent_message", messageId="m1", content=[text("a better answer")])
    call(chat, content=[])
    assert "one answer" not in chat.text
    assert place(chat, "a better answer") < place(chat, "second")
    assert [it.title for it in chat.session.tool_calls] == ["Read it"]
