"""Who changed a file since a checkpoint, told by its contents.

Of each change by an agent the content before and the one after are noted. What lies between is a
chain: where it starts with the file as it was at the checkpoint, has no gap and ends with the file
as it is, nobody but agents has changed it. A gap is the user's doing. So nobody has to hear of what
the user does, and it does not matter where that is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

import msgspec

from acp_nvim.edits.text import Text, digest
from acp_nvim.workspace.file_format import BinaryError, decode
from acp_nvim.workspace.snapshots.store import UNKNOWN, Unstored

NONE: Final = ""
"""No file is there."""
SAME: Final = "="
"""The content is what it was; the mode is not."""


Content = Text | bytes | Unstored | None


class ContentChange(msgspec.Struct, frozen=True):
    """What became of a file by agents, and by the user's decisions about that, between two
    checkpoints. ``agent``: not by decisions alone; ``gap``: somebody else changed it in between.
    """

    before: str
    after: str
    agent: bool = True
    gap: bool = False

    def then(self, later: ContentChange) -> ContentChange:
        """With what was done afterwards."""
        after = self.after if later.after == SAME else later.after
        before = later.before if self.before == SAME else self.before
        gap = self.gap or later.gap or not follows(later.before, self.after)
        return ContentChange(before, after, self.agent or later.agent, gap)


def follows(before: str, *marks: str) -> bool:
    """Whether a change that begins with this content may come right after one of these."""
    if before == UNKNOWN or UNKNOWN in marks:
        return False
    return before == SAME or SAME in marks or before in marks


def joined(agent_changes: Iterable[dict[str, ContentChange]]) -> dict[str, ContentChange]:
    """All that was done, by path; the earliest first."""
    found: dict[str, ContentChange] = {}
    for one in agent_changes:
        for path, doing in one.items():
            add(found, path, doing)
    return found


def add(agent_changes: dict[str, ContentChange], path: str, doing: ContentChange) -> None:
    """Note what was done to a file next."""
    agent_changes[path] = agent_changes[path].then(doing) if path in agent_changes else doing


def mark(side: Content) -> str:
    """A name for a content. A text has one however it lies in its file."""
    if isinstance(side, Unstored):
        return side.mark
    if isinstance(side, Text):
        return "t" + digest(side)
    if side is None:
        return NONE
    try:
        return "t" + digest(decode(side).text)
    except BinaryError:
        return "b" + blake2b(side, digest_size=16).hexdigest()
