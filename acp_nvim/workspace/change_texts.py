"""Both sides of one change on disk: the file's texts before and after, and how it lay."""

from __future__ import annotations

import time
from typing import Final

from msgspec import UNSET, UnsetType

from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.workspace.file_changes import changed_at, decoded, text_of
from acp_nvim.workspace.file_format import Format, shows_cr
from acp_nvim.workspace.layout_changes import Laid, laid
from acp_nvim.workspace.pending_edits import PendingEdits
from acp_nvim.workspace.ports import BufferText
from acp_nvim.workspace.snapshots.snapshots import FileChange
from acp_nvim.workspace.snapshots.store import Unkept
from acp_nvim.workspace.tracked_file import LayBefore

EMPTIED_NS: Final = 100_000_000
"""How long a program is taken to be about to write the file that it has emptied."""


def texts(
    edits: PendingEdits, change: FileChange, after: bytes | None, live: BufferText | None
) -> tuple[Text | None, Text | None, Laid | None]:
    """The file before and after (as read just now), as its buffer shows it or Neovim would, and
    what became of its layout. BinaryError.
    """
    path, state = change.path, edits.state(change.path)
    known = None if isinstance(state.disk, UnsetType) else state.disk
    is_known = state.disk is not UNSET
    found = None if isinstance(change.before, Unkept) else change.before
    was = state.disk_format
    told = not is_known or was is not None
    relaid = laid(was, found if told else after, after)
    entry = edits.ledger.followed(path)
    shown = known or (entry.live if entry else None)
    layout = _layout(live, relaid, shown) if live else None
    then, now = relaid.over(layout) if relaid else (layout, layout)
    new = text_of(after, now)
    old = None if found is None else decoded(found, then)
    if edits.ledger.get(path) is None:
        noted = live.format if live else None
        edits.tracked[path].hear(LayBefore(noted if is_known or not old else old.format))
    before = known if is_known or old is None else old.text
    return before, new, relaid


def _layout(live: BufferText, relaid: Laid | None, shown: Text | None) -> Format:
    """How the buffer reads its file. Its options may be what the user wants of the next save: then
    no CR stands at the ends of its lines, though the file has them. And where Neovim has found the
    file empty, it reads what comes then as it reads no other: it has ``shown`` no CR before.
    """
    found = live.format
    if relaid is None or not relaid.old.dos or found.dos:
        return found
    if shows_cr(live.text) and (live.modified or shown is None or shows_cr(shown)):
        return found
    return found.with_crs()


def comes_yet(path: str, before: Text | None, after: Text | None) -> bool:
    """Whether a file has just been emptied: a program that writes one does so first. A user who has
    it before them would lose their place.
    """
    if after != EMPTY or before in (None, EMPTY):
        return False
    return 0 <= time.time_ns() - changed_at(path) < EMPTIED_NS
