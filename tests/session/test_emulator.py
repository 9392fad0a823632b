"""Our terminal, compared with pyte's over random streams, and held to what xterm documents."""

from __future__ import annotations

from itertools import pairwise
from unicodedata import normalize

import pyte
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyte import modes

from acp_nvim.session.output.ansi import Ansi
from acp_nvim.session.output.emulator import Emulator
from acp_nvim.session.output.looks import BOLD, RGB, Look

COLUMNS, ROWS = 12, 5
NUMBER = st.sampled_from(["", "0", "1", "2", "3", "5", "9", "40"])
CUTS = st.lists(st.integers(0, 300), max_size=6)

WORDS = st.text("abcXYZ .#é│", min_size=1, max_size=30)
CONTROLS = st.sampled_from(["\r\n", "\n", "\r", "\b", "\t"])
MOVES = st.builds(lambda n, final: f"\x1b[{n}{final}", NUMBER, st.sampled_from([*"ABCDEFGade"]))
PLACES = st.builds(lambda a, b: f"\x1b[{a};{b}H", NUMBER, NUMBER)
EDITS = st.builds(lambda n, final: f"\x1b[{n}{final}", NUMBER, st.sampled_from([*"@PXLM"]))
ERASES = st.sampled_from([f"\x1b[{how}{final}" for how in ("", 0, 1, 2) for final in "JK"])
LOOKS = st.sampled_from(
    [
        *("\x1b[m", "\x1b[1m", "\x1b[22m", "\x1b[3;4m", "\x1b[7m", "\x1b[9;31m", "\x1b[42m"),
        *("\x1b[38;5;200m", "\x1b[48;2;1;2;3m", "\x1b[39;49m", "\x1b[0;1;38;2;9;8;7m", "\x1b[95m"),
    ]
)
MODES = st.sampled_from(["\x1b[?6h", "\x1b[?6l", "\x1b[4h", "\x1b[4l", "\x1b[?25l"])
MARGINS = st.builds(lambda a, b: f"\x1b[{a};{b}r", st.integers(1, 3), st.integers(2, 7))
SAVED = st.sampled_from(["\x1b7", "\x1b8\x1b7"])
"""pyte forgets what it restores; a terminal does not. So here it is saved again at once."""
INDEXES = st.sampled_from(["\x1bD", "\x1bE", "\x1bM"])
TABS = st.sampled_from(["\t", "\x1bH", "\x1b[g", "\x1b[3g"])
PIECES = st.lists(
    st.one_of(
        *(WORDS, WORDS, CONTROLS, MOVES, PLACES, EDITS, ERASES),
        *(LOOKS, MODES, MARGINS, SAVED, INDEXES, TABS),
    ),
    max_size=30,
)


def split(text: str, cuts: list[int]) -> list[str]:
    """The text in pieces that begin at the cuts."""
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(places)]


class Judge:
    """pyte's screen, fed with what it does right."""

    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        self.screen = pyte.Screen(columns, rows)
        self.screen.set_mode(modes.LNM)
        self.screen.save_cursor()
        self._stream = pyte.Stream(self.screen)
        self._mend()
        self.fed = "\x1b7"
        """What it was fed."""

    def feed(self, pieces: list[str]) -> str:
        """Feed those of the pieces that it can judge; return them as one text."""
        for piece in pieces:
            if not self._errs(piece):
                self._stream.feed(piece)
                self.fed += piece
                if piece[0] == "\x1b":
                    self._mend()
        return self.fed

    def _mend(self) -> None:
        for at in range(self.screen.lines):
            row = self.screen.buffer[at]  # DL moves no row that was never asked for.
            row.pop(self.screen.columns, None)  # ICH moves a character there, DCH takes it back.

    def _errs(self, piece: str) -> bool:
        """Whether pyte does something else than terminals."""
        screen, final = self.screen, piece[-1]
        if screen.cursor.x == screen.columns and piece[0] == "\x1b" and final not in "CDGHm":
            # Behind the last column (a wrap is due) it erases and moves nothing of that column,
            # and stays there when it goes to another row.
            return True
        top, bottom = screen.margins or (0, screen.lines - 1)
        if not top <= screen.cursor.y <= bottom and final not in "HmrJK":
            return True  # From outside of the margins it jumps to them, where text wraps as well.
        if piece == "\x1b8\x1b7" and screen.margins is not None:
            return True  # It goes to the margins even where origin mode is off.
        # In origin mode it does not go where a place outside of the margins is meant, and fails
        # where there are no margins.
        return modes.DECOM in screen.mode and final in "Hd"

    def lines(self) -> list[str]:
        """The rows, without blanks at the end."""
        return [normalize("NFC", row.rstrip()) for row in self.screen.display]


def shown(emulator: Emulator, rows: int = ROWS) -> list[str]:
    """All rows of our screen, as the judge has them."""
    lines = [normalize("NFC", text.rstrip()) for text, _ in emulator.screen()]
    return lines + [""] * (rows - len(lines))


def emulated(text: str, cuts: list[int], columns: int = COLUMNS, rows: int = ROWS) -> Emulator:
    """Our screen after the text came in pieces, looked at after each."""
    emulator, ansi = Emulator(columns, rows), Ansi()
    for piece in split(text, cuts):
        emulator.add(ansi.feed(piece))
        emulator.screen()
    return emulator


@given(PIECES, CUTS)
def test_the_screen_is_that_of_pyte(pieces: list[str], cuts: list[int]) -> None:
    judge = Judge()
    emulator = emulated(judge.feed(pieces), cuts)
    assert shown(emulator) == judge.lines()


def attributes(judge: Judge) -> list[list[tuple[bool, ...]]]:
    """Bold, italic, underlined, struck, reverse of each character but blanks."""
    rows: list[list[tuple[bool, ...]]] = []
    for at in range(ROWS):
        row = [judge.screen.buffer[at][column] for column in range(COLUMNS)]
        rows.append([(c.bold, c.italics, c.underscore, c.strikethrough, c.reverse) for c in row])
    return rows


BITS = (1, 4, 8, 128, 32)
"""The same in our styles."""


@settings(max_examples=40)
@given(st.lists(st.one_of(WORDS, LOOKS, LOOKS, PLACES, CONTROLS), max_size=30), CUTS)
def test_characters_look_as_in_pyte(pieces: list[str], cuts: list[int]) -> None:
    judge = Judge()
    emulator = emulated(judge.feed(pieces), cuts)
    told = attributes(judge)
    for at, (text, spans) in enumerate(emulator.screen()):
        looks: dict[int, Look] = {}
        for first, last, look in spans:
            looks |= dict.fromkeys(range(first, last), look)
        byte = 0
        for column, character in enumerate(text):
            if character != " ":
                style = looks.get(byte, (-1, -1, 0))[2]
                assert tuple(bool(style & bit) for bit in BITS) == told[at][column], (at, column)
            byte += len(character.encode())


@settings(max_examples=40)
@given(st.lists(st.one_of(WORDS, st.just("\r\n"), LOOKS, st.just("\r")), max_size=30), CUTS)
def test_lines_that_leave_the_screen_are_kept_in_their_order(
    pieces: list[str], cuts: list[int]
) -> None:
    tall = Judge(rows=120)
    text = tall.feed(pieces)
    emulator = emulated(text, cuts)
    back = emulator.scrollback
    lines = [normalize("NFC", it[0].rstrip()) for it in back.part(0, back.end)]
    whole = lines + [it.rstrip() for it in shown(emulator)]
    assert whole == tall.lines()[: len(whole)]
    assert emulator.count <= len(whole)


WIDE = st.lists(
    st.sampled_from(["漢", "字", "🙂", "e\u0301", "a\u0300\u0323", "ab", "é", "\r\n"]), max_size=30
)


@settings(max_examples=60)
@given(WIDE, CUTS)
def test_wide_and_combining_characters_take_their_columns(
    pieces: list[str], cuts: list[int]
) -> None:
    judge, fed = Judge(), []
    for piece in pieces:
        if judge.screen.cursor.x != COLUMNS - 1:  # There it prints half of a wide character.
            judge.feed([piece])
            fed.append(piece)
    assert shown(emulated("".join(fed), cuts)) == judge.lines()


@settings(max_examples=40)
@given(PIECES, CUTS, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 30)), max_size=3))
def test_another_width_cuts_or_gives_room(
    pieces: list[str], cuts: list[int], widths: list[tuple[int, int]]
) -> None:
    judge, emulator = Judge(), Emulator(COLUMNS, ROWS)
    done = len(judge.fed)
    emulator.add(judge.fed)
    for at, piece in enumerate([*pieces, "x"]):
        for place, width in widths:
            if place == at and width > 1 and "\t" not in judge.fed:
                judge.screen.resize(columns=width)
                judge.screen.margins = None
                emulator.resize(width, ROWS)
                judge.feed(["\x1b[1;1H"])  # It may leave the cursor where no column is.
        # Tab stops of new columns, and what was saved, are known to us alone.
        if "\t" not in piece and piece != "\x1b8\x1b7":
            judge.feed([piece])
        emulator.add(judge.fed[done:])
        done = len(judge.fed)
    assert shown(emulator) == judge.lines()


# -- what xterm documents, and pyte does not do


def after(text: str, columns: int = 10, rows: int = 4) -> list[str]:
    """The lines after this text, scrolled ones included."""
    emulator, ansi = Emulator(columns, rows), Ansi()
    emulator.add(ansi.feed(text))
    return emulator.lines()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("0123456789\rX", ["X123456789"]),
        ("0123456789\x1b[Ka", ["012345678a"]),
        ("0123456789ab", ["0123456789", "ab"]),
        ("0123456789\r\nab", ["0123456789", "ab"]),
        ("012345678漢", ["012345678", "漢"]),
        ("漢字\x1b[2GX", [" X字"]),
        ("漢字\x1b[3G\x1b[X", ["漢"]),
        ("ab\u202ec\u200bd", ["abcd"]),
        ("a\x1b[3b", ["aaaa"]),
        ("1\r\n2\r\n3\r\n4\x1b[2S", ["1", "2", "3", "4"]),
        ("1\r\n2\r\n3\r\n4\x1b[2T", ["", "", "1", "2"]),
        ("\x1b(0lqk\x1b(B lqk", ["┌─┐ lqk"]),
        ("\x1b)0a\x0eq\x0fq", ["a─q"]),
        ("a\tb\x1b[Zc", ["a       c"]),
        ("ab\x1b[scd\x1b[uX", ["abXd"]),
        ("ab\x1b7cd\x1b8X\x1b8Y", ["abYd"]),
        ("\x1b[?7l0123456789abc", ["012345678c"]),
        ("main\x1b[?1049halternate", ["    altern", "ate"]),
        ("main\x1b[?1049halternate\x1b[?1049l!", ["main!"]),
        ("main\r\n\x1b[?47h\x1b[?1047l!", ["main", "!"]),
        ("\x1b[?1049h\x1b[Hab\ncd", ["ab", "  cd"]),
        ("\x1b[?1049h1\r\n2\r\n3\r\n4\r\n5\x1b[?1049l", []),
        ("1\r\n2\r\n3\r\n4\r\n5\x1b[3J", ["2", "3", "4", "5"]),
        ("1\r\n2\r\n3\r\n4\x1b[1;3r\x1b[3Hx\r\ny", ["1", "2", "x", "y", "4"]),
        ("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3Hx\r\ny", ["1", "x", "y", "4"]),
        ("ab\x1bcX", ["X"]),
        ("\x1b[2;3r\x1b[?6h\x1b[HX\x1b[?6l\x1b[HY", ["Y", "X"]),
        ("\x1b[4habc\x1b[HX", ["Xabc"]),
        ("\x1b[4h\x1b[!pabc\x1b[HX", ["Xbc"]),
        ("one\ntwo\n", ["one", "two"]),
    ],
)
def test_what_terminals_do(text: str, lines: list[str]) -> None:
    assert after(text) == lines


@pytest.mark.parametrize(
    ("codes", "look"),
    [
        ("31", (1, -1, 0)),
        ("97;102", (15, 10, 0)),
        ("38;5;208;1", (208, -1, BOLD)),
        ("48;2;1;2;3", (-1, RGB | 0x010203, 0)),
        ("38:2::1:2:3", (RGB | 0x010203, -1, 0)),
        ("38:2:1:2:3", (RGB | 0x010203, -1, 0)),
        ("48:5:9", (-1, 9, 0)),
        ("38;5;300;1", (-1, -1, BOLD)),
        ("4:3", (-1, -1, 8)),
        ("4:3;4:0;1", (-1, -1, BOLD)),
        ("1;31;0;2", (-1, -1, 2)),
    ],
)
def test_colours_and_styles(codes: str, look: tuple[int, int, int]) -> None:
    emulator = Emulator(10, 4)
    emulator.add(f"\x1b[{codes}mx")
    assert emulator.screen() == [("x", ((0, 1, look),))]


def test_erased_and_new_rows_have_the_background() -> None:
    emulator = Emulator(4, 2)
    emulator.add("\x1b[41mab\x1b[K\x1b[0m")
    assert emulator.screen() == [("ab  ", ((0, 4, (-1, 1, 0)),))]
    emulator.add("\r\n\x1b[42m\r\n")
    assert emulator.screen()[-1] == ("    ", ((0, 4, (-1, 2, 0)),))


# -- its height


def test_fewer_rows_let_the_upper_ones_go() -> None:
    emulator = Emulator(10, 5)
    emulator.add("1\r\n2\r\n3\r\n4")
    emulator.resize(10, 2)
    assert [text for text, _ in emulator.screen()] == ["3", "4"]
    emulator.add("!\r\n5")
    assert emulator.lines() == ["1", "2", "3", "4!", "5"]
    emulator.resize(10, 4)
    emulator.add("\r\n6")
    assert emulator.lines() == ["1", "2", "3", "4!", "5", "6"]


def test_what_a_full_screen_program_hides_survives_another_size() -> None:
    emulator = Emulator(10, 5)
    emulator.add("1\r\n2\r\n3\r\n4\x1b[?1049hfull")
    emulator.resize(8, 2)
    emulator.add("\x1b[?1049l!")
    assert emulator.lines() == ["1", "2", "3", "4!"]


# -- its cost


def test_of_a_flood_the_end_is_shown_and_what_was_left_out_is_said() -> None:
    emulator = Emulator(80, 24)
    text = "".join(f"line {number}\r\n" for number in range(50_000))
    emulator.add("\x1b[31m" + text)
    assert emulator.lines()[-1] == "line 49999"
    assert abs(emulator.count - 50_000) <= 2
    back = emulator.scrollback
    (note,) = [it for it, _ in back.part(0, back.end) if "not shown" in it]
    assert note.startswith("… ")
    assert emulator.screen()[-1][1], "colours go on"


def test_modes_of_what_is_left_out_go_on() -> None:
    emulator = Emulator(80, 24)
    emulator.add("main\x1b[?1049h" + "x" * 200_000 + "\x1b[2J\x1b[Hfull")
    assert emulator.lines() == ["full"]
    emulator.add("\x1b[?1049l")
    assert "not shown" in emulator.lines()[0], "the main screen is as it was"


@pytest.mark.parametrize("columns", [80, 500, 1 << 15])
def test_what_is_kept_is_bounded(columns: int) -> None:
    emulator = Emulator(columns, 1 << 15)
    for _ in range(20):
        emulator.add("y\r\n" * 200 + "z" * 1000)
        emulator.screen()
    back = emulator.scrollback
    assert back.end - back.start <= 2000
    assert sum(len(text) for text, _ in back.part(0, back.end)) <= 1 << 18
    assert len(emulator.lines()) <= 200


def test_many_combining_characters_stay_in_one_cell_of_some_bytes() -> None:
    emulator = Emulator(10, 4)
    emulator.add("a" + "\u0301" * 60_000 + "b")
    ((text, _),) = emulator.screen()
    assert text[0] + text[-1] == "ab"
    assert len(text) < 40


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 70_000), st.integers(0, 70_000)), max_size=4), PIECES)
@example([(1, 1)], ["漢", "x", "\x1b[9@", "\x1b[M"])
def test_no_size_does_harm(sizes: list[tuple[int, int]], pieces: list[str]) -> None:
    emulator = Emulator(80, 24)
    for columns, rows in sizes:
        emulator.resize(columns, rows)
        for piece in pieces:
            emulator.add(piece)
        screen = emulator.screen()
        assert all(len(text.encode()) >= end for text, spans in screen for _, end, _ in spans)
