"""Back-pressure: agents are read no faster than frames take away what they say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from acp_nvim import wording
from acp_nvim.agent.serving.session_router import ReportLimit
from acp_nvim.agent.settings import Settings
from acp_nvim.nvim.pace import Pace
from acp_nvim.nvim.screen import Screen
from acp_nvim.render.text import size


class Flow:
    """Between the endpoints that bring text and the frames that take it away.

    Each endpoint awaits `room` before each read: while that waits nothing is read, and the agent's
    pipe fills. `Frames` calls `drained` whenever a frame has taken what waited. Nobody else slows
    an agent down.
    """

    def __init__(
        self, screen: Screen, pace: Pace, settings: Callable[[], Settings], report: ReportLimit
    ) -> None:
        """`screen` knows how much waits; `report` hears, once a turn, that reading stands."""
        self._screen = screen
        self._pace = pace
        self._settings = settings
        self._report = report
        self._drained = asyncio.Event()
        self._reported = False

    async def room(self) -> float:
        """Wait while more than `limits.pending_bytes` wait to be drawn. Returns the seconds for
        which the screen needs nothing more.
        """
        waiting, limit = self._screen.undrawn, self._settings().limits.pending_bytes
        lull = self._pace.pulse(waiting)
        if waiting > limit:
            self._stand(limit)
            while self._screen.undrawn > limit:
                self._pace.wake()
                await self._drained.wait()
        elif self._reported and not self._screen.turn_runs:
            self._reported = False
        return lull

    def drained(self) -> None:
        """A frame has taken what waited, or a part of it."""
        self._drained.set()
        self._drained = asyncio.Event()

    def _stand(self, limit: int) -> None:
        if not self._reported:
            self._reported = True
            text = wording.PENDING_LIMIT.format(limit=size(limit))
            # Of no session: a line in its chat would tear the text that streams there.
            self._report("pending_bytes", text, None)
