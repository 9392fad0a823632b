"""Counter of changes to a tool list. Tasks can wait for the next change."""

from __future__ import annotations

import anyio


class ListChanges:
    """Number of changes to a list. Several changes between two waits wake a task only once."""

    def __init__(self) -> None:
        self.count = 0
        self.is_closed = False
        """Whether the list has ended and no change follows."""
        self.waiting = 0
        """Number of waiting tasks."""
        self._next_change = anyio.Event()

    def count_change(self) -> None:
        """Count a change and wake the waiting tasks."""
        self.count += 1
        self._wake()

    def close(self) -> None:
        """Mark the end of the list."""
        self.is_closed = True
        self._wake()

    def _wake(self) -> None:
        event, self._next_change = self._next_change, anyio.Event()
        event.set()

    async def after(self, seen: int) -> bool:
        """Wait until there are more than `seen` changes. Return False if the list has ended."""
        self.waiting += 1
        try:
            while self.count <= seen and not self.is_closed:
                await self._next_change.wait()
        finally:
            self.waiting -= 1
        return not self.is_closed
