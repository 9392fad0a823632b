"""Line hunks: right for any two texts, small where it matters, and bounded for any input."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits import hunks
from acp_nvim.edits.hunks import Hunk, apply, diff, invert
from acp_nvim.edits.text import EMPTY, Text, digest, from_keys, from_lines, keys, parse

few = st.lists(st.sampled_from("abc"), max_size=12)
many = st.lists(st.sampled_from("abcdefghijkl"), max_size=40)
contents = st.text(alphabet="ab\n\r\f\u2028\x85", max_size=12)


def lcs(old: list[str], new: list[str]) -> int:
    """The length of the longest common subsequence, by the textbook."""
    row = [0] * (len(new) + 1)
    for line in old:
        before, row = row, [0] * (len(new) + 1)
        for j, other in enumerate(new):
            row[j + 1] = before[j] + 1 if line == other else max(before[j + 1], row[j])
    return row[-1]


@given(few | many, few | many)
def test_applied_hunks_give_the_target(old: list[str], new: list[str]) -> None:
    found = diff(old, new)
    assert apply(old, found) == new
    assert apply(new, invert(old, found)) == old
    for hunk in found:
        assert new[hunk.new_start : hunk.new_end] == list(hunk.lines)
        assert old[hunk.start : hunk.end] != list(hunk.lines)
    for first, second in pairwise(found):
        assert first.end < second.start
        assert first.new_end < second.new_start


@given(few, few)
def test_where_there_are_no_anchors_the_hunks_are_the_least(old: list[str], new: list[str]) -> None:
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
def test_hunks_are_where_a_reader_expects_them(old: str, new: str, expected: list[Hunk]) -> None:
    assert diff(old, new) == expected


def test_a_function_put_between_two_is_one_hunk() -> None:
    """Blank lines and returns repeat; the names of the functions hold the rest in place."""

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
    """20,000 hostile lines a side take 10 to 60 ms; the quadratic way would take minutes."""
    old, new = big(kind, random.Random(7))
    start = time.process_time()
    found = diff(old, new)
    assert time.process_time() - start < 1.5
    assert apply(old, found) == new


def test_a_repetitive_file_still_gets_small_hunks() -> None:
    old = [str(row % 7) for row in range(20_000)]
    new = list(old)
    for row in range(100, 20_000, 1000):
        new[row] = "changed"
    assert len(diff(old, new)) == 20


def test_work_past_the_bound_is_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunks, "MAX_WORK", 10)
    old, new = list("xabababababx"), list("xbabbabbabax")
    assert diff(old, new) == [Hunk(1, 11, tuple("babbabbaba"), 1)]


@given(contents)
def test_a_text_gives_its_content_back(content: str) -> None:
    text = parse(content)
    assert str(text) == content
    assert from_keys(keys(text)) == text
    assert all("\n" not in line for line in text.lines)


@given(contents, contents)
def test_keys_and_digests_tell_texts_apart(one: str, other: str) -> None:
    assert (keys(parse(one)) == keys(parse(other))) == (one == other)
    assert (digest(parse(one)) == digest(parse(other))) == (one == other)


def test_the_four_smallest_files_are_four_texts() -> None:
    assert (parse(""), parse("\n")) == (EMPTY, Text(("",)))
    assert (parse("a"), parse("a\n")) == (Text(("a",), eol=False), Text(("a",)))
    assert (keys(None), from_keys([])) == ([], None)
    assert from_lines([]) == EMPTY
