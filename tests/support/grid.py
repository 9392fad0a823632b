"""The screen as Neovim draws it: `ext_linegrid` redraw events applied to a grid of cells."""

from __future__ import annotations

from typing import Any


class Grid:
    """Screen of a user, updated by `redraw` notifications, even while Neovim blocks."""

    def __init__(self, width: int, height: int) -> None:
        self.cursor = (0, 0)
        self.cells = [[" "] * width for _ in range(height)]
        self.flushes = 0

    def lines(self) -> list[str]:
        """Return the rows of the screen without trailing blanks."""
        return ["".join(row).rstrip() for row in self.cells]

    def redraw(self, events: list[Any]) -> None:
        """Apply one `redraw` notification."""
        for name, *calls in events:
            handler = getattr(self, f"_{name}", None)
            if handler is not None:
                for call in calls:
                    handler(*call)

    def _grid_resize(self, _grid: int, width: int, height: int) -> None:
        self.cells = [[" "] * width for _ in range(height)]

    def _grid_clear(self, _grid: int) -> None:
        for row in self.cells:
            row[:] = [" "] * len(row)

    def _grid_line(
        self, _grid: int, row: int, column: int, cells: list[Any], _wrap: bool = False
    ) -> None:
        for text, *rest in cells:
            repeat = rest[1] if len(rest) > 1 else 1
            self.cells[row][column : column + repeat] = [text] * repeat
            column += repeat

    def _grid_scroll(
        self, _grid: int, top: int, bottom: int, left: int, right: int, rows: int, _columns: int
    ) -> None:
        order = range(top, bottom) if rows > 0 else range(bottom - 1, top - 1, -1)
        for row in order:
            source = row + rows
            if top <= source < bottom:
                self.cells[row][left:right] = self.cells[source][left:right]

    def _grid_cursor_goto(self, _grid: int, row: int, column: int) -> None:
        self.cursor = (row, column)

    def _flush(self) -> None:
        self.flushes += 1
