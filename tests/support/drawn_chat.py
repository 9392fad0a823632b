"""Chat buffer in Python: frame operations applied to rows, as `lua/acp/features/chat` applies them.

Example:

    chat = DrawnChat()
    chat.apply(ops)
    assert chat.lines == [...]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Mark = tuple[int, int, str]


def batched(flat: list[Any], size: int) -> Iterator[tuple[Any, ...]]:
    """Split values into groups of `size`; their number must be a multiple of it."""
    assert len(flat) % size == 0
    return zip(*[iter(flat)] * size, strict=True)


@dataclass(eq=False)
class DrawnRow:
    """One row of the buffer with its highlights and targets."""

    text: str
    spans: set[Mark] = field(default_factory=set)
    targets: list[Any] = field(default_factory=list)


class DrawnChat:
    """Chat buffer, at first with the one empty row of every new buffer."""

    def __init__(self) -> None:
        self.rows = [DrawnRow("")]
        self.folds: dict[str, tuple[DrawnRow, DrawnRow]] = {}
        self.open: dict[str, bool] = {}
        self.groups: dict[str, tuple[DrawnRow, DrawnRow]] = {}

    def apply(self, ops: list[Any]) -> None:
        """Apply the operations of a frame; raise AssertionError for one that Neovim would
        refuse.
        """
        for name, _n, *args in ops:
            getattr(self, f"_{name}")(*args)

    @property
    def lines(self) -> list[str]:
        return [row.text for row in self.rows]

    @property
    def spans(self) -> list[set[Mark]]:
        return [row.spans for row in self.rows]

    @property
    def targets(self) -> list[list[Any]]:
        return [row.targets for row in self.rows]

    def fold_lines(self) -> set[tuple[int, int]]:
        """Return first and last row of every fold."""
        return self._lines_of(self.folds)

    def group_lines(self) -> set[tuple[int, int]]:
        """Return first and last row of every group of tool calls."""
        return self._lines_of(self.groups)

    def _lines_of(self, folds: dict[str, tuple[DrawnRow, DrawnRow]]) -> set[tuple[int, int]]:
        at = {id(row): number for number, row in enumerate(self.rows)}
        return {(at[id(first)], at[id(last)]) for first, last in folds.values()}

    def _chat(self, first: int, last: int, lines: list[str], decor: list[Any]) -> None:
        assert 0 <= first <= last <= len(self.rows)
        assert not any("\n" in line for line in lines)
        self.rows[first:last] = [DrawnRow(line) for line in lines]
        self._decorate(first, decor)

    def _text(self, row: int, lines: list[str], decor: list[Any]) -> None:
        assert 0 <= row < len(self.rows)
        assert not any("\n" in line for line in lines)
        self.rows[row].text += lines[0]
        self.rows[row].spans = set()
        self.rows[row + 1 : row + 1] = [DrawnRow(line) for line in lines[1:]]
        self._decorate(row, decor)

    def _decorate(self, row: int, decor: list[Any]) -> None:
        highlights, numbered, targets = decor
        for at, number in batched(numbered, 2):
            found = self.rows[row + at]
            assert not found.spans
            for start, end, group in batched(highlights[number - 1], 3):
                long = len(found.text.encode())
                assert 0 <= start <= end <= long, (found.text, start, end, group)
                found.spans.add((start, end, group))
        for at, data in batched(targets, 2):
            self.rows[row + at].targets.append(data)

    def _folds(self, folds: list[Any]) -> None:
        for id_, first, last, open_ in batched(folds, 4):
            assert 0 <= first < last < len(self.rows)
            self.folds[id_] = self.rows[first], self.rows[last]
            self.open[id_] = open_

    def _gather(self, id_: str, first: int, last: int, title: str) -> None:
        assert 0 <= first < last < len(self.rows)
        assert title
        self.groups[id_] = self.rows[first], self.rows[last]

    def _ungather(self, id_: str) -> None:
        del self.groups[id_]

    def _fold_open(self, id_: str, open_: bool) -> None:
        assert id_ in self.folds
        self.open[id_] = open_

    def _reset_chat(self) -> None:
        self.__init__()  # type: ignore[misc]
