"""Work trees that are larger than the directories of their sessions.

The part outside of a session's directories is scanned in the background. A prompt waits only for
the first scan of a tree, and only briefly. A tree that has not changed since the last scan is not
scanned again.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

import anyio
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.files.bytes.disk import changed_at
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.changes.folder_watch import FolderWatch
from acp_nvim.files.changes.turns import Turn, Turns, roots_above
from acp_nvim.files.checkpoints.snapshots import FileChange, Snapshots
from acp_nvim.files.checkpoints.store import list_names
from acp_nvim.files.ports import View

ApplyChanges = Callable[[Sequence[FileChange]], Awaitable[None]]


class OuterTrees:
    """Detector of agents' changes outside of the directories of their sessions."""

    def __init__(self, turns: Turns, snapshots: Snapshots, view: View, apply: ApplyChanges) -> None:
        """`apply` processes changes that were made while a turn ran."""
        self._turns = turns
        self._snapshots = snapshots
        self._view = view
        self._apply = apply
        self._watch = FolderWatch(snapshots.folders)
        self._locks: dict[str, anyio.Lock] = {}
        self._known_since: dict[str, int] = {}
        """End of the first scan of each tree, in nanoseconds."""

    async def prepare(self, roots: Sequence[str]) -> None:
        """Scan the trees around these directories (real paths) for the first time.

        Agents' changes before the end of that scan cannot be reviewed.
        """
        for outer in roots_above(roots):
            await self._process(outer, is_first=True)

    def is_prepared(self, turn: Turn) -> bool:
        """Return whether `prepare` has nothing to do for a turn."""
        return all(
            root in self._known_since or self._snapshots.is_given_up(root) for root in turn.outer
        )

    async def scan(self, turn: Turn, *, is_over: bool) -> None:
        """Process the changes that running turns have made.

        With `is_over`, report the changes that cannot be reviewed in one line.
        """
        for outer in turn.outer:
            await self._process(outer)
            if is_over:
                await self._report(outer, turn)

    async def _process(self, outer: str, *, is_first: bool = False) -> None:
        """Scan a tree and process the changes.

        Only one scan of a tree runs at a time. Otherwise the last scan of a turn could end before
        an earlier scan has processed its changes, which would then be the user's.
        """
        async with self._locks.setdefault(outer, anyio.Lock(fast_acquire=True)):
            if is_first and outer in self._known_since:
                return
            changes = await self._changes(outer)
            # Turns in other trees may have begun earlier than any turn that this tree concerns.
            starts = [turn.began for turn in self._turns if outer in turn.outer]
            if changes and starts:
                began, roots = min(starts), self._turns.roots()
                # Earlier changes are the user's, and changes in `roots` are found by other scans.
                own = [
                    change
                    for change in changes
                    if not any(is_below(change.path, root) for root in roots)
                ]
                await self._apply(await to_thread.run_sync(_only_since, own, began))

    async def _changes(self, outer: str) -> Sequence[FileChange]:
        if self._watch.has_no_changes([outer]) or self._snapshots.is_given_up(outer):
            return ()
        if self._snapshots.has_trees([outer]):
            await self._watch.begin([outer])
        changes = await self._snapshots.scan_around(outer)
        if not self._snapshots.is_given_up(outer):
            self._known_since.setdefault(outer, time.time_ns())
        return changes

    async def _report(self, outer: str, turn: Turn) -> None:
        """Report a turn's changes in the tree `outer` that no scan can find.

        The tree is too large, or the changes are from before its first scan.
        """
        is_too_large = self._snapshots.is_too_large(outer)
        known_since = self._known_since.get(outer, 0)
        if not is_too_large and known_since <= turn.began:
            return
        paths = await self._snapshots.changed_since(outer, turn.began)
        if not is_too_large:
            paths = await to_thread.run_sync(_only_before, paths, known_since)
            saved = turn.user_saves.keys() | turn.early_saves
            paths = [path for path in paths if path not in saved]
        paths = [path for path in paths if not any(is_below(path, root) for root in turn.roots)]
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


def _only_before(paths: Sequence[str], end: int) -> list[str]:
    """Return the files that were last changed before a time in nanoseconds. This call blocks."""
    return [path for path in paths if changed_at(path) < end]
