"""Of a very long line of a message the chat shows the beginning, in any pieces."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim import wording
from acp_nvim.protocol import schema
from acp_nvim.render import cutting
from acp_nvim.render.cutting import MAX_LINE
from acp_nvim.session import prompts
from acp_nvim.session.transcript.entries import Message, Part
from tests.support.chat_histories import Chat

NOTE = wording.PART_LINE_CUT
MEGABYTES = 20 << 20


def drawn(*parts: Part, role: str = "agent", budget: int = 64_000) -> Chat:
    chat = Chat("show")
    for part in parts:
        chat.say(role, part, None)
        chat.draw(budget)
    for _ in range(100):
        chat.draw(budget)
    assert not chat.session.transcript.dirty
    return chat


@pytest.mark.parametrize("role", ["agent", "thought", "user"])
def test_a_line_of_megabytes_is_cut(role: str) -> None:
    chat = drawn("before\n" + "x" * MEGABYTES + "\nafter", role=role)
    assert chat.picture.lines[-3:] == ["before", "x" * MAX_LINE + NOTE, "after"]
    [message] = chat.session.transcript.entries
    assert isinstance(message, Message)
    assert message.text() == "before\n" + "x" * MEGABYTES + "\nafter"
    assert chat.document.drawn == chat.session.transcript.written


def test_hidden_text_costs_no_frame() -> None:
    """No operations and no budget: the text after it is drawn at once."""
    chat = drawn("x" * (MAX_LINE + 1))
    chat.say("agent", "x" * MEGABYTES, None)
    assert chat.document.draw(chat.session.transcript, 1000)[0] == []
    assert not chat.session.transcript.dirty
    chat.say("agent", "x" * MEGABYTES + "\nafter", None)
    ops, _ = chat.document.draw(chat.session.transcript, 1000)
    assert [op[3] for op in ops] == [["", "after"]]
    assert not chat.session.transcript.dirty


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_only_a_longer_line_is_cut(more: int) -> None:
    line = "x" * (MAX_LINE + more)
    expected = line if more <= 0 else "x" * MAX_LINE + NOTE
    assert drawn(f"{line}\n{line}").picture.lines[-2:] == [expected, expected]


def test_a_line_of_a_prompt_is_cut_once() -> None:
    shown = prompts.text_for_chat("x" * MEGABYTES)
    assert drawn(shown, role="user").picture.lines[-1] == shown


def test_a_block_ends_the_line() -> None:
    image = schema.ImageContent(data="AAAA", mime_type="image/png")
    lines = drawn("x" * (MAX_LINE + 1), image, "y" * MAX_LINE).picture.lines
    assert [lines[-3], lines[-1]] == ["x" * MAX_LINE + NOTE, "y" * MAX_LINE]


SHORT = 2000
SIZES = st.sampled_from([0, 1, 1200, SHORT - 1, SHORT, SHORT + 1, 3 * SHORT])
PIECES = st.one_of(SIZES.map(lambda size: "x" * size), st.just("\n"))


@given(st.lists(PIECES, min_size=1, max_size=8), st.sampled_from([99, 1300, 8000]))
def test_a_long_line_in_any_pieces_looks_the_same(pieces: list[str], budget: int) -> None:
    several, whole = Chat(), Chat()
    with patch.object(cutting, "MAX_LINE", SHORT):
        for piece in pieces:
            several.say("agent", piece, None)
            several.draw(budget)
        whole.say("agent", "".join(pieces), None)
        several.finish()
        whole.finish()
    assert several.picture.lines == whole.picture.lines
