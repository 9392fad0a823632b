"""What control sequences do to a screen, by their last character or number (ECMA-48, xterm)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from acp_nvim.session.output.grid import Grid
from acp_nvim.session.output.looks import number


def control(grid: Grid, character: str) -> None:
    """Carry out a control character, or a carriage return with a line feed."""
    _CONTROLS[character](grid)


def sequence(grid: Grid, args: str, final: str) -> None:
    """Carry out a control sequence; `final` has its intermediate characters as well."""
    private = args[:1] == "?"
    numbers = [number(word) for word in args.lstrip("?").split(";")]
    if final in "hl":
        for mode in numbers:
            _set_mode(grid, mode, private, final == "h")
    elif final in _ERASING:
        _ERASING[final](grid, numbers[0])
    elif private:
        return
    elif final in _COUNTED:
        _COUNTED[final](grid, numbers[0] or 1)
    elif final in _PLACING:
        _PLACING[final](grid, numbers[0], numbers[1] if len(numbers) > 1 else 0)
    elif final in _SAVING and not args:
        _SAVING[final](grid)


def escape(grid: Grid, code: str) -> None:
    """Carry out an escape sequence, given without its escape."""
    if code in _ESCAPES:
        _ESCAPES[code](grid)
    elif code[0] in "()":
        grid.designate("()".index(code[0]), code[1])


def _set_mode(grid: Grid, mode: int, private: bool, on: bool) -> None:
    change = (_PRIVATE_MODES if private else _MODES).get(mode)
    if change is not None:
        change(grid, on)


def _line_feed(grid: Grid) -> None:
    """A program that writes to no terminal device ends its lines so. One that fills the screen
    means the row below.
    """
    if not grid.alternate:
        grid.carriage_return()
    grid.index()


def _down_home(grid: Grid, count: int) -> None:
    grid.down(count)
    grid.carriage_return()


def _up_home(grid: Grid, count: int) -> None:
    grid.up(count)
    grid.carriage_return()


def _place(grid: Grid, row: int, column: int) -> None:
    grid.to_row(max(row, 1) - 1)
    grid.to_column(max(column, 1) - 1)


def _margins(grid: Grid, top: int, bottom: int) -> None:
    grid.margins(max(top, 1) - 1, (bottom or grid.height) - 1)


_CONTROLS: Final[dict[str, Callable[[Grid], None]]] = {
    "\b": Grid.backspace,
    "\t": Grid.tab,
    "\n": _line_feed,
    "\v": _line_feed,
    "\f": _line_feed,
    "\r": Grid.carriage_return,
    "\r\n": Grid.next_line,
    "\x0e": lambda grid: grid.shift(1),
    "\x0f": lambda grid: grid.shift(0),
}

_ESCAPES: Final[dict[str, Callable[[Grid], None]]] = {
    "7": Grid.save,
    "8": Grid.restore,
    "D": Grid.index,
    "E": Grid.next_line,
    "H": Grid.set_tab,
    "M": Grid.reverse_index,
    "c": Grid.reset,
}

_COUNTED: Final[dict[str, Callable[[Grid, int], None]]] = {
    "@": Grid.insert_blanks,
    "A": Grid.up,
    "B": Grid.down,
    "C": Grid.forward,
    "D": Grid.backspace,
    "E": _down_home,
    "F": _up_home,
    "G": lambda grid, column: grid.to_column(column - 1),
    "L": Grid.insert_lines,
    "M": Grid.delete_lines,
    "P": Grid.delete_characters,
    "S": Grid.scroll_up,
    "T": Grid.scroll_down,
    "X": Grid.erase_characters,
    "Z": Grid.back_tab,
    "`": lambda grid, column: grid.to_column(column - 1),
    "a": Grid.forward,
    "b": Grid.repeat,
    "d": lambda grid, row: grid.to_row(row - 1),
    "e": Grid.down,
}
"""Those with one argument, 1 where it is absent."""

_ERASING: Final[dict[str, Callable[[Grid, int], None]]] = {
    "J": Grid.erase_screen,
    "K": Grid.erase_line,
    "g": Grid.clear_tabs,
}

_PLACING: Final[dict[str, Callable[[Grid, int, int], None]]] = {
    "H": _place,
    "f": _place,
    "r": _margins,
}

_SAVING: Final[dict[str, Callable[[Grid], None]]] = {
    "!p": Grid.soft_reset,
    "s": Grid.save,
    "u": Grid.restore,
}
"""Those without arguments."""

_MODES: Final[dict[int, Callable[[Grid, bool], None]]] = {4: Grid.insert_mode}

_PRIVATE_MODES: Final[dict[int, Callable[[Grid, bool], None]]] = {
    6: Grid.origin_mode,
    7: Grid.wrap_mode,
    47: Grid.alternate_screen,
    1047: Grid.alternate_screen,
    1048: lambda grid, on: grid.save() if on else grid.restore(),
    1049: Grid.alternate_with_cursor,
}
"""Modes that DECSET sets; others change nothing here."""
