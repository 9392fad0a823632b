"""Updates for session ids that are not known yet.

Some agents send updates before they answer `session/new`.
"""

from __future__ import annotations

from typing import Any, Final

MAX_UPDATES: Final = 1000
"""Maximum number of updates for one id."""
MAX_BYTES: Final = 16 << 20
"""Maximum size of all updates, in bytes. Beyond it, the updates of the oldest id are dropped."""


class PendingUpdates:
    """Updates by session id, in order of arrival."""

    def __init__(self) -> None:
        self._updates: dict[str, list[tuple[Any, int]]] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._updates)

    def add(self, session_id: str, update: Any, size: int) -> None:
        """Add an update that arrived as `size` bytes."""
        waiting = self._updates.setdefault(session_id, [])
        if len(waiting) >= MAX_UPDATES:
            return
        waiting.append((update, size))
        self._size += size
        while self._size > MAX_BYTES and self._updates:
            self.pop(next(iter(self._updates)))

    def get(self, session_id: str) -> list[Any]:
        """Return the updates of an id, without removing them."""
        return [update for update, _ in self._updates.get(session_id, ())]

    def pop(self, session_id: str) -> list[Any]:
        """Remove and return the updates of an id."""
        pending = self._updates.pop(session_id, [])
        self._size -= sum(size for _, size in pending)
        return [update for update, _ in pending]
