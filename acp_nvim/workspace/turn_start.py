"""What files held before a prompt whose look at them is not done: the look before that is older
than what the user, or a decision of theirs, has made of them since.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from acp_nvim.workspace.snapshots.snapshots import FileChange
from acp_nvim.workspace.tracked_file import FileState, TrackedFiles
from acp_nvim.workspace.turns import Turn


class TurnStarts:
    """By turn, until its look is done: also of one that goes on with another prompt."""

    def __init__(self, files: TrackedFiles) -> None:
        self._files = files
        self._held: dict[Turn, dict[str, FileState]] = {}

    def note(self, turn: Turn) -> None:
        """A prompt is about to be sent."""
        known = (file for file in self._files if file.state.disk is not UNSET)
        self._held[turn] = {file.path: file.state for file in known}

    def concerns(self, turn: Turn) -> bool:
        """Whether the look before its prompt is not done."""
        return turn in self._held

    def done(self, turn: Turn) -> None:
        """The files have been looked at as they were before its prompt."""
        self._held.pop(turn, None)

    def change(self, turn: Turn, change: FileChange) -> FileChange:
        """A change since the last look, as one since the prompt."""
        held = self._held.get(turn, {}).get(change.path)
        if held is None:
            return change
        return msgspec.structs.replace(change, before=held.disk_bytes())
