"""Highlights of the parts of a line, by a table."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.render.markdown import MAX_LENGTH, Highlighter

PLAIN = ["", "just words", "2 * 3 * 4", "snake_case_name", "a-b", "#hashtag", "1.5 of 2", "x > y"]

LINES = [
    ("# Title", [("# Title", "AcpHeading")]),
    ("###### deep", [("###### deep", "AcpHeading")]),
    ("   ## by three", [("   ## by three", "AcpHeading")]),
    ("#", [("#", "AcpHeading")]),
    ("# with `code`", [("# with `code`", "AcpHeading")]),
    ("---", [("---", "AcpRule")]),
    ("* * *", [("* * *", "AcpRule")]),
    ("___", [("___", "AcpRule")]),
    ("> quoted", [("> quoted", "AcpQuote")]),
    ("> with `code`", [("> with `code`", "AcpQuote"), ("`code`", "AcpCode")]),
    ("- item", [("-", "AcpListMarker")]),
    ("  * item", [("*", "AcpListMarker")]),
    ("+ item", [("+", "AcpListMarker")]),
    ("12. item", [("12.", "AcpListMarker")]),
    ("3) **bold**", [("3)", "AcpListMarker"), ("**bold**", "AcpStrong")]),
    ("a `b` c", [("`b`", "AcpCode")]),
    ("a ``b ` c`` d", [("``b ` c``", "AcpCode")]),
    ("an open ` tick", []),
    ("`a` and `b`", [("`a`", "AcpCode"), ("`b`", "AcpCode")]),
    ("`*a*`", [("`*a*`", "AcpCode")]),
    ("so **very** so", [("**very**", "AcpStrong")]),
    ("so __very much__ so", [("__very much__", "AcpStrong")]),
    ("the __init__ of @pkg/__init__.py and a.__long_name__()", []),
    ("a__b c__d", []),
    ("** not **", []),
    ("an *emphasis* here", [("*emphasis*", "AcpEmphasis")]),
    ("an _emphasis_ here", [("_emphasis_", "AcpEmphasis")]),
    ("see [this](there) now", [("[this](there)", "AcpLink")]),
    ("[open](no", []),
    ("https://a.b/c?d", [("https://a.b/c?d", "AcpLink")]),
    ("(http://a.b)", [("http://a.b", "AcpLink")]),
    ("<https://a.b>", [("<https://a.b>", "AcpLink")]),
    ("é中 `code` é", [("`code`", "AcpCode")]),
    ("中 **é** `x`", [("**é**", "AcpStrong"), ("`x`", "AcpCode")]),
]


def shown(line: str, marks: list[tuple[int, int, int, str]]) -> list[tuple[str, str]]:
    """Return the text under each mark, by bytes as Neovim counts."""
    raw = line.encode()
    return [(raw[a:b].decode(), group) for _, a, b, group in marks]


@pytest.mark.parametrize("line", PLAIN)
def test_plain(line: str) -> None:
    assert Highlighter().lines([line]) == []


@pytest.mark.parametrize(("line", "expected"), LINES, ids=[line for line, _ in LINES])
def test_line(line: str, expected: list[tuple[str, str]]) -> None:
    assert shown(line, Highlighter().lines([line])) == expected
    assert shown(line, Highlighter().peek(line)) == expected


FENCES = [
    (["```", "# no", "```", "# yes"], ["AcpFence", "AcpCodeBlock", "AcpFence", "AcpHeading"]),
    (["~~~ lua", "```", "~~~"], ["AcpFence", "AcpCodeBlock", "AcpFence"]),
    (["````", "```", "`````"], ["AcpFence", "AcpCodeBlock", "AcpFence"]),
    (["```", "x ```", "``` x", "  ```  "], ["AcpFence", *["AcpCodeBlock"] * 2, "AcpFence"]),
    (["```py", "```", "```py", "```"], ["AcpFence"] * 4),
    (["``` no ` fence"], []),
    (["    ```"], []),
    (["```", "", "x"], ["AcpFence", *["AcpCodeBlock"] * 2]),
]


@pytest.mark.parametrize(("lines", "groups"), FENCES)
def test_fences(lines: list[str], groups: list[str]) -> None:
    assert [group for *_, group in Highlighter().lines(lines)] == groups


def test_marks_know_their_row() -> None:
    lines = ["words", "# a", "", "`b`", "```", "c", "```", "- d"]
    rows = [(row, group) for row, _, _, group in Highlighter().lines(lines)]
    assert rows == [
        (1, "AcpHeading"),
        (3, "AcpCode"),
        (4, "AcpFence"),
        (5, "AcpCodeBlock"),
        (6, "AcpFence"),
        (7, "AcpListMarker"),
    ]


def test_a_peek_changes_nothing() -> None:
    highlighter = Highlighter()
    assert highlighter.peek("```") != []
    assert highlighter.lines(["# still prose"])[0][3] == "AcpHeading"


def test_a_very_long_line_stays_plain() -> None:
    assert Highlighter().lines(["# " + "x" * MAX_LENGTH, "# y"]) == [(1, 0, 3, "AcpHeading")]


PIECES = [
    "`",
    "```",
    "~~~",
    "*",
    "**",
    "_",
    "# ",
    "- ",
    "> ",
    "[a](b)",
    "https://x",
    "é",
    "a ",
    "中",
]
LINE = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@given(st.lists(LINE, max_size=12), st.lists(st.integers(0, 12), max_size=4))
def test_lines_in_any_portions_get_the_same(lines: list[str], cuts: list[int]) -> None:
    whole, parts = Highlighter(), Highlighter()
    found: list[tuple[int, int, int, str]] = []
    edges = sorted({0, len(lines), *(cut for cut in cuts if cut < len(lines))})
    for start, end in pairwise(edges):
        portion = parts.lines(lines[start:end])
        found += [(row + start, a, b, group) for row, a, b, group in portion]
    assert sorted(found) == sorted(whole.lines(lines))


@given(st.lists(LINE, max_size=12))
def test_marks_are_within_their_line(lines: list[str]) -> None:
    for row, a, b, group in Highlighter().lines(lines):
        raw = lines[row].encode()
        assert 0 <= a <= b <= len(raw)
        assert a < b or (not raw and group == "AcpCodeBlock")
        raw[a:b].decode()


@pytest.mark.parametrize("piece", ["*", "`", "[", "_", "**a", "[a](", "<", "h", "`` ` "])
def test_every_line_is_parsed_quickly(piece: str) -> None:
    """The worst lines of the greatest length for the patterns."""
    line = (piece * MAX_LENGTH)[:MAX_LENGTH]
    for row, a, b, _ in Highlighter().lines([line]):
        assert row == 0
        assert 0 <= a < b <= MAX_LENGTH
