"""The screen of a terminal: rows and columns of a fixed number, a cursor, and how it writes.

The functions are named as in ECMA-48 and xterm's control sequences; columns and rows count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from acp_nvim.session.output.cells import Cells, Line, Row, cells_of
from acp_nvim.session.output.looks import DEFAULT, PLAIN, Look, background
from acp_nvim.session.output.scrollback import Scrollback

_DRAWING: Final = dict(zip(range(0x60, 0x7F), "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·", strict=True))
"""DEC Special Graphics: boxes in place of small letters."""


class Charsets(Struct, frozen=True):
    """The character sets of SI and SO, and whether the latter is used."""

    sets: tuple[str, str] = ("B", "B")
    used: int = 0


class Saved(Struct, frozen=True):
    """What DECSC keeps."""

    row: int = 0
    column: int = 0
    pending: bool = False
    look: Look = PLAIN
    origin: bool = False
    charsets: Charsets = Charsets()


class Grid:
    """Rows, cursor, margins and modes, and what moves or changes them."""

    def __init__(self, columns: int, height: int) -> None:
        self.columns, self.height = columns, height
        self.rows = [Row() for _ in range(height)]
        self.scrollback = Scrollback(columns)
        self._other: list[Row] | None = None
        """The rows of the main screen, while the alternate one is shown."""
        self.row, self.column = 0, 0
        self.pending = False
        """The last column was written: the next character goes to the next row."""
        self._tabs = set(range(8, columns, 8))
        self._saved_aside = Saved()
        """What the main screen has saved, while the alternate one is shown."""
        self.soft_reset()

    def soft_reset(self) -> None:
        """Set the modes as they are at first (DECSTR); cursor and text stay."""
        self.top, self.bottom = 0, self.height - 1
        self.look = PLAIN
        self._wraps, self._inserts, self._origin = True, False, False
        self._charsets = Charsets()
        self._saved = Saved()
        self._last = ""
        self._heed_modes()

    def reset(self) -> None:
        """Start anew (RIS); lines that have left the screen are kept."""
        self.alternate_screen(False)
        self.soft_reset()
        self.erase_screen(2)
        self.home()
        self._tabs = set(range(8, self.columns, 8))

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown."""
        return self._other is not None

    # -- how it writes ----------------------------------------------------------------------------

    def dress(self, look: Look) -> None:
        """Write in that look from now on (SGR)."""
        self.look = look

    def wrap_mode(self, on: bool) -> None:
        """Whether text wraps at the last column (DECAWM)."""
        self._wraps = on
        self._heed_modes()

    def insert_mode(self, on: bool) -> None:
        """Whether text moves what follows to the right (IRM)."""
        self._inserts = on
        self._heed_modes()

    def origin_mode(self, on: bool) -> None:
        """Whether rows count from the upper margin (DECOM)."""
        self._origin = on
        self.home()

    def alternate_screen(self, on: bool) -> None:
        """Show the alternate screen, which is blank, or the main one again."""
        if on and self._other is None:
            self._other, self.rows = self.rows, [Row() for _ in range(self.height)]
            self._saved_aside, self._saved = self._saved, Saved()
        elif not on and self._other is not None:
            self.rows, self._other = self._other, None
            self._saved = self._saved_aside

    def alternate_with_cursor(self, on: bool) -> None:
        """The same, and the main screen has its cursor back afterwards."""
        if on and not self.alternate:
            self.save()
            self.alternate_screen(True)
        elif not on and self.alternate:
            self.alternate_screen(False)
            self.restore()

    def designate(self, slot: int, charset: str) -> None:
        """Set the character set of SI (0) or SO (1)."""
        first, second = self._charsets.sets
        sets = (charset, second) if slot == 0 else (first, charset)
        self._charsets = replace(self._charsets, sets=sets)
        self._heed_modes()

    def shift(self, slot: int) -> None:
        """Use the character set of SI (0) or SO (1)."""
        self._charsets = replace(self._charsets, used=slot)
        self._heed_modes()

    def _heed_modes(self) -> None:
        self._draws = self._charsets.sets[self._charsets.used] == "0"
        self._usual = self._wraps and not self._inserts and not self._draws

    # -- text -------------------------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Print text without control characters."""
        self._last = text[-1]
        if self._usual and text.isascii() and self.column + len(text) < self.columns:
            self.rows[self.row].put(self.column, text, self.look)
            self.column += len(text)
            return
        if self._draws:
            text = text.translate(_DRAWING)
        cells, before = cells_of(text)
        if before:
            self.rows[self.row].combine(self.column - (not self.pending), before)
        if self._wraps:
            self._flow(cells)
        elif cells:
            self._squeeze(cells)

    def repeat(self, count: int) -> None:
        """Print the last character again (REP)."""
        if self._last:
            self.write(self._last * min(count, self.columns * self.height))

    def _flow(self, cells: Cells) -> None:
        """Print cells; before what follows the last column a new row begins."""
        at = 0
        while at < len(cells):
            if self.pending:
                self.carriage_return()
                self.index()
            end = at + self.columns - self.column
            if end < len(cells) and cells[end] == "":
                end -= 1
            self._put(cells[at:end])
            self.pending = self.pending or end == at  # a wide character has no room
            at = end

    def _squeeze(self, cells: Cells) -> None:
        """Print cells in one row: all that does not fit comes to the last column."""
        room = self.columns - self.column
        if len(cells) > room:
            last = [*(cells[-2:] if cells[-1] == "" else cells[-1:])]
            cells = [*cells[: max(room - len(last), 0)], *last]
            self.column = min(self.column, self.columns - len(cells))
        self._put(cells)

    def _put(self, cells: Cells) -> None:
        row = self.rows[self.row]
        if self._inserts:
            row.insert(self.column, len(cells), PLAIN, self.columns)
        row.put(self.column, cells, self.look)
        self.column += len(cells)
        self.pending = self.column >= self.columns
        self.column = min(self.column, self.columns - 1)

    @property
    def takes_lines(self) -> bool:
        """Whether lines that follow one another need no more than `write_lines`."""
        whole = self.top == 0 and self.bottom == self.height - 1 and not self.alternate
        return whole and self._usual and self.look[1] == DEFAULT

    def write_lines(self, lines: Sequence[str]) -> None:
        """Print lines of ASCII from the first column on, with a new line behind each."""
        if not lines:
            return
        self._last = next((line[-1] for line in reversed(lines) if line), self._last)
        if max(map(len, lines)) > self.columns:
            lines = [piece for line in lines for piece in self._pieces(line)]
        done = 0
        while done < len(lines) and (self.row < self.bottom or done == 0):
            self.rows[self.row].put(0, lines[done], self.look)
            self.index()
            done += 1
        if done < len(lines):
            self._scroll_in(lines[done:])

    def _pieces(self, line: str) -> list[str]:
        size = self.columns
        return [line[at : at + size] for at in range(0, len(line), size)] or [line]

    def _scroll_in(self, lines: Sequence[str]) -> None:
        """The last row is blank, and the cursor in it: whole lines come in above it."""
        above = self.height - 1
        gone = max(len(lines) - above, 0)
        back = self.scrollback
        back.push([row.line(self.columns) for row in self.rows[: min(len(lines), above)]])
        skipped = max(gone - back.room, 0)
        back.skip(skipped)
        back.push([_as_line(line, self.look) for line in lines[skipped:gone]])
        new = [Row.of(line, self.look) for line in lines[gone:]]
        self.rows[:above] = [*self.rows[len(lines) : above], *new]

    # -- the cursor -------------------------------------------------------------------------------

    def carriage_return(self) -> None:
        """Go to the first column."""
        self.column, self.pending = 0, False

    def backspace(self, count: int = 1) -> None:
        """Go to the left."""
        self.column, self.pending = max(self.column - count, 0), False

    def forward(self, count: int) -> None:
        """Go to the right."""
        self.to_column(self.column + count)

    def to_column(self, column: int) -> None:
        """Go to a column."""
        self.column, self.pending = min(max(column, 0), self.columns - 1), False

    def to_row(self, row: int) -> None:
        """Go to a row, which counts from the upper margin in origin mode."""
        least, most = (self.top, self.bottom) if self._origin else (0, self.height - 1)
        self.row, self.pending = min(max(row + least, least), most), False

    def home(self) -> None:
        """Go to the first column and row."""
        self.to_column(0)
        self.to_row(0)

    def up(self, count: int) -> None:
        """Go up as far as the margin."""
        least = self.top if self.row >= self.top else 0
        self.row, self.pending = max(self.row - count, least), False

    def down(self, count: int) -> None:
        """Go down as far as the margin."""
        most = self.bottom if self.row <= self.bottom else self.height - 1
        self.row, self.pending = min(self.row + count, most), False

    def tab(self) -> None:
        """Go to the next tab stop."""
        self.to_column(min((it for it in self._tabs if it > self.column), default=self.columns))

    def back_tab(self, count: int) -> None:
        """Go back by tab stops."""
        stops = sorted((it for it in self._tabs if it < self.column), reverse=True)
        self.to_column(stops[count - 1] if count <= len(stops) else 0)

    def set_tab(self) -> None:
        """Set a tab stop (HTS)."""
        self._tabs.add(self.column)

    def clear_tabs(self, how: int) -> None:
        """Clear the tab stop here (0) or all (3)."""
        if how == 3:
            self._tabs.clear()
        elif how == 0:
            self._tabs.discard(self.column)

    def index(self) -> None:
        """Go down; at the lower margin the rows move up instead."""
        self.pending = False
        if self.row == self.bottom:
            self.scroll_up(1)
        elif self.row < self.height - 1:
            self.row += 1

    def next_line(self) -> None:
        """Go to the beginning of the next row."""
        self.carriage_return()
        self.index()

    def reverse_index(self) -> None:
        """Go up; at the upper margin the rows move down instead."""
        self.pending = False
        if self.row == self.top:
            self.scroll_down(1)
        elif self.row > 0:
            self.row -= 1

    def save(self) -> None:
        """Keep the cursor and how it writes (DECSC)."""
        place = (self.row, self.column, self.pending)
        self._saved = Saved(*place, self.look, self._origin, self._charsets)

    def restore(self) -> None:
        """Take up what was saved, which stays saved (DECRC)."""
        saved = self._saved
        self.look, self._origin, self._charsets = saved.look, saved.origin, saved.charsets
        self._heed_modes()
        self.to_column(saved.column)
        self.to_row(saved.row - self.top if saved.origin else saved.row)
        self.pending = saved.pending and self.column == self.columns - 1

    def margins(self, top: int, bottom: int) -> None:
        """Set the rows that scroll (DECSTBM), and go home."""
        bottom = min(bottom, self.height - 1)
        if top < bottom:
            self.top, self.bottom = top, bottom
            self.home()

    # -- rows and columns -------------------------------------------------------------------------

    def scroll_up(self, count: int) -> None:
        """Move the rows between the margins up; what leaves the screen at its top is kept."""
        count = min(count, self.bottom - self.top + 1)
        if self.top == 0 and not self.alternate:
            self.scrollback.push([row.line(self.columns) for row in self.rows[:count]])
        self._shift(self.top, count)

    def scroll_down(self, count: int) -> None:
        """Move the rows between the margins down."""
        self._shift(self.top, -count)

    def insert_lines(self, count: int) -> None:
        """Insert rows at the cursor, down to the margin (IL)."""
        self._shift_here(-count)

    def delete_lines(self, count: int) -> None:
        """Take rows out at the cursor, down to the margin (DL)."""
        self._shift_here(count)

    def _shift_here(self, count: int) -> None:
        if self.top <= self.row <= self.bottom:
            self._shift(self.row, count)
            self.carriage_return()

    def _shift(self, first: int, count: int) -> None:
        """Move the rows from `first` to the lower margin up by `count`, down where negative."""
        rows = self.rows[first : self.bottom + 1]
        size = min(abs(count), len(rows))
        new = [Row(background(self.look)) for _ in range(size)]
        self.rows[first : self.bottom + 1] = rows[size:] + new if count > 0 else new + rows[:-size]

    def insert_blanks(self, count: int) -> None:
        """Insert blanks at the cursor (ICH)."""
        count = min(count, self.columns - self.column)
        blank = background(self.look)
        self.rows[self.row].insert(self.column, count, blank, self.columns)
        self.pending = False

    def delete_characters(self, count: int) -> None:
        """Take characters out at the cursor (DCH)."""
        count = min(count, self.columns - self.column)
        blank = background(self.look)
        self.rows[self.row].delete(self.column, count, blank, self.columns)
        self.pending = False

    def erase_characters(self, count: int) -> None:
        """Make characters blank from the cursor on (ECH)."""
        self._erase(self.column, min(self.column + count, self.columns))

    def erase_line(self, how: int) -> None:
        """Erase from the cursor on (0), up to it (1), or all of its row (2) (EL)."""
        if how in (0, 1, 2):
            first = self.column if how == 0 else 0
            self._erase(first, self.column + 1 if how == 1 else self.columns)

    def erase_screen(self, how: int) -> None:
        """Erase from the cursor on (0), up to it (1), the screen (2), or what left it (3) (ED)."""
        if how == 3:
            self.scrollback.clear()
        if how not in (0, 1, 2):
            return
        first = self.row + 1 if how == 0 else 0
        last = self.row if how == 1 else self.height
        for row in self.rows[first:last]:
            row.clear(background(self.look))
        if how < 2:
            self.erase_line(how)

    def _erase(self, first: int, last: int) -> None:
        self.rows[self.row].erase(first, last, background(self.look), self.columns)
        self.pending = False

    # -- its size ---------------------------------------------------------------------------------

    def resize(self, columns: int, height: int) -> None:
        """Take another size. What no longer fits at the right is cut, as xterm does; rows leave at
        the top where those below the text and the cursor are not enough.
        """
        self.scrollback.fit(columns)
        if self._other is None:
            self.row = max(self.row - self._leave(self.rows, self.row, height), 0)
        else:
            saved = self._saved_aside
            gone = self._leave(self._other, saved.row, height)
            self._saved_aside = replace(saved, row=max(saved.row - gone, 0))
            self._other = _fitted(self._other, columns, height)
        self.rows = _fitted(self.rows, columns, height)
        self.columns, self.height = columns, height
        self.top, self.bottom = 0, height - 1
        self.row = min(self.row, height - 1)
        self.to_column(self.column)
        self._tabs |= set(range(8, columns, 8))

    def _leave(self, rows: list[Row], cursor: int, height: int) -> int:
        """Let rows leave at the top until those in use fit; return how many did."""
        count = max(used(rows), cursor + 1) - height
        if count > 0:
            self.scrollback.push([row.line(self.columns) for row in rows[:count]])
            del rows[:count]
        return max(count, 0)


def used(rows: Sequence[Row]) -> int:
    """Return how many rows there are down to the last one with anything in it."""
    last = len(rows)
    while last and rows[last - 1].blank:
        last -= 1
    return last


def _as_line(text: str, look: Look) -> Line:
    if look == PLAIN:
        return text.rstrip(" "), ()
    return text, ((0, len(text), look),) if text else ()


def _fitted(rows: list[Row], columns: int, height: int) -> list[Row]:
    """Rows cut to a size, with blank ones below where there are too few."""
    for row in rows[:height]:
        row.cut(columns)
    return rows[:height] + [Row() for _ in range(height - len(rows))]
