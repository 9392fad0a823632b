"""Ledger of a workspace's pending edits: changes that the user has not accepted or rejected.

It is updated with every change to a file, and has a base and a live text for each file with pending
edits. Files are identified by their real paths. The ledger changes no file itself: decisions return
`Restoration`s for buffer and disk. If one of them fails, `reinstate` restores the ledger's state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from acp_nvim import wording
from acp_nvim.edits.carry import carry_over
from acp_nvim.edits.disk_entries import is_nearer
from acp_nvim.edits.merge import Conflict, merge
from acp_nvim.edits.pending import Pending, Reject, Restoration
from acp_nvim.edits.shared_edits import SharedEdits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acp_nvim.edits.disk_entries import DiskChange
    from acp_nvim.edits.hunks import Hunk
    from acp_nvim.edits.text import Text

MAX_REJECTS = 20
"""Maximum number of rejects that can be undone, one after the other."""


class Ledger(SharedEdits):
    """Pending edits by path, and the rejects that can be undone."""

    def __init__(self) -> None:
        super().__init__()
        self._rejects: list[list[Reject]] = []

    def get(self, path: str) -> Pending | None:
        """Return the file's entry, or None if nothing is pending."""
        return self._files.get(path)

    def files(self, session: int | None = None) -> list[Pending]:
        """Return all entries, or only the ones that a session wrote to."""
        entries = self._files.values()
        return [entry for entry in entries if session is None or session in entry.writers]

    # -- rejects ----------------------------------------------------------------------------------

    @property
    def rejects(self) -> Sequence[list[Reject]]:
        """Return the rejects that can be undone, oldest first."""
        return self._rejects

    def replace_rejects(self, rejects: Sequence[list[Reject]]) -> None:
        self._rejects = list(rejects)[-MAX_REJECTS:]

    # -- unsaved buffers --------------------------------------------------------------------------

    def split_from_disk(self, path: str) -> None:
        """Store the entry as the state on disk, before the buffer gets unsaved changes."""
        entry = self._files.get(path)
        if path in self.disk_entries or (entry is not None and entry.is_conflict):
            return
        if entry is not None or path in self._undo_entries:  # an undo may make edits pending
            self.disk_entries.set(path, entry)

    def join_disk(self, path: str, text: Text | None, *, may_be_discarded: bool = True) -> None:
        """Update the entry of a file whose buffer has become clean through a save or a discard.

        It was saved if `text` is nearer to the unsaved text than to the text of the entry on disk.
        Otherwise the entry on disk replaces the buffer's. Without `may_be_discarded`, any text
        other than that of the entry on disk counts as saved.
        """
        if path not in self.disk_entries:
            return
        unsaved, on_disk = self.tracked_entry(path), self.disk_entries.get(path)
        before = on_disk.live if on_disk is not None else None
        if on_disk is None and unsaved is not None:
            before = unsaved.base  # the agents' unsaved writes changed it
        if unsaved is None or not may_be_discarded:
            is_saved = text != before
        else:
            is_saved = is_nearer(text, unsaved.live, before)
        if is_saved:
            self.on_saved(path)
            return
        self.disk_entries.drop(path)
        if unsaved is not None:  # an undo may return to the unsaved text
            self.undo_history.record_change(unsaved)
        if on_disk is not None:
            self._files.pop(path, None)
            self._put(on_disk)
        elif unsaved is not None and not unsaved.is_settled:
            self.undo_history.add_if_reduced(unsaved, 0)
            self._drop(path, text)

    def keep_in_buffer(self, path: str, entry: Pending) -> None:
        """Keep edits in the unsaved buffer here that another process has rejected in the file."""
        self.disk_entries.set(path, None)
        self._put(entry)

    # -- parked edits -----------------------------------------------------------------------------

    def record_tree_change(
        self, path: str, now: Text | None, *, replaced: bool, branch: str, time: float
    ) -> bool:
        """Record a text that git or another program gave the file (None: deleted).

        Edits that the text lacks are parked under the `branch`. Parked edits that it contains
        become pending again. `replaced` means that git made the change. Otherwise it may result
        from an undo of a reject. Return whether any edits were parked.
        """
        entry, is_parked = self._files.get(path), False
        if entry is not None and not entry.is_conflict:
            earlier = None if now is None else self.undo_history.entry_with_text(path, now)
            result = carry_over(entry, now, replaced, earlier)
            self._files.pop(path)
            if result.entry is not None:
                self._put(result.entry)
            is_parked = self.parked.add(path, result.lost, branch, time)
        else:
            self.record_user_edit(path, now, is_undo=entry is None and not replaced)
        self.unpark(path, now)
        return is_parked

    def unpark(self, path: str, now: Text | None) -> None:
        """Make parked edits pending again if this text of the file contains them."""
        unparked = self.parked.take(path, now, self._files.get(path))
        if unparked is not None:
            self._put(unparked)

    # -- changes to files -------------------------------------------------------------------------

    def record_agent_write(
        self,
        path: str,
        before: Text | None,
        after: Text,
        session: int = 0,
        *,
        saved: bool = True,
        on_disk: tuple[Text, Text] | None = None,
    ) -> None:
        """Record an agent's change from `before` (the live text, None: no file) to `after`.

        A write that is not `saved` is only in the buffer. `on_disk` are the file's texts before
        and after a change on disk that was merged into unsaved changes.
        """
        if before is None:
            self._split_move(path)
        writers = frozenset({session})
        self._add_write(path, before, after, writers, saved, on_disk)
        saved_entry = self.disk_entries.get(path) if on_disk is not None else None
        if saved_entry is not None:  # the buffer may return to the file's text
            self.undo_history.add(saved_entry)

    def set_named(self, path: str, named: bool) -> None:
        """Record whether the agent has named the file that it changed."""
        entry = self._files.get(path)
        if entry is not None and entry.is_named != named:
            self._files[path] = msgspec.structs.replace(entry, is_named=named)
        self.disk_entries.set_named(path, named)

    def tracked_entry(self, path: str) -> Pending | None:
        """Return the entry of a file with pending hunks, or with hunks that an undo may restore."""
        return self._files.get(path) or self._undo_entries.get(path)

    def record_user_edit(self, path: str, after: Text | None, *, is_undo: bool = False) -> None:
        """Record a change to the live text by the user (None: a deletion, which settles the edits).

        An undo or redo (`is_undo`, or expected) restores the entry that its text had. Any other
        change is compared line by line, even if it leads to an earlier text: the user may have
        typed that text again.
        """
        is_undo = self.undo_history.take_expected(path) or is_undo
        entry = self.tracked_entry(path)
        if after is None:
            self.disk_entries.drop(path)
        if entry is None:
            return
        if after is None:
            self._files.pop(path, None)
            self._undo_entries.pop(path, None)
            return
        if after == entry.live:
            return
        earlier = self.undo_history.entry_with_text(path, after)
        if is_undo:
            edited = self.undo_history.entry_after_undo(entry, after)
        elif earlier is None:
            edited = entry.edited(after)
        else:
            edited = entry.edited(after, restorable=earlier.hunks)
            edited = msgspec.structs.replace(edited, writers=edited.writers | earlier.writers)
        if edited.is_conflict and edited.theirs == after:
            edited = msgspec.structs.replace(
                edited, is_conflict=False, theirs=None, is_overtaken=False
            )
        self.undo_history.record_user_edit(entry, edited, is_known=earlier is not None)
        self._put(edited)
        if edited.is_settled:
            self.disk_entries.undo_unsaved_writes(path)

    def record_formatting(self, path: str, before: Text, after: Text) -> None:
        """Record a formatter's change from `before` to `after`.

        Changes that touch the agent's hunks count as the agent's.
        """
        entry = self._sync(path, before)
        if entry is None or before == after:
            return
        written = after if entry.written == before else entry.written
        self._put(msgspec.structs.replace(entry.edited(after, formatter=True), written=written))

    def record_agent_deletion(self, path: str, before: Text, session: int = 0) -> None:
        """Record that the agent deleted the file, which had this text."""
        entry = self._sync(path, before) or Pending(path, before, before, before)
        self.disk_entries.drop(path)
        self._files.pop(path, None)
        # The deletion of a new file that the user has edited must be reviewable.
        base = before if entry.is_user_edited else entry.base
        if base is not None:
            origin = entry.origin or path
            self._before_unpublished.setdefault(origin, entry)
            writers = entry.writers | {session}
            self._put(Pending(origin, base, None, None, writers=writers))

    def record_agent_move(self, old: str, new: str, text: Text, session: int = 0) -> None:
        """Record a move of a file with this text to a path without a file.

        If edits of the new path are pending, the move is a deletion and a new file.
        """
        moved = self._sync(old, text) or Pending(old, text, text, text)
        if moved.origin != new:
            self._split_move(new)
        if new in self._files:
            self.record_agent_deletion(old, text, session)
            self._add_write(new, None, text, frozenset({session}), saved=True)
            return
        self.disk_entries.drop(old)
        self._files.pop(old, None)
        origin = None if moved.base is None else moved.origin or old
        self._put(
            msgspec.structs.replace(
                moved,
                path=new,
                origin=None if origin == new else origin,
                writers=moved.writers | {session},
            )
        )

    def join_move(
        self, old: str, new: str, text: Text, entry: Pending | None, session: int = 0
    ) -> bool:
        """Join a deleted file and a new one into a move.

        `entry` is the old path's earlier entry. Return False if the deletion or the creation is no
        longer pending, or if an agent has changed the new file since.
        """
        origin = entry.origin or old if entry else old
        deleted, created = self._files.get(origin), self._files.get(new)
        if deleted is None or deleted.live is not None or deleted.base is None:
            return False
        if created is None or created.base is not None or created.live is None:
            return False
        if created.written != text:
            return False
        del self._files[origin], self._files[new]
        if entry is not None:
            self._files[old] = entry
        self.record_agent_move(old, new, text, session)
        writers = self._files[new].writers | deleted.writers | created.writers
        self._files[new] = msgspec.structs.replace(self._files[new], writers=writers)
        if created.live != text:
            self.record_user_edit(new, created.live)
        return True

    def record_conflict(
        self, path: str, live: Text, on_disk: Sequence[DiskChange], session: int = 0
    ) -> None:
        """Record a conflict between the unsaved text and all changes of the file `on_disk`."""
        known = self.disk_entry(path)
        before, theirs = on_disk[0][1], on_disk[-1][2]
        entry = self._sync(path, live) or Pending(path, live, live, live)
        writers = entry.writers | {session}
        self._before_unpublished.setdefault(path, known or Pending(path, before, before, before))
        self.disk_entries.record_conflict(path, known, on_disk, writers)
        self._put(msgspec.structs.replace(entry, is_conflict=True, theirs=theirs, writers=writers))

    def resolve_conflict(self, path: str, text: Text) -> None:
        """End a conflict that the user has resolved with this text on both sides."""
        entry = self._sync(path, text)
        if entry is not None:
            self._put(
                msgspec.structs.replace(entry, is_conflict=False, theirs=None, is_overtaken=False)
            )

    def accept_committed(self, path: str, text: Text | None) -> None:
        """Accept the hunks contained in a commit with this text (None: without the file)."""
        if text is not None:
            self.disk_entries.accept_committed(path, text)
        entry = self.get(path)
        if entry is None:
            return
        if text is None or entry.live is None:
            if text == entry.live:
                del self._files[path]
            return
        if entry.base is None:
            remaining = msgspec.structs.replace(entry, base=text)
        else:
            remaining = entry.accepted(entry.hunks_in(text))
        format_change = "" if text == entry.live else entry.format_change
        remaining = msgspec.structs.replace(remaining, origin=None, format_change=format_change)
        self._replace_accepted(entry, remaining)

    def set_base(self, path: str, base: Text) -> None:
        """Replace the base with the user's text, which accepts the hunks that it contains."""
        entry = self.get(path)
        if entry is not None:
            remaining = msgspec.structs.replace(entry, base=base)
            self.disk_entries.accept(entry, entry.hunks_not_in(remaining))
            self._replace_accepted(entry, remaining)

    def reinstate(self, path: str, live: Text | None, entry: Pending | None) -> None:
        """Restore an entry, with the user's later edits to its text."""
        if entry is None:
            self.record_user_edit(path, live)
        elif entry.live == live:
            self._put(entry)
        elif live is None:
            self._files.pop(path, None)
        else:
            self._put(entry.edited(live))

    def restore(self, path: str, live: Text | None, entry: Pending | None) -> None:
        """Restore an entry, or the absence of one."""
        self.disk_entries.drop(path)
        if entry is not None:
            self.reinstate(path, live, entry)
            return
        self._files.pop(path, None)
        self._undo_entries.pop(path, None)

    # -- decisions --------------------------------------------------------------------------------

    def accept(self, path: str, hunk: Hunk | None = None) -> list[Restoration]:
        """Accept a hunk, or the whole file. Only a conflict needs a restoration.

        Raise KeyError if no such hunk is pending.
        """
        entry = self._files[path]
        if hunk is not None:
            self.accept_hunks(path, [_require(entry, hunk)])
            return []
        self.undo_history.forget_accepted(entry, None)
        self.disk_entries.accept(entry, entry.hunks, whole=True)
        self._drop(path, entry.live)
        return [Restoration(path, entry.live, entry.theirs)] if entry.is_conflict else []

    def accept_hunks(self, path: str, hunks: Sequence[Hunk]) -> None:
        """Accept these hunks of the file. Raise KeyError if nothing is pending there."""
        entry = self._files[path]
        self.disk_entries.accept(entry, hunks)
        self._replace_accepted(entry, entry.accepted(hunks))

    def reject(self, path: str, hunk: Hunk | None = None) -> list[Restoration]:
        """Reject a hunk, or the whole file. Raise KeyError if no such hunk is pending."""
        return self._reject([self._files[path]], hunk)

    def reject_files(self, paths: Sequence[str]) -> list[Restoration]:
        """Reject everything in these files as one reject. Raise KeyError if there is nothing."""
        return self._reject([self._files[path] for path in paths], None)

    def unreject_paths(self) -> list[str]:
        """Return the files whose current texts `unreject` needs."""
        latest = self._rejects[-1] if self._rejects else []
        return [step.path for reject in latest for step in reject.steps]

    def unreject(self, present: Mapping[str, Text | None]) -> list[Restoration]:
        """Undo the last reject. `present` contains the current texts of `unreject_paths`.

        Later changes by the user are merged. If that fails, the file is left alone, the
        restoration's note says so, and the file's reject can be undone later. Return an empty list
        if there is no reject.
        """
        if not self._rejects:
            return []
        steps: list[Restoration] = []
        refused: list[Reject] = []
        for reject in self._rejects.pop():
            restorations = self._undo_reject(reject, present)
            steps += restorations
            if any(step.note for step in restorations):
                refused.append(reject)
        if refused:
            self._rejects.append(refused)
        return steps

    # -- helpers ----------------------------------------------------------------------------------

    def _add_write(
        self,
        path: str,
        before: Text | None,
        after: Text,
        writers: frozenset[int],
        saved: bool,
        on_disk: tuple[Text, Text] | None = None,
    ) -> None:
        """Add a write to a file's pending edits and to its entry on disk."""
        known = self._sync(path, before)
        entry = known or Pending(path, before, before, before)
        self._before_unpublished.setdefault(path, self.disk_entries.before_write(entry, on_disk))
        if before is not None and saved:
            self.disk_entries.record_agent_write(known, path, before, after, writers, on_disk)
        elif before is not None:
            self.disk_entries.record_unsaved_write(known, path, before, after, writers)
        changed = msgspec.structs.replace(
            entry,
            live=after,
            written=None if entry.is_user_edited else after,
            writers=entry.writers | writers,
            is_conflict=False,
            theirs=None,
            is_overtaken=False,
        )
        self.undo_history.record_write(entry, changed)
        self._put(changed)

    def _replace_accepted(self, entry: Pending, remaining: Pending) -> None:
        """Replace an entry with the one without its accepted hunks."""
        self.undo_history.forget_accepted(entry, remaining)
        self._put(remaining)

    def _put(self, entry: Pending) -> None:
        self._undo_entries.pop(entry.path, None)
        if entry.is_settled:
            self._drop(entry.path, entry.live)
        else:
            self._files[entry.path] = entry

    def _drop(self, path: str, live: Text | None) -> None:
        """Remove a file's entry. Keep its text if an undo or a discard may need it."""
        self._files.pop(path, None)
        undoable = self.undo_history.paths() | set(self.disk_entries)
        if path in undoable and live is not None:
            self._undo_entries[path] = Pending(path, live, live, live)
        for forgotten in self._undo_entries.keys() - undoable:
            del self._undo_entries[forgotten]

    def _sync(self, path: str, live: Text | None) -> Pending | None:
        """Record unreported edits by the user, and return the entry."""
        entry = self.tracked_entry(path)
        if entry is not None and entry.live != live:
            self.record_user_edit(path, live)
        return self.get(path)

    def _split_move(self, path: str) -> None:
        """Split a move into a change and a new file, since another file now has the old path."""
        for entry in self.files():
            if entry.origin == path:
                self._put(msgspec.structs.replace(entry, base=None, origin=None))
                self._put(Pending(path, entry.base, None, None, writers=entry.writers))

    def _reject(self, entries: list[Pending], hunk: Hunk | None) -> list[Restoration]:
        """Reject a hunk or whole files as one reject. Return the texts to restore."""
        rejects: list[Reject] = []
        for entry in entries:
            if hunk is not None and entry.base is not None:
                rejected = entry.rejected([_require(entry, hunk)])
                steps = [Restoration(entry.path, entry.live, rejected.live)]
                if rejected.live is not None:
                    self.undo_history.add_if_reduced(entry, rejected.pending_lines)
                self._put(rejected)
            else:
                steps = entry.revert_steps()
                if entry.base is not None and entry.origin is None:
                    self.undo_history.add_if_reduced(entry, 0)
                self._drop(entry.path, entry.base if entry.origin is None else None)
            if self.get(entry.path) is None:
                self.disk_entries.undo_unsaved_writes(entry.path)
            rejects.append(Reject(entry, self.get(entry.path), steps))
        if rejects:
            self._rejects = [*self._rejects, rejects][-MAX_REJECTS:]
        return [step for reject in rejects for step in reject.steps]

    def _undo_reject(self, reject: Reject, present: Mapping[str, Text | None]) -> list[Restoration]:
        """Return the texts to restore. A file that has changed since is merged or left alone."""
        before, steps = reject.before, reject.steps
        others = [step.path for step in steps if step.path != before.path]
        is_unchanged = all(present[step.path] == step.after for step in steps)
        is_same_entry = self.get(before.path) == reject.after
        if is_unchanged and is_same_entry and not any(self.get(path) for path in others):
            self._put(before)
            return [Restoration(step.path, step.after, step.before) for step in reversed(steps)]
        if others:
            return [
                Restoration(
                    step.path,
                    present[step.path],
                    present[step.path],
                    note=wording.WHY_NOT_UNREJECTED,
                )
                for step in steps
            ]
        return [self._merge_back(step, present[step.path], before.writers) for step in steps]

    def _merge_back(
        self, step: Restoration, now: Text | None, writers: frozenset[int]
    ) -> Restoration:
        """Merge the rejected text into a file that has changed since."""
        if now is None or step.after is None or step.before is None:
            return Restoration(step.path, now, now, note=wording.WHY_NOT_UNREJECTED)
        result = merge(step.after, now, step.before)
        if isinstance(result, Conflict):
            return Restoration(
                step.path, now, now, note=f"{wording.WHY_NOT_UNREJECTED}: {result.reason}"
            )
        is_saved = step.path not in self.disk_entries
        self._add_write(step.path, now, result.text, writers, is_saved)
        return Restoration(step.path, now, result.text)


def _require(entry: Pending, hunk: Hunk) -> Hunk:
    """Return the hunk. Raise KeyError if the entry no longer has it."""
    if hunk not in entry.hunks:
        raise KeyError(entry.path)
    return hunk
