"""A chat that is drawn in any pieces looks the same as one that is drawn at once."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from acp_nvim.protocol import schema
from acp_nvim.render.batch import Batch
from acp_nvim.render.calls import tools
from acp_nvim.render.calls.tools import Style
from acp_nvim.render.code_text import may_hold_code
from acp_nvim.render.command_output import is_coloured
from acp_nvim.render.text import visible
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.output.terminal import Launch, Terminal
from acp_nvim.session.transcript.entries import Message, Part, TerminalEntry, ToolEntry
from tests.support.chat_histories import HISTORIES, PIECES, TEXT, Act, Chat

thorough = settings(
    deadline=None,
    database=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def play(history: list[Act], thoughts: str) -> Chat:
    chat = Chat(thoughts)
    for act in history:
        act(chat)
    chat.finish()
    return chat


@thorough
@given(HISTORIES, st.sampled_from(["fold", "show", "hide"]))
def test_drawing_in_pieces_equals_drawing_at_once(history: list[Act], thoughts: str) -> None:
    chat = play(history, thoughts)
    whole = chat.at_once()
    assert chat.picture.lines == whole.lines
    assert chat.picture.spans == whole.spans
    assert chat.picture.targets == whole.targets


@thorough
@given(HISTORIES)
def test_the_chat_contains_all_messages(history: list[Act]) -> None:
    chat = play(history, "show")
    lines = "\n" + "\n".join(chat.picture.lines) + "\n"
    at = 0
    for entry in chat.session.transcript.entries:
        if isinstance(entry, Message) and all(isinstance(part, str) for part in entry.parts):
            text = visible(entry.text().strip("\r\n"))
            at = lines.index("\n" + text + "\n", at) + len(text)
    assert chat.document.drawn == chat.session.transcript.written


@thorough
@given(HISTORIES)
def test_a_fold_holds_its_block(history: list[Act]) -> None:
    """From the head of the block to a blank row. No fold contains a part of another."""
    chat = Chat("fold")
    for act in [*history, Chat.finish]:
        act(chat)
    heads = [row.text for row, _ in chat.picture.folds.values()]
    assert all(text.startswith(("▸ Thought", "○", "◐", "✓", "✗", "⊘")) for text in heads), heads


@given(
    st.lists(TEXT, max_size=3),
    st.integers(0, 4),
    st.sampled_from(["execute", "read"]),
    st.sampled_from([None, "user", "assistant"]),
)
def test_plain_text_equals_the_drawn_rows(
    texts: list[str], lines: int, kind: Any, told: Any
) -> None:
    """The fast path for the rows of a tool call gives the same rows."""
    for_whom = schema.Annotations(audience=[told]) if told else UNSET
    blocks = [schema.TextContent(text, annotations=for_whom) for text in texts]
    content: Any = [schema.Content(block) for block in blocks]
    entry = ToolEntry(ToolCall("c", "read /work/a.py", kind=kind, content=content))
    look = Style(lines, "/work")
    drawn = tools.draw(entry, look)
    found = tools.draw_short(entry, look)
    if found is None:
        is_marked_up = any(may_hold_code(text, entry.call) or is_coloured(text) for text in texts)
        assert not texts or told or len(drawn) > lines or len("".join(texts)) > 500 or is_marked_up
    else:
        assert [found[0], *((text, (), None) for text in found[1])] == drawn


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.integers(1, 50))
def test_a_text_in_any_pieces_looks_the_same(pieces: list[str], budget: int) -> None:
    """In chunks, or the whole text at once."""
    several, one = Chat(), Chat()
    for piece in pieces:
        several.say("agent", piece, None)
        several.draw(budget)
    several.finish()
    if pieces:
        one.say("agent", "".join(pieces), None)
    one.finish()
    assert several.picture.lines == one.picture.lines
    assert several.picture.spans == one.picture.spans


@pytest.mark.parametrize("seen", [True, False], ids=["drawn before", "at once"])
def test_a_terminal_that_moves_into_a_tool_call_leaves_no_gap(seen: bool) -> None:
    """Agents create the terminal first, and then show it in a tool call."""
    chat = Chat()
    chat.call(0, "completed", "one")
    terminal = TerminalEntry(Terminal("t1", Launch("make"), 99, is_hosted=True))
    chat.session.transcript.add(terminal)
    if seen:
        chat.finish()
        assert any("make" in line for line in chat.picture.lines)
    terminal.is_embedded = True
    chat.session.transcript.touch(terminal)
    chat.call(1, "completed", "two")
    chat.finish()
    first, second = sorted(chat.picture.fold_lines())
    assert second[0] == first[1] + 1, chat.picture.lines


def test_a_frame_is_as_small_as_its_budget() -> None:
    chat = Chat()
    chat.say("agent", "x" * 10_000 + "\n" + "y" * 10_000, None)
    ops, _ = chat.document.draw(chat.session.transcript, 500)
    assert sum(len(line) for op in ops if op[0] == "chat" for line in op[4]) == 500
    assert chat.session.transcript.dirty
    assert chat.document.drawn == 500


def test_a_chunk_only_appends_rows() -> None:
    chat = Chat()
    chat.say("agent", "one\ntwo ", None)
    chat.draw(1000)
    chat.say("agent", "three", None)
    ops, _ = chat.document.draw(chat.session.transcript, 1000)
    assert ops == [["text", 1, 1, ["three"], [[], [], []]]]


def test_an_update_replaces_only_rows_that_differ() -> None:
    chat = Chat()
    chat.call(0, "in_progress", "one\ntwo")
    chat.draw(1000)
    chat.call(0, "in_progress", "one\nthree")
    ops, _ = chat.document.draw(chat.session.transcript, 1000)
    assert [op[:5] for op in ops] == [["chat", 1, 2, 3, ["  three"]]]


def test_an_update_that_changes_nothing_draws_nothing() -> None:
    chat = Chat()
    chat.call(0, "completed", "one")
    chat.draw(1000)
    chat.call(0, "completed", "one")
    assert chat.document.draw(chat.session.transcript, 1000)[0] == []


def test_many_calls_are_two_operations() -> None:
    """One for their rows, one for their folds."""
    chat = Chat()
    for number in range(50):
        chat.call(number, "completed", "one\ntwo")
    ops, _ = chat.document.draw(chat.session.transcript, 100_000)
    assert [op[0] for op in ops] == ["chat", "folds"]
    assert len(ops[1][2]) == 4 * 50


def test_a_fold_is_made_before_rows_above_it_move() -> None:
    batch = Batch(1)
    batch.replace(4, 4, [("a", (), None), ("b", (), None)])
    batch.fold("t1", 4, 5, False)
    batch.replace(0, 1, [("x", (), None), ("y", (), None)])
    assert [op[0] for op in batch.operations()] == ["chat", "folds", "chat"]


def test_rows_put_together_keep_their_decor() -> None:
    batch = Batch(1)
    batch.replace(0, 1, [("a", ((0, 1, "A"),), 0)])
    batch.add(
        ["chat", 1, 1, 1, ["b", "c"], [[[0, 1, "B"], [0, 1, "C"]], [0, 1, 1, 2], [1, {"kind": 3}]]]
    )
    batch.replace(3, 3, [("d", ((0, 1, "D"),), None)])
    looks = [[0, 1, "A"], [0, 1, "B"], [0, 1, "C"], [0, 1, "D"]]
    decor = [looks, [0, 1, 1, 2, 2, 3, 3, 4], [0, 0, 2, {"kind": 3}]]
    assert batch.operations() == [["chat", 1, 0, 1, ["a", "b", "c", "d"], decor]]


def test_equal_rows_share_their_decoration() -> None:
    batch = Batch(1)
    spans = ((0, 1, "A"), (2, 3, "B"))
    batch.replace(0, 1, [("a b", spans, None), ("c", (), None)])
    batch.replace(2, 2, [("d e", spans, None)])
    look = [0, 1, "A", 2, 3, "B"]
    assert batch.operations() == [
        ["chat", 1, 0, 1, ["a b", "c", "d e"], [[look], [0, 1, 2, 1], []]]
    ]
    batch = Batch(1)
    batch.replace(0, 1, [("a b", spans, None)])
    batch.replace(4, 5, [("d e", spans, None)])
    assert [op[5] for op in batch.operations()] == [[[look], [0, 1], []]] * 2


def test_equal_rows_of_a_message_share_their_decoration() -> None:
    chat = Chat("show")
    chat.say("agent", "- one\n- two\nplain\n- three `x`\n", None)
    (op,) = chat.document.draw(chat.session.transcript, 1000)[0]
    looks, looked, _ = op[5]
    by_row = dict(zip(looked[::2], looked[1::2], strict=True))
    one, two, three = (by_row[op[4].index(line)] for line in ("- one", "- two", "- three `x`"))
    assert one == two != three
    assert len(looks) == max(looked[1::2])


def test_a_message_of_many_chunks_takes_hardly_more_than_its_text() -> None:
    """After it is drawn. A block other than text keeps its number, by which it is opened."""
    chat = Chat("show")
    link = schema.ResourceLink("a", "file:///a")
    said: list[Part] = [f"word {n} " for n in range(2000)]
    parts = [*said, link, *said]
    for part in parts:
        chat.session.transcript.stream("agent", part, None)
    (message,) = chat.session.transcript.entries
    assert isinstance(message, Message)
    chat.finish()
    assert message.text() == "".join(map(str, said)) * 2
    assert message.parts[2000] is link
    assert len(message.parts) == 4001
    kept = sum(sys.getsizeof(part) for part in message.parts if part and part is not link)
    assert kept < 1.2 * len(message.text())
    assert chat.at_once().lines == chat.picture.lines


@pytest.mark.parametrize("chunks", [["\n\nDone."], ["\n", "\n", "Done."], ["", "\r\n\n", "Done."]])
def test_one_blank_line_is_between_a_call_and_a_message(chunks: list[str]) -> None:
    chat = Chat()
    chat.call(1, "completed", "")
    for chunk in chunks:
        chat.say("agent", chunk, None)
        chat.draw(1000)
    assert chat.picture.lines == ["✓ call 1", "", "Done."]
