"""Turns that an agent begins by itself. Changes on disk are attributed to it as in other turns."""

from __future__ import annotations

import anyio

from acp_nvim.files.workspace import Workspace
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks


class OwnTurns:
    """Turns that agents began by themselves, at most one for each session."""

    def __init__(self, tasks: Tasks, workspace: Workspace[Session]) -> None:
        self._tasks = tasks
        self._workspace = workspace
        self._over: dict[int, anyio.Event] = {}
        """Events that end the turns, by number of the session."""

    def on_own_turn(self, session: Session) -> None:
        """Begin or end a turn after a change of its session."""
        if not session.own_turn:
            over = self._over.pop(session.n, None)
            if over is not None:
                over.set()
        elif session.n not in self._over and session.shares_files:
            over = self._over[session.n] = anyio.Event()
            self._tasks.start_soon(self._follow, session, over)

    async def _follow(self, session: Session, over: anyio.Event) -> None:
        await self._workspace.begin_turn(session, None, "")
        await over.wait()
        await self._workspace.end_turn(session, own=True)
