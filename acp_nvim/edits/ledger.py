"""Ledger of a workspace's pending edits: the agents' changes that the user has not decided.

It is updated with every change of a file (by real path), and has a base and a live text for each
file with pending edits. It touches no file: decisions return `Restoration`s for buffer and disk. If
one of them fails, `reinstated` restores the ledger's state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from acp_nvim import wording
from acp_nvim.edits.carry import carried, returned, together
from acp_nvim.edits.merge import Conflict, merge
from acp_nvim.edits.pending import (
    FileEdits,
    Parked,
    Pending,
    Reject,
    Restoration,
)
from acp_nvim.edits.stored_edits import StoredEdits
from acp_nvim.edits.undo_history import UndoHistory

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from acp_nvim.edits.hunks import Hunk
    from acp_nvim.edits.text import Text

MAX_REJECTS = 20
"""Limit of rejects that can be undone, one after the other."""
MAX_PARKED = 20
"""Limit of parked edits of one file; the oldest are dropped."""


class Ledger:
    """Pending edits by path, in the order in which the files were first written."""

    def __init__(self) -> None:
        self._files: dict[str, Pending] = {}
        self._rejects: list[list[Reject]] = []
        self._undo_history = UndoHistory()
        self._settled: dict[str, Pending] = {}
        """Files of the undo history without pending edits."""
        self._parked: dict[str, tuple[Parked, ...]] = {}
        self.on_disk = StoredEdits()
        """Entries of files whose buffers have unsaved changes."""
        self._untold: dict[str, Pending] = {}
        """Entries from before agents' writes that no other process has."""

    def get(self, path: str) -> Pending | None:
        """Return the file's entry; None if nothing is pending."""
        return self._files.get(path)

    def files(self, session: int | None = None) -> list[Pending]:
        """Return all entries, or those that a session wrote to."""
        found = self._files.values()
        return [entry for entry in found if session is None or session in entry.writers]

    # Exchange with other processes

    def pictures(self) -> dict[str, FileEdits]:
        """Return the state of all files; its values are shared and never changed."""
        history: dict[str, list[Pending]] = {}
        for before in self._undo_history.before:
            history.setdefault(before.path, []).append(before)
        known = (*self._files, *self._settled, *history, *self._parked, *self.on_disk)
        paths = dict.fromkeys(known)
        return {
            path: FileEdits(
                self.file_entry(path),
                self._settled.get(path),
                tuple(history.get(path, ())),
                self._parked.get(path, ()),
            )
            for path in paths
        }

    def picture(self, path: str) -> FileEdits:
        """Return the state of one file."""
        history = tuple(it for it in self._undo_history.before if it.path == path)
        parked = self._parked.get(path, ())
        return FileEdits(self.file_entry(path), self._settled.get(path), history, parked)

    def file_entry(self, path: str) -> Pending | None:
        """Return the entry of the file on disk, which is the one for other processes."""
        return self.on_disk.get(path) if path in self.on_disk else self._files.get(path)

    def take_file(self, path: str, edits: FileEdits) -> None:
        """Replace the state of a file by that of another process."""
        self.on_disk.drop(path)
        if edits.entry is None:
            self._files.pop(path, None)
        else:
            self._files[path] = edits.entry
        self._settled.pop(path, None)
        if edits.settled is not None and edits.entry is None:
            self._settled[path] = edits.settled
        self._undo_history.take_file(path, edits.history)
        self._untold.pop(path, None)
        self._parked.pop(path, None)
        if edits.parked:
            self._parked[path] = edits.parked

    def untold(self, path: str) -> Pending | None:
        """Return the entry from before agents' writes that no other process has; None if none."""
        return self._untold.get(path)

    @property
    def has_untold(self) -> bool:
        """Return whether there are such writes."""
        return bool(self._untold)

    def told(self, path: str, entry: Pending | None) -> None:
        """Record that other processes have this entry of the file."""
        if self.file_entry(path) is entry:
            self._untold.pop(path, None)
        elif entry is not None and path in self._untold:
            self._untold[path] = entry

    @property
    def rejects(self) -> Sequence[list[Reject]]:
        """Return the rejects that can be undone, the latest last."""
        return self._rejects

    def take_rejects(self, rejects: Sequence[list[Reject]]) -> None:
        self._rejects = list(rejects)[-MAX_REJECTS:]

    # Unsaved buffers

    def part(self, path: str) -> None:
        """Store the entry as that of the file on disk, since its buffer gets unsaved changes."""
        entry = self._files.get(path)
        if entry is not None and not entry.conflict and path not in self.on_disk:
            self.on_disk.put(path, entry)

    def give_up(self, path: str) -> None:
        """Restore the entry of the file on disk, since the buffer's changes were discarded."""
        if path in self.on_disk:
            entry = self.on_disk.get(path)
            self.on_disk.drop(path)
            self._files.pop(path, None)
            if entry is not None:
                self._put(entry)

    def keep(self, path: str, entry: Pending) -> None:
        """Keep edits that another process has rejected in the file for the unsaved buffer here."""
        self.on_disk.put(path, None)
        self._put(entry)

    # Parked edits

    def parked(self, path: str | None = None) -> dict[str, tuple[Parked, ...]]:
        """Return the parked edits of a file, or of all files, by path."""
        if path is None:
            return dict(self._parked)
        return {path: self._parked[path]} if path in self._parked else {}

    def drop_parked(self, paths: Collection[str]) -> None:
        self._parked = {path: it for path, it in self._parked.items() if path not in paths}

    def tree_changed(
        self, path: str, now: Text | None, *, replaced: bool, branch: str, time: float
    ) -> bool:
        """Process a text that git or another program gave the file (None: deleted).

        Edits that it lacks are parked under the ``branch``. Parked ones that it contains are
        pending again. ``replaced``: the change was made by git. Returns whether any edits were
        parked.
        """
        entry, is_parked = self._files.get(path), False
        if entry is not None and not entry.conflict:
            found = carried(entry, now, replaced)
            self._files.pop(path)
            if found.entry is not None:
                self._put(found.entry)
            if found.lost is not None:
                is_parked = True
                kept = (*self._parked.get(path, ()), Parked(found.lost, branch, time))
                self._parked[path] = kept[-MAX_PARKED:]
        else:
            self.user_edited(path, now)
        self.come_back(path, now)
        return is_parked

    def come_back(self, path: str, now: Text | None) -> None:
        """Make parked edits pending again that this text of the file contains."""
        left: list[Parked] = []
        for parked in self._parked.pop(path, ()):
            back, rest = returned(parked.entry, now)
            entry = self._files.get(path)
            if back is not None:
                self._put(back if entry is None else together(back, entry))
            if rest is not None:
                left.append(msgspec.structs.replace(parked, entry=rest))
        if left:
            self._parked[path] = tuple(left)

    # Changes of files

    def agent_wrote(self, path: str, before: Text | None, after: Text, session: int = 0) -> None:
        """Enter an agent's change of ``before`` (the live text, None: no file) to ``after``."""
        if before is None:
            self._free(path)
        self._wrote(path, before, after, frozenset({session}))

    def named(self, path: str, named: bool) -> None:
        """Record whether the agent has named the file that it changed."""
        entry, stored = self._files.get(path), self.on_disk.get(path)
        if entry is not None and entry.named != named:
            self._files[path] = msgspec.structs.replace(entry, named=named)
        if stored is not None and stored.named != named:
            self.on_disk.put(path, msgspec.structs.replace(stored, named=named))

    def stored(self, path: str, before: Text, after: Text, session: int = 0) -> None:
        """Record an agent's write to disk while the buffer has unsaved edits.

        If the user discards those, the agent's edit is pending.
        """
        self._undo_history.add(Pending(path, before, after, after, writers=frozenset({session})))

    def followed(self, path: str) -> Pending | None:
        """Return the entry of a file whose user edits matter.

        That is one with pending hunks, or one that an undo may make pending again.
        """
        return self._files.get(path) or self._settled.get(path)

    def user_edited(self, path: str, after: Text | None) -> None:
        """Enter a change of the live text by the user; None: a deletion, which decides the edits.

        An undo that restores the agent's lines makes them pending again.
        """
        entry = self.followed(path)
        if after is None:
            self.on_disk.drop(path)
        if entry is None:
            return
        if after is None:
            self._files.pop(path, None)
            self._settled.pop(path, None)
            return
        if after == entry.live:
            return  # does not end the run of the user's changes either
        back = self._undo_history.brought_back(path, after)
        edited = entry.edited(after, back=back.hunks if back else ())
        if back is not None:
            if self._undo_history.only_typed_since(entry, back):
                edited = edited.nearer(back.base)
            edited = msgspec.structs.replace(edited, writers=edited.writers | back.writers)
        if edited.conflict and edited.theirs == after:
            edited = msgspec.structs.replace(edited, conflict=False, theirs=None, overtaken=False)
        self._undo_history.typed(entry, edited)
        self._put(edited)
        if edited.settled:
            self.on_disk.undone(path)
        self._undo_history.led_to(path, self.followed(path))

    def formatted(self, path: str, before: Text, after: Text) -> None:
        """Enter a formatter's change of ``before`` to ``after``.

        Changes that touch the agent's hunks count as the agent's.
        """
        entry = self._synced(path, before)
        if entry is None or before == after:
            return
        written = after if entry.written == before else entry.written
        self._put(msgspec.structs.replace(entry.edited(after, formatter=True), written=written))

    def agent_deleted(self, path: str, before: Text, session: int = 0) -> None:
        """Enter a deletion by the agent of the file, which had this text."""
        entry = self._synced(path, before) or Pending(path, before, before, before)
        self.on_disk.drop(path)
        self._files.pop(path, None)
        # The deletion of a new file that the user has edited must be reviewable.
        base = before if entry.touched else entry.base
        if base is not None:
            home = entry.origin or path
            self._untold.setdefault(home, entry)
            writers = entry.writers | {session}
            self._put(Pending(home, base, None, None, writers=writers))

    def agent_renamed(
        self, old: str, new: str, text: Text, session: int = 0, replaced: Text | None = None
    ) -> None:
        """Enter a move of a file with this text; ``replaced`` was the text at the new path."""
        moved = self._synced(old, text) or Pending(old, text, text, text)
        if moved.origin != new:
            self._free(new)
        if replaced is not None or new in self._files:
            self.agent_deleted(old, text, session)
            self._wrote(new, replaced, text, frozenset({session}))
            return
        self.on_disk.drop(old)
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

    def joined(self, old: str, new: str, text: Text, was: Pending | None, session: int = 0) -> bool:
        """Join a deleted file and a new one into a move.

        ``was`` is the earlier entry of the old path. Returns False if the two are no longer pending
        as such, or if nothing of the old file is.
        """
        home = was.origin or old if was else old
        gone, came = self._files.get(home), self._files.get(new)
        if gone is None or gone.live is not None or gone.base is None:
            return False
        if came is None or came.base is not None or came.live is None:
            return False
        del self._files[home], self._files[new]
        if was is not None:
            self._files[old] = was
        self.agent_renamed(old, new, text, session)
        writers = self._files[new].writers | gone.writers | came.writers
        self._files[new] = msgspec.structs.replace(self._files[new], writers=writers)
        if came.live != text:
            self.user_edited(new, came.live)
        return True

    def conflicted(self, path: str, live: Text, theirs: Text | None, session: int = 0) -> None:
        """Enter a conflict of the agent's text (None: deleted) with the unsaved one."""
        entry = self._synced(path, live) or Pending(path, live, live, live)
        writers = entry.writers | {session}
        self.on_disk.drop(path)
        self._put(msgspec.structs.replace(entry, conflict=True, theirs=theirs, writers=writers))

    def resolved(self, path: str, text: Text) -> None:
        """End a conflict that the user has resolved with this text on both sides."""
        entry = self._synced(path, text)
        if entry is not None:
            self._put(msgspec.structs.replace(entry, conflict=False, theirs=None, overtaken=False))

    def committed(self, path: str, text: Text | None) -> None:
        """Accept the hunks contained in a commit with this text (None: without the file)."""
        if text is not None:
            self.on_disk.committed(path, text)
        entry = self.get(path)
        if entry is None:
            return
        if text is None or entry.live is None:
            if text == entry.live:
                del self._files[path]
            return
        if entry.base is None:
            left = msgspec.structs.replace(entry, base=text)
        else:
            left = entry.accepted(entry.contained_in(text))
        relaid = "" if text == entry.live else entry.relaid
        self._accepted(entry, msgspec.structs.replace(left, origin=None, relaid=relaid))

    def rebased(self, path: str, base: Text) -> None:
        """Accept the hunks that equal this base, which the user has written."""
        entry = self.get(path)
        if entry is not None:
            self._accepted(entry, msgspec.structs.replace(entry, base=base))

    def reinstated(self, path: str, live: Text | None, entry: Pending | None) -> None:
        """Restore an entry, with the user's later edits of its text."""
        if entry is None:
            self.user_edited(path, live)
        elif entry.live == live:
            self._put(entry)
        elif live is None:
            self._files.pop(path, None)
        else:
            self._put(entry.edited(live))

    def restored(self, path: str, live: Text | None, entry: Pending | None) -> None:
        """Restore an entry, or the absence of one."""
        self.on_disk.drop(path)
        if entry is not None:
            self.reinstated(path, live, entry)
            return
        self._files.pop(path, None)
        self._settled.pop(path, None)

    # Decisions

    def accept(self, path: str, hunk: Hunk | None = None) -> list[Restoration]:
        """Accept a hunk, or the whole file. Only a conflict needs a restoration.

        Raises KeyError if no such hunk is pending.
        """
        entry = self._files[path]
        if hunk is not None:
            self.accept_hunks(path, [_known(entry, hunk)])
            return []
        self._undo_history.accepted(entry, None)
        self.on_disk.accepted(entry, entry.hunks, whole=True)
        self._drop(path, entry.live)
        return [Restoration(path, entry.live, entry.theirs)] if entry.conflict else []

    def accept_hunks(self, path: str, hunks: Sequence[Hunk]) -> None:
        """Accept these hunks of the file. Raises KeyError if nothing is pending there."""
        entry = self._files[path]
        self.on_disk.accepted(entry, hunks)
        self._accepted(entry, entry.accepted(hunks))

    def reject(self, path: str, hunk: Hunk | None = None) -> list[Restoration]:
        """Reject a hunk, or the whole file. Raises KeyError if no such hunk is pending."""
        return self._reject([self._files[path]], hunk)

    def reject_files(self, paths: Sequence[str]) -> list[Restoration]:
        """Reject everything in these files as one reject. Raises KeyError if there is nothing."""
        return self._reject([self._files[path] for path in paths], None)

    def unreject_paths(self) -> list[str]:
        """Return the files whose present texts `unreject` needs."""
        last = self._rejects[-1] if self._rejects else []
        return [step.path for rejection in last for step in rejection.steps]

    def unreject(self, present: Mapping[str, Text | None]) -> list[Restoration]:
        """Undo the last reject. ``present`` has the live texts of `unreject_paths`.

        Later changes of the user are merged. If that fails, the file is left alone, the
        restoration's note says so, and the file's reject can be undone later. Returns nothing if
        there is no reject.
        """
        if not self._rejects:
            return []
        steps: list[Restoration] = []
        refused: list[Reject] = []
        for rejection in self._rejects.pop():
            back = self._take_back(rejection, present)
            steps += back
            if any(step.note for step in back):
                refused.append(rejection)
        if refused:
            self._rejects.append(refused)
        return steps

    # Helpers

    def _wrote(self, path: str, before: Text | None, after: Text, writers: frozenset[int]) -> None:
        entry = self._synced(path, before) or Pending(path, before, before, before)
        self._untold.setdefault(path, entry)
        if before is not None:
            self.on_disk.wrote(path, before, after, writers)
        wrote = msgspec.structs.replace(
            entry,
            live=after,
            written=None if entry.touched else after,
            writers=entry.writers | writers,
            conflict=False,
            theirs=None,
            overtaken=False,
        )
        self._undo_history.note(entry, wrote.weight)
        self._put(wrote)

    def _accepted(self, entry: Pending, left: Pending) -> None:
        self._undo_history.accepted(entry, left)
        self._put(left)

    def _put(self, entry: Pending) -> None:
        self._settled.pop(entry.path, None)
        if entry.settled:
            self._drop(entry.path, entry.live)
        else:
            self._files[entry.path] = entry

    def _drop(self, path: str, live: Text | None) -> None:
        """Remove a file's entry, unless an undo may make it pending again."""
        self._files.pop(path, None)
        known = self._undo_history.paths()
        if path in known and live is not None:
            self._settled[path] = Pending(path, live, live, live)
        for gone in self._settled.keys() - known:
            del self._settled[gone]

    def _synced(self, path: str, live: Text | None) -> Pending | None:
        """Return the entry after user edits that were not reported."""
        entry = self.followed(path)
        if entry is not None and entry.live != live:
            self.user_edited(path, live)
        return self.get(path)

    def _free(self, path: str) -> None:
        """Split a rename into an edit and a new file, since another file now has the old path."""
        for entry in self.files():
            if entry.origin == path:
                self._put(msgspec.structs.replace(entry, base=None, origin=None))
                self._put(Pending(path, entry.base, None, None, writers=entry.writers))

    def _reject(self, entries: list[Pending], hunk: Hunk | None) -> list[Restoration]:
        done: list[Reject] = []
        for entry in entries:
            if hunk is not None and entry.base is not None:
                rejected = entry.rejected([_known(entry, hunk)])
                steps = [Restoration(entry.path, entry.live, rejected.live)]
                if rejected.live is not None:
                    self._undo_history.note(entry, rejected.weight)
                self._put(rejected)
            else:
                steps = entry.undone()
                if entry.base is not None and entry.origin is None:
                    self._undo_history.note(entry, 0)
                self._drop(entry.path, entry.base if entry.origin is None else None)
            done.append(Reject(entry, self.get(entry.path), steps))
        if done:
            self._rejects = [*self._rejects, done][-MAX_REJECTS:]
        return [step for rejection in done for step in rejection.steps]

    def _take_back(
        self, rejection: Reject, present: Mapping[str, Text | None]
    ) -> list[Restoration]:
        before, steps = rejection.before, rejection.steps
        others = [step.path for step in steps if step.path != before.path]
        unchanged = all(present[step.path] == step.after for step in steps)
        same_entry = self.get(before.path) == rejection.after
        if unchanged and same_entry and not any(self.get(path) for path in others):
            self._put(before)
            return [Restoration(step.path, step.after, step.before) for step in reversed(steps)]
        if others:
            return [
                Restoration(step.path, present[step.path], present[step.path], note=_CHANGED)
                for step in steps
            ]
        return [self._merge_back(step, present[step.path], before.writers) for step in steps]

    def _merge_back(
        self, step: Restoration, now: Text | None, writers: frozenset[int]
    ) -> Restoration:
        """Merge the rejected text into a file that has changed since."""
        if now is None or step.after is None or step.before is None:
            return Restoration(step.path, now, now, note=_CHANGED)
        result = merge(step.after, now, step.before)
        if isinstance(result, Conflict):
            return Restoration(step.path, now, now, note=f"{_CHANGED}: {result.reason}")
        self._wrote(step.path, now, result.text, writers)
        return Restoration(step.path, now, result.text)


_CHANGED = wording.WHY_NOT_UNREJECTED


def _known(entry: Pending, hunk: Hunk) -> Hunk:
    """Return the hunk. Raises KeyError if the text has changed under it."""
    if hunk not in entry.hunks:
        raise KeyError(entry.path)
    return hunk
