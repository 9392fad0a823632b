"""Frames: changes of the screen, sent to Neovim in one call at a time.

Each call is awaited before the next frame is sent, which is the back-pressure. The size of a frame
depends on the time that Neovim took for the last one, so that Neovim stays responsive to keys.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from acp_nvim.nvim.bridge import Bridge, NvimError
from acp_nvim.nvim.pace import Pace

TARGET_US: Final = 3000
"""Microseconds of Neovim's main loop that a frame should take."""
SMALLEST, LARGEST = 16_000, 400_000
"""Characters in a frame."""


Op = list[Any]
Collect = Callable[[int], tuple[list[Op], bool]]
"""Function of a budget in characters that returns operations, and whether more are waiting."""


class Frames:
    """Loop that collects and sends frames. It has no timer while there is nothing to send."""

    def __init__(
        self,
        bridge: Bridge,
        pace: Pace,
        collect: Collect,
        drained: Callable[[], None],
        kept: Callable[[], Awaitable[None]],
        failed: Callable[[str], None],
    ) -> None:
        """`collect` returns the next frame, and `drained` is called after it (`Flow.drained`).

        `kept` is awaited before a frame is sent, until the journal contains what the frame shows.
        `failed` is called with each error of Neovim.
        """
        self._bridge = bridge
        self._pace = pace
        self._collect = collect
        self._drained = drained
        self._kept = kept
        self._failed = failed
        self._budget = 64_000
        self._unanswered: deque[asyncio.Future[Any]] = deque()
        """Responses to frames that have not been awaited."""
        self._took = 0.0
        """Seconds that Neovim took for the last frame."""
        self.sent = 0
        """Number of frames that Neovim has applied."""

    async def run(self) -> None:
        """Send frames until cancelled."""
        loop, pace = asyncio.get_running_loop(), self._pace
        while True:
            await pace.next_frame()
            started = loop.time()
            ops, more = self._next()
            if ops:
                await self._kept()
                await self._answered(but=1 if pace.quick else 0)
                self._send(ops, more)
                if more or not pace.quick:
                    await self._answered()
            if more:
                await pace.go_on(started, self._took)
            elif ops:
                await pace.pause(started, self._took)

    def _next(self) -> tuple[list[Op], bool]:
        """Return the next frame. Report an error in it, so that later frames are still sent."""
        try:
            frame = self._collect(self._budget)
        except Exception as error:
            self._failed(f"frame: {type(error).__name__}: {error}")
            return [], False
        self._drained()
        return frame

    def _send(self, ops: list[Op], full: bool) -> None:
        """Send a frame to Neovim. `full`: it left operations out for want of space."""
        answer = self._bridge.call("acp.frame", "apply", ops)
        self._unanswered.append(answer)
        answer.add_done_callback(partial(self._applied, full))

    async def _answered(self, but: int = 0) -> None:
        """Wait until Neovim has applied all frames except the last `but`."""
        while len(self._unanswered) > but:
            with suppress(NvimError):  # reported by `_applied`
                await self._unanswered.popleft()

    def _applied(self, full: bool, answer: asyncio.Future[Any]) -> None:
        """Report the errors in a response of Neovim, and adapt the size of frames to its time."""
        if answer.cancelled():
            return
        if (error := answer.exception()) is not None:
            self._took = 0.0
            self._failed(str(error))
            return
        self.sent += 1
        report = answer.result()
        for problem in report["errors"]:
            self._failed(problem)
        took = max(int(report["us"]), 1)
        self._took = took / 1e6
        self._adapt(took, full)

    def _adapt(self, took_us: int, full: bool) -> None:
        if took_us > TARGET_US:
            self._budget = max(SMALLEST, self._budget * TARGET_US // took_us)
        elif full and took_us < TARGET_US // 2:
            self._budget = min(LARGEST, self._budget * 3 // 2)
