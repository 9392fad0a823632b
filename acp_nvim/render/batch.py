"""Operations of one drawing, put together so that Neovim has few of them to apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acp_nvim.render.rows import Row

Op = list[Any]


class Batch:
    """Rows that are added below one another become one operation, and so do folds.

    A fold waits for rows added below it: these do not move it. Anything else comes after it.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._ops: list[Op] = []
        self._folds: list[Any] = []
        self._end = -1
        """The row below the last operation, if that one put rows."""

    def put(self, first: int, last: int, rows: Sequence[Row]) -> int:
        """Replace rows [first, last) by these; returns their characters."""
        lines, spans, targets = self._open(first, last)
        at = len(lines)
        used = 0
        for text, marks, target in rows:
            lines.append(text)
            used += len(text)
            if marks:
                for start, end, group in marks:
                    spans += (at, start, end, group)
            if target is not None:
                targets += (at, at, target)
            at += 1
        self._end += len(rows)
        return used

    def add(self, op: Op) -> None:
        """Take the next operation."""
        if op[0] == "chat":
            self._merge(*op[2:])
        else:
            self._close()
            self._ops.append(op)

    def fold(self, id: str, first: int, last: int, opened: bool) -> None:
        """These rows, both ends included, can be folded from now on."""
        self._folds += (id, first, last, opened)

    def done(self) -> list[Op]:
        """Return all operations, in order."""
        self._close()
        return self._ops

    def _open(self, first: int, last: int) -> tuple[list[str], list[Any], list[Any]]:
        """Lines, spans and targets of the operation that takes rows put here."""
        if first != last or first != self._end:
            self._close()
            self._ops.append(["chat", self._n, first, last, [], [[], []]])
            self._end = first
        lines, (spans, targets) = self._ops[-1][4:]
        return lines, spans, targets

    def _merge(self, first: int, last: int, more: list[str], decor: list[list[Any]]) -> None:
        lines, spans, targets = self._open(first, last)
        if lines:
            decor[0][::4] = [row + len(lines) for row in decor[0][::4]]
            for end in (0, 1):
                decor[1][end::3] = [row + len(lines) for row in decor[1][end::3]]
        lines += more
        spans += decor[0]
        targets += decor[1]
        self._end += len(more)

    def _close(self) -> None:
        if self._folds:
            self._ops.append(["folds", self._n, self._folds])
            self._folds = []
        self._end = -1
