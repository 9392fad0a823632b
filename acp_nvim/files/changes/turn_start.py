"""Scan of the files before a prompt.

It hardly delays the prompt, since it runs while the session opens or continues after the prompt is
sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import anyio
import msgspec

from acp_nvim.files.buffers.tracked_file import FileState, TrackedFiles
from acp_nvim.files.bytes.disk import bytes_of
from acp_nvim.files.changes.turns import Turn, Turns
from acp_nvim.files.checkpoints.snapshots import FileChange
from acp_nvim.files.ports import AgentSession
from acp_nvim.tasks import Tasks

ANNOUNCED_S: Final = 1.0
"""Maximum time that a prompt waits for an unresponsive editor, in seconds.

The editor first has to report the user's saves.
"""
FRESH_S: Final = 0.05
"""Maximum age of a fresh scan, in seconds."""


# -- scan while the session opens -----------------------------------------------------------------


class _Scan:
    """One scan of the files of a session."""

    def __init__(self) -> None:
        self.is_fresh = False
        """Whether the scan has succeeded within the last `FRESH_S`."""
        self.done = anyio.Event()
        """Set when the scan is done, or has failed."""
        self.used = anyio.Event()
        """Set when the turn has begun."""


class EarlyScans:
    """Scans of files while the session of a prompt opens, by session number."""

    def __init__(
        self, turns: Turns, scan: Callable[[AgentSession], Awaitable[None]], tasks: Tasks
    ) -> None:
        self._turns = turns
        self._scan = scan
        self._tasks = tasks
        self._scans: dict[int, _Scan] = {}

    def start(self, session: AgentSession) -> None:
        """Start the scan for a prompt that waits for this session."""
        if session.n not in self._scans:
            scan = self._scans[session.n] = _Scan()
            self._tasks.start_soon(self._run, session, scan)

    async def wait_all(self) -> None:
        """Wait for the running scans."""
        for scan in list(self._scans.values()):
            await scan.done.wait()

    def use(self, session: AgentSession) -> bool:
        """Mark the turn as begun. Return whether its scan is fresh."""
        scan = self._scans.get(session.n)
        if scan is None:
            return False
        scan.used.set()
        return scan.is_fresh

    async def wait(self, session: AgentSession) -> bool:
        """Wait for a running scan. Return whether it succeeded."""
        scan = self._scans.get(session.n)
        if scan is None:
            return False
        await scan.done.wait()
        return scan.is_fresh

    async def _run(self, session: AgentSession, scan: _Scan) -> None:
        self._turns.expect(session)
        try:
            with anyio.move_on_after(ANNOUNCED_S) as patience:
                await self._turns.announce()
            if not patience.cancelled_caught:
                await self._scan(session)
                scan.is_fresh = True
                scan.done.set()
                with anyio.move_on_after(FRESH_S):
                    await scan.used.wait()
        finally:
            scan.done.set()
            del self._scans[session.n]
            self._turns.withdraw(session)
        await self._turns.announce()


# -- scan that continues after the prompt is sent -------------------------------------------------


class TurnStart:
    """Prompt whose scan is not done."""

    def __init__(self, turn: Turn, files: Mapping[str, FileState], sent: int | None) -> None:
        self.turn = turn
        self.sent = sent
        """Time at which the agent received the prompt, in nanoseconds."""
        self.changes: list[FileChange] = []
        """The agent's changes since then. No stored tree has the earlier contents of the files."""
        self._files = files

    def on_sent(self, at: int, *, is_scanned: bool) -> None:
        """Record the time at which the prompt was sent, and whether the scan is done already."""
        self.sent = at
        self.turn.on_sent(at, is_scanned=is_scanned)

    def add(self, changes: Iterable[FileChange]) -> None:
        """Add changes by the agent, with the known earlier contents of the files."""
        self.changes.extend(changes)

    def on_change(self, change: FileChange, at: int) -> None:
        """Add a change by the agent since the last scan.

        A change from before this prompt belongs to the previous prompt.
        """
        if self.sent is None or at < self.sent:
            return
        known = self._files.get(change.path)
        if known is not None:
            change = msgspec.structs.replace(change, before=known.disk_bytes())
        self.changes.append(change)


class TurnStarts:
    """Prompts whose scan is not done, with the files at the start of each.

    The stored trees are older than the user's saves and decisions since the previous scan.
    """

    def __init__(self, files: TrackedFiles) -> None:
        self._files = files
        self._open: list[TurnStart] = []

    def add(self, turn: Turn, sent: int | None = None) -> TurnStart:
        """Add a prompt and return it.

        `sent` is the time at which the agent got the prompt, if that has happened already.
        """
        start = TurnStart(turn, self._files.known(), sent)
        self._open.append(start)
        return start

    def remove(self, start: TurnStart) -> None:
        """Remove a prompt whose scan is done or abandoned."""
        self._open = [other for other in self._open if other is not start]

    def on_change(self, turn: Turn, change: FileChange, at: int) -> None:
        """Record a change by the agent of a turn at a time in nanoseconds."""
        for start in self._open:
            if start.turn is turn:
                start.on_change(change, at)


def read_contents(contents: dict[str, bytes | None], paths: Sequence[str]) -> None:
    """Read files that are not in `contents` yet.

    Unreadable ones are left out. This call blocks.
    """
    for path in paths:
        if path not in contents:
            with suppress(OSError):
                contents[path] = bytes_of(path)


def differing(contents: Mapping[str, bytes | None]) -> list[FileChange]:
    """Return the files that differ from these contents. This call blocks."""
    changes: list[FileChange] = []
    for path, data in contents.items():
        with suppress(OSError):
            now = bytes_of(path)
            if now != data:
                changes.append(FileChange(path, data, now))
    return changes
