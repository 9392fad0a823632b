"""Back-pressure: read from agents no faster than frames can draw their text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from acp_nvim import wording
from acp_nvim.agent.serving.session_router import ReportLimit
from acp_nvim.agent.settings import Settings
from acp_nvim.nvim.pace import Pace
from acp_nvim.nvim.screen import Screen
from acp_nvim.render.text import format_size


class Flow:
    """Limit on the text that is received but not yet drawn.

    Each endpoint awaits `room` before each read. While it waits, the agent's pipe fills. `Frames`
    calls `on_frame` after each frame. Nothing else slows an agent down.
    """

    def __init__(
        self, screen: Screen, pace: Pace, settings: Callable[[], Settings], report: ReportLimit
    ) -> None:
        """`report` is called at most once per turn, when reading stops."""
        self._screen = screen
        self._pace = pace
        self._settings = settings
        self._report = report
        self._drained = asyncio.Event()
        self._has_reported = False

    async def room(self) -> float:
        """Wait while more than `limits.pending_bytes` of text are not yet drawn.

        Return the seconds until the screen needs more text.
        """
        waiting, limit = self._screen.undrawn, self._settings().limits.pending_bytes
        lull = self._pace.pulse(waiting)
        if waiting > limit:
            self._report_limit(limit)
            while self._screen.undrawn > limit:
                self._pace.wake()
                await self._drained.wait()
        elif self._has_reported and not self._screen.turn_runs:
            self._has_reported = False
        return lull

    def on_frame(self) -> None:
        """Resume reading if a frame has drawn enough text."""
        self._drained.set()
        self._drained = asyncio.Event()

    def _report_limit(self, limit: int) -> None:
        if not self._has_reported:
            self._has_reported = True
            text = wording.PENDING_LIMIT.format(limit=format_size(limit))
            # Without a session, because a line in a chat would split the text that is streamed
            # there.
            self._report("pending_bytes", text, None)
