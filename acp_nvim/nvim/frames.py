"""Frames: changes to the screen, sent to Neovim in one call at a time.

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
from acp_nvim.render.batch import Op

TARGET_US: Final = 3000
"""Microseconds of Neovim's main loop that a frame should take."""
MIN_CHARACTERS, MAX_CHARACTERS = 16_000, 400_000
"""Characters in a frame."""
MANY_LINES: Final = 100
"""Minimum number of lines in a text that bypasses Lua."""


Collect = Callable[[int], tuple[list[Op], bool]]
"""Function that takes a budget in characters and returns operations, and whether it has more."""


class Frames:
    """Loop that collects and sends frames. It has no timer while there is nothing to send."""

    def __init__(
        self,
        bridge: Bridge,
        pace: Pace,
        collect: Collect,
        on_collected: Callable[[], None],
        on_error: Callable[[str], None],
    ) -> None:
        """`collect` returns the next frame. `on_collected` is called after each (`Flow.on_frame`).

        `on_error` is called with each error from Neovim.
        """
        self._bridge = bridge
        self._pace = pace
        self._collect = collect
        self._on_collected = on_collected
        self._on_error = on_error
        self._budget = 64_000
        self._unanswered: deque[asyncio.Future[Any]] = deque()
        """Responses to frames that have not been awaited."""
        self._last_seconds = 0.0
        """Seconds that Neovim took for the last frame."""
        self.sent = 0
        """Number of frames that Neovim has applied."""

    async def run(self, wait_saved: Callable[[], Awaitable[None]]) -> None:
        """Send frames until cancelled.

        `wait_saved` is awaited before each frame. It waits until the journal contains the edits
        that the frame shows.
        """
        loop, pace = asyncio.get_running_loop(), self._pace
        while True:
            await pace.next_frame()
            started = loop.time()
            ops, more = self._next_frame()
            if ops:
                await wait_saved()
                await self._wait_applied(but_last=1 if pace.is_quick else 0)
                self._send(ops, more)
                if more or not pace.is_quick:
                    await self._wait_applied()
            if more:
                await pace.pause_within(started, self._last_seconds)
            elif ops:
                await pace.pause(started, self._last_seconds)

    def _next_frame(self) -> tuple[list[Op], bool]:
        """Return the next frame. On an error, report it and return an empty frame."""
        try:
            frame = self._collect(self._budget)
        except Exception as error:
            self._on_error(f"frame: {type(error).__name__}: {error}")
            return [], False
        self._on_collected()
        return frame

    def _send(self, ops: list[Op], full: bool) -> None:
        """Send a frame to Neovim. `full` is true if more operations did not fit into it."""
        if long_text := next((op for op in ops if _has_many_lines(op)), None):
            self._bridge.notify("nvim_set_var", "acp_lines", _split_off_lines(long_text))
        answer = self._bridge.call("acp.frame", "apply", ops)
        self._unanswered.append(answer)
        answer.add_done_callback(partial(self._on_applied, full))

    async def _wait_applied(self, but_last: int = 0) -> None:
        """Wait until Neovim has applied all frames except the last `but_last` ones."""
        while len(self._unanswered) > but_last:
            with suppress(NvimError):  # reported by `_on_applied`
                await self._unanswered.popleft()

    def _on_applied(self, full: bool, answer: asyncio.Future[Any]) -> None:
        """Report the errors in a response from Neovim, and adapt the size of frames to its time."""
        if answer.cancelled():
            return
        if (error := answer.exception()) is not None:
            self._last_seconds = 0.0
            self._on_error(str(error))
            return
        self.sent += 1
        report = answer.result()
        for problem in report["errors"]:
            self._on_error(problem)
        duration_us = max(int(report["us"]), 1)
        self._last_seconds = duration_us / 1e6
        self._adapt(duration_us, full)

    def _adapt(self, took_us: int, full: bool) -> None:
        if took_us > TARGET_US:
            self._budget = max(MIN_CHARACTERS, self._budget * TARGET_US // took_us)
        elif full and took_us < TARGET_US // 2:
            self._budget = min(MAX_CHARACTERS, self._budget * 3 // 2)


def _has_many_lines(op: Op) -> bool:
    return op[0] == "text" and len(op[3]) > MANY_LINES


def _split_off_lines(op: Op) -> list[str]:
    """Reduce the lines of an operation `text` to the first one, and return the others.

    Neovim inserts the others from a variable. Lua would take twice as long, because it makes a
    string of each line and collects it later.
    """
    lines: list[str] = op[3]
    op[3], others = lines[:1], lines[1:]
    size = len if "".join(others).isascii() else _byte_length
    op.append([len(others), max(map(size, others)), size(others[-1])])
    return others


def _byte_length(line: str) -> int:
    return len(line.encode("utf-8", "surrogateescape"))
