"""Screen updates after changes to pending edits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from acp_nvim import wording
from acp_nvim.edits.ledger import Ledger
from acp_nvim.files.buffers.tracked_file import AgentChanged, TrackedFiles
from acp_nvim.files.changes.git_tree import GitTrees
from acp_nvim.files.ports import AgentSession, View
from acp_nvim.tasks import Trigger


class AgentEdit(NamedTuple):
    """Arguments of `View.report_edit`."""

    session: AgentSession
    path: str
    kind: str
    source: str
    conflict: bool


class PendingView:
    """Files whose hunks have to be shown again, and agents' changes to report after them."""

    def __init__(
        self,
        ledger: Ledger,
        tracked: TrackedFiles,
        trees: GitTrees,
        view: View,
        sessions: Callable[[], Iterable[AgentSession]],
        journal_due: Trigger,
    ) -> None:
        self._ledger = ledger
        self._tracked = tracked
        self._trees = trees
        self._view = view
        self._sessions = sessions
        self._journal_due = journal_due
        self._changed = set[str]()
        """Files to show with the next `flush`."""
        self._gathering = set[asyncio.Task[Any] | None]()
        """Tasks within `together`, whose changes are shown later."""
        self._announced: list[AgentEdit] = []
        """Changes by agents that have not been reported yet."""
        self._pending: list[str] = []
        """Pending files as last shown."""
        self._parked = set[str]()
        """Files whose edits were parked and that have not been reported yet."""

    @contextmanager
    def together(self) -> Iterator[None]:
        """Within the context, delay the display of this task's changes, then show all at once.

        A moved file therefore never appears twice.
        """
        task = asyncio.current_task()
        self._gathering.add(task)
        try:
            yield
        finally:
            self._gathering.discard(task)
            self.flush()

    def announce(
        self, session: AgentSession, path: str, kind: str, source: str, conflict: bool = False
    ) -> None:
        """Show the hunks of an agent's change, and report it as an event."""
        self._tracked[path].apply(AgentChanged())
        self._trees.record_mark(path)
        self._announced.append(AgentEdit(session, path, kind, source, conflict))
        self.refresh(path)

    def on_parked(self, path: str) -> None:
        """Report the parked edits of a file with the next `flush`."""
        self._parked.add(path)

    def refresh(self, *paths: str) -> None:
        """Show the hunks of these files with the next frame."""
        self._changed.update(paths)
        if asyncio.current_task() not in self._gathering:
            self.flush()

    def refresh_later(self, path: str) -> None:
        """Show the hunks of a file with the next `flush`."""
        self._changed.add(path)

    def flush(self) -> None:
        """Show all changed files, and the lists of pending files.

        The event of an agent's change is sent after its hunks.
        """
        changed, self._changed = self._changed, set()
        announced, self._announced = self._announced, []
        for path in sorted(changed):
            self.show(path)
        if changed:
            self._journal_due.set()
            if self._parked:
                self._report_parked()
            pending = [entry.path for entry in self._ledger.files()]
            if pending != self._pending:
                self._pending = pending
                self._view.pending(pending)
            for session in self._sessions():
                self._view.summary(session, self._ledger.files(session.n))
        for edit in announced:
            self._view.report_edit(*edit)

    def show(self, path: str) -> None:
        """Show the hunks of a file now."""
        entry = self._ledger.get(path)
        buffer = self._tracked.buffer(path).text
        is_current = entry is not None and buffer is not None and buffer.text == entry.live
        self._view.hunks(path, entry, buffer.tick if buffer is not None and is_current else None)

    def _report_parked(self) -> None:
        paths = sorted(path for path in self._parked if path in self._ledger.parked)
        self._parked.clear()
        if paths:
            branch = self._ledger.parked.get(paths[0])[-1].branch if len(paths) == 1 else ""
            files = Path(paths[0]).name if len(paths) == 1 else f"{len(paths)} files"
            where = wording.PART_BRANCH.format(branch=branch) if branch else ""
            self._view.echo(wording.PARKED.format(files=files, where=where))
