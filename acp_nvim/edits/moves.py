"""Files that an agent moved, found in what became of each file by itself.

A file that is moved is gone at one path and there at another; looks at the files may see the one
before the other. Of the same text, they are the same file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from acp_nvim.edits.text import EMPTY, digest

if TYPE_CHECKING:
    from acp_nvim.edits.pending import Pending
    from acp_nvim.edits.text import Text

MAX_KEPT = 2000
"""Files that are remembered on each side; of more, the latest."""


class Move(msgspec.Struct, frozen=True):
    """A file moved with this text; ``was`` is what was pending in it until then."""

    old: str
    new: str
    text: Text
    was: Pending | None


class _Gone(msgspec.Struct, frozen=True):
    name: str
    was: Pending | None


class Moves:
    """What agents removed and what they made, as long as turns run."""

    def __init__(self) -> None:
        self._gone: dict[str, _Gone] = {}
        self._came: dict[str, str] = {}

    def noted(
        self, path: str, before: Text | None, after: Text | None, was: Pending | None
    ) -> Move | None:
        """One file's change; the move that it is a part of, if the other part is known."""
        self._gone.pop(path, None)
        self._came.pop(path, None)
        if before is None and after not in (None, EMPTY):
            return self._made(path, after)
        if after is None and before not in (None, EMPTY):
            return self._removed(path, before, was)
        return None

    def _made(self, path: str, text: Text) -> Move | None:
        name = digest(text)
        old = _only(path, [other for other, gone in self._gone.items() if gone.name == name])
        if old is not None:
            return Move(old, path, text, self._gone.pop(old).was)
        self._came[path] = name
        if len(self._came) > MAX_KEPT:
            del self._came[next(iter(self._came))]
        return None

    def _removed(self, path: str, text: Text, was: Pending | None) -> Move | None:
        name = digest(text)
        new = _only(path, [other for other, came in self._came.items() if came == name])
        if new is not None:
            del self._came[new]
            return Move(path, new, text, was)
        self._gone[path] = _Gone(name, was)
        if len(self._gone) > MAX_KEPT:
            del self._gone[next(iter(self._gone))]
        return None


def _only(path: str, others: list[str]) -> str | None:
    """The other path, if it is clear which: the only one, or the only one of the same file name."""
    if len(others) > 1:
        others = [other for other in others if other.rpartition("/")[2] == path.rpartition("/")[2]]
    return others[0] if len(others) == 1 else None
