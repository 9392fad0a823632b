"""Entries of files on disk whose buffers have unsaved changes.

A decision in such a buffer takes effect when the file is saved. Until then the journal keeps the
edits of the file on disk, which are pending again if the buffer is discarded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from acp_nvim.edits.carry import carried
from acp_nvim.edits.merge import overlaid
from acp_nvim.edits.pending import Pending

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from acp_nvim.edits.hunks import Hunk
    from acp_nvim.edits.text import Text


class DiskEntries:
    """Entries of such files by path; None if nothing is pending on disk."""

    def __init__(self) -> None:
        self._entries: dict[str, Pending | None] = {}
        self._before: dict[str, Pending | None] = {}
        """Entries from before the first write that is only in the buffer."""

    def __contains__(self, path: str) -> bool:
        """Return whether buffer and file of this path have different entries."""
        return path in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def get(self, path: str) -> Pending | None:
        return self._entries.get(path)

    def set(self, path: str, entry: Pending | None) -> None:
        self._entries[path] = entry

    def drop(self, path: str) -> None:
        """Remove an entry, since buffer and file are equal again, or the file is deleted."""
        self._entries.pop(path, None)
        self._before.pop(path, None)

    def record_unsaved_write(self, path: str, before: Pending | None) -> None:
        """Record that an agent's write was not saved; ``before`` is the entry of the file."""
        self._before.setdefault(path, before)

    def undo_unsaved_writes(self, path: str) -> None:
        """Restore the entry from before the agent's unsaved writes.

        The buffer no longer has the agent's text, and the file never had these writes.
        """
        if path in self._before:
            self._entries[path] = self._before[path]

    def sync_with_disk(self, path: str, disk: Text | None) -> Pending | None:
        """Carry the entry of a file over to its text on disk, and return it."""
        entry = self._entries.get(path)
        synced = carried(entry, disk).entry if entry is not None else None
        if synced is None:
            self.drop(path)
        elif not synced.conflict:
            self._entries[path] = synced
        return synced

    def accept(self, entry: Pending, chosen: Collection[Hunk], *, whole: bool = False) -> None:
        """Accept hunks of the buffer's ``entry`` on disk; ``whole``: also format and move."""
        stored = self._entries.get(entry.path)
        if stored is None:
            return
        if whole:
            stored = msgspec.structs.replace(stored, origin=None, relaid="")
        self._accept(stored, [found for hunk in chosen if (found := stored.like(entry, hunk))])

    def accept_committed(self, path: str, text: Text) -> None:
        """Accept the hunks that a commit with this text contains."""
        stored = self._entries.get(path)
        if stored is not None:
            self._accept(stored, stored.contained_in(text))

    def record_agent_write(
        self, path: str, before: Text, after: Text, writers: frozenset[int]
    ) -> None:
        """Add the hunks of an agent's write, which is in the buffer and perhaps in the file.

        They are then pending wherever they are found.
        """
        if path not in self._entries:
            return
        stored = self._entries[path] or Pending(path, before, before, before)
        live = before if stored.live is None else overlaid(before, stored.live, after)
        self._entries[path] = msgspec.structs.replace(
            stored, live=live, written=live, writers=stored.writers | writers
        )

    def _accept(self, stored: Pending, hunks: Collection[Hunk]) -> None:
        remaining = stored.accepted(hunks)
        self._entries[stored.path] = None if remaining.settled else remaining
