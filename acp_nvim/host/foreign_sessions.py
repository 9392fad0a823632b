"""Sessions of other or earlier Neovims with edits or checkpoints in a workspace.

They are in the state as closed sessions. Their edits can be decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from acp_nvim.files.ports import SessionInfo


class ForeignSessions:
    """Implementation of the port `OtherSessions` of the workspace."""

    def __init__(
        self,
        new: Callable[[SessionInfo, int], int],
        state: Callable[[list[str | int], Any], None],
        push: Callable[..., None],
    ) -> None:
        """``new`` creates a closed session and returns its number.

        Its second argument is the number to use, or 0 for a new one. ``state`` sets a value of the
        snapshot, ``push`` queues a frame operation.
        """
        self._new = new
        self._state = state
        self._push = push
        self._numbers: dict[str, int] = {}
        self._taken: set[int] = set()

    def __contains__(self, n: int) -> bool:
        """Return whether the session of that number belongs to another Neovim."""
        return n in self._taken

    def keep_numbers(self, numbers: Mapping[str, int]) -> None:
        """Set the numbers that these sessions had in the previous host, by key."""
        self._numbers = dict(numbers)

    def take_up(self, key: str, info: SessionInfo) -> int:
        n = self._new(info, self._numbers.get(key, 0))
        self._taken.add(n)
        self._state(["sessions", n, "elsewhere"], key)
        return n

    def follow(self, root: str, folder: str) -> None:
        self._push("follow_journal", root, folder)
