"""Tasks of which none can end the host: what goes wrong in one is told, and the others go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from anyio.abc import TaskGroup


class Tasks:
    """A task group with a floor under it. Cancellation goes through, as everywhere."""

    def __init__(self, group: TaskGroup, failed: Callable[[str, Exception], None]) -> None:
        """`failed` hears of each task that raised: its name and the error."""
        self._group = group
        self._failed = failed

    def start_soon(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Run an async function in a task of its own."""
        self._group.start_soon(self._run, function, args)

    async def _run(self, function: Callable[..., Awaitable[Any]], args: tuple[Any, ...]) -> None:
        try:
            await function(*args)
        except Exception as error:
            self._failed(getattr(function, "__qualname__", repr(function)), error)
