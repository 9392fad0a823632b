"""Turns that agents begin by themselves.

Changes on disk during such a turn are attributed to the agent.
"""

from __future__ import annotations

import anyio

from acp_nvim.files.workspace import Workspace
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks


class OwnTurns:
    """Running turns of this kind, at most one for each session."""

    def __init__(self, tasks: Tasks, workspace: Workspace[Session]) -> None:
        self._tasks = tasks
        self._workspace = workspace
        self._ended: dict[int, anyio.Event] = {}
        """Events that end the turns, by session number."""

    def on_own_turn(self, session: Session) -> None:
        """Begin or end a turn after a change of its session."""
        if not session.own_turn:
            ended = self._ended.pop(session.n, None)
            if ended is not None:
                ended.set()
        elif session.n not in self._ended and session.shares_files:
            ended = self._ended[session.n] = anyio.Event()
            self._tasks.start_soon(self._follow, session, ended)

    async def _follow(self, session: Session, ended: anyio.Event) -> None:
        await self._workspace.begin_turn(session, None, "")
        await ended.wait()
        await self._workspace.end_turn(session, own=True)
