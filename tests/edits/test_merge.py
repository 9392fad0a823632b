"""Three-way merge: no line is lost, and ambiguous changes are a conflict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits.hunks import apply, diff
from acp_nvim.edits.merge import Conflict, Merged, conflict_reason, merge
from acp_nvim.edits.text import EMPTY, Text, from_lines

texts = st.builds(from_lines, st.lists(st.sampled_from("abcd"), max_size=8), st.booleans())


def text(content: str) -> Text:
    return from_lines(content)


def merged(base: str, live: str, theirs: str) -> str:
    result = merge(text(base), text(live), text(theirs))
    assert isinstance(result, Merged)
    assert apply(text(live).lines, result.hunks) == list(result.text.lines)
    return "".join(result.text.lines)


def conflict(base: str, live: str, theirs: str) -> list[tuple[int, int]]:
    result = merge(text(base), text(live), text(theirs))
    assert isinstance(result, Conflict)
    return result.ranges


@pytest.mark.parametrize(
    ("base", "live", "theirs", "result"),
    [
        ("abcdef", "aXcdef", "abcdYf", "aXcdYf"),
        ("abcdef", "abcdef", "xyz", "xyz"),
        ("abcdef", "xyz", "abcdef", "xyz"),
        ("abc", "aXc", "aXc", "aXc"),
        ("abc", "aXbc", "aXbc", "aXbc"),
        # adjacent, but each line has one author
        ("abcd", "aXcd", "abYd", "aXYd"),
        ("abcd", "abYd", "aXcd", "aXYd"),
        ("abcd", "acd", "abd", "ad"),
        # one side inserts, the other removes or changes lines
        ("abcd", "abXcd", "abd", "abXd"),
        ("abcd", "abXcd", "abYd", "abXYd"),
        ("abcd", "acd", "abXcd", "aXcd"),
        ("abc", "Xabc", "abcY", "XabcY"),
        # equal in one place, different in another
        ("abcdefg", "aXcdefg", "aXcdeYg", "aXcdeYg"),
        ("abcd", "aXcd", "aXYd", "aXYd"),
        ("abcd", "abYd", "aXYd", "aXYd"),
        ("abcdef", "aXYdef", "abYZef", "aXYZef"),
    ],
)
def test_changes_in_different_places_survive(
    base: str, live: str, theirs: str, result: str
) -> None:
    assert merged(base, live, theirs) == result


@pytest.mark.parametrize(
    ("base", "live", "theirs", "ranges"),
    [
        ("abcdef", "aXcdef", "aYcdef", [(2, 2)]),
        ("abcdef", "aXXXef", "abcYYf", [(2, 5)]),
        ("abcdef", "acdef", "aYcdef", [(2, 2)]),
        ("abc", "aXbc", "aYbc", [(2, 2)]),
        ("abc", "abcX", "abcY", [(4, 4)]),
        ("abc", "ab", "abY", [(2, 2)]),
        # both grow at the same place: X before Y, or Y before X?
        ("abcd", "aXXcd", "abYYd", [(2, 4)]),
        ("abcdefgh", "XbcdefgZ", "YbcdefgW", None),
        ("abcdefgh", "1XbcdefgZ", "Ybcdefgh", [(1, 2)]),
    ],
)
def test_changes_to_the_same_lines_are_refused(
    base: str, live: str, theirs: str, ranges: list[tuple[int, int]] | None
) -> None:
    assert conflict(base, live, theirs) == (ranges or [(1, 1), (8, 8)])


def test_both_sides_together_may_empty_a_file() -> None:
    result = merge(text("ab"), text("b"), text("a"))
    assert isinstance(result, Merged)
    assert result.text == EMPTY
    assert apply(["b"], result.hunks) == [""]


@pytest.mark.parametrize(
    ("base", "live", "theirs", "eol"),
    [
        (True, True, False, False),
        (True, False, True, False),
        (False, True, False, True),
        (False, False, True, True),
        (False, True, True, True),
    ],
)
def test_the_final_newline_is_merged_as_a_value(
    base: bool, live: bool, theirs: bool, eol: bool
) -> None:
    result = merge(from_lines("abc", base), from_lines("Xbc", live), from_lines("abY", theirs))
    assert result == Merged(diff("Xbc", "XbY"), from_lines("XbY", eol))


@given(texts, texts)
def test_one_sided_changes_are_taken_whole(base: Text, changed: Text) -> None:
    assert merge(base, base, changed) == Merged(diff(base.lines, changed.lines), changed)
    assert merge(base, changed, base) == Merged([], changed)
    assert merge(base, changed, changed) == Merged([], changed)


@given(texts, texts, texts)
def test_a_merge_is_symmetric(base: Text, one: Text, other: Text) -> None:
    here, there = merge(base, one, other), merge(base, other, one)
    assert type(here) is type(there)
    if isinstance(here, Merged) and isinstance(there, Merged):
        assert here.text == there.text
        assert apply(one.lines, here.hunks) == list(here.text.lines)
    if isinstance(here, Conflict) and isinstance(there, Conflict):
        assert len(here.ranges) == len(there.ranges)
        for first, last in here.ranges:
            assert 1 <= first <= last <= len(one.lines)


@given(st.data())
def test_no_line_is_lost(data: st.DataObject) -> None:
    """All lines differ, so that each has one author."""
    base = [f"{row}" for row in range(data.draw(st.integers(1, 9)))]

    def side(name: str) -> tuple[list[str], set[str]]:
        lines, gone = [], set()
        for row, line in enumerate(base):
            action = data.draw(
                st.sampled_from(["keep", "keep", "keep", "insert", "delete", "change"])
            )
            if action in {"insert", "change"}:
                lines.append(f"{name}{row}")
            if action in {"delete", "change"}:
                gone.add(line)
            else:
                lines.append(line)
        return lines, gone

    (mine, mine_gone), (others, others_gone) = side("user"), side("agent")
    result = merge(from_lines(base), from_lines(mine), from_lines(others))
    if isinstance(result, Merged) and mine and others:
        expected = {*mine, *others} - mine_gone - others_gone
        assert set(result.text.lines) - {""} == expected
        assert [line for line in result.text.lines if line in mine] == [
            line for line in mine if line in expected
        ]


@pytest.mark.parametrize(
    ("ranges", "subject"),
    [
        ([(4, 4)], "line 4 was"),
        ([(4, 6)], "lines 4-6 were"),
        ([(4, 6), (9, 9)], "lines 4-6 and 9 were"),
        ([(1, 1), (3, 3), (5, 7)], "lines 1, 3 and 5-7 were"),
        ([(n, n) for n in range(1, 20)], "lines 1, 2, 3, 4, 5 and 14 more places were"),
    ],
)
def test_a_conflict_has_its_lines(ranges: list[tuple[int, int]], subject: str) -> None:
    assert conflict_reason(ranges) == f"{subject} changed by the user and by the agent"
    assert Conflict(ranges).reason == conflict_reason(ranges)
