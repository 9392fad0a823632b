"""A terminal of the size that a program was told: its screen, and the lines that have left it at
the top. Users see what the program has drawn, however wide their windows are.
"""

from __future__ import annotations

import re
from typing import Final

from acp_nvim import wording
from acp_nvim.patterns import late
from acp_nvim.session.output.cells import Line
from acp_nvim.session.output.grid import Grid, used
from acp_nvim.session.output.looks import NOTE, rendition
from acp_nvim.session.output.scrollback import Scrollback
from acp_nvim.session.output.sequences import control, escape, sequence
from acp_nvim.session.output.tail import KEPT

BEHIND: Final = 64 << 10
NEWEST: Final = 16 << 10
"""Where more than `BEHIND` characters wait only the `NEWEST` are processed: floods cost little."""
LEAST: Final = 2
MOST_COLUMNS: Final = 500
MOST_ROWS: Final = 200
"""Larger sizes are taken as these."""
OLD_LINES: Final = 100
"""Lines kept of a terminal that ended long ago."""

_TOKEN: Final = late(
    r"((?:[ -~]*+\r?\n){16,}+)"
    r"|([^\x00-\x1f\x7f]+)"
    r"|\x1b\[([0-9;:]*)m"
    r"|(\r\n|[\r\n\v\f\b\t\x0e\x0f])"
    r"|\x1b\[([0-?]*)([ -/]*[@-~])"
    r"|\x1b([()*+].|[0-~])"
    r"|.",
    re.DOTALL,
)
_LINES, _TEXT, _LOOK, _CONTROL, _ARGS, _FINAL, _ESCAPE = range(1, 8)
"""Groups of a token: lines of ASCII, text, SGR, a control character, another CSI, an escape."""
_LASTING: Final = late(
    r"\x1b\[(?:\?[0-9;]*?(?:[67]|47|104[79])[hl]|4[hl]|[0-9;]*r|!p)|\x1b(?:[()].|c)|[\x0e\x0f]"
)
"""What bears on text that comes later: modes, margins, character sets, resets."""
_SGR: Final = late(r"\x1b\[([0-9;:]*)m")


class Emulator:
    """Takes text filtered by `ansi.Ansi`; it is processed when somebody asks for lines."""

    def __init__(self, columns: int, rows: int) -> None:
        self._grid = Grid(*_bounded(columns, rows))
        self._waiting: list[str] = []
        self._size = 0
        self._left_out = 0
        """Newlines in the parts of floods that were left out."""

    # -- for those who show it --------------------------------------------------------------------

    def add(self, text: str) -> None:
        """Append text."""
        self._waiting.append(text)
        self._size += len(text)
        if self._size > 4 * BEHIND:
            self._process()

    def resize(self, columns: int, rows: int) -> None:
        """Take another size; what came before was drawn for the former one."""
        self._process()
        self._grid.resize(*_bounded(columns, rows))

    def shrink(self) -> None:
        """Keep little of what has left the screen."""
        self._process()
        self._grid.scrollback.keep(OLD_LINES)

    def lines(self) -> list[str]:
        """Return the newest lines, without the blank ones at the end."""
        self._process()
        shown = [text.rstrip() for text, _ in self._screen()]
        while shown and not shown[-1]:
            shown.pop()
        back = self._grid.scrollback
        older = back.part(back.end - max(KEPT - len(shown), 0), back.end)
        return [text for text, _ in older] + shown[-KEPT:]

    @property
    def count(self) -> int:
        """Lines ever written."""
        self._process()
        return self._left_out + self._grid.scrollback.end + used(self._grid.rows)

    def screen(self) -> list[Line]:
        """Return the lines that may still change, down to the last one with anything in it."""
        self._process()
        return self._screen()

    @property
    def scrollback(self) -> Scrollback:
        """The lines that have left the screen; what waits has not."""
        return self._grid.scrollback

    def _screen(self) -> list[Line]:
        grid = self._grid
        return [row.line(grid.columns) for row in grid.rows[: used(grid.rows)]]

    # -- text -------------------------------------------------------------------------------------

    def _process(self) -> None:
        if not self._waiting:
            return
        text = "".join(self._waiting)
        self._waiting, self._size = [], 0
        if len(text) > BEHIND:
            at = _newest(text)
            self._leave_out(text[:at])
            text = text[at:]
        self._run(text)

    def _run(self, text: str) -> None:
        grid = self._grid
        for found in _TOKEN.finditer(text):
            kind = found.lastindex
            if kind == _TEXT:
                grid.write(found.group())
            elif kind == _LOOK:
                grid.dress(rendition(grid.look, found.group(_LOOK)))
            elif kind == _CONTROL:
                control(grid, found.group())
            elif kind == _LINES:
                self._lines(found.group())
            elif kind == _FINAL:
                sequence(grid, found.group(_ARGS), found.group(_FINAL))
            elif kind == _ESCAPE:
                escape(grid, found.group(_ESCAPE))

    def _lines(self, text: str) -> None:
        """Print many lines, at once where they do nothing else."""
        grid = self._grid
        lines = text.split("\n")
        lines.pop()
        at_once = grid.takes_lines
        before = min(grid.column, 1) if at_once else len(lines)
        for line in lines[:before]:
            bare = line.rstrip("\r")
            if bare:
                grid.write(bare)
            control(grid, "\n" if bare is line else "\r\n")
        if at_once:
            rest = lines[before:]
            grid.write_lines([line.rstrip("\r") for line in rest] if "\r" in text else rest)

    # -- floods -----------------------------------------------------------------------------------

    def _leave_out(self, text: str) -> None:
        """Say that this text is not shown, and take over what bears on later text."""
        grid = self._grid
        self._left_out += text.count("\n")
        if not grid.alternate:
            self._note(wording.PART_BYTES_LEFT_OUT.format(count=len(text)))
        for found in _LASTING.finditer(text):
            self._run(found.group())
        reset = max(text.rfind("\x1b[m"), text.rfind("\x1b[0m"), 0)
        for found in _SGR.finditer(text, reset):
            grid.dress(rendition(grid.look, found.group(1)))

    def _note(self, words: str) -> None:
        grid, look = self._grid, self._grid.look
        grid.dress(NOTE)
        if grid.column:
            grid.next_line()
        grid.write(words)
        grid.next_line()
        grid.dress(look)


def _newest(text: str) -> int:
    """Return where the end of a flood begins, between lines where possible, else sequences."""
    least = len(text) - NEWEST
    places = (text.find("\n", least) + 1, text.find("\x1b", least))
    return next((at for at in places if at > 0), least)


def _bounded(columns: int, rows: int) -> tuple[int, int]:
    return min(max(columns, LEAST), MOST_COLUMNS), min(max(rows, LEAST), MOST_ROWS)
