"""The lines that have left a screen at its top: the newest ones, and how many there have been."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from acp_nvim.session.output.cells import Line

MOST: Final = 2000
"""The most lines kept."""
MOST_CELLS: Final = 1 << 18
"""The most columns of all of them."""


class Scrollback:
    """Lines by the number in which they came, from 0."""

    def __init__(self, columns: int) -> None:
        self._lines: deque[Line] = deque(maxlen=_bound(columns))
        self.end = 0
        """The number of the line that comes next."""

    @property
    def start(self) -> int:
        """The number of the oldest line that is kept."""
        return self.end - len(self._lines)

    def push(self, lines: Sequence[Line]) -> None:
        """Take lines."""
        self._lines.extend(lines)
        self.end += len(lines)

    def skip(self, count: int) -> None:
        """Count lines that so many others follow at once that they would not be kept."""
        self.end += count

    @property
    def room(self) -> int:
        """The most lines that are kept."""
        return self._lines.maxlen or 0

    def clear(self) -> None:
        """Forget all; numbers go on."""
        self._lines.clear()

    def keep(self, lines: int) -> None:
        """Keep fewer lines from now on."""
        self._lines = deque(self._lines, maxlen=min(lines, self.room))

    def fit(self, columns: int) -> None:
        """Keep as many as lines of that length allow."""
        self._lines = deque(self._lines, maxlen=_bound(columns))

    def part(self, first: int, last: int) -> list[Line]:
        """Return those of the lines [first, last) that are kept."""
        lines, start = self._lines, self.start
        # From its end, which is what is asked for: a deque counts from the nearer one.
        return [lines[at - self.end] for at in range(max(first, start), min(last, self.end))]


def _bound(columns: int) -> int:
    return min(MOST, MOST_CELLS // columns)
