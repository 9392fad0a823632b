"""Updates for session ids that are not known yet, kept until they are known: some agents send
updates before they answer `session/new`.
"""

from __future__ import annotations

from typing import Any, Final

UPDATES: Final = 1000
"""Updates that are kept for one id."""
BYTES: Final = 16 << 20
"""Kept in all; beyond that, the ids that came first are forgotten."""


class PendingUpdates:
    """Updates by session id, in the order in which they came."""

    def __init__(self) -> None:
        """Start with none."""
        self._kept: dict[str, list[tuple[Any, int]]] = {}
        self._size = 0

    def __len__(self) -> int:
        """Return the number of ids with updates."""
        return len(self._kept)

    def add(self, session_id: str, update: Any, size: int) -> None:
        """Keep an update that came as `size` bytes."""
        waiting = self._kept.setdefault(session_id, [])
        if len(waiting) >= UPDATES:
            return
        waiting.append((update, size))
        self._size += size
        while self._size > BYTES and self._kept:
            self.take(next(iter(self._kept)))

    def get(self, session_id: str) -> list[Any]:
        """Return the updates of an id, and keep them."""
        return [update for update, _ in self._kept.get(session_id, ())]

    def take(self, session_id: str) -> list[Any]:
        """Return the updates of an id, and drop them."""
        kept = self._kept.pop(session_id, [])
        self._size -= sum(size for _, size in kept)
        return [update for update, _ in kept]
