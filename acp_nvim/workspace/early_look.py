"""Prompts that wait until their session is open: the files are looked at meanwhile, so that none
has to wait for that as well.
"""

from __future__ import annotations

from typing import Final

import anyio

from acp_nvim.tasks import Tasks
from acp_nvim.workspace.disk_changes import DiskChanges
from acp_nvim.workspace.ports import AgentSession

ANNOUNCED_S: Final = 1.0
"""How long a prompt waits for a Neovim that does not answer: it has to tell of the user's saves."""
FRESH_S: Final = 0.05
"""For so long nobody else is taken to have changed a file that was looked at."""


class _Look:
    """One look at the files of a session."""

    def __init__(self) -> None:
        self.seen = False
        """It is done, just now."""
        self.done = anyio.Event()
        """It is done, or failed."""
        self.taken = anyio.Event()
        """The turn has begun."""


class EarlyLooks:
    """The looks that are under way, by our number of the session."""

    def __init__(self, disk: DiskChanges, tasks: Tasks) -> None:
        self._disk = disk
        self._tasks = tasks
        self._looks: dict[int, _Look] = {}

    def expect(self, session: AgentSession) -> None:
        """A prompt waits for this session."""
        if session.n not in self._looks:
            look = self._looks[session.n] = _Look()
            self._tasks.start_soon(self._look, session, look)

    def take(self, session: AgentSession) -> bool:
        """The turn has begun; tells whether the files have been looked at just before."""
        look = self._looks.get(session.n)
        if look is None:
            return False
        look.taken.set()
        return look.seen

    async def wait(self, session: AgentSession) -> bool:
        """The same, after a look that is still under way."""
        look = self._looks.get(session.n)
        if look is None:
            return False
        await look.done.wait()
        return look.seen

    async def _look(self, session: AgentSession, look: _Look) -> None:
        turns = self._disk.turns
        turns.expect(session)
        try:
            with anyio.move_on_after(ANNOUNCED_S) as patience:
                await turns.announce()
            if not patience.cancelled_caught:
                await self._disk.look_before(session)
                look.seen = True
                look.done.set()
                with anyio.move_on_after(FRESH_S):
                    await look.taken.wait()
        finally:
            look.done.set()
            del self._looks[session.n]
            turns.give_up(session)
        await turns.announce()
