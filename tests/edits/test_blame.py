"""Blame of lines: correct through any edits, for lines that stay unchanged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.edits.blame import NO_AGENT, Blame, line_digests, update_blame
from acp_nvim.edits.text import EMPTY, Text

USER = NO_AGENT


def blame_of(lines: str, author: int = NO_AGENT) -> Blame:
    return update_blame(Blame(), lines.split(), author)


@st.composite
def edits(draw: st.DrawFn) -> list[tuple[int, list[tuple[int, str]]]]:
    """Draw states of a file with their authors: lines as (identity, text)."""
    names = iter(range(1, 10_000))
    state: list[tuple[int, str]] = []
    states = [(USER, state)]
    for author in draw(st.lists(st.integers(0, 3), max_size=8)):
        start = draw(st.integers(0, len(state)))
        end = draw(st.integers(start, len(state)))
        new = [next(names) for _ in range(draw(st.integers(0, 4)))]
        # Each line has a different text, so that there is one correct answer.
        state = [*state[:start], *((n, f"line {n}") for n in new), *state[end:]]
        states.append((author, state))
    return states


@given(edits())
def test_an_unchanged_line_keeps_its_author(
    states: list[tuple[int, list[tuple[int, str]]]],
) -> None:
    blame, authors = Blame(), dict[int, int]()
    for author, state in states:
        authors |= {n: author for n, _ in state if n not in authors}
        blame = update_blame(blame, [text for _, text in state], author)
        assert blame.authors() == [authors[n] for n, _ in state]


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.sampled_from("abc"), max_size=9))))
def test_each_line_has_one_author_whatever_the_texts(texts: list[tuple[int, list[str]]]) -> None:
    blame, known = Blame(), {NO_AGENT}
    for author, lines in texts:
        blame = update_blame(blame, lines, author)
        known.add(author)
        assert blame.lines == tuple(lines)
        assert len(blame.authors()) == len(lines)
        assert set(blame.authors()) <= known
        assert all(count > 0 for count, _ in blame.runs)
        assert update_blame(blame, lines, 9) is blame


def test_ranges_omit_lines_without_an_author() -> None:
    after = ["a", "X", "Y", "c", "d", "Z"]
    blame = update_blame(blame_of("a b c d"), after, 4)
    assert list(blame.ranges()) == [(1, 3, 4), (5, 6, 4)]
    assert list(update_blame(blame, ["new", *after]).ranges()) == [
        (2, 4, 4),
        (6, 7, 4),
    ]


def test_a_second_agent_takes_only_what_it_changes() -> None:
    blame = update_blame(blame_of("a b c", 1), ["a", "B", "c"], 2)
    assert blame.authors() == [1, 2, 1]


def test_digests_distinguish_lines_without_their_text() -> None:
    first, second, third = line_digests(Text(("secret", "", "secret")))
    assert first == third != second
    assert "secret" not in first
    assert line_digests(None) == line_digests(EMPTY) == ()
    assert line_digests(Text(("\udc80",))) != line_digests(Text(("\udc81",)))
