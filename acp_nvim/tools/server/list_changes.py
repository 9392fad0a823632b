"""Counter of the changes of a tool list, with a wait for the next change."""

from __future__ import annotations

import anyio


class ListChanges:
    """Number of changes of a list. Several changes between two waits count as one event."""

    def __init__(self) -> None:
        self.count = 0
        self.over = False
        """Whether the list has ended and no change follows."""
        self.waiting = 0
        """Number of waiting tasks."""
        self._news = anyio.Event()

    def count_change(self) -> None:
        """Count a change and wake the waiting tasks."""
        self.count += 1
        self._wake()

    def close(self) -> None:
        """Mark the end of the list."""
        self.over = True
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def after(self, seen: int) -> bool:
        """Wait for more than ``seen`` changes. Return False at the end of the list."""
        self.waiting += 1
        try:
            while self.count <= seen and not self.over:
                await self._news.wait()
        finally:
            self.waiting -= 1
        return not self.over
