"""Tasks whose errors do not end the host, and a bounded wait for a condition."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

POLL_S: Final = 0.005, 0.25
"""First and longest pause between two checks of a condition, in seconds."""


class Tasks:
    """Task group in which an error ends only the task that raised it.

    Cancellation propagates as usual.
    """

    def __init__(self, group: TaskGroup, on_error: Callable[[str, Exception], None]) -> None:
        """`on_error` is called with the name and the error of each task that raises."""
        self._group = group
        self._on_error = on_error

    def start_soon(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Run an async function in a new task."""
        self._group.start_soon(self._run, function, args)

    def start_later(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Create the task in the next iteration of the loop, to avoid delaying the caller."""
        asyncio.get_running_loop().call_soon(self._start_unless_over, function, args)

    def _start_unless_over(
        self, function: Callable[..., Awaitable[Any]], args: tuple[Any, ...]
    ) -> None:
        if not self._group.cancel_scope.cancel_called:
            self.start_soon(function, *args)

    @contextmanager
    def if_slow(self, seconds: float, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` once if the body takes longer than `seconds`. Do not interrupt it."""
        timer = asyncio.get_running_loop().call_later(seconds, self._run_guarded, callback)
        try:
            yield
        finally:
            timer.cancel()

    def _run_guarded(self, callback: Callable[[], None]) -> None:
        try:
            callback()
        except Exception as error:
            self._on_error(getattr(callback, "__qualname__", repr(callback)), error)

    async def _run(self, function: Callable[..., Awaitable[Any]], args: tuple[Any, ...]) -> None:
        try:
            await function(*args)
        except Exception as error:
            self._on_error(getattr(function, "__qualname__", repr(function)), error)


class Trigger:
    """Event that can be cleared."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        self._event.set()

    def clear(self) -> None:
        self._event = anyio.Event()

    async def wait(self) -> None:
        """Wait until the trigger is set. Return even if it has been cleared in the meantime."""
        await self._event.wait()


async def true_within(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll `condition` at growing intervals until it is true or `seconds` have passed.

    Return whether it was true.
    """
    pause, longest = POLL_S
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.sleep(pause)
            pause = min(2 * pause, longest)
        return True
    return condition()
