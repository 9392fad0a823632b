"""Cutting of long texts and lists of rows, with a row in place of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acp_nvim import wording
from acp_nvim.render.rows import Row, Target, cut_middle, row
from acp_nvim.render.text import visible

FIRST, LAST = 60, 30
"""Number of first and last lines of a long text that a card shows."""
FIRST_ROWS = 200
"""Number of first rows that a card shows. Half as many of the last rows follow."""
MAX_LINE = 2_000_000
"""Maximum number of characters shown of one line of a message.

Neovim handles such a line without delay.
"""


class LineLimit:
    """Limit of `MAX_LINE` characters for each line of a text that arrives in pieces.

    A note follows a cut line. Neovim copies and measures the whole line each time it grows.
    """

    __slots__ = ("_is_full", "_room")

    def __init__(self) -> None:
        self._room = MAX_LINE
        self._is_full = False
        """Whether the open line was cut and has a note."""

    def skip(self, text: str, at: int) -> int:
        """Return the offset of the next character, from `at` on, that may be shown."""
        if not self._is_full:
            return at
        end = text.find("\n", at)
        return len(text) if end < 0 else end

    def cut(self, piece: str) -> str:
        """Return the part of the next piece that is shown."""
        if len(piece) > self._room:
            return "\n".join(self._cut_lines(piece))
        last = piece.rfind("\n")
        if last >= 0:
            self._room, self._is_full = MAX_LINE, False
        self._room -= len(piece) - last - 1
        return piece

    def _cut_lines(self, piece: str) -> Iterator[str]:
        for at, line in enumerate(piece.split("\n")):
            if at:
                self._room, self._is_full = MAX_LINE, False
            yield self._cut_line(line)

    def _cut_line(self, line: str) -> str:
        room, self._room = self._room, max(self._room - len(line), 0)
        if len(line) <= room or self._is_full:
            return line[:room]
        self._is_full = True
        return line[:room] + wording.PART_LINE_CUT


def more_row(count: int, full_target: Target | int) -> Row:
    """Return the row for lines left out at the end. `<CR>` on it shows all."""
    return row(f"… +{count} line{'s' if count > 1 else ''}", "AcpMuted", full_target)


def gap_row(count: int, full_target: Target | int) -> Row:
    """Return the row for lines left out in the middle."""
    lines = f"{count} line{'s' if count > 1 else ''}"
    return row(f"… {lines} between, <CR> shows all", "AcpMuted", full_target)


def head(text: str, lines: int) -> str:
    """Return the first lines of a text without splitting all of it."""
    at = -1
    for _ in range(lines):
        at = text.find("\n", at + 1)
        if at < 0:
            return text
    return text[:at]


def _tail(text: str, lines: int) -> str:
    at = len(text)
    for _ in range(lines):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return text
    return text[at + 1 :]


def both_ends(text: str) -> tuple[list[str], int, list[str]]:
    """Return the first visible lines of a text, the number of omitted lines, and the last lines.

    If no line is omitted, all are first lines. The cost does not depend on the length of the text.
    """
    count = text.count("\n") + 1
    if count <= FIRST + LAST + 1:
        return _visible_lines(text), 0, []
    return (
        _visible_lines(head(text, FIRST)),
        count - FIRST - LAST,
        _visible_lines(_tail(text, LAST)),
    )


def _visible_lines(text: str) -> list[str]:
    """Return visible lines. Each is cut first, because it may have millions of characters."""
    return [visible(cut_middle(line)) for line in text.replace("\r\n", "\n").split("\n")]


def fold_rows(
    rows: Sequence[Row], full_target: Target | int, first: int = FIRST_ROWS, hidden_count: int = 0
) -> list[Row]:
    """Return the rows, or only the first and the last ones if there are very many.

    `hidden_count` is the number of rows already left out in the middle.
    """
    last = first // 2
    if not hidden_count and len(rows) <= first + last + 1:
        return list(rows)
    tail = max(len(rows) - last, first)
    return [*rows[:first], gap_row(tail - first + hidden_count, full_target), *rows[tail:]]
