"""Detection of files that an agent moved.

A moved file disappears at one path and appears at another, and a scan may see either first. If the
texts are equal, both are one move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from acp_nvim.edits.text import EMPTY

if TYPE_CHECKING:
    from acp_nvim.edits.pending import Pending
    from acp_nvim.edits.text import Text

MAX_KEPT = 2000
"""Maximum number of remembered files on each side; the latest are kept."""


class Move(msgspec.Struct, frozen=True):
    """Move of a file with this text. ``was`` is its pending entry before the move."""

    old: str
    new: str
    text: Text
    was: Pending | None


class _Gone(msgspec.Struct, frozen=True):
    name: str
    was: Pending | None


class Moves:
    """Files that agents removed and created during the running turns."""

    def __init__(self) -> None:
        self._gone: dict[str, _Gone] = {}
        self._came: dict[str, str] = {}

    def add(
        self, path: str, before: Text | None, after: Text | None, was: Pending | None
    ) -> Move | None:
        """Record one file's change; return the move that it completes."""
        self._gone.pop(path, None)
        self._came.pop(path, None)
        if before is None and after not in (None, EMPTY):
            return self._on_created(path, after)
        if after is None and before not in (None, EMPTY):
            return self._on_removed(path, before, was)
        return None

    def _on_created(self, path: str, text: Text) -> Move | None:
        name = text.digest
        old = _likely_path(path, [other for other, gone in self._gone.items() if gone.name == name])
        if old is not None:
            return Move(old, path, text, self._gone.pop(old).was)
        self._came[path] = name
        if len(self._came) > MAX_KEPT:
            del self._came[next(iter(self._came))]
        return None

    def _on_removed(self, path: str, text: Text, was: Pending | None) -> Move | None:
        name = text.digest
        new = _likely_path(path, [other for other, came in self._came.items() if came == name])
        if new is not None:
            del self._came[new]
            return Move(path, new, text, was)
        self._gone[path] = _Gone(name, was)
        if len(self._gone) > MAX_KEPT:
            del self._gone[next(iter(self._gone))]
        return None


def _likely_path(path: str, others: list[str]) -> str | None:
    """Return the other path: the only one, or the only one with the same file name."""
    if len(others) > 1:
        others = [other for other in others if other.rpartition("/")[2] == path.rpartition("/")[2]]
    return others[0] if len(others) == 1 else None
