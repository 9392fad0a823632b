"""One change that an agent made on disk, entered into the file's buffer and the ledger."""

from __future__ import annotations

import msgspec
from anyio import to_thread

from acp_nvim.edits.agent_bases import Act
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.session.session import Session
from acp_nvim.workspace.file_changes import kind_of, merged
from acp_nvim.workspace.file_format import Format
from acp_nvim.workspace.layout_changes import Laid, lay, words
from acp_nvim.workspace.layouts import shows_cr
from acp_nvim.workspace.pending_edits import Edits
from acp_nvim.workspace.ports import BufferText
from acp_nvim.workspace.snapshots.snapshots import stamp_of


class Step(msgspec.Struct, frozen=True):
    """One file's change on its way into buffer and ledger."""

    session: Session
    path: str
    before: Text | None
    after: Text | None
    live: BufferText | None
    stamp: str | None
    """The file's when ``after`` was read."""
    laid: Laid | None
    """What became of the file's line ends and BOM, where that is known."""
    read: bool
    """Neovim has read it into the buffer by itself: what is unsaved there came afterwards."""
    written: bool = False
    """Through the editor, and told then; but it reads otherwise: it begins with a BOM."""

    @property
    def kind(self) -> str:
        """What the agent did to the file."""
        return kind_of(self.before, self.after)


async def enter(edits: Edits, step: Step) -> str:
    """Buffer first, then ledger. Returns ``done``, ``moved`` when buffer or file are not as
    they were, ``busy`` when Neovim allows no edit now, or why there is none.
    """
    live, path = step.live, step.path
    base = start = step.before
    text = step.after
    entry = edits.ledger.get(path)
    apart = entry is not None and entry.conflict
    read = step.read and (not apart or edits.reads.get(path) == text)
    if live is not None and live.modified and read and text is not None:
        return await _enter_read(edits, step, live, text)
    if live is not None and live.modified:
        step = _caught_up(edits, step, live)
        base = live.text
        start = edits.bases.get(path, step.before) if apart else step.before
        text = merged(start, live.text, step.after)
        if text is None:
            edits.bases[path] = start
            return await _part(edits, step, live)
        edits.bases.pop(path, None)
    if live is not None:
        unsaved = text != step.after
        outcome = await edits.bring(live, text or live.text, unsaved, step.stamp)
        if outcome != "done":
            return outcome
    elif await to_thread.run_sync(stamp_of, path) != step.stamp:
        return "moved"
    _record(edits, step, base, text)
    if text is not None:
        await _lay(edits, step, text)
    if text != step.after and start is not None and step.after is not None:
        edits.ledger.stored(path, start, step.after, step.session.n)
    _tell(edits, step)
    return "done"


async def _part(edits: Edits, step: Step, live: BufferText) -> str:
    """Buffer and file stay two texts. Neovim takes the file for known as it is when it is told so:
    one that has become another one since it was read is merged at once.
    """
    path = step.path
    await edits.bridge.call("acp.buffers.disk_changes", "part", live.bufnr)
    edits.ledger.conflicted(path, live.text, step.after, step.session.n)
    edits.checkpoints.did(path, step.before, step.after)
    edits.told(step.session, path, step.kind, "disk", conflict=True)
    return "done" if await to_thread.run_sync(stamp_of, path) == step.stamp else "moved"


def _caught_up(edits: Edits, step: Step, live: BufferText) -> Step:
    """Neovim has read an earlier change of the agent's by itself, before the user went on: that is
    entered first, else it would pass for the user's. Done once, however often this is tried.
    """
    shown = edits.reads.pop(step.path, None)
    if shown is None or shown in (step.before, step.after):
        return step
    _record(edits, step, step.before, shown)
    edits.ledger.user_edited(step.path, live.text)
    edits.known[step.path] = shown
    return msgspec.structs.replace(step, before=shown)


async def _enter_read(edits: Edits, step: Step, live: BufferText, after: Text) -> str:
    """The user has gone on from what the agent wrote: so it is told the ledger."""
    outcome = await edits.bring(live, live.text, live.text != after, step.stamp)
    if outcome != "done":
        return outcome
    edits.bases.pop(step.path, None)
    _record(edits, step, step.before, after)
    edits.ledger.user_edited(step.path, live.text)
    await _lay(edits, step, live.text)
    _tell(edits, step)
    return "done"


def _tell(edits: Edits, step: Step) -> None:
    if step.written:
        edits.changed(step.path)
    else:
        edits.told(step.session, step.path, step.kind, "disk")


async def _lay(edits: Edits, step: Step, text: Text) -> None:
    """The buffer lies as the file does now, and that it does is pending as well."""
    laid, path = step.laid, step.path
    known = edits.mirrors.get(path)
    if laid is None:
        return
    if step.live is not None and not step.live.modified and known is not None:
        await _lay_buffer(edits, path, _read(known.format, laid.new, step.live.text, text))
    if not laid.changed:
        return
    entry = edits.ledger.get(path) or Pending(path, text, text, text)
    if not entry.relaid:
        edits.layouts.note(path, laid.old)
    kept = edits.layouts.get(path) or laid.old
    edits.layouts.agents[path] = laid.new
    await _lay_buffer(edits, path, laid.over(known.format if known else None)[1] or laid.new)
    if entry.base is not None:
        writers = entry.writers | {step.session.n}
        relaid = words(kept, laid.new)
        changed = msgspec.structs.replace(entry, relaid=relaid, writers=writers)
        edits.ledger.reinstated(path, entry.live, changed)


def _read(found: Format, lies: Format, before: Text, after: Text) -> Format:
    """How a clean buffer lies. Neovim may have read it when the file was empty: then it knows of no
    BOM, and of no CR that it does not show.
    """
    bomb = lies.bomb if before == EMPTY else found.bomb
    dos = found.dos or (lies.dos and not shows_cr(after))
    return msgspec.structs.replace(found, bomb=bomb, dos=dos, mac=found.mac and not dos)


async def _lay_buffer(edits: Edits, path: str, layout: Format) -> None:
    known = edits.mirrors.get(path)
    if known is not None and known.format != layout:
        await lay(edits.bridge, known, layout)
        edits.mirrors.put(path, msgspec.structs.replace(known, format=layout))


def _record(edits: Edits, step: Step, base: Text | None, text: Text | None) -> None:
    ledger, n = edits.ledger, step.session.n
    edits.agent_bases.changed(step.path, text, Act.REPLACED)
    edits.checkpoints.did(step.path, base, text)
    if text is None and base is not None:
        ledger.agent_deleted(step.path, base, n)
    elif text is not None:
        ledger.agent_wrote(step.path, base, text, n)
