"""Pending edits as the processes of a workspace exchange them, and the writes that they lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.edits.carry import Parked
from acp_nvim.edits.disk_entries import DiskEntries
from acp_nvim.edits.pending import FileEdits
from acp_nvim.edits.undo_history import UndoHistory

if TYPE_CHECKING:
    from acp_nvim.edits.pending import Pending


class SharedEdits:
    """State of a ledger's files, which another process can continue from."""

    def __init__(self) -> None:
        self._files: dict[str, Pending] = {}
        """Pending edits by path, in the order in which the files were first written."""
        self._undo_entries: dict[str, Pending] = {}
        """Files of the undo history without pending edits."""
        self._before_unpublished: dict[str, Pending] = {}
        """Entries of files on disk before the agents' writes that no other process has yet."""
        self.undo_history = UndoHistory()
        self.parked = Parked()
        """Edits that files lost when git or another program replaced their texts."""
        self.disk_entries = DiskEntries()
        """Entries of files whose buffers have unsaved changes."""

    # -- states of files --------------------------------------------------------------------------

    def all_edits(self) -> dict[str, FileEdits]:
        """Return the state of all files. The values are shared and must not be changed."""
        history: dict[str, list[Pending]] = {}
        for before in self.undo_history.entries:
            history.setdefault(before.path, []).append(before)
        known = (*self._files, *self._undo_entries, *history, *self.parked, *self.disk_entries)
        paths = dict.fromkeys(known)
        return {path: self._edits_of(path, history.get(path, [])) for path in paths}

    def edits_of(self, path: str) -> FileEdits:
        """Return the state of one file."""
        history = [entry for entry in self.undo_history.entries if entry.path == path]
        return self._edits_of(path, history)

    def _edits_of(self, path: str, history: list[Pending]) -> FileEdits:
        """Return the state of a file with its undo `history`.

        If other processes get an entry with unsaved writes, the latest step is the entry of the
        file on disk.
        """
        entry, on_disk = self._entry_to_publish(path), self.disk_entry(path)
        if on_disk is not None and on_disk is not entry and on_disk not in history:
            history = [*history, on_disk]
        undo_entry = self._undo_entries.get(path) if history else None
        return FileEdits(entry, undo_entry, tuple(history), self.parked.get(path))

    def _entry_to_publish(self, path: str) -> Pending | None:
        """Return the entry for other processes: the file's, with the agents' unsaved writes."""
        return self.disk_entries.with_unsaved_writes(path) or self.disk_entry(path)

    def disk_entry(self, path: str) -> Pending | None:
        """Return the entry of the file on disk."""
        return self.disk_entries.get(path, self._files.get(path))

    def replace_file(self, path: str, edits: FileEdits) -> None:
        """Replace the state of a file with the state from another process."""
        self.disk_entries.drop(path)
        if edits.entry is None:
            self._files.pop(path, None)
        else:
            self._files[path] = edits.entry
        self._undo_entries.pop(path, None)
        if edits.undo_entry is not None and edits.entry is None:
            self._undo_entries[path] = edits.undo_entry
        self.undo_history.replace_file(path, edits.history)
        self._before_unpublished.pop(path, None)
        self.parked.set(path, edits.parked)

    # -- writes that other processes lack ---------------------------------------------------------

    def before_unpublished(self, path: str) -> Pending | None:
        """Return the entry before the writes that no other process has; None if there are none."""
        return self._before_unpublished.get(path)

    @property
    def has_unpublished(self) -> bool:
        """Return whether there are writes that other processes do not know."""
        return bool(self._before_unpublished)

    def on_saved(self, path: str) -> None:
        """Use the buffer's entry for the file on disk, which now has the buffer's text.

        Unsaved writes by agents count as unpublished again, although other processes have their
        hunks: a process that finds the lines in the file first takes them for the user's.
        """
        with_unsaved = self.disk_entries.with_unsaved_writes(path)
        if with_unsaved is not None:
            before = self.disk_entries.get(path) or with_unsaved.rejected(with_unsaved.hunks)
            self._before_unpublished.setdefault(path, before)
        self.disk_entries.drop(path)

    def mark_published(self, path: str, published: Pending | None) -> None:
        """Record that other processes have this entry of the file."""
        if path not in self._before_unpublished:
            return
        if self._entry_to_publish(path) is published:
            del self._before_unpublished[path]
        elif published is not None:  # only the writes after it are unpublished
            self._before_unpublished[path] = published
