"""That a list of tools is another one, for those who wait to hear it."""

from __future__ import annotations

import anyio


class ListChanges:
    """How often a list has changed. Several changes between two looks are one piece of news."""

    def __init__(self) -> None:
        """It is as it was at first."""
        self.count = 0
        self.over = False
        """Whether the list is gone: there is no further news."""
        self.waiting = 0
        """Those who wait."""
        self._news = anyio.Event()

    def tell(self) -> None:
        """The list has changed."""
        self.count += 1
        self._wake()

    def close(self) -> None:
        """The list is gone."""
        self.over = True
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def after(self, seen: int) -> bool:
        """Wait until it has changed more often than ``seen``. False: the list is gone."""
        self.waiting += 1
        try:
            while self.count <= seen and not self.over:
                await self._news.wait()
        finally:
            self.waiting -= 1
        return not self.over
