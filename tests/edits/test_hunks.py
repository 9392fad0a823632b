"""Line hunks: correct for any two texts, small in common cases, and bounded for any input."""

from __future__ import annotations

import random
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits import hunks
from acp_nvim.edits.hunks import Hunk, apply, diff, invert
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import EMPTY, Text, from_keys, from_lines, keys, parse

few = st.lists(st.sampled_from("abc"), max_size=12)
many = st.lists(st.sampled_from("abcdefghijkl"), max_size=40)
contents = st.text(alphabet="ab\n\r\f\u2028\x85", max_size=12)


def lcs(old: list[str], new: list[str]) -> int:
    """Return the length of the longest common subsequence, by the textbook."""
    row = [0] * (len(new) + 1)
    for line in old:
        before, row = row, [0] * (len(new) + 1)
        for j, other in enumerate(new):
            row[j + 1] = before[j] + 1 if line == other else max(before[j + 1], row[j])
    return row[-1]


bounds = st.fixed_dictionaries(
    {
        "MAX_HUNKS": st.integers(1, 3),
        "MAX_ROWS": st.integers(0, 60),
        "MAX_WORK": st.integers(0, 60),
        "NEAR": st.integers(0, 3),
        "WINDOWS": st.tuples(st.integers(1, 6), st.integers(6, 20)),
    }
)


@given(few | many, few | many)
def test_applied_hunks_give_the_target(old: list[str], new: list[str]) -> None:
    assert_exact(old, new, diff(old, new))


@given(few | many, few | many, bounds)
def test_applied_hunks_give_the_target_past_any_bound(
    old: list[str], new: list[str], limits: dict[str, Any]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(hunks, name, value)
        found = diff(old, new)
    assert len(found) <= limits["MAX_HUNKS"]
    assert_exact(old, new, found)


@given(few | many, few | many, bounds, st.data())
def test_decisions_about_hunks_past_a_bound_add_up(
    old: list[str], new: list[str], limits: dict[str, Any], data: st.DataObject
) -> None:
    base, live = from_lines(old), from_lines(new)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(hunks, name, value)
        entry = Pending("/a", base, live, live)
        while entry.hunks:
            chosen = [data.draw(st.sampled_from(entry.hunks))]
            if data.draw(st.booleans()):
                after = entry.accepted(chosen)
                assert after.live == entry.live
            else:
                after = entry.rejected(chosen)
                assert after.base == entry.base
            entry = Pending("/a", after.base, after.live, live)
    assert entry.base == entry.live


def assert_exact(old: list[str], new: list[str], found: list[Hunk]) -> None:
    """Check that the hunks are those of the two texts, in order and apart from each other."""
    assert apply(old, found) == new
    assert apply(new, invert(old, found)) == old
    for hunk in found:
        assert new[hunk.new_start : hunk.new_end] == list(hunk.lines)
        assert old[hunk.start : hunk.end] != list(hunk.lines)
    for first, second in pairwise(found):
        assert first.end < second.start
        assert first.new_end < second.new_start


@given(few, few)
def test_hunks_without_anchors_are_minimal(old: list[str], new: list[str]) -> None:
    pairs, _ = hunks._myers(old, new, limit=10_000)
    assert [old[i] for i, _ in pairs] == [new[j] for _, j in pairs]
    assert pairs == sorted(set(pairs))
    assert len(pairs) == lcs(old, new)


@given(many, st.data())
def test_any_selection_of_hunks_can_be_applied(old: list[str], data: st.DataObject) -> None:
    found = diff(old, data.draw(many))
    chosen = [hunk for hunk in found if data.draw(st.booleans())]
    rest = [hunk for hunk in found if hunk not in chosen]
    half = apply(old, chosen)
    assert len(half) == len(old) + sum(h.growth for h in chosen)
    assert len(apply(old, rest)) == len(old) + sum(h.growth for h in rest)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("abc", "abc", []),
        ("", "ab", [Hunk(0, 0, ("a", "b"), 0)]),
        ("ab", "", [Hunk(0, 2, (), 0)]),
        ("abc", "aXc", [Hunk(1, 2, ("X",), 1)]),
        ("abc", "Xabc", [Hunk(0, 0, ("X",), 0)]),
        ("abc", "abcX", [Hunk(3, 3, ("X",), 3)]),
        ("abcdef", "aXcdf", [Hunk(1, 2, ("X",), 1), Hunk(4, 5, (), 4)]),
        ("aaaa", "aa", [Hunk(2, 4, (), 2)]),
        ("abab", "baba", [Hunk(0, 1, (), 0), Hunk(4, 4, ("a",), 3)]),
    ],
)
def test_hunks_are_in_the_expected_places(old: str, new: str, expected: list[Hunk]) -> None:
    assert diff(old, new) == expected


def test_a_function_inserted_between_two_is_one_hunk() -> None:
    """Blank lines and returns repeat. The names of the functions are the anchors."""

    def function(name: str) -> list[str]:
        return [f"def {name}():", "    x = 1", "    return x", ""]

    old = [*function("one"), *function("three")]
    new = [*function("one"), *function("two"), *function("three")]
    assert diff(old, new) == [Hunk(4, 4, tuple(function("two")), 4)]


def test_hunks_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        apply(["a"], [Hunk(0, 2, (), 0)])
    with pytest.raises(ValueError, match="does not fit"):
        apply(["a", "b"], [Hunk(1, 2, (), 0), Hunk(0, 1, (), 0)])


def big(kind: str, rnd: random.Random) -> tuple[list[str], list[str]]:
    count = 20_000
    rows = [str(row) for row in range(count)]
    match kind:
        case "ten lines in random order":
            return [rnd.choice("abcdefghij") for _ in rows], [
                rnd.choice("abcdefghij") for _ in rows
            ]
        case "one line only":
            return ["a"] * count, ["a"] * (count // 2) + ["b"] + ["a"] * (count // 3)
        case "shuffled":
            return rows, rnd.sample(rows, count)
        case "reversed":
            return rows, rows[::-1]
        case "every line changed":
            return rows, [f"x{row}" for row in rows]
        case "pairs swapped":
            return rows, [rows[row ^ 1] for row in range(count)]
        case _:
            return [rnd.choice(rows) for _ in rows], [rnd.choice(rows) for _ in rows]


@pytest.mark.parametrize(
    "kind",
    [
        "ten lines in random order",
        "one line only",
        "shuffled",
        "reversed",
        "every line changed",
        "pairs swapped",
        "random",
    ],
)
def test_no_input_takes_quadratic_time(kind: str) -> None:
    """20,000 hostile lines per side take 10 to 60 ms. Quadratic work would take minutes."""
    old, new = big(kind, random.Random(7))
    start = time.process_time()
    found = diff(old, new)
    assert time.process_time() - start < 1.5
    assert apply(old, found) == new


def test_a_file_with_hunks_without_end_takes_no_time() -> None:
    """The bound is that of `test_no_input_takes_quadratic_time`, for fifty times the lines."""
    old = [f"line {row}" for row in range(1_000_000)]
    new = [f"line {row}" if row % 2 else f"changed {row}" for row in range(1_000_000)]
    start = time.process_time()
    found = diff(old, new)
    assert time.process_time() - start < 1.5
    assert len(found) == hunks.MAX_HUNKS
    assert apply(old, found) == new


def test_large_changes_far_apart_are_hunks_of_their_own() -> None:
    old = [f"line {row}" for row in range(200_000)]
    new = list(old)
    for row in range(150_000, 0, -10_000):
        new[row : row + 50] = [f"new {row} {at}" for at in range(7_000 if row == 50_000 else 70)]
    assert [(hunk.start, hunk.end) for hunk in diff(old, new)] == [
        (row, row + 50) for row in range(10_000, 160_000, 10_000)
    ]


def test_a_repetitive_file_still_gets_small_hunks() -> None:
    old = [str(row % 7) for row in range(20_000)]
    new = list(old)
    for row in range(100, 20_000, 1000):
        new[row] = "changed"
    assert len(diff(old, new)) == 20


def test_work_beyond_the_limit_is_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunks, "MAX_WORK", 10)
    old, new = list("xabababababx"), list("xbabbabbabax")
    assert diff(old, new) == [Hunk(1, 11, tuple("babbabbaba"), 1)]


@given(contents)
def test_a_text_returns_its_content(content: str) -> None:
    text = parse(content)
    assert str(text) == content
    assert from_keys(keys(text)) == text
    assert all("\n" not in line for line in text.lines)


@given(contents, contents)
def test_keys_and_digests_distinguish_texts(one: str, other: str) -> None:
    assert (keys(parse(one)) == keys(parse(other))) == (one == other)
    assert (parse(one).digest == parse(other).digest) == (one == other)


def test_the_four_smallest_files_are_distinct_texts() -> None:
    assert (parse(""), parse("\n")) == (EMPTY, Text(("",)))
    assert (parse("a"), parse("a\n")) == (Text(("a",), eol=False), Text(("a",)))
    assert (keys(None), from_keys([])) == ([], None)
    assert from_lines([]) == EMPTY
