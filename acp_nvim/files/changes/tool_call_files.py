"""Scans of files when tool calls end. The files that they name are scanned first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import anyio
from anyio import to_thread

from acp_nvim.files.changes.disk_changes import DiskChanges
from acp_nvim.files.changes.turn_start import read_contents
from acp_nvim.files.changes.turns import Turn
from acp_nvim.files.checkpoints.snapshots import Snapshots
from acp_nvim.files.ports import AgentSession, ToolCall
from acp_nvim.tasks import Tasks

SCAN_DELAY_S: Final = 0.01
"""Delay of the scan after a tool call, so that it can cover several calls, in seconds."""
PAUSE_RATIO: Final = 4.0
"""Ratio of the pause after a scan of the whole tree to the duration of the scan."""

Diff = tuple[str, str | None, str]
"""A path, the text before (None for no file), and the text after, from a tool call."""


class ToolCallFiles:
    """Handler of tool calls that may change files, in wire order. Its methods do not wait."""

    def __init__(self, disk: DiskChanges, snapshots: Snapshots, tasks: Tasks) -> None:
        self._disk = disk
        self._snapshots = snapshots
        self._tasks = tasks

    def turn(self, session: AgentSession) -> Turn | None:
        """Return the running turn of a session, if any. Without a turn, calls are not reported."""
        return self._disk.turns.get(session)

    def on_unnamed(self, turn: Turn, calls: Iterable[ToolCall]) -> None:
        """Handle an update of tool calls that name no file."""
        if turn.on_tool_calls(calls):
            self._on_end(turn)

    def on_named(
        self, turn: Turn, call: ToolCall, paths: Sequence[str], diffs: Sequence[Diff]
    ) -> None:
        """Handle an update of a tool call that names these files (real paths).

        `diffs` are the diffs of a finished call.
        """
        turn.on_tool_calls((call,), paths)
        if call.is_finished:
            if paths:
                turn.scan.paths.update(paths)
                turn.scan.diffs += diffs
                turn.scan.ended.set()
            self._on_end(turn)
        elif paths:
            self._tasks.start_soon(self._read_named, turn, paths)

    def on_read(
        self, turn: Turn, call: ToolCall, paths: Iterable[str], *, is_completed: bool
    ) -> None:
        """Handle an update of a tool call that reads these files without the editor.

        The agent then knows their texts at the time of the call's announcement.
        """
        seen = turn.reads.setdefault(call, {})
        for path in paths:
            if path in turn.user_saves:
                seen.setdefault(path, self._disk.on_disk(path))
        if is_completed:
            turn.user_saves.update(turn.reads.pop(call))

    def _on_end(self, turn: Turn) -> None:
        turn.scan.is_due = True
        if not turn.scan.is_running:
            turn.scan.is_running = True
            self._tasks.start_soon(self._scan_after_calls, turn)

    async def _read_named(self, turn: Turn, paths: Sequence[str]) -> None:
        if not turn.ready.is_set():
            await to_thread.run_sync(read_contents, turn.early_contents, paths)
        await self._snapshots.add_named(turn.roots, paths)

    async def _scan_after_calls(self, turn: Turn) -> None:
        """Scan until no tool call has ended during a scan. One task runs per turn."""
        try:
            while turn.scan.is_due and self._disk.turns.get(turn.session) is turn:
                await anyio.sleep(SCAN_DELAY_S)
                turn.scan.is_due, turn.scan.ended = False, anyio.Event()
                await self._disk.scan_named(turn)
                started = anyio.current_time()
                await self._disk.scan(turn.roots)
                with anyio.move_on_after(PAUSE_RATIO * (anyio.current_time() - started)):
                    await turn.scan.ended.wait()
        finally:
            turn.scan.is_running = False
