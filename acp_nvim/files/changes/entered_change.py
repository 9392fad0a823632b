"""One change by an agent on disk, applied to the file's buffer and the ledger."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from anyio import to_thread
from msgspec import UNSET, UnsetType

from acp_nvim import wording
from acp_nvim.edits.agent_bases import ChangeKind
from acp_nvim.edits.merge import Conflict, merge, overlay
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.buffers.tracked_file import (
    AgentFormat,
    Conflicted,
    ConflictOver,
    ContentKnown,
    Displaced,
    NeovimRead,
    UserFormat,
)
from acp_nvim.files.bytes.disk import EMPTIED_NS, changed_at, signature_of
from acp_nvim.files.bytes.file_format import (
    BinaryError,
    Decoded,
    Format,
    FormatChange,
    decode_as,
    describe_change,
    fitting,
    format_change,
    shows_cr,
    text_of,
    with_ends,
)
from acp_nvim.files.changes.save_notes import Save
from acp_nvim.files.checkpoints.snapshots import FileChange, Link
from acp_nvim.files.checkpoints.store import Unstored
from acp_nvim.files.files import Files
from acp_nvim.files.ports import AgentSession, BufferText


class Step(NamedTuple):
    """Part of a change: a save by the user in another Neovim, or an agent's change besides it."""

    is_save: bool
    before: Text | None
    after: Text | None


class EnteredChange(msgspec.Struct, frozen=True):
    """Change to one file that is being applied to buffer and ledger."""

    session: AgentSession
    path: str
    before: Text | None
    after: Text | None
    live: BufferText | None
    data: bytes | None
    """Bytes of the file, of which `after` is the text."""

    signature: str | None
    """Signature of the file when the bytes were read."""

    format_change: FormatChange | None
    """Change to line endings and BOM, if known."""

    is_read: bool
    """Whether Neovim reloaded the buffer with the change, before the unsaved edits."""

    link: Link | None = None
    """Link that the file replaced."""

    saves: Sequence[Save] = ()
    """Saves by the user in other Neovims since `before`."""

    file_format: Format | None = None
    """Format in which `data` was decoded."""

    steps: Sequence[Step] = ()
    """Parts of the change, if there are any `saves`."""

    is_announced: bool = False
    """Whether the bytes were written through the editor, so that the event has been sent."""

    @property
    def kind(self) -> str:
        """Return `created`, `modified` or `deleted`."""
        return kind_of(self.before, self.after)

    @property
    def is_by_user(self) -> bool:
        """Return whether the change consists of saves by the user in other Neovims."""
        return bool(self.steps) and all(step.is_save for step in self.steps)

    @property
    def changes_format(self) -> bool:
        """Return whether line endings or BOM differ."""
        return self.format_change is not None and self.format_change.is_change

    def is_still_empty(self) -> bool:
        """Return whether the file has just been truncated, as programs do before they write.

        Emptying the buffer too would lose the user's cursor position. This call blocks.
        """
        if self.after != EMPTY or self.before in (None, EMPTY):
            return False
        return 0 <= time.time_ns() - changed_at(self.path) < EMPTIED_NS


def kind_of(before: object, after: object) -> str:
    if after is None:
        return "deleted"
    return "created" if before is None else "modified"


# -- both sides of the change ---------------------------------------------------------------------


class DecodedChange(NamedTuple):
    """Texts of a file before and after a change, and the change to its format, if known."""

    before: Text | None
    after: Text | None
    format_change: FormatChange | None
    file_format: Format | None
    """Format in which the text after the change was decoded."""


def decode_change(
    files: Files, change: FileChange, data: bytes | None, live: BufferText | None
) -> DecodedChange:
    """Decode a change as the buffer or, if none is loaded, as Neovim would.

    Also record the user's format of a file without pending edits. `data` are the current bytes.
    Raise BinaryError.
    """
    state, entry = files.tracked.state(change.path), files.ledger.tracked_entry(change.path)
    is_known = state.disk is not UNSET
    known = None if isinstance(state.disk, UnsetType) else state.disk
    old_data = None if isinstance(change.before, Unstored) else change.before
    has_format = not is_known or state.disk_format is not None
    reformat = format_change(state.disk_format, old_data if has_format else data, data)
    shown = known or (entry.live if entry else None)
    buffer = _buffer_format(live, reformat, shown) if live else None
    if live is not None and live.is_void and data is not None and reformat is not None:
        buffer = with_ends(fitting(live.format, data), reformat.new)
        reformat = reformat.in_encoding(buffer.encoding)
    elif live is not None and buffer and data and reformat and _is_misread(live, buffer, data):
        buffer = msgspec.structs.replace(buffer, encoding=reformat.old.encoding)
    old_format, new_format = reformat.applied_to(buffer) if reformat else (buffer, buffer)
    after = text_of(data, new_format)
    old = None if old_data is None else decode_as(old_data, old_format)
    _record_user_format(files, change.path, live, old)
    before = known if is_known or old is None else old.text
    if before is not None and old_format is not None and old_format.dos and live is not None:
        before = _with_ends_as(live.text, before)
    return DecodedChange(before, after, reformat, new_format)


def steps_of(decoded: DecodedChange, signature: str | None, saves: Sequence[Save]) -> list[Step]:
    """Return the parts of a change with these saves, or no parts without saves.

    `signature` is the file's current one. If the content after a save is not known, the whole rest
    of the change counts as saved, unless the file has changed since: then the save is ignored. If
    the content before it is not known, everything before it counts as saved. A save with another
    content before it is merged, since an agent may have changed the file in between, and the save
    has that change too. Raise BinaryError.
    """
    steps, text = list[Step](), decoded.before
    for save in saves:
        if isinstance(save.after, UnsetType):
            if save.signature != signature:
                continue
            return [*steps, Step(True, text, decoded.after)]
        after, before = text_of(save.after, decoded.file_format), text
        if not isinstance(save.before, UnsetType):
            before = text_of(save.before, decoded.file_format)
        if after == decoded.before:
            steps = []  # processed
        elif (merged := _merge_save(before, text, after)) is not None:
            steps.append(Step(True, text, merged))
            after = merged
        else:
            steps += [Step(False, text, before), Step(True, before, after)]
        text = after
    if steps and text != decoded.after:
        steps.append(Step(False, text, decoded.after))
    return steps


def _merge_save(before: Text | None, text: Text | None, after: Text | None) -> Text | None:
    """Merge a save (`before` to `after`) into another text. Return None if that is impossible."""
    if before == text:
        return after
    if before is None or text is None or after is None:
        return None
    result = merge(before, text, after)
    return None if isinstance(result, Conflict) else result.text


def lacks_save(text: Text, saves: Sequence[Save], file_format: Format | None) -> bool:
    """Return whether a text lacks one of these saves, or may lack one of unknown contents."""
    for save in saves:
        if isinstance(save.before, UnsetType) or isinstance(save.after, UnsetType):
            return True
        try:
            before, after = (text_of(data, file_format) for data in (save.before, save.after))
        except BinaryError:
            return True
        if _merge_save(before, text, after) != text:
            return True
    return False


def _record_user_format(
    files: Files, path: str, live: BufferText | None, old: Decoded | None
) -> None:
    """Record the user's format of a file, unless buffer or file already have pending edits.

    `old` is its earlier content.
    """
    if files.ledger.get(path) is not None or files.ledger.disk_entry(path) is not None:
        return
    state = files.tracked.state(path)
    user_format = state.disk_format
    if live is not None and (live.is_modified or user_format is None):
        # A clean buffer may have another format: Neovim may have read the file while empty.
        user_format = live.format
    if state.disk is UNSET and old is not None:
        user_format = old.format
    files.tracked[path].apply(UserFormat(user_format))


def _with_ends_as(live: Text, before: Text) -> Text:
    """Return `before` without the CRs of CR LF line endings, if the buffer shows none in `live`.

    If Neovim read the file in its former format, the lines had CRs until the buffer got the new
    format.
    """
    ended = before.lines if before.eol else before.lines[:-1]
    if shows_cr(live) or not all(line.endswith("\r") for line in ended):
        return before
    return Text(tuple(line.removesuffix("\r") for line in before.lines), before.eol)


def _buffer_format(live: BufferText, reformat: FormatChange | None, shown: Text | None) -> Format:
    """Return the format in which Neovim has read the file into the buffer.

    The buffer's options may describe the user's next save instead. Then no line shows a CR although
    the file has CRs. No line shows a CR either (in `shown`) if the file was empty when Neovim
    read it.
    """
    file_format = live.format
    if reformat is None or not reformat.old.dos or file_format.dos:
        return file_format
    if shows_cr(live.text) and (live.is_modified or shown is None or shows_cr(shown)):
        return file_format
    return file_format.with_crs()


def _is_misread(live: BufferText, buffer: Format, data: bytes) -> bool:
    """Return whether the bytes of a clean buffer's file are not in the buffer's encoding.

    Neovim detects UTF-8 in an empty file, and keeps that encoding when it reads the file again.
    """
    return not live.is_modified and fitting(buffer, data) != buffer


# -- buffer and ledger ----------------------------------------------------------------------------


async def apply_change(files: Files, change: EnteredChange) -> str:
    """Apply a change to the buffer first, then to the ledger.

    Return `done`, `moved` (buffer or file have changed), `busy` (Neovim allows no edit now),
    `unsaved` (unsaved edits conflict with the user's save in another Neovim, so Neovim asks before
    it overwrites the file), or the reason for a failure.
    """
    live, state = change.live, files.tracked.state(change.path)
    is_announced = state.has_content(change.data)
    change = msgspec.structs.replace(change, is_announced=is_announced)
    if live is None:
        if await to_thread.run_sync(signature_of, change.path) != change.signature:
            return "moved"
        return await _enter(files, change, change.before, change.after)
    if not live.is_modified:
        return await _follow_and_enter(files, change, live, change.before, change.after)
    entry = files.ledger.get(change.path)
    in_conflict = entry is not None and entry.is_conflict
    is_read = change.is_read and (not in_conflict or state.neovim_read == change.after)
    if is_read and change.after is not None:
        return await _enter_read(files, change, live, change.after)
    conflict_base = state.conflict_base if in_conflict else UNSET
    return await _merge_into_unsaved(files, change, live, conflict_base)


async def _merge_into_unsaved(
    files: Files, change: EnteredChange, live: BufferText, conflict_base: Text | UnsetType | None
) -> str:
    """Merge a change into the unsaved text of a buffer, and enter it or a conflict.

    Return an outcome of `apply_change`.
    """
    change = _enter_earlier_text(files, change, live)
    start = change.before if isinstance(conflict_base, UnsetType) else conflict_base
    merged = _merge_sides(start, live.text, change.after)
    if merged is None and any(step.is_save for step in change.steps):
        await files.buffers.mark_unmerged(change.path)
    if merged is None and change.is_by_user:
        return "unsaved"
    if merged is None:
        files.tracked[change.path].apply(Conflicted(start))
        return await _mark_conflict(files, change, live)
    files.tracked[change.path].apply(ConflictOver())
    on_disk = None
    if merged != change.after and start is not None and change.after is not None:
        on_disk = start, change.after
    return await _follow_and_enter(files, change, live, live.text, merged, on_disk)


async def _follow_and_enter(
    files: Files,
    change: EnteredChange,
    live: BufferText,
    base: Text | None,
    text: Text | None,
    on_disk: tuple[Text, Text] | None = None,
) -> str:
    """Set the buffer to `text`, then enter the change from `base` to `text` in the ledger.

    Return an outcome of `apply_change`.
    """
    is_unsaved = text != change.after
    outcome = await files.buffers.follow_disk(
        change.path, live, text or live.text, is_unsaved, change.signature
    )
    if outcome != "done":
        return outcome
    if not is_unsaved:
        files.ledger.disk_entries.drop(change.path)
    return await _enter(files, change, base, text, on_disk)


async def _enter(
    files: Files,
    change: EnteredChange,
    base: Text | None,
    text: Text | None,
    on_disk: tuple[Text, Text] | None = None,
) -> str:
    """Enter the change from `base` to `text` in the ledger, and the new format in the buffer.

    `on_disk` has the file's texts before and after, if the buffer has unsaved edits. Return an
    outcome of `apply_change`.
    """
    _record(files, change, base, text, on_disk)
    if text is not None:
        await _enter_format(files, change, text)
    _announce(files, change)
    return "done"


def _merge_sides(base: Text | None, live: Text, agents_text: Text | None) -> Text | None:
    """Merge the changes by user and agent. Return None if they overlap."""
    if live == agents_text:
        return live
    if base is None or agents_text is None:
        return None
    result = merge(base, live, agents_text)
    return None if isinstance(result, Conflict) else result.text


async def _mark_conflict(files: Files, change: EnteredChange, live: BufferText) -> str:
    """Record a conflict of buffer and file. Return `done`, or `moved` if the file has changed.

    Neovim will not warn about the current state of the file, unless a save is unmerged.
    """
    path = change.path
    await files.buffers.mark_conflict(path, live)
    steps = change.steps or [Step(False, change.before, change.after)]
    files.ledger.record_conflict(path, live.text, steps, change.session.n)
    files.checkpoints.record(path, change.before, change.after)
    files.pending_view.announce(change.session, path, change.kind, "disk", conflict=True)
    is_same = await to_thread.run_sync(signature_of, path) == change.signature
    return "done" if is_same else "moved"


def _enter_earlier_text(files: Files, change: EnteredChange, live: BufferText) -> EnteredChange:
    """Enter an earlier text of the agent that Neovim has read, then the user's edits of it.

    Otherwise that text would count as the user's. Return the rest of the change. A repeated call
    does nothing.
    """
    file = files.tracked[change.path]
    earlier = file.state.neovim_read
    file.apply(NeovimRead(None))
    if earlier is None or earlier in (change.before, change.after):
        return change
    first, rest = _split(change, earlier)
    is_undo = files.ledger.undo_history.take_expected(change.path)  # for the user's edits below
    _record(files, first, change.before, earlier)
    files.ledger.split_from_disk(change.path)
    files.ledger.record_user_edit(change.path, live.text, is_undo=is_undo)
    file.apply(ContentKnown(earlier, None))
    if rest.is_by_user and not first.is_by_user:
        _announce(files, first)
    return rest


def _split(change: EnteredChange, text: Text) -> tuple[EnteredChange, EnteredChange]:
    """Split a change at a text between its saves."""
    missing = (lacks_save(text, [save], change.file_format) for save in change.saves)
    count = next((n for n, is_missing in enumerate(missing) if is_missing), len(change.saves))
    parts = (change.before, text, change.saves[:count]), (text, change.after, change.saves[count:])
    first, rest = (
        msgspec.structs.replace(
            change,
            before=before,
            after=after,
            saves=saves,
            steps=steps_of(
                DecodedChange(before, after, None, change.file_format), change.signature, saves
            ),
        )
        for before, after, saves in parts
    )
    return first, rest


async def _enter_read(files: Files, change: EnteredChange, live: BufferText, after: Text) -> str:
    """Enter the agent's text and the user's later edits of it in the ledger.

    Return an outcome of `apply_change`.
    """
    path = change.path
    outcome = await files.buffers.follow_disk(
        path, live, live.text, live.text != after, change.signature
    )
    if outcome != "done":
        return outcome
    files.tracked[path].apply(ConflictOver())
    is_undo = files.ledger.undo_history.take_expected(path)  # for the user's edits below
    _record(files, change, change.before, after)
    if live.text != after:
        files.ledger.split_from_disk(path)
    files.ledger.record_user_edit(path, live.text, is_undo=is_undo)
    await _enter_format(files, change, live.text)
    _announce(files, change)
    return "done"


def _announce(files: Files, change: EnteredChange) -> None:
    if change.is_announced or change.is_by_user:
        files.pending_view.refresh(change.path)
    else:
        files.pending_view.announce(change.session, change.path, change.kind, "disk")


def _record(
    files: Files,
    change: EnteredChange,
    base: Text | None,
    text: Text | None,
    on_disk: tuple[Text, Text] | None = None,
) -> None:
    """Record a change from `base` to `text`.

    If `change` has steps, record each of them, merged with the unsaved edits in `base`.
    """
    *parts, last = change.steps or [Step(False, base, text)]
    for part in parts:
        after, disk = part.after, (part.before or EMPTY, part.after or EMPTY)
        if base != part.before:
            after = overlay(disk[0], base or EMPTY, disk[1])
        _record_step(files, change, Step(part.is_save, base, after), on_disk and disk)
        base, on_disk = after, on_disk and (disk[1], on_disk[1])
    _record_step(files, change, Step(last.is_save, base, text), on_disk)


def _record_step(
    files: Files, change: EnteredChange, step: Step, on_disk: tuple[Text, Text] | None
) -> None:
    path, text = change.path, step.after
    if not step.is_save or text is None:
        _record_write(files, change, step.before, text, on_disk)
        return
    files.bases.record_change(path, text, ChangeKind.TYPED)
    files.turns.on_user_save(path, step.before)
    files.ledger.record_user_edit(path, text)
    if on_disk is not None:
        files.ledger.disk_entries.sync_with_disk(path, on_disk[1])


def _record_write(
    files: Files,
    change: EnteredChange,
    base: Text | None,
    text: Text | None,
    on_disk: tuple[Text, Text] | None = None,
) -> None:
    """Record a change on disk as an agent's write or deletion."""
    ledger, n = files.ledger, change.session.n
    files.bases.record_change(change.path, text, ChangeKind.REPLACED)
    turn = files.turns.get(change.session)
    if turn is not None:
        turn.on_disk_change(change.path, base, text)
    before = Unstored("", change.link.mark) if change.link else base
    files.checkpoints.record(change.path, before, text)
    if text is None and base is not None:
        ledger.record_agent_deletion(change.path, base, n)
    elif text is not None:
        ledger.record_agent_write(change.path, base, text, n, on_disk=on_disk)
        _replace_link(files, change)
        files.authors.on_write(change.session, change.path, base, text, text)


def _replace_link(files: Files, change: EnteredChange) -> None:
    """Record the link that a new file replaced. A reject of the file restores the link."""
    entry, link = files.ledger.get(change.path), change.link
    if entry is None or entry.base is not None or change.before is not None:
        return
    files.tracked[change.path].apply(Displaced((link.mode, link.target) if link else None))
    if link is not None:
        instead = wording.PART_REPLACES_LINK.format(target=os.fsdecode(link.target))
        changed = msgspec.structs.replace(entry, format_change=instead)
        files.ledger.reinstate(change.path, entry.live, changed)


# -- format ---------------------------------------------------------------------------------------


async def _enter_format(files: Files, change: EnteredChange, text: Text) -> None:
    """Set the buffer's format to the file's. Enter a change to the format as a pending edit."""
    reformat, path = change.format_change, change.path
    known = files.buffers.get(path)
    if reformat is None:
        return
    if change.live is not None and not change.live.is_modified and known is not None:
        file_format = _format_of_clean(known.format, reformat.new, change.live.text, text)
        if change.file_format is not None:
            encoding = change.file_format.encoding
            file_format = msgspec.structs.replace(file_format, encoding=encoding)
        await _set_format(files, path, file_format)
    if not reformat.is_change or change.is_by_user:
        return
    entry, on_disk = files.ledger.get(path), files.ledger.disk_entry(path)
    entry, file = entry or Pending(path, text, text, text), files.tracked[path]
    if not entry.format_change and not (on_disk and on_disk.format_change):
        file.apply(UserFormat(reformat.old))
    users = file.state.user_format or reformat.old
    file.apply(AgentFormat(reformat.new))
    wanted = reformat.applied_to(known.format if known else None)[1]
    await _set_format(files, path, wanted or reformat.new)
    if entry.base is not None:
        writers = entry.writers | {change.session.n}
        change_text = describe_change(users, reformat.new)
        changed = msgspec.structs.replace(entry, format_change=change_text, writers=writers)
        files.ledger.reinstate(path, entry.live, changed)


def _format_of_clean(buffer: Format, file: Format, before: Text, after: Text) -> Format:
    """Return the format of a clean buffer.

    If Neovim read the file while it was empty, the buffer's options lack the BOM and the CRs.
    """
    bomb = file.bomb if before == EMPTY else buffer.bomb
    dos = buffer.dos or (file.dos and not shows_cr(after))
    return msgspec.structs.replace(buffer, bomb=bomb, dos=dos, mac=buffer.mac and not dos)


async def _set_format(files: Files, path: str, file_format: Format) -> None:
    known = files.buffers.get(path)
    if known is not None and known.format != file_format:
        await files.buffers.set_format(path, known, file_format)
