"""The display of a prompt, and its blocks for an agent."""

from __future__ import annotations

import pytest

from acp_nvim.protocol import schema
from acp_nvim.session import turns
from acp_nvim.session.prompts import MAX_LINE, Prompt, Variable, text_for_chat
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Message


@pytest.mark.parametrize(
    "text", ["", "a\nb", "x" * MAX_LINE, "\n" * (2 * MAX_LINE), "é" * MAX_LINE + "\nb"]
)
def test_a_short_prompt_is_shown_entirely(text: str) -> None:
    assert text_for_chat(text) == text


def test_a_long_line_of_a_prompt_is_cut() -> None:
    assert (
        text_for_chat(f"a\n{'x' * (MAX_LINE + 1)}\nb")
        == f"a\n{'x' * MAX_LINE}… (of {MAX_LINE + 1} characters)\nb"
    )


@pytest.mark.parametrize(
    ("text", "first"), [("read a.txt", "read a.txt\n"), ("two\nlines\n", "two\nlines\n")]
)
def test_an_attachment_begins_on_its_own_line(text: str, first: str) -> None:
    capabilities = schema.PromptCapabilities(embedded_context=True)
    blocks = Prompt(text, [Variable("unsaved", "@@")]).build(capabilities)
    assert blocks[0] == schema.TextContent(first)
    assert Prompt(text).build(capabilities) == [schema.TextContent(text)]
    command = Prompt("/fix", [Variable("unsaved", "@@")]).build(capabilities)
    assert command[-1] == schema.TextContent("/fix")


def test_blank_parts_of_a_prompt_are_shown_between_others() -> None:
    session, prompt = Session(1, "agent", "/work"), Prompt("go")
    session.queue[:] = [prompt]
    turns.announce(session, prompt)
    session.notice("info", "The agent was slow")
    prompt.blocks = [schema.TextContent(text) for text in ("go", "one", "\n\n", "two")]
    turns.add_prompt(session, prompt)
    message = session.transcript.last
    assert isinstance(message, Message)
    assert message.parts == ["one", "\n\n", "two"]
