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

MAX_FILES = 2000
"""Maximum number of remembered files on each side. The latest are kept."""


class Move(msgspec.Struct, frozen=True):
    """Move of a file with this text. `entry` is its pending entry before the move."""

    old: str
    new: str
    text: Text
    entry: Pending | None


class _Removed(msgspec.Struct, frozen=True):
    digest: str
    entry: Pending | None


class Moves:
    """Files that agents removed and created during the running turns."""

    def __init__(self) -> None:
        self._removed: dict[str, _Removed] = {}
        self._created: dict[str, str] = {}
        """Digests of the created files."""

    def add(
        self, path: str, before: Text | None, after: Text | None, entry: Pending | None
    ) -> Move | None:
        """Record a change to one file. Return the move that it completes, or None."""
        self._removed.pop(path, None)
        self._created.pop(path, None)
        if before is None and after not in (None, EMPTY):
            return self._on_created(path, after)
        if after is None and before not in (None, EMPTY):
            return self._on_removed(path, before, entry)
        return None

    def _on_created(self, path: str, text: Text) -> Move | None:
        digest = text.digest
        old = _likely_path(
            path, [other for other, gone in self._removed.items() if gone.digest == digest]
        )
        if old is not None:
            return Move(old, path, text, self._removed.pop(old).entry)
        self._created[path] = digest
        if len(self._created) > MAX_FILES:
            del self._created[next(iter(self._created))]
        return None

    def _on_removed(self, path: str, text: Text, entry: Pending | None) -> Move | None:
        digest = text.digest
        new = _likely_path(path, [other for other, came in self._created.items() if came == digest])
        if new is not None:
            del self._created[new]
            return Move(path, new, text, entry)
        self._removed[path] = _Removed(digest, entry)
        if len(self._removed) > MAX_FILES:
            del self._removed[next(iter(self._removed))]
        return None


def _likely_path(path: str, others: list[str]) -> str | None:
    """Return the only path of `others`, or the only one with the same file name, or None."""
    if len(others) > 1:
        others = [other for other in others if other.rpartition("/")[2] == path.rpartition("/")[2]]
    return others[0] if len(others) == 1 else None
