"""Tool calls of sessions whose turn runs: which files they name, and when to look at these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import anyio
from anyio import to_thread

from acp_nvim.session.named_files import READING, diffs, named
from acp_nvim.session.session import Session
from acp_nvim.session.tool_calls import ToolCall
from acp_nvim.tasks import Tasks
from acp_nvim.workspace.disk_changes import DiskEdits
from acp_nvim.workspace.file_changes import keep
from acp_nvim.workspace.snapshots.snapshots import Snapshots
from acp_nvim.workspace.turns import Turn

SOON_S: Final = 0.01
"""How long more tool calls may end before the look after the first of them."""
SHARE: Final = 4.0
"""A look at the whole tree is followed by a pause of so many times its length."""


class Calling:
    """Hears of each tool call, in wire order; nothing here waits but its tasks."""

    def __init__(self, disk: DiskEdits, snapshots: Snapshots, tasks: Tasks) -> None:
        self._disk = disk
        self._snapshots = snapshots
        self._tasks = tasks

    def plain_calls(self, session: Session, calls: Iterable[ToolCall]) -> None:
        """Tool calls that name no file were announced or changed."""
        turn = self._disk.turns.get(session)
        if turn is not None and turn.heard([call for call in calls if call.kind not in READING]):
            self._ended(turn)

    def tool_call(self, session: Session, call: ToolCall) -> None:
        """A tool call was announced or changed."""
        turn = self._disk.turns.get(session)
        if turn is None or call.kind in READING:
            return
        state = (call.status, call.locations, call.content, call.raw_input)
        if turn.seen.get(call) == state:
            return
        turn.seen[call] = state
        paths = named(call, session.cwd)
        turn.heard((call,), paths)
        if call.finished:
            if paths:
                turn.named.update(paths)
                turn.diffs += diffs(call, session.cwd)
                turn.ended.set()
            self._ended(turn)
        elif paths:
            self._tasks.start_soon(self._note, turn, paths)

    def _ended(self, turn: Turn) -> None:
        turn.again = True
        if not turn.looking:
            turn.looking = True
            self._tasks.start_soon(self._after_calls, turn)

    async def _note(self, turn: Turn, paths: Sequence[str]) -> None:
        if not turn.ready.is_set():
            await to_thread.run_sync(keep, turn.early, paths)
        await self._snapshots.note(turn.roots, paths)

    async def _after_calls(self, turn: Turn) -> None:
        """Look until no tool call has ended meanwhile; one task for each turn."""
        try:
            while turn.again and self._disk.turns.get(turn.session) is turn:
                await anyio.sleep(SOON_S)
                turn.again, turn.ended = False, anyio.Event()
                await self._disk.look_at_named(turn)
                started = anyio.current_time()
                await self._disk.look(turn.roots)
                with anyio.move_on_after(SHARE * (anyio.current_time() - started)):
                    await turn.ended.wait()
        finally:
            turn.looking = False
