"""Code in the content of a tool call."""

from __future__ import annotations

from typing import Any

import pytest

from acp_nvim.protocol import schema
from acp_nvim.render.calls.tools import Style, draw, draw_short
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.transcript.entries import ToolEntry


def entry(text: str, kind: str = "read", **fields: Any) -> ToolEntry:
    """Return a completed call with a text as its content."""
    block = schema.Content(schema.TextContent(text))
    call = ToolCall("c1", "Read a.py", None, kind, "completed", [block], **fields)
    return ToolEntry(call)


AT: dict[str, Any] = {"locations": [schema.ToolCallLocation("/w/a.py", line=7)]}


def test_each_line_of_a_read_file_is_marked_as_code() -> None:
    rows = draw(entry("import os\n\nx = 1", **AT), Style(8, "/w"))[1:4]
    assert [text for text, _, _ in rows] == ["  import os", "  ", "  x = 1"]
    assert rows[0][1] == ((2, 11, "AcpToolCode"),)
    assert [target for _, _, target in rows] == [
        {"kind": "file", "path": "/w/a.py", "line": line} for line in (7, 8, 9)
    ]


def test_line_numbers_of_the_agent_are_not_marked_as_code() -> None:
    rows = draw(entry("     3→import os\n     4→ä = 1", **AT), Style(8, "/w"))[1:3]
    assert rows[0][1] == ((2, 11, "AcpMuted"), (11, 20, "AcpToolCode"))
    assert rows[1][2] == {"kind": "file", "path": "/w/a.py", "line": 4}


def test_fences_of_other_calls_name_their_language() -> None:
    rows = draw(entry("Found:\n```lua\nlocal x\n```\nend", "other"), Style(8, "/w"))[1:]
    groups = [spans[-1][2] if spans else "" for _, spans, _ in rows]
    assert groups == ["", "AcpFence", "AcpCodeBlock", "AcpFence", ""]
    assert rows[2][2] == {"kind": "tool", "call": 0, "language": "lua"}


def test_fences_around_all_of_a_text_are_left_out() -> None:
    """A cut text has no closing fence, and Markdown plugins would show the rest as code."""
    lines = [f"x{n}" for n in range(10)]
    text = "\n".join(["```lua", *lines, "```"])
    rows = draw(entry(text, "other"), Style(8, "/w"))[1:]
    assert [text.strip() for text, _, _ in rows] == [*lines[:8], "… +2 lines"]
    assert rows[0][2] == {"kind": "tool", "call": 0, "language": "lua"}
    whole = draw(entry(text, "other"), Style(99, "/w"))[1:]
    assert [text.strip() for text, _, _ in whole] == lines


@pytest.mark.parametrize(
    "text", ["```\na\n```\nb\n```\nc\n```", "```\na", "```\n```", "a\n```\nb\n```"]
)
def test_other_fences_stay(text: str) -> None:
    rows = draw(entry(text, "other"), Style(99, "/w"))[1:]
    assert [text.strip() for text, _, _ in rows] == text.split("\n")


def test_a_long_code_text_is_cut_and_shows_by_how_much() -> None:
    rows = draw(entry("\n".join(f"x{n}" for n in range(20)), **AT), Style(8, "/w"))
    texts = [text for text, _, _ in rows]
    assert texts[8] == "  x7"
    assert texts[9] == "  … +12 lines"


def test_a_line_that_is_cut_opens_in_full() -> None:
    rows = draw(entry("y" * 5000 + "\nx", **AT), Style(8, "/w"))
    assert rows[1][2] == 0
    assert len(rows[1][0]) < 5000


@pytest.mark.parametrize("text", ["plain", "a\nb"])
def test_other_texts_need_no_extra_work(text: str) -> None:
    found = draw_short(entry(text, "execute"), Style(8, "/w"))
    assert found is not None
    assert found[1] == ["  " + line for line in text.split("\n")]
