"""Operations of one drawing, put together so that Neovim has few of them to apply."""

from __future__ import annotations

from typing import Any

Op = list[Any]


class Batch:
    """Rows that are added below one another become one operation, and so do folds.

    A fold waits for rows added below it: these do not move it. Anything else comes after it.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._ops: list[Op] = []
        self._folds: list[list[Any]] = []

    def add(self, op: Op) -> None:
        """Take the next operation."""
        if op[0] == "fold":
            self._folds.append(op[2:])
        elif op[0] == "chat" and self._follows(op):
            self._merge(op)
        else:
            self._close()
            self._ops.append(op)

    def done(self) -> list[Op]:
        """Return all operations, in order."""
        self._close()
        return self._ops

    def _follows(self, op: Op) -> bool:
        """Whether an operation only adds rows, just below those of the last one."""
        if not self._ops or self._ops[-1][0] != "chat":
            return False
        _, _, first, _, lines, _ = self._ops[-1]
        return bool(op[2] == op[3] == first + len(lines))

    def _merge(self, op: Op) -> None:
        _, _, first, _, lines, (spans, targets) = self._ops[-1]
        below = op[2] - first
        lines += op[4]
        spans += [[at + below, a, b, group] for at, a, b, group in op[5][0]]
        targets += [[at + below, end + below, data] for at, end, data in op[5][1]]

    def _close(self) -> None:
        if self._folds:
            self._ops.append(["folds", self._n, self._folds])
            self._folds = []
