"""Our terminal, compared with pyte's over random streams, and held to what xterm documents."""

from __future__ import annotations

from itertools import pairwise
from unicodedata import normalize

import pyte
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyte import modes

from acp_nvim.session.output.ansi import Ansi
from acp_nvim.session.output.emulator import Emulator
from acp_nvim.session.output.looks import BOLD, RGB

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
    max_size=40,
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
        if modes.DECOM in screen.mode and final in "Hd":
            # In origin mode it does not go where a place outside of the margins is meant, and
            # fails where there are no margins.
            return True
        return False

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
