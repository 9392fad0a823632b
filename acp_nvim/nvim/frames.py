"""Frames: what changed, told to Neovim in one call at a time.

The call is awaited before the next frame is sent; that is the back-pressure. A frame's size follows
the time that Neovim took for the last one, so that a key typed meanwhile is answered at once.
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
"""Main-loop time of Neovim that a frame aims at."""
SMALLEST, LARGEST = 16_000, 400_000
"""Characters in a frame."""


Op = list[Any]
Collect = Callable[[int], tuple[list[Op], bool]]
"""Budget in characters -> operations, and whether more waits."""


class Frames:
    """Collects and sends frames as long as there is something to tell; idle otherwise, without a
    timer.
    """

    def __init__(
        self,
        bridge: Bridge,
        pace: Pace,
        collect: Collect,
        drained: Callable[[], None],
        kept: Callable[[], Awaitable[None]],
        failed: Callable[[str], None],
    ) -> None:
        """`collect` is asked for the next frame, and `drained` is called when it has taken what
        waited (`Flow.drained`); `kept` waits a moment until what it tells is on disk, where that
        has to be; `failed` hears what Neovim could not apply.
        """
        self._bridge = bridge
        self._pace = pace
        self._collect = collect
        self._drained = drained
        self._kept = kept
        self._failed = failed
        self._budget = 64_000
        self._unanswered: deque[asyncio.Future[Any]] = deque()
        """Neovim's answers to frames, those that nobody has waited for."""
        self._took = 0.0
        """Seconds that Neovim worked on the last frame it has answered."""
        self.sent = 0
        """Frames sent so far."""

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
        """Return the next frame. One that cannot be made must not be the last one: it is told."""
        try:
            frame = self._collect(self._budget)
        except Exception as error:
            self._failed(f"frame: {type(error).__name__}: {error}")
            return [], False
        self._drained()
        return frame

    def _send(self, ops: list[Op], full: bool) -> None:
        """Have Neovim apply a frame; `full`: more of it would not fit."""
        answer = self._bridge.call("acp.frame", "apply", ops)
        self._unanswered.append(answer)
        answer.add_done_callback(partial(self._applied, full))

    async def _answered(self, but: int = 0) -> None:
        """Neovim is done with all frames that were sent, the last ones left out."""
        while len(self._unanswered) > but:
            with suppress(NvimError):  # told by `_applied`
                await self._unanswered.popleft()

    def _applied(self, full: bool, answer: asyncio.Future[Any]) -> None:
        """What Neovim says of a frame."""
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
