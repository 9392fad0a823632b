"""Work trees that are larger than the directories of their sessions.

The part outside of a session's directories is scanned in the background: no prompt waits for it. A
tree that has not changed since the last scan is not scanned again.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from anyio import to_thread

from acp_nvim import wording
from acp_nvim.files.bytes.disk import changed_at
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.changes.folder_watch import FolderWatch
from acp_nvim.files.changes.turns import Turn, Turns, roots_above
from acp_nvim.files.checkpoints.snapshots import FileChange, Snapshots
from acp_nvim.files.checkpoints.store import list_names
from acp_nvim.files.ports import View

TakeUp = Callable[[Sequence[FileChange]], Awaitable[None]]


class OuterTrees:
    """Detection of changes that agents make outside of the directories of their sessions."""

    def __init__(self, turns: Turns, snapshots: Snapshots, view: View, take_up: TakeUp) -> None:
        """``take_up`` processes changes that were made while a turn ran."""
        self._turns = turns
        self._snapshots = snapshots
        self._view = view
        self._take_up = take_up
        self._watch = FolderWatch(snapshots.folders)

    async def prepare(self, roots: Sequence[str]) -> None:
        """Scan the trees around these directories (real paths) before the first turn."""
        for outer in roots_above(roots):
            await self._changes(outer, roots)

    async def scan(self, turn: Turn, *, is_over: bool) -> None:
        """Process the changes since a turn began.

        With ``is_over``, changes in a tree that is too large to scan are reported in one line.
        """
        for outer in turn.outer:
            changes = await self._changes(outer, turn.roots)
            began = turn.began
            if turn.over.is_set():  # earlier changes are the user's, and not a later turn's
                began = min((it.began for it in self._turns), default=time.time_ns())
            recent = await to_thread.run_sync(_only_since, changes, began)
            if recent:
                await self._take_up(recent)
            if is_over and self._snapshots.is_too_large(outer):
                await self._report(outer, turn)

    async def _changes(self, outer: str, roots: Sequence[str]) -> list[FileChange]:
        if self._watch.has_no_changes([outer]) or self._snapshots.is_given_up(outer):
            return []
        if self._snapshots.has_trees([outer]):
            await self._watch.begin([outer])
        found = await self._snapshots.scan_around(outer)
        return [it for it in found if not any(is_below(it.path, root) for root in roots)]

    async def _report(self, outer: str, turn: Turn) -> None:
        found = await self._snapshots.changed_since(outer, turn.began)
        paths = [path for path in found if not any(is_below(path, root) for root in turn.roots)]
        if paths:
            cwd = turn.session.cwd
            message = wording.CHANGED_OUTSIDE.format(folder=cwd, files=list_names(paths, cwd))
            self._view.warn(turn.session, message)

    def close(self) -> None:
        """Stop watching."""
        self._watch.close()


def _only_since(changes: Sequence[FileChange], began: int) -> list[FileChange]:
    """Return the changes made after a time in nanoseconds. This call blocks."""
    return [change for change in changes if changed_at(change.path) >= began]
