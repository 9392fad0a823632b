"""When the next frame is due.

Streaming text is shown each `GAP_S`, which is as often as one can read; urgent changes do not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from acp_nvim.nvim import garbage

GAP_S, FLOOD_GAP_S, LEAST_GAP_S = 0.033, 0.016, 0.004
"""Seconds between the starts of two frames: while text trickles; after a frame that took Neovim
more than `FLOOD_S`; while text waits that did not fit.
"""
FLOOD_S: Final = 0.001
SLACK_S: Final = 0.008
"""How much longer a pause may last when no text ends it: each time a process wakes costs as much as
it then does.
"""
REST_S: Final = 0.006
"""How much longer than a pause messages may stay unread: less than `SLACK_S`, so that reading them
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
FLOOD: Final = 32_000
"""Characters that do not wait for the end of a pause."""


class Pace:
    """Decides when frames go.

    `wake` is called by whoever has something to tell; `pulse` by `Flow`, before each read from an
    agent; `hold` and `release` by the host, around the sending of a prompt. `Frames` awaits
    `next_frame`, then `pause` or `go_on`.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` is that of the loop, in seconds."""
        self._clock = clock
        self._wake = asyncio.Event()
        self._woken = False
        """As `_wake` is set: asked for each chunk of text, so it has to cost next to nothing."""
        self._due = asyncio.Event()
        self.hurried = False
        """Something urgent is to be told already: no wake changes anything."""
        self._flooded = False
        self._quick = QUICK
        self._free = asyncio.Event()
        self._free.set()
        self._held: asyncio.TimerHandle | None = None
        """While `_free` is not set: when it will be."""
        self._earliest = 0.0
        """When what waits may be told."""

    def wake(self, urgent: bool = False) -> None:
        """Something changed; an `urgent` change ends the pause after the last frame."""
        if not self._woken:
            self._woken = True
            self._wake.set()
        if urgent:
            self.hurried = True
            self._due.set()

    def pulse(self, waiting: int) -> float:
        """All messages so far are applied, and so many characters wait: `FLOOD` of them end a
        pause, and any number ends one whose gap is over. Returns the seconds until more is needed.
        """
        self._flooded = waiting >= FLOOD
        left = self._earliest - self._clock()
        if self._woken and (self._flooded or left <= 0):
            self._due.set()
        if self._flooded:
            return 0.0
        return REST_S + (left if left > 0 else GAP_S)

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

    # -- for `Frames` -----------------------------------------------------------------------------

    @property
    def quick(self) -> bool:
        """Whether the next frame may go while Neovim applies the one before."""
        return self._quick > 0

    async def next_frame(self) -> None:
        """Wait until something is to be told. What wakes from now on is for the frame after."""
        rested = self._clock()
        if not self._woken:
            garbage.look()
        await self._wake.wait()
        if self._clock() - rested > GAP_S:
            self._quick = QUICK
            await asyncio.sleep(0)  # what else happens now is told with it
            await self._free.wait()
        self._wake.clear()
        self._woken = self.hurried = self._flooded = False

    async def go_on(self, started: float, took: float) -> None:
        """Wait a moment after a frame that did not hold all: it started then, and Neovim worked for
        `took` seconds on one.
        """
        self.wake()
        gap = min(max(2 * took, LEAST_GAP_S), GAP_S)
        await asyncio.sleep(gap - (self._clock() - started))

    async def pause(self, started: float, took: float) -> None:
        """Wait after a frame that held all: until the gap is over and text comes, `SLACK_S` longer
        at most, or until something urgent comes.
        """
        until = started + self._gap(took)
        if self.hurried or (self._woken and (self._flooded or self._clock() >= until)):
            return
        self._due.clear()
        self._earliest = until
        timer = asyncio.get_running_loop().call_at(until + SLACK_S, self._due.set)
        await self._due.wait()
        timer.cancel()

    def _gap(self, took: float) -> float:
        if self._quick:
            self._quick -= 1
            return LEAST_GAP_S
        return FLOOD_GAP_S if took > FLOOD_S else GAP_S
