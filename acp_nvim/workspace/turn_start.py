"""What files held before a prompt whose look at them is not done: the look before that is older
than what the user, or a decision of his, has made of them since.
"""

from __future__ import annotations

import msgspec

from acp_nvim.edits.text import Text
from acp_nvim.workspace.file_format import Format
from acp_nvim.workspace.layouts import in_bytes
from acp_nvim.workspace.pending_edits import Edits
from acp_nvim.workspace.snapshots.snapshots import FileChange
from acp_nvim.workspace.turns import Turn


class Before:
    """By turn, until its look is done: also of one that goes on with another prompt."""

    def __init__(self, edits: Edits) -> None:
        self._edits = edits
        self._held: dict[Turn, dict[str, tuple[Text | None, Format | None]]] = {}

    def note(self, turn: Turn) -> None:
        """A prompt is about to be sent."""
        layouts = self._edits.layouts
        self._held[turn] = {
            path: (text, layouts.of(path, text)) for path, text in self._edits.known.items()
        }

    def concerns(self, turn: Turn) -> bool:
        """Whether the look before its prompt is not done."""
        return turn in self._held

    def done(self, turn: Turn) -> None:
        """The files have been looked at as they were before its prompt."""
        self._held.pop(turn, None)

    def change(self, turn: Turn, change: FileChange) -> FileChange:
        """A change since the last look, as one since the prompt."""
        held = self._held.get(turn, {})
        if change.path not in held:
            return change
        text, layout = held[change.path]
        data = None if text is None else in_bytes(text, layout)
        return msgspec.structs.replace(change, before=data)
