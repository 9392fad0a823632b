"""Entries of files on disk whose buffers have unsaved changes.

A decision in such a buffer takes effect when the file is saved. Until then the journal keeps the
edits of the file on disk, which are pending again if the buffer is discarded.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import msgspec

from acp_nvim.edits.carry import carry_over
from acp_nvim.edits.hunks import diff
from acp_nvim.edits.merge import overlay
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from acp_nvim.edits.hunks import Hunk
    from acp_nvim.edits.text import Text

    DiskChange = tuple[bool, Text | None, Text | None]
    """Whether the user made a change, and the texts before and after it (None: no file)."""


class DiskEntries:
    """Entries by path. An entry is None if nothing is pending on disk."""

    def __init__(self) -> None:
        self._entries: dict[str, Pending | None] = {}
        self._with_unsaved: dict[str, Pending] = {}
        """Entries that include agents' writes that are only in the buffers."""

    def __contains__(self, path: str) -> bool:
        """Return whether buffer and file of this path have different entries."""
        return path in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def get(self, path: str, default: Pending | None = None) -> Pending | None:
        """Return an entry, or `default` if buffer and file have the same entry."""
        return self._entries.get(path, default)

    def all(self) -> dict[str, Pending | None]:
        """Return all entries by path."""
        return dict(self._entries)

    def with_unsaved_writes(self, path: str) -> Pending | None:
        """Return the entry that includes unsaved writes, or None if there are no such writes."""
        return self._with_unsaved.get(path)

    def set(
        self, path: str, entry: Pending | None, with_unsaved_writes: Pending | None = None
    ) -> None:
        self.drop(path)
        self._entries[path] = entry
        if with_unsaved_writes is not None:
            self._with_unsaved[path] = with_unsaved_writes

    def set_both(self, path: str, entry: Pending | None, buffer_entry: Pending | None) -> None:
        """Set both entries of a file. The buffer's entry may include unsaved writes."""
        hunks = buffer_entry.hunks if buffer_entry else ()
        is_saved = all(
            entry and buffer_entry and entry.equal_hunk(buffer_entry, hunk) for hunk in hunks
        )
        self.set(path, entry, None if is_saved else buffer_entry)

    def drop(self, path: str) -> None:
        """Remove an entry, since buffer and file are equal again, or the file is deleted."""
        self._entries.pop(path, None)
        self._with_unsaved.pop(path, None)

    def undo_unsaved_writes(self, path: str) -> None:
        """Drop the agents' unsaved writes, since the buffer no longer has them."""
        self._with_unsaved.pop(path, None)

    def sync_with_disk(self, path: str, disk: Text | None) -> Pending | None:
        """Carry the entry of a file over to its text on disk, and return it."""
        if path not in self._entries:
            return None  # buffer and file have the same entry
        entry = self._entries[path]
        synced = carry_over(entry, disk).entry if entry is not None else None
        if synced is None or not synced.is_conflict:
            self._entries[path] = synced
        return synced

    def set_named(self, path: str, named: bool) -> None:
        """Record whether the agent has named the file that it changed."""
        self._change(path, lambda entry: msgspec.structs.replace(entry, is_named=named))

    def accept(self, entry: Pending, chosen: Collection[Hunk], *, whole: bool = False) -> None:
        """Accept hunks of the buffer's `entry` on disk, and if `whole` also its format and move.

        A conflict is not accepted before the buffer has the text of the file.
        """
        if whole and entry.is_conflict:
            return

        def accepted(stored: Pending) -> Pending:
            if whole:
                stored = msgspec.structs.replace(stored, origin=None, format_change="")
            return reduce(lambda left, hunk: left.accepted_as(entry, hunk), chosen, stored)

        self._change(entry.path, accepted)

    def accept_committed(self, path: str, text: Text) -> None:
        """Accept the hunks that a commit with this text contains."""
        self._change(path, lambda stored: stored.accepted(stored.hunks_in(text)))

    def before_write(self, entry: Pending, on_disk: tuple[Text, Text] | None) -> Pending:
        """Return the entry on disk before an agent's write to a buffer that had this `entry`.

        `on_disk` has the same meaning as in `record_agent_write`.
        """
        path, text = entry.path, on_disk[0] if on_disk is not None else entry.live
        return self._entries.get(path, entry) or Pending(path, text, text, text)

    def record_agent_write(
        self,
        entry: Pending | None,
        path: str,
        before: Text,
        after: Text,
        writers: frozenset[int],
        on_disk: tuple[Text, Text] | None,
    ) -> None:
        """Add an agent's write to a file whose buffer had this `entry` before.

        `on_disk` has the file's texts before and after the write, if the buffer has unsaved
        changes.
        """
        texts = on_disk or (before, after)
        if on_disk is not None:
            self._entries.setdefault(path, None if entry and entry.is_conflict else entry)
        if path in self._entries:
            self._entries[path] = _with_write(self._entries[path], path, *texts, writers)
        if path in self._with_unsaved:
            known = self._with_unsaved[path]
            self._with_unsaved[path] = _with_write(known, path, before, after, writers)

    def record_conflict(
        self,
        path: str,
        entry: Pending | None,
        on_disk: Sequence[DiskChange],
        writers: frozenset[int],
    ) -> None:
        """Record changes of a file with this `entry` that conflict with the unsaved text.

        In the file, an agent's changes are pending like any others. `on_disk` has the same meaning
        as in `Ledger.record_conflict`.
        """
        self.drop(path)
        for is_save, before, after in on_disk:
            if before is None or after is None:
                return
            if not is_save:
                entry = _with_write(entry, path, before, after, writers)
            elif entry is not None:
                entry = entry.edited(after)
        if entry is not None:
            self._entries[path] = msgspec.structs.replace(
                entry, is_conflict=False, theirs=None, is_overtaken=False
            )

    def record_unsaved_write(
        self, entry: Pending | None, path: str, before: Text, after: Text, writers: frozenset[int]
    ) -> None:
        """Add an agent's write that is only in the buffer. The buffer had this `entry` before."""
        entry = self._entries.setdefault(path, entry)
        known = self._with_unsaved.get(path) or entry
        self._with_unsaved[path] = _with_write(known, path, before, after, writers)

    def _change(self, path: str, change: Callable[[Pending], Pending]) -> None:
        """Change the entries of a file, and remove those that are then settled."""
        entry, with_unsaved = self._entries.get(path), self._with_unsaved.pop(path, None)
        if entry is not None:
            changed = change(entry)
            self._entries[path] = None if changed.is_settled else changed
        if with_unsaved is not None and not (changed := change(with_unsaved)).is_settled:
            self._with_unsaved[path] = changed


def disk_entry(buffer_entry: Pending, common: Text | None) -> Pending | None:
    """Return the entry on disk of a file whose buffer has unsaved changes and `buffer_entry`.

    `common` is the text before both sides of a conflict, if known.
    """
    if not buffer_entry.is_conflict:
        return buffer_entry
    path, theirs = buffer_entry.path, buffer_entry.theirs
    if buffer_entry.is_overtaken or common is None or theirs is None:
        return None
    return Pending(path, common, theirs, theirs, writers=buffer_entry.writers)


def is_nearer(text: Text | None, candidate: Text | None, other: Text | None) -> bool:
    """Return whether a text differs less from `candidate` than from `other`. None means no file."""
    if text in (candidate, other):
        return text != other
    return _distance(text, candidate) < _distance(text, other)


def _distance(text: Text | None, other: Text | None) -> int:
    hunks = diff(keys(text), keys(other))
    return sum(hunk.end - hunk.start + len(hunk.lines) for hunk in hunks)


def _with_write(
    entry: Pending | None, path: str, before: Text, after: Text, writers: frozenset[int]
) -> Pending:
    """Return the entry with an agent's change from `before` to `after`."""
    entry = entry or Pending(path, before, before, before)
    live = before if entry.live is None else overlay(before, entry.live, after)
    return msgspec.structs.replace(entry, live=live, written=live, writers=entry.writers | writers)
