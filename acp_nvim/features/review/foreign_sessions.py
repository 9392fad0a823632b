"""Sessions of other Neovims, or of earlier ones, that have edits or checkpoints in a workspace.

They stand in the state as closed ones, and what they have can be decided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from acp_nvim.files.ports import SessionInfo


class ForeignSessions:
    """The port `OtherSessions` of the workspace."""

    def __init__(
        self,
        new: Callable[[SessionInfo, int], int],
        state: Callable[[list[str | int], Any], None],
        push: Callable[..., None],
    ) -> None:
        """``new`` makes a closed session, with this number unless that is 0, and returns its
        number; ``state`` sets a value of the snapshot; ``push`` queues a frame operation.
        """
        self._new = new
        self._state = state
        self._push = push
        self._numbers: dict[str, int] = {}
        self._taken: set[int] = set()

    def __contains__(self, n: int) -> bool:
        """Whether the session of that number is one of them."""
        return n in self._taken

    def keep_numbers(self, numbers: Mapping[str, int]) -> None:
        """The host before this one had these sessions under these numbers."""
        self._numbers = dict(numbers)

    def take_up(self, key: str, info: SessionInfo) -> int:
        n = self._new(info, self._numbers.get(key, 0))
        self._taken.add(n)
        self._state(["sessions", n, "elsewhere"], key)
        return n

    def follow(self, root: str, folder: str) -> None:
        self._push("follow_journal", root, folder)
