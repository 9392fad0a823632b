"""Attribution of changes since a checkpoint, by file contents.

Each change by an agent is recorded with marks of the contents before and after. The changes to a
file form a chain. If the chain starts with the content at the checkpoint, has no gap and ends with
the current content, only agents have changed the file. A gap is a change by the user, in any
program.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

import msgspec

from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.file_format import BinaryError, decode
from acp_nvim.files.checkpoints.store import UNKNOWN, Unstored

NONE: Final = ""
"""Mark of a missing file."""
SAME: Final = "="
"""Mark of unchanged content whose mode has changed."""


Content = Text | bytes | Unstored | None


class ContentChange(msgspec.Struct, frozen=True):
    """Change to a file between two checkpoints, by agents and by decisions on their changes.

    `agent` is false if only decisions changed the file. `gap` is true if something else changed
    it in between.
    """

    before: str
    after: str
    agent: bool = True
    gap: bool = False

    def then(self, later: ContentChange) -> ContentChange:
        """Return this change combined with a later one."""
        after = self.after if later.after == SAME else later.after
        before = later.before if self.before == SAME else self.before
        gap = self.gap or later.gap or not follows(later.before, self.after)
        return ContentChange(before, after, self.agent or later.agent, gap)


def follows(before: str, *marks: str) -> bool:
    """Return whether a change from the content `before` may follow one with these marks."""
    if before == UNKNOWN or UNKNOWN in marks:
        return False
    return before == SAME or SAME in marks or before in marks


def combine_changes(agent_changes: Iterable[dict[str, ContentChange]]) -> dict[str, ContentChange]:
    """Combine the changes to each path. `agent_changes` are ordered, oldest first."""
    changes: dict[str, ContentChange] = {}
    for by_path in agent_changes:
        for path, change in by_path.items():
            add(changes, path, change)
    return changes


def add(agent_changes: dict[str, ContentChange], path: str, change: ContentChange) -> None:
    """Add the next change to a file to `agent_changes`."""
    agent_changes[path] = agent_changes[path].then(change) if path in agent_changes else change


def mark(side: Content) -> str:
    """Return the mark of a content. A text has the same mark in all file formats."""
    if isinstance(side, Unstored):
        return side.mark
    if isinstance(side, Text):
        return "t" + side.digest
    if side is None:
        return NONE
    try:
        return "t" + decode(side).text.digest
    except BinaryError:
        return "b" + blake2b(side, digest_size=16).hexdigest()
