"""One change that an agent made on disk, entered into the file's buffer and the ledger."""

from __future__ import annotations

import os
import time
from typing import Final

import msgspec
from anyio import to_thread
from msgspec import UNSET, UnsetType

from acp_nvim import wording
from acp_nvim.edits.agent_bases import Act
from acp_nvim.edits.merge import Conflict, merge
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.buffers.tracked_file import (
    AgentFormat,
    Conflicted,
    ConflictOver,
    Displaced,
    Holds,
    NeovimRead,
    UserFormat,
)
from acp_nvim.files.bytes.disk import changed_at, signature_of
from acp_nvim.files.bytes.file_format import (
    Format,
    FormatChange,
    decode_as,
    describe_change,
    fitting,
    format_change,
    shows_cr,
    text_of,
)
from acp_nvim.files.checkpoints.snapshots import FileChange, Link
from acp_nvim.files.checkpoints.store import Unstored
from acp_nvim.files.ports import AgentSession, BufferText
from acp_nvim.files.review.pending_edits import PendingEdits

EMPTIED_NS: Final = 100_000_000
"""How long a program may take to write the file that it has emptied."""


class EnteredChange(msgspec.Struct, frozen=True):
    """One file's change on its way into buffer and ledger."""

    session: AgentSession
    path: str
    before: Text | None
    after: Text | None
    live: BufferText | None
    data: bytes | None
    """The file's bytes, of which ``after`` is the text."""
    signature: str | None
    """The file's when they were read."""
    format_change: FormatChange | None
    """The change of line ends and BOM, where that is known."""
    is_read: bool
    """Neovim has read it into the buffer by itself: unsaved edits came afterwards."""
    link: Link | None = None
    """It has taken the place of this link."""
    is_announced: bool = False
    """It was written through the editor; it reads otherwise since it begins with a BOM."""

    @property
    def kind(self) -> str:
        """``created``, ``modified`` or ``deleted``."""
        return kind_of(self.before, self.after)

    @property
    def changes_format(self) -> bool:
        """Whether line ends or BOM differ."""
        return self.format_change is not None and self.format_change.is_change

    def is_still_empty(self) -> bool:
        """Whether the file has just been emptied: a program that writes one does so first. A user
        who has it before them would lose their place. Blocks.
        """
        if self.after != EMPTY or self.before in (None, EMPTY):
            return False
        return 0 <= time.time_ns() - changed_at(self.path) < EMPTIED_NS


def kind_of(before: object, after: object) -> str:
    if after is None:
        return "deleted"
    return "created" if before is None else "modified"


# -- both sides of the change ---------------------------------------------------------------------


def texts(
    edits: PendingEdits, change: FileChange, after: bytes | None, live: BufferText | None
) -> tuple[Text | None, Text | None, FormatChange | None]:
    """The texts before and after (as just read), in the form of the buffer or as Neovim would read
    them, and the change of the format. BinaryError.
    """
    path, state = change.path, edits.state(change.path)
    known = None if isinstance(state.disk, UnsetType) else state.disk
    is_known = state.disk is not UNSET
    found = None if isinstance(change.before, Unstored) else change.before
    has_format = not is_known or state.disk_format is not None
    reformat = format_change(state.disk_format, found if has_format else after, after)
    entry = edits.ledger.followed(path)
    shown = known or (entry.live if entry else None)
    buffer = _buffer_format(live, reformat, shown) if live else None
    if live is not None and live.is_void and after is not None and reformat is not None:
        buffer = fitting(live.format, after)
        reformat = reformat.in_encoding(buffer.encoding)
    old_format, new_format = reformat.applied_to(buffer) if reformat else (buffer, buffer)
    new = text_of(after, new_format)
    old = None if found is None else decode_as(found, old_format)
    if edits.ledger.get(path) is None:
        present = live.format if live else state.disk_format
        edits.tracked[path].hear(UserFormat(present if is_known or not old else old.format))
    before = known if is_known or old is None else old.text
    if before is not None and old_format is not None and old_format.dos and live is not None:
        before = _with_ends_as(live.text, before)
    return before, new, reformat


def _with_ends_as(live: Text, before: Text) -> Text:
    """A text of a file with CR LF line ends as its buffer shows it: where Neovim has read the file
    in the format that it had before, it has shown each CR, until the buffer got the new format.
    """
    ended = before.lines if before.eol else before.lines[:-1]
    if shows_cr(live) or not all(line.endswith("\r") for line in ended):
        return before
    return Text(tuple(line.removesuffix("\r") for line in before.lines), before.eol)


def _buffer_format(live: BufferText, reformat: FormatChange | None, shown: Text | None) -> Format:
    """The format in which the buffer has read its file. Its options may be meant for the user's
    next save: then no line shows a CR, though the file has them. And Neovim reads no CR in a file
    that it has found empty: it has ``shown`` none before.
    """
    found = live.format
    if reformat is None or not reformat.old.dos or found.dos:
        return found
    if shows_cr(live.text) and (live.modified or shown is None or shows_cr(shown)):
        return found
    return found.with_crs()


# -- into buffer and ledger -----------------------------------------------------------------------


async def enter(edits: PendingEdits, change: EnteredChange) -> str:
    """Buffer first, then ledger. Returns ``done``, ``moved`` when buffer or file are not as
    they were, ``busy`` when Neovim allows no edit now, or why there is none.
    """
    live, path = change.live, change.path
    base = start = change.before
    text = change.after
    is_announced = edits.state(path).holds(change.data)
    change = msgspec.structs.replace(change, is_announced=is_announced)
    entry = edits.ledger.get(path)
    in_conflict = entry is not None and entry.conflict
    state = edits.state(path)
    is_read = change.is_read and (not in_conflict or state.neovim_read == text)
    if live is not None and live.modified and is_read and text is not None:
        return await _enter_read(edits, change, live, text)
    if live is not None and live.modified:
        change = _caught_up(edits, change, live)
        base = live.text
        common = state.conflict_base
        start = common if in_conflict and not isinstance(common, UnsetType) else change.before
        text = _merged(start, live.text, change.after)
        if text is None:
            edits.tracked[path].hear(Conflicted(start))
            return await _mark_conflict(edits, change, live)
        edits.tracked[path].hear(ConflictOver())
    if live is not None:
        unsaved = text != change.after
        outcome = await edits.buffers.take(path, live, text or live.text, unsaved, change.signature)
        if outcome != "done":
            return outcome
        if not unsaved:
            edits.ledger.on_disk.drop(path)
    elif await to_thread.run_sync(signature_of, path) != change.signature:
        return "moved"
    _record(edits, change, base, text)
    if text is not None:
        await _enter_format(edits, change, text)
    if text != change.after and start is not None and change.after is not None:
        edits.ledger.stored(path, start, change.after, change.session.n)
    _announce(edits, change)
    return "done"


def _merged(base: Text | None, live: Text, agents: Text | None) -> Text | None:
    """Both sides' changes; None when they overlap."""
    if live == agents:
        return live
    if base is None or agents is None:
        return None
    result = merge(base, live, agents)
    return None if isinstance(result, Conflict) else result.text


async def _mark_conflict(edits: PendingEdits, change: EnteredChange, live: BufferText) -> str:
    """Buffer and file stay two texts. From now on Neovim does not warn of the file as it is: if it
    has changed since it was read, it is merged at once.
    """
    path = change.path
    await edits.buffers.mark_conflict(live)
    edits.ledger.conflicted(path, live.text, change.after, change.session.n)
    edits.checkpoints.record(path, change.before, change.after)
    edits.announce(change.session, path, change.kind, "disk", conflict=True)
    same = await to_thread.run_sync(signature_of, path) == change.signature
    return "done" if same else "moved"


def _caught_up(edits: PendingEdits, change: EnteredChange, live: BufferText) -> EnteredChange:
    """Neovim has read an earlier change of the agent's by itself, before the user went on: that is
    entered first, else it would pass for the user's. Done once, however often this is tried.
    """
    file = edits.tracked[change.path]
    shown = file.state.neovim_read
    file.hear(NeovimRead(None))
    if shown is None or shown in (change.before, change.after):
        return change
    _record(edits, change, change.before, shown)
    edits.ledger.user_edited(change.path, live.text)
    file.hear(Holds(shown, None))
    return msgspec.structs.replace(change, before=shown)


async def _enter_read(
    edits: PendingEdits, change: EnteredChange, live: BufferText, after: Text
) -> str:
    """The user has gone on from the agent's text: the ledger hears of both."""
    path = change.path
    outcome = await edits.buffers.take(path, live, live.text, live.text != after, change.signature)
    if outcome != "done":
        return outcome
    edits.tracked[path].hear(ConflictOver())
    _record(edits, change, change.before, after)
    edits.ledger.user_edited(path, live.text)
    await _enter_format(edits, change, live.text)
    _announce(edits, change)
    return "done"


def _announce(edits: PendingEdits, change: EnteredChange) -> None:
    if change.is_announced:
        edits.changed(change.path)
    else:
        edits.announce(change.session, change.path, change.kind, "disk")


def _record(
    edits: PendingEdits, change: EnteredChange, base: Text | None, text: Text | None
) -> None:
    ledger, n = edits.ledger, change.session.n
    edits.bases.changed(change.path, text, Act.REPLACED)
    turn = edits.turns.get(change.session)
    if turn is not None:
        turn.changed_on_disk(change.path, base, text)
    before = Unstored("", change.link.mark) if change.link else base
    edits.checkpoints.record(change.path, before, text)
    if text is None and base is not None:
        ledger.agent_deleted(change.path, base, n)
    elif text is not None:
        ledger.agent_wrote(change.path, base, text, n)
        _replace_link(edits, change)
        edits.attribute(change.session, change.path, base, text, text)


def _replace_link(edits: PendingEdits, change: EnteredChange) -> None:
    """Keep the link whose place a new file has taken: a reject of the file puts it back."""
    entry, link = edits.ledger.get(change.path), change.link
    if entry is None or entry.base is not None or change.before is not None:
        return
    edits.tracked[change.path].hear(Displaced((link.mode, link.target) if link else None))
    if link is not None:
        instead = wording.PART_REPLACES_LINK.format(target=os.fsdecode(link.target))
        changed = msgspec.structs.replace(entry, relaid=instead)
        edits.ledger.reinstated(change.path, entry.live, changed)


# -- its format -----------------------------------------------------------------------------------


async def _enter_format(edits: PendingEdits, change: EnteredChange, text: Text) -> None:
    """The buffer gets the file's format; a change of it is pending as well."""
    reformat, path = change.format_change, change.path
    known = edits.buffers.get(path)
    if reformat is None:
        return
    if change.live is not None and not change.live.modified and known is not None:
        found = _format_of_clean(known.format, reformat.new, change.live.text, text)
        if change.live.is_void:
            found = msgspec.structs.replace(found, encoding=reformat.new.encoding)
        await _set_format(edits, path, found)
    if not reformat.is_change:
        return
    entry = edits.ledger.get(path) or Pending(path, text, text, text)
    file = edits.tracked[path]
    if not entry.relaid:
        file.hear(UserFormat(reformat.old))
    users = file.state.user_format or reformat.old
    file.hear(AgentFormat(reformat.new))
    wanted = reformat.applied_to(known.format if known else None)[1]
    await _set_format(edits, path, wanted or reformat.new)
    if entry.base is not None:
        writers = entry.writers | {change.session.n}
        relaid = describe_change(users, reformat.new)
        changed = msgspec.structs.replace(entry, relaid=relaid, writers=writers)
        edits.ledger.reinstated(path, entry.live, changed)


def _format_of_clean(buffer: Format, file: Format, before: Text, after: Text) -> Format:
    """The format of a clean buffer. Neovim may have read the file when it was empty: then it knows
    of no BOM, and of no CR that it does not show.
    """
    bomb = file.bomb if before == EMPTY else buffer.bomb
    dos = buffer.dos or (file.dos and not shows_cr(after))
    return msgspec.structs.replace(buffer, bomb=bomb, dos=dos, mac=buffer.mac and not dos)


async def _set_format(edits: PendingEdits, path: str, file_format: Format) -> None:
    known = edits.buffers.get(path)
    if known is not None and known.format != file_format:
        await edits.buffers.set_format(path, known, file_format)
