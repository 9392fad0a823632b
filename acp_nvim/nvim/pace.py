"""Timing of frames.

Streaming text is drawn every `GAP_S`, which is as fast as anyone can read. Urgent changes do not
wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from acp_nvim import memory

GAP_S, FLOOD_GAP_S, LEAST_GAP_S = 0.033, 0.016, 0.004
"""Seconds between the starts of two frames.

In order: for a slow stream, after a frame that took Neovim more than `FLOOD_S`, and while there is
text that did not fit into the last frame.
"""
FLOOD_S: Final = 0.001
SLACK_S: Final = 0.008
"""Seconds by which a pause may be extended while no text arrives.

Waking a process costs as much as the work that it then does.
"""
REST_S: Final = 0.006
"""Seconds after a pause for which messages may stay unread.

It is less than `SLACK_S`, so that the read ends the pause.
"""
QUICK_FRAMES = 6
"""Number of frames after an idle time that follow at the shortest gap.

They show the start of a turn at once. Each is sent while Neovim is still applying the one before.
"""
HOLD_S = 0.0025
"""Seconds for which the first frame of a new session may wait until its prompt is sent.

A frame with a new chat keeps Neovim busy for as long as a new session keeps the agent busy. If both
worked at once, they and the host would compete for the processor.
"""
FLOOD: Final = 32_000
"""Number of waiting characters that end a pause."""


class Pace:
    """Schedule of frames.

    Each change calls `wake`. `Flow` calls `pulse` before each read from an agent. The host calls
    `hold` before it sends a prompt and `release` afterwards. `Frames` awaits `next_frame`, then
    `pause` or `pause_within`.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` is the time of the loop, in seconds."""
        self._clock = clock
        self._wake = asyncio.Event()
        self._is_woken = False
        """Whether `_wake` is set. A plain attribute, because every chunk of text reads it."""
        self._due = asyncio.Event()
        self.is_urgent = False
        """Whether an urgent change is already waiting. Another `wake` has no effect then."""
        self._is_flooded = False
        self._quick = QUICK_FRAMES
        self._free = asyncio.Event()
        self._free.set()
        self._held: asyncio.TimerHandle | None = None
        """Timer that sets `_free`, or None while `_free` is set."""
        self._earliest = 0.0
        """Time of the loop before which only urgent frames are sent."""

    def wake(self, urgent: bool = False) -> None:
        """Request a frame. An `urgent` one ends the pause after the last frame."""
        if not self._is_woken:
            self._is_woken = True
            self._wake.set()
        if urgent:
            self.is_urgent = True
            self._due.set()

    def pulse(self, waiting: int) -> float:
        """End the pause if its gap is over or `FLOOD` characters are waiting.

        Return the seconds until the screen needs more text. `waiting` is the number of characters
        that are not yet drawn.
        """
        self._is_flooded = waiting >= FLOOD
        left = self._earliest - self._clock()
        if self._is_woken and (self._is_flooded or left <= 0):
            self._due.set()
        if self._is_flooded:
            return 0.0
        return REST_S + (left if left > 0 else GAP_S)

    def hold(self) -> None:
        """Delay the first frame until a prompt is sent, but at most for `HOLD_S`."""
        if self._free.is_set():
            self._free.clear()
            self._held = asyncio.get_running_loop().call_later(HOLD_S, self._free.set)

    def release(self) -> None:
        """End the delay, because the prompt was sent or will not be sent."""
        self._free.set()
        if self._held is not None:
            self._held.cancel()
            self._held = None

    # -- for `Frames` -----------------------------------------------------------------------------

    @property
    def is_quick(self) -> bool:
        """Return whether to send the next frame while Neovim is still applying the one before."""
        return self._quick > 0

    async def next_frame(self) -> None:
        """Wait for a change, after collecting garbage if there is none yet.

        Later calls to `wake` request the frame after this one.
        """
        began = self._clock()
        if not self._is_woken:
            memory.collect_garbage()
        await self._wake.wait()
        if self._clock() - began > GAP_S:
            self._quick = QUICK_FRAMES
            await asyncio.sleep(0)  # changes made at the same moment go into one frame
            await self._free.wait()
        self._wake.clear()
        self._is_woken = self.is_urgent = self._is_flooded = False

    async def pause_within(self, started: float, took: float) -> None:
        """Request another frame, and wait after one that did not contain all changes.

        `started` is the time when the frame began. `took` is the seconds that Neovim needed for a
        frame.
        """
        self.wake()
        gap = min(max(2 * took, LEAST_GAP_S), GAP_S)
        await asyncio.sleep(gap - (self._clock() - started))

    async def pause(self, started: float, took: float) -> None:
        """Wait after a frame that contained all changes.

        The pause ends with the first text after the gap, `SLACK_S` after the gap without text, or
        with an urgent change.
        """
        until = started + self._gap(took)
        if self.is_urgent or (self._is_woken and (self._is_flooded or self._clock() >= until)):
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
