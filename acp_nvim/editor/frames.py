"""Frames: what changed, told to Neovim in one call at a time.

The call is awaited before the next frame is sent; that is the back-pressure. A frame's size follows
the time that Neovim took for the last one, so that a key typed meanwhile is answered at once. What
streams is told each `GAP_S`, which is as often as one can read; what is urgent does not wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from acp_nvim.editor import garbage
from acp_nvim.editor.bridge import Bridge, NvimError

GAP_S, FLOOD_GAP_S, LEAST_GAP_S = 0.033, 0.016, 0.004
"""Seconds between the starts of two frames: while text trickles; after a frame that took Neovim
more than `FLOOD_S`; while text waits that did not fit.
"""
FLOOD_S = 0.001
SLACK_S = 0.008
"""How much longer a pause may last when no text ends it: each time a process wakes costs as much as
it then does.
"""
REST_S = 0.006
"""How much longer than a pause what comes may stay unread: less than `SLACK_S`, so that reading it
ends the pause.
"""
QUICK = 6
"""Frames after a rest that follow each other at the least gap: what begins is seen at once. The
next one is made and sent while Neovim applies the one before.
"""
HOLD_S = 0.0025
"""How long the first frame of a new session may wait for its prompt to be sent: Neovim is busy with
a new chat as long as an agent with a new session, and where all three of us work at once a prompt
waits for a processor instead.
"""
TARGET_US = 3000
"""Main-loop time of Neovim that a frame aims at."""
SMALLEST, LARGEST = 16_000, 400_000
"""Characters in a frame."""
FLOOD = 32_000
"""Characters that do not wait for the end of a pause."""


Op = list[Any]
Collect = Callable[[int], tuple[list[Op], bool]]
"""Budget in characters -> operations, and whether more waits."""


class Frames:
    """Collects and sends frames as long as there is something to tell; idle otherwise, without a
    timer.
    """

    def __init__(self, bridge: Bridge, collect: Collect, failed: Callable[[str], None]) -> None:
        """`collect` is asked for the next frame; `failed` hears what Neovim could not apply."""
        self._bridge = bridge
        self._collect = collect
        self._failed = failed
        self._wake = asyncio.Event()
        self._woken = False
        """As `_wake` is set: asked for each chunk of text, so it has to cost next to nothing."""
        self._due = asyncio.Event()
        self._urgent = self._flooded = False
        self._quick = QUICK
        self._free = asyncio.Event()
        self._free.set()
        self._held: asyncio.TimerHandle | None = None
        """While `_free` is not set: when it will be."""
        self._earliest = 0.0
        """When what waits may be told, by the loop's clock."""
        self._budget = 64_000
        self._unanswered: deque[asyncio.Future[Any]] = deque()
        """Neovim's answers to frames, those that nobody has waited for."""
        self._took = 0.0
        """Seconds that Neovim worked on the last frame it has answered."""
        self.sent = 0
        """Frames sent so far."""

    def pulse(self, waiting: int) -> float:
        """All that has come so far is applied, and so many characters of it wait: `FLOOD` of
        them ends a pause, and one that is as good as over is over. Returns the seconds until more
        is needed.
        """
        self._flooded = waiting >= FLOOD
        left = self._earliest - self._bridge.loop.time()
        if self._woken and (self._flooded or left <= 0):
            self._due.set()
        if self._flooded:
            return 0.0
        return REST_S + (left if left > 0 else GAP_S)

    def wake(self, urgent: bool = False) -> None:
        """Something changed; what is `urgent` ends the pause after the last frame."""
        if not self._woken:
            self._woken = True
            self._wake.set()
        if urgent:
            self._urgent = True
            self._due.set()

    def hold(self) -> None:
        """A prompt is about to be sent: what begins is told after it, `HOLD_S` later at most."""
        if self._free.is_set():
            self._free.clear()
            self._held = asyncio.get_running_loop().call_later(HOLD_S, self._free.set)

    def release(self) -> None:
        """It is sent, or will not be."""
        self._free.set()
        if self._held is not None:
            self._held.cancel()
            self._held = None

    async def run(self) -> None:
        """Send frames until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            rested = loop.time()
            if not self._woken:
                garbage.look()
            await self._wake.wait()
            if loop.time() - rested > GAP_S:
                self._quick = QUICK
                await asyncio.sleep(0)  # what else happens now is told with it
                await self._free.wait()
            self._wake.clear()
            self._woken = self._urgent = self._flooded = False
            started = loop.time()
            ops, more = self._next()
            if ops:
                await self._answered(but=1 if self._quick else 0)
                self._send(ops, more)
                if more or not self._quick:
                    await self._answered()
            if more:
                self.wake()
                gap = min(max(2 * self._took, LEAST_GAP_S), GAP_S)
                await asyncio.sleep(gap - (loop.time() - started))
            elif ops:
                await self._pause(started + self._gap())

    def _gap(self) -> float:
        if self._quick:
            self._quick -= 1
            return LEAST_GAP_S
        return FLOOD_GAP_S if self._took > FLOOD_S else GAP_S

    def _next(self) -> tuple[list[Op], bool]:
        """Return the next frame. One that cannot be made must not be the last one: it is told."""
        try:
            return self._collect(self._budget)
        except Exception as error:
            self._failed(f"frame: {type(error).__name__}: {error}")
            return [], False

    async def _pause(self, until: float) -> None:
        """Wait until that time of the loop and for the text that comes next, `SLACK_S` at most, or
        until something urgent comes.
        """
        loop = asyncio.get_running_loop()
        if self._urgent or (self._woken and (self._flooded or loop.time() >= until)):
            return
        self._due.clear()
        self._earliest = until
        timer = loop.call_at(until + SLACK_S, self._due.set)
        await self._due.wait()
        timer.cancel()

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
