"""Parked edits, which files lost when git or another program replaced their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from acp_nvim.edits.carry import combine, split_parked
from acp_nvim.edits.pending import ParkedEdits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from acp_nvim.edits.pending import Pending
    from acp_nvim.edits.text import Text

MAX_PARKED = 20
"""Maximum number of parked edits of one file. The oldest are dropped."""


class Parked:
    """Parked edits by path, the oldest first."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[ParkedEdits, ...]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def get(self, path: str) -> tuple[ParkedEdits, ...]:
        """Return the parked edits of a file."""
        return self._files.get(path, ())

    def all(self) -> dict[str, tuple[ParkedEdits, ...]]:
        """Return the parked edits of all files, by path."""
        return dict(self._files)

    def set(self, path: str, parked: Sequence[ParkedEdits]) -> None:
        """Replace the parked edits of a file."""
        self._files.pop(path, None)
        if parked:
            self._files[path] = tuple(parked)

    def add(self, path: str, lost: Pending | None, branch: str, time: float) -> bool:
        """Park the edits that a file lost when it left `branch`. Return whether there are any."""
        if lost is not None:
            self._files[path] = (*self.get(path), ParkedEdits(lost, branch, time))[-MAX_PARKED:]
        return lost is not None

    def take(self, path: str, now: Text | None, entry: Pending | None) -> Pending | None:
        """Remove the edits that this text of the file contains.

        Return them combined with the file's `entry`, or None if there are no such edits.
        """
        taken: Pending | None = None
        left: list[ParkedEdits] = []
        for parked in self.get(path):
            contained, rest = split_parked(parked.entry, now)
            if contained is not None:
                entry = taken = contained if entry is None else combine(contained, entry)
            if rest is not None:
                left.append(msgspec.structs.replace(parked, entry=rest))
        self.set(path, left)
        return taken

    def drop(self, paths: Collection[str]) -> None:
        """Drop the parked edits of these files."""
        for path in paths:
            self._files.pop(path, None)
