"""Newest lines of a command's output as plain text, overwritten as on a terminal.

It drops colours and supports only the cursor movements of progress bars and status lines. That is
enough for the few lines that the chat shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from acp_nvim.patterns import late
from acp_nvim.session.output.ansi import Ansi, plain

MAX_LINES: Final = 200
"""Number of stored lines."""
MAX_BACKLOG: Final = 16 << 10
"""Maximum number of unprocessed characters. If there are more, only the last ones are kept."""
MAX_LINE: Final = 4000
"""Maximum number of characters in a line. Longer lines are broken."""
SCREEN_ROWS: Final = 48
"""Number of screen rows for cursor positions: the height of the host's terminals."""

_TOKEN: Final = late(
    r"\x1b\[([0-?]*)[ -/]*([@-~])|\x1b[ -/]*[0-~]|([\r\n\b\t\v\f\x0e\x0f])|([^\x1b\x00-\x1f]+)|."
)


def resolve_overwrites(text: str) -> str:
    """Return a command's output without colours, with overwritten lines resolved."""
    if "\x1b" not in text and not overwrites(text):
        return text
    text = Ansi().feed(text).replace("\r\n", "\n")
    return "\n".join(
        _final_text(line) if overwrites(line) else plain(line) for line in text.split("\n")
    )


def overwrites(text: str) -> bool:
    """Return whether a text overwrites a part of itself."""
    return "\r" in text or "\b" in text


def _final_text(line: str) -> str:
    tail = Tail()
    tail.add(line)
    return "".join(tail.lines())


class Tail:
    """Newest lines of text that `ansi.Ansi` has filtered."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        """Pieces that are not in `_lines` yet, since most are never shown."""
        self._size = 0
        """Number of characters in `_waiting`."""
        self._lines = [""]
        self._row = 0
        self._column = 0
        """Place of the cursor in `_lines`, as of a terminal."""
        self.count = 0
        """Number of newlines added so far."""

    @classmethod
    def of(cls, lines: Iterable[str], count: int) -> Tail:
        """Return a tail with these lines, of an output that had `count` newlines."""
        tail = cls()
        tail._lines = [*lines] or [""]
        tail._row, tail._column = len(tail._lines) - 1, len(tail._lines[-1])
        tail.count = count
        return tail

    def add(self, text: str) -> None:
        """Append text. It is processed by the next call to `lines`."""
        if not text:
            return
        self.count += text.count("\n")
        self._waiting.append(text)
        self._size += len(text)
        if self._size > 4 * MAX_BACKLOG:
            self._waiting = [_newest("".join(self._waiting))]
            self._size = len(self._waiting[0])

    def lines(self) -> list[str]:
        """Return the newest lines, without the empty one after the last newline."""
        text = _newest("".join(self._waiting))
        self._waiting, self._size = [], 0
        for token in _TOKEN.finditer(text):
            args, final, control, printed = token.groups()
            if printed is not None:
                self._print(printed)
            elif control is not None:
                self._control(control)
            elif final is not None:
                self._sequence(args, final)
        shown = [line.rstrip() for line in self._lines]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    def _print(self, text: str) -> None:
        while self._column + len(text) > MAX_LINE:
            room = MAX_LINE - self._column
            self._put(text[:room])
            text = text[room:]
            self._control("\n")
        self._put(text)

    def _put(self, text: str) -> None:
        line = self._lines[self._row]
        if self._column > len(line):
            line = line.ljust(self._column)
        after = self._column + len(text)
        self._lines[self._row] = line[: self._column] + text + line[after:]
        self._column = after

    def _control(self, control: str) -> None:
        if control in "\n\v\f":
            self._column = 0
            self._move_to_row(self._row + 1)
        elif control == "\r":
            self._column = 0
        elif control == "\b":
            self._column = max(self._column - 1, 0)
        elif control == "\t":
            self._print(" " * (8 - self._column % 8))

    def _sequence(self, args: str, final: str) -> None:
        step = _MOVES.get(final)
        if step is not None:
            step(self, max(_number(args, 0, 1), 1))
        elif final == "K":
            self._erase_line(_number(args, 0, 0))
        elif final == "J":
            self._erase_screen(_number(args, 0, 0))
        elif final in "Hf":
            self._move_to_row(self._top() + max(_number(args, 0, 1), 1) - 1)
            self._column = max(_number(args, 1, 1), 1) - 1

    def _top(self) -> int:
        return max(len(self._lines) - SCREEN_ROWS, 0)

    def _move_to_row(self, row: int) -> None:
        """Move to a row. Rows below the last line are created."""
        self._row = max(row, self._top() if row < self._row else 0)
        missing = min(self._row - len(self._lines) + 1, SCREEN_ROWS)
        if missing > 0:
            self._lines += [""] * missing
        self._row = min(self._row, len(self._lines) - 1)
        over = len(self._lines) - MAX_LINES
        if over > SCREEN_ROWS:
            del self._lines[:over]
            self._row -= over

    def _move_up(self, count: int) -> None:
        self._move_to_row(self._row - count)

    def _move_down(self, count: int) -> None:
        self._move_to_row(min(self._row + count, len(self._lines) - 1))

    def _move_right(self, count: int) -> None:
        self._column = min(self._column + count, 1000)

    def _move_left(self, count: int) -> None:
        self._column = max(self._column - count, 0)

    def _move_to_column(self, column: int) -> None:
        self._column = min(column - 1, 1000)

    def _erase_line(self, part: int) -> None:
        """Erase the line after the cursor (`part` is 0), up to the cursor (1), or entirely (2)."""
        line = self._lines[self._row]
        after = self._column + 1
        cleared = {0: line[: self._column], 1: " " * after + line[after:]}
        self._lines[self._row] = cleared.get(part, "")

    def _erase_screen(self, part: int) -> None:
        if part == 0:
            self._erase_line(0)
            del self._lines[self._row + 1 :]
        elif part in (2, 3):
            del self._lines[self._top() :]
            self._lines.append("")
            self._row = len(self._lines) - 1


_MOVES: Final[dict[str, Callable[[Tail, int], None]]] = {
    "A": Tail._move_up,
    "B": Tail._move_down,
    "C": Tail._move_right,
    "D": Tail._move_left,
    "G": Tail._move_to_column,
}


def _newest(text: str) -> str:
    """Return the end of a flood, from the beginning of a line if possible."""
    lines = text.rsplit("\n", MAX_LINES + SCREEN_ROWS)
    if len(lines) > MAX_LINES + SCREEN_ROWS:
        text = text[len(lines[0]) + 1 :]
    if len(text) <= MAX_BACKLOG:
        return text
    at = text.find("\n", len(text) - MAX_BACKLOG)
    return text[at + 1 :] if at >= 0 else text[-MAX_BACKLOG:]


def _number(args: str, at: int, default: int) -> int:
    """Return a numeric argument of an escape sequence.

    Return `default` if the argument is absent, not a number, or has more than 4 digits.
    """
    words = args.lstrip("?").split(";")
    word = words[at] if at < len(words) else ""
    return int(word) if word.isdigit() and len(word) < 5 else default
