"""Output of a command: filtered, stored, cut, and read as lines."""

from __future__ import annotations

import re
from itertools import pairwise

import pyte
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_nvim.session.output.ansi import Ansi, Newlines, plain
from acp_nvim.session.output.tail import MAX_LINE, MAX_LINES, SCREEN_ROWS, Tail
from acp_nvim.session.output.terminal import Output

PIECES = (
    *("a", "é", "🙂", "\n", "\r", "\r\n", "\b", "\t", " ", "\x00", "\x07", "\x1b", "[", "m", "K"),
    *("\x1b[31m", "\x1b[0;1;38;5;200m", "\x1b[2K", "\x1b[A", "\x1b[3;4H", "\x1b[?25l", "\x1b[!p"),
    *(
        "\x1b]0;title\x07",
        "\x1b]52;c;aGk=\x1b\\",
        "\x1b]1337;File=:aGk=\x07",
        "\x1b]8;;http://x\x07",
    ),
    *("\x1bP+q544e\x1b\\", "\x1b_app\x1b\\", "\x1b^pm\x1b\\", "\x1bXsos\x1b\\", "\x1b]2;open"),
    *("\x1b[c", "\x1b[6n", "\x1b[21t", "\x1b[>c", "\x1b[5i", "\x1b[?1$p", "\x1b[>4;1m", "\x1b[?6n"),
    *("\x1b(0", "\x1b7", "\x1bM", "\x1bZ", "\x1b\\", "\x9b31m", "\x9d0;t\x9c", "\x90q\x9c", "\x85"),
    *("\x1b[" + "1" * 64, "\x1b[" + "1;" * 40 + "m", "\x1b     ", "\x1b[1\n2m", "\x18", "\x1a"),
)
OUTPUT = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
CUTS = st.lists(st.integers(0, 400), max_size=8)

SAFE = re.compile(
    "[^\x00-\x07\x0e-\x1f\x7f-\x9f]"
    r"|\x1b\[\??[0-9;:]*[@A-HJKLMPSTXZ`abdefghlmrsu]"
    r"|\x1b\[[0-?]* q|\x1b\[!p|\x1b[()*+].|\x1b[78DEMHc=>]|[\x0e\x0f]"
)


def split(text: str, cuts: list[int]) -> list[str]:
    """Return the text in pieces that begin at the cuts."""
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(places)]


# -- the filter


@given(OUTPUT, CUTS)
def test_the_borders_of_pieces_make_no_difference(text: str, cuts: list[int]) -> None:
    whole, parts = Ansi(), Ansi()
    assert "".join(parts.feed(piece) for piece in split(text, cuts)) == whole.feed(text)


@given(OUTPUT, CUTS)
def test_plain_text_is_the_same_in_pieces(text: str, cuts: list[int]) -> None:
    parts = Ansi()
    pieces = [plain(parts.feed(piece)) for piece in split(text, cuts)]
    assert "".join(pieces) == plain(Ansi().feed(text))


@given(OUTPUT)
def test_only_harmless_sequences_pass(text: str) -> None:
    safe = Ansi().feed(text)
    assert SAFE.sub("", safe) == ""
    assert "\x1b]" not in safe


@given(OUTPUT)
def test_safe_text_stays(text: str) -> None:
    safe = Ansi().feed(text)
    assert Ansi().feed(safe) == safe


@given(OUTPUT)
def test_no_sequence_is_left_in_plain_text(text: str) -> None:
    assert re.search("[\x00-\x07\x0e-\x1f\x7f-\x9f]", plain(Ansi().feed(text))) is None


@given(st.text(st.characters(blacklist_categories=("Cc", "Cs")) | st.just("\n")))
def test_text_without_control_characters_stays(text: str) -> None:
    assert plain(text) == Ansi().feed(text) == text


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b]0;title\x07",
        "\x1b]2;title\x1b\\",
        "\x1b]7;file://host/etc\x07",
        "\x1b]8;;http://evil\x1b\\",
        "\x1b]52;c;ZXZpbA==\x07",
        "\x1b]1337;File=name=x:AAAA\x07",
        "\x1b]4;1;rgb:00/00/00\x07",
        "\x1bP1$r0m\x1b\\",
        "\x1b_Gf=100;AAAA\x1b\\",
        "\x1b^private\x1b\\",
        "\x1b[22;2t",
        "\x1b[c",
        "\x1b[>0c",
        "\x1b[6n",
        "\x1b[5i",
        "\x1b[?2026$p",
        "\x9d0;title\x9c",
        "\x05",
        "\x07",
    ],
)
def test_sequences_with_effects_beyond_the_screen_are_removed(sequence: str) -> None:
    assert Ansi().feed(f"before{sequence}after") == "beforeafter"


@pytest.mark.parametrize("start", ["\x1b]8;;http://x", "\x9d0;title", "\x1b^private", "\x1bX"])
def test_a_title_or_link_without_an_end_hides_one_line_at_most(start: str) -> None:
    filtered = Ansi()
    assert filtered.feed(f"one\n{start} and ") == "one\n"
    assert filtered.feed("more\ntwo\n\x07three") == "\ntwo\nthree"


def test_a_picture_may_have_several_lines() -> None:
    assert Ansi().feed("one\x1bPq#0;2;0;0;0\n#0~~@@\n\x1b\\two") == "onetwo"


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[1;31m",
        "\x1b[38:2::1:2:3m",
        "\x1b[2K",
        "\x1b[?1049h",
        "\x1b[10;20H",
        "\x1b[4 q",
        "\x1b(B",
    ],
)
def test_sequences_that_draw_stay(sequence: str) -> None:
    assert Ansi().feed(f"a{sequence}b") == f"a{sequence}b"
    assert plain(f"a{sequence}b") == "ab"


def test_an_endless_string_uses_no_memory() -> None:
    ansi = Ansi()
    assert [ansi.feed("\x1b]52;c;" + "A" * 100_000) for _ in range(3)] == ["", "", ""]
    assert len(ansi._carry) == 0
    assert ansi.feed("\x07b") == "b"


# -- newlines


@given(st.text(alphabet="\r\na"), CUTS)
@example("a\r\r\nb\r", [2, 3])
def test_newlines_stay_as_the_program_wrote_them(text: str, cuts: list[int]) -> None:
    newlines = Newlines()
    fed = "".join(newlines.feed(piece) for piece in split(text, cuts)) + newlines.end()
    assert fed == re.sub("\r+\n", "\n", text)


# -- stored output


@given(st.lists(st.text(alphabet="aé€🙂\n")), st.integers(0, 40))
def test_the_end_is_stored_and_cut_between_characters(pieces: list[str], limit: int) -> None:
    output = Output(limit)
    for piece in pieces:
        output.add(piece)
    text, kept = "".join(pieces), output.text()
    assert text.endswith(kept)
    assert len(kept.encode()) <= limit
    assert output.is_truncated == (kept != text)
    rest = text[: len(text) - len(kept)]
    assert not rest or len((rest[-1] + kept).encode()) > limit, "one more would have fitted"


def test_large_and_many_pieces_stay_bounded() -> None:
    output = Output(1000)
    output.add("x" * 1_000_000)
    for _ in range(100_000):
        output.add("y")
    assert len(output._data) <= 2 * 1000 + 4096 + 1
    assert output.text() == "y" * 1000
    assert output.end == 1_100_000


@given(st.text(alphabet="aé€🙂\n", min_size=1, max_size=60), st.integers(1, 10))
def test_reading_on_from_an_offset_gives_all_of_it(text: str, most: int) -> None:
    output = Output(1000)
    output.add(text)
    at, read = 0, ""
    while at < output.end:
        part, at = output.since(at, most)
        read += part
    assert read == text


def test_a_dropped_offset_reads_from_the_oldest_text() -> None:
    output = Output(10)
    output.add("0123456789abcdef")
    assert output.since(0, 100) == ("6789abcdef", 16)
    output.add("\nnext")
    assert output.line_after(0) == 17
    assert output.since(17, 100) == ("next", 21)


def test_surrogates_do_no_harm() -> None:
    output = Output(10)
    output.add("a\ud800b")
    assert output.text() == "a?b"


# -- lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\r\n\r\n", ["a"]),
        ("10%\r50%\r100%\r\n", ["100%"]),
        ("downloading\rdone\x1b[K\r\n", ["done"]),
        ("downloading\r\x1b[2Kdone", ["done"]),
        ("abc\b\bX", ["aXc"]),
        ("one\r\ntwo\r\n\x1b[2A1\x1b[2B\r\nend", ["1ne", "two", "", "end"]),
        ("\x1b[31mred\x1b[0m", ["red"]),
        ("a\tb", ["a       b"]),
        ("old\r\n\x1b[2J\x1b[Hnew", ["new"]),
        ("\x1b[?1049h\x1b[10;5Hx", [""] * 9 + ["    x"]),
        ("a\x1b[5Gb\x1b[2Dc", ["a  cb"]),
        ("a\r\nb\r\nc\x1b[2A\x1b[J", ["a"]),
    ],
)
def test_lines_read_as_a_terminal_shows_them(text: str, lines: list[str]) -> None:
    tail = Tail()
    tail.add(text)
    assert tail.lines() == lines


MOVES = st.lists(
    st.sampled_from(
        [
            *("a", "bc", "word ", "\r\n", "\r\n", "\r", "\b", "\x1b[K", "\x1b[1K", "\x1b[2K"),
            *("\x1b[A", "\x1b[2A", "\x1b[C", "\x1b[2D", "\x1b[5G", "\x1b[1m"),
        ]
    ),
    max_size=40,
).map("".join)


@given(MOVES, CUTS)
@example("ab\r\nc\x1b[A\x1b[A", [])
def test_short_output_looks_as_in_a_real_terminal(text: str, cuts: list[int]) -> None:
    screen = pyte.Screen(400, SCREEN_ROWS)
    pyte.Stream(screen).feed(text)
    shown = [line.rstrip() for line in screen.display]
    while shown and not shown[-1]:
        shown.pop()
    tail, ansi = Tail(), Ansi()
    for piece in split(text, cuts):
        tail.add(ansi.feed(piece))
        tail.lines()
    assert tail.lines() == shown


def test_only_the_end_of_a_flood_is_read() -> None:
    tail = Tail()
    for number in range(50_000):
        tail.add(f"line {number}\r\n")
    assert tail.lines()[-3:] == ["line 49997", "line 49998", "line 49999"]
    assert tail.count == 50_000
    assert len(tail._lines) < 400


def test_one_endless_line_stays_bounded() -> None:
    tail = Tail()
    for _ in range(1_200):
        tail.add("x" * 1000)
        tail.lines()
    assert all(len(line) <= MAX_LINE for line in tail.lines())
    assert len(tail.lines()) < 2 * MAX_LINES
