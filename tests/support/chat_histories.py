"""Chats that grow and are drawn in steps, for hypothesis: `given(HISTORIES)` draws lists of acts.

`for act in history: act(chat)` plays a history; `chat.picture` is then the content of a chat
buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from msgspec import UNSET

from acp_nvim.protocol import schema
from acp_nvim.render.calls.tools import Style
from acp_nvim.render.document import Document
from acp_nvim.session.calls import call_updates
from acp_nvim.session.questions.decisions import Decision, Option, Outcome
from acp_nvim.session.session import Session
from tests.support.drawn_chat import DrawnChat

PIECES = (
    *(
        "a",
        "word ",
        "é",
        "中文",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\t",
        "\x1b[1m",
        "\u202e",
        "\ud800",
        "",
    ),
    *("**", "`", "```", "\n```\n", "# ", "\n- ", "\n> ", "_x_", "[a](b)", "https://x.y/z"),
    "x" * 2100,
)
TEXT = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
OPTIONS = (Option("yes", "Yes", "allow_once"), Option("no", "No", "reject_once"))

Act = Callable[["Chat"], None]


class Chat:
    """Session that is drawn into a picture."""

    def __init__(self, thoughts: str = "fold") -> None:
        self.session = Session(1, "agent", "/work")
        self.thoughts = thoughts
        self.picture = DrawnChat()
        self.document = Document(1, Style(3), thoughts)

    def say(self, role: Any, part: Any, message_id: str | None) -> None:
        self.session.transcript.stream(role, part, message_id)

    def call(self, number: int, status: Any, text: str) -> None:
        """Send an update; without text the content stays, because a fold is never removed."""
        content: Any = [schema.Content(schema.TextContent(text))] if text else UNSET
        update = schema.ToolCallUpdate(
            f"c{number}", title=f"call {number}", kind="read", status=status, content=content
        )
        call_updates.upsert(self.session, update)

    def ask(self, number: int) -> None:
        call = self.session.tool_calls.get(f"c{number}")
        name = f"d{len(self.session.transcript.entries)}-{number}"
        if call is None or not any(d.id == name for d in self.session.decisions):
            decision = Decision(name, "permission", "May I?\nReally", options=OPTIONS)
            self.session.ask(decision, call)

    def answer(self) -> None:
        for decision in list(self.session.decisions)[:1]:
            decision.resolve(Outcome("selected", OPTIONS[0]))

    def draw(self, budget: int) -> None:
        ops, _ = self.document.draw(self.session.transcript, budget)
        self.picture.apply(ops)

    def finish(self) -> None:
        for _ in range(100_000):
            if not self.session.transcript.dirty:
                return
            self.draw(1000)
        raise AssertionError("the drawing does not end")

    def at_once(self) -> DrawnChat:
        """Draw the same transcript with a new document."""
        picture, document = DrawnChat(), Document(1, Style(3), self.thoughts)
        transcript = self.session.transcript
        transcript.dirty = dict.fromkeys(transcript.entries)
        picture.apply(document.draw(transcript, 1 << 40)[0])
        assert not transcript.dirty
        return picture


IMAGE = schema.ImageContent(data="AAAA", mime_type="image/png")
LINK = schema.ResourceLink(name="a.py", uri="file:///work/a.py")

WORDS: st.SearchStrategy[Act] = st.builds(
    lambda role, text, id_: lambda chat: chat.say(role, text, id_),
    st.sampled_from(["agent", "agent", "agent", "thought", "user"]),
    TEXT,
    st.sampled_from([None, None, "m1", "m2"]),
)
BLOCKS: st.SearchStrategy[Act] = st.builds(
    lambda role, block: lambda chat: chat.say(role, block, None),
    st.sampled_from(["agent", "thought"]),
    st.sampled_from([IMAGE, LINK]),
)
CALLS: st.SearchStrategy[Act] = st.builds(
    lambda number, status, text: lambda chat: chat.call(number, status, text),
    st.integers(0, 2),
    st.sampled_from(["pending", "in_progress", "completed", "failed"]),
    st.sampled_from(["", "one", "one\ntwo", "1\n2\n3\n4\n5\n", "é\x07\n\n"]),
)
ASKS: st.SearchStrategy[Act] = st.builds(
    lambda number: lambda chat: chat.ask(number), st.integers(0, 2)
)
ANSWERS: st.SearchStrategy[Act] = st.just(lambda chat: chat.answer())
REMARKS: st.SearchStrategy[Act] = st.just(
    lambda chat: chat.session.notice("warning", "careful", ["why\nnot"])
)
DRAWS: st.SearchStrategy[Act] = st.builds(
    lambda budget: lambda chat: chat.draw(budget), st.sampled_from([1, 2, 7, 300, 100_000])
)
HISTORIES = st.lists(
    st.one_of(WORDS, WORDS, BLOCKS, CALLS, CALLS, ASKS, ANSWERS, REMARKS, DRAWS, DRAWS), max_size=30
)
