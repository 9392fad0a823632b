"""Merging of drawing operations, so that Neovim has to apply only a few."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from acp_nvim.render.markdown import Span
from acp_nvim.render.rows import Row

Op = list[Any]
"""Operation of a frame: its name, then its arguments."""


class Batch:
    """Collected operations. Adjacent rows become one operation, and so do folds.

    A fold may be moved after rows that are added below it, but not after any other operation.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._ops: list[Op] = []
        self._folds: list[Any] = []
        self._end = -1
        """The row below the last operation, if the operation inserted rows."""
        self._is_joinable = False
        """Whether the last rows of that operation may be joined with rows below them."""
        self._lines: list[str] = []
        self._decor: list[list[Any]] = [[], [], []]
        """Highlights, rows and targets of that operation, as in `rows.decor_op`."""
        self._numbers: dict[int, tuple[int, tuple[Span, ...]]] = {}
        """Number of each row's highlights in that operation, by the identity of the spans.

        Rows of one kind share their spans.
        """

    def replace(
        self,
        first: int,
        last: int,
        rows: Sequence[Row],
        under: Sequence[str] = (),
        is_joinable: bool = False,
    ) -> int:
        """Replace rows [first, last) with these rows and the plain texts `under` them.

        Return the number of characters. Rows that are `is_joinable` may be joined with the rows
        above and below, because no fold begins or ends there.
        """
        self._continue(first, last, is_joinable)
        lines, (highlights, numbered, targets) = self._lines, self._decor
        known = self._numbers
        at = len(lines)
        used = 0
        for text, spans, target in rows:
            lines.append(text)
            used += len(text)
            if spans:
                entry = known.get(id(spans))
                if entry is None:
                    highlights.append(list(chain.from_iterable(spans)))
                    entry = known[id(spans)] = len(highlights), spans
                numbered += (at, entry[0])
            if target is not None:
                targets += (at, target)
            at += 1
        if under:
            lines += under
            used += sum(map(len, under))
        self._end += len(rows) + len(under)
        return used

    def add(self, op: Op) -> None:
        """Add the next operation."""
        if op[0] == "chat":
            self._merge(*op[2:])
        else:
            self._close()
            self._ops.append(op)

    def fold(self, id: str, first: int, last: int, opened: bool) -> None:
        """Add a fold of these rows, both ends included."""
        self._folds += (id, first, last, opened)

    def operations(self) -> list[Op]:
        """Return all operations in order."""
        self._close()
        return self._ops

    def _open(self, first: int, last: int) -> None:
        """Start an operation with these rows."""
        self._close()
        self._lines, self._decor = [], [[], [], []]
        self._ops.append(["chat", self._n, first, last, self._lines, self._decor])
        self._end = first

    def _continue(self, first: int, last: int, is_joinable: bool) -> None:
        """Extend the last operation if these rows directly follow it, otherwise start a new one.

        Rows that replace others extend it only if both are joinable.
        """
        if first == self._end and (first == last or (is_joinable and self._is_joinable)):
            self._ops[-1][3] += last - first
        else:
            self._open(first, last)
        self._is_joinable = is_joinable

    def _merge(self, first: int, last: int, more: list[str], decor: list[list[Any]]) -> None:
        self._continue(first, last, is_joinable=False)
        lines, (highlights, numbered, targets) = self._lines, self._decor
        for at, number in zip(decor[1][::2], decor[1][1::2], strict=True):
            numbered += (at + len(lines), number + len(highlights))
        for at, data in zip(decor[2][::2], decor[2][1::2], strict=True):
            targets += (at + len(lines), data)
        highlights += decor[0]
        lines += more
        self._end += len(more)

    def _close(self) -> None:
        if self._folds:
            self._ops.append(["folds", self._n, self._folds])
            self._folds = []
        self._end = -1
        self._numbers = {}
