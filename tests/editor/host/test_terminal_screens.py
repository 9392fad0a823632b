"""The buffer of a terminal of a known size gets what it lacks, and is as its screen is."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_nvim.editor.terminal_screens import ALL, LINES, ScreenView
from acp_nvim.session.output.emulator import Emulator
from acp_nvim.session.output.scrollback import MOST


class Buffer:
    """Does to lines and looks what the frame operation does to a buffer."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, Any]] = []

    def apply(self, op: list[Any]) -> None:
        dropped, first, lines, looks, rows = op
        del self.rows[: len(self.rows) if dropped == ALL else dropped]
        assert first <= len(self.rows)
        new: list[tuple[str, Any]] = [(line, []) for line in lines]
        for at, look in zip(rows[::2], rows[1::2], strict=True):
            new[at] = (new[at][0], looks[look - 1])
        self.rows[first:] = new


def whole(emulator: Emulator, note: str) -> list[str]:
    """All lines that a buffer shows."""
    back = emulator.scrollback
    screen = emulator.screen()
    lines = [text for text, _ in back.part(back.start, back.end) + screen]
    return [*lines, f"[{note}]"] if note else lines


TEXT = st.one_of(
    st.text("ab \r\n", max_size=40),
    st.sampled_from(["\x1b[2J", "\x1b[3J", "\x1b[H", "\x1b[31m", "\x1b[?1049h", "\x1b[?1049l"]),
    st.sampled_from(["\x1b[2A", "\x1b[1;2r", "\x1bc", "x\r\n" * 1500]),
)


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXT, st.sampled_from(["", "", "exit code 1"])), max_size=25))
def test_a_buffer_has_the_lines_of_its_screen(steps: list[tuple[str, str]]) -> None:
    emulator, buffer = Emulator(20, 4), Buffer()
    view = ScreenView(emulator)
    for text, note in steps:
        emulator.add(text)
        more = True
        while more:
            op, more = view.next(note)
            if op is not None:
                assert len(op[2]) <= LINES + 5
                buffer.apply(op)
        assert [line for line, _ in buffer.rows] == whole(emulator, note)
    assert view.next(steps[-1][1] if steps else "") == (None, False) or not steps


def test_only_what_changed_goes_to_neovim() -> None:
    emulator = Emulator(20, 4)
    view = ScreenView(emulator)
    emulator.add("one\r\ntwo\r\nthree")
    assert view.next("") == ([ALL, 0, ["one", "two", "three"], [], []], False)
    emulator.add("\r\x1b[KTHREE\r\nfour\r\nfive")
    assert view.next("") == ([0, 2, ["THREE", "four", "five"], [], []], False)
    assert view.next("") == (None, False)
    emulator.add("\x1b[31m!")
    assert view.next("") == ([0, 4, ["five!"], [[4, 5, "1,-1,0"]], [0, 1]], False)
    assert view.next("ended") == ([0, 5, ["[ended]"], [[0, 7, "-1,-1,2"]], [0, 1]], False)


def test_lines_that_are_no_longer_kept_leave_the_buffer() -> None:
    emulator, buffer = Emulator(20, 4), Buffer()
    view = ScreenView(emulator)
    for number in range(MOST + 100):
        emulator.add(f"{number}\r\n")
        op, _ = view.next("")
        assert op is not None
        assert len(op[2]) <= 3
        buffer.apply(op)
    assert buffer.rows[0][0] == str(100 - 3)
