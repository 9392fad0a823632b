"""State of one file's buffer, and its transitions.

Neovim reports each change to a watched buffer as a region (`acp.buffers.watch`). If that is not
sufficient, the buffer has to be read again. All functions are pure.
"""

from __future__ import annotations

import msgspec

from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.file_format import clean
from acp_nvim.files.ports import BufferEdit, BufferText, NotLoaded


class BufferState(msgspec.Struct, frozen=True):
    """Known state of a buffer."""

    text: BufferText | None = None
    """Loaded buffer, as last reported, or None if there is none or it is unknown."""
    is_stale: bool = False
    """Whether the buffer has changed and has to be read."""
    is_undone: bool = False
    """Whether an undo or redo is among the changes since the text was last read."""
    is_reread: bool = False
    """Whether Neovim has read the file again. The undo or redo of such a read does not count."""
    missed: tuple[int, int] | None = None
    """Buffer and changedtick of a change that was reported before its text arrived."""
    confirmed_signature: str | None = None
    """Signature of the file when the editor last confirmed that `text` matches it.

    None if a change since then was not reported and the buffer has to be read.
    """
    unknown_changes: int = 0
    """Number of changes that no region describes."""
    trusted_tick: int | None = None
    """Changedtick at which the user decided. A buffer that still has it need not be read again."""

    @property
    def is_trusted(self) -> bool:
        """Return whether `text` is the one on which the user decided."""
        return self.text is not None and not self.is_stale and self.text.tick == self.trusted_tick


# -- events for the listener --------------------------------------------------------------------


class Typed(msgspec.Struct, frozen=True):
    """New text of the buffer after a change by the user.

    `is_undo`: the change includes an undo or redo.
    """

    after: Text
    is_undo: bool = False


class Reread(msgspec.Struct, frozen=True):
    """New read of the file by Neovim. `is_undo`: an undo or redo has followed."""

    before: Text
    after: Text
    is_undo: bool = False


class Unloaded(msgspec.Struct, frozen=True):
    """Unloading of the buffer. `before` is None if the text is not known."""

    before: Text | None
    unsaved: bool


class Outdated(msgspec.Struct, frozen=True):
    """Notice that the buffer has to be read, or is gone."""


News = Typed | Reread | Unloaded | Outdated


def after_read(
    state: BufferState, live: BufferText | NotLoaded
) -> tuple[BufferState, BufferText | NotLoaded, list[News]]:
    """Update the state with a buffer that was read.

    Also return the current buffer, which is newer if a change was reported after Neovim's answer.
    """
    known = state.text
    if known is not None and isinstance(live, BufferText) and _is_newer(known, live):
        return state, known, []
    after = BufferState(trusted_tick=state.trusted_tick, unknown_changes=state.unknown_changes)
    if isinstance(live, NotLoaded):
        return after, live, []
    news: list[News] = []
    bufnr, tick = state.missed or (0, 0)
    if bufnr == live.bufnr and tick > live.tick:
        after = msgspec.structs.replace(after, is_stale=True)
        news.append(Outdated())
    if known is not None and known.text != live.text:
        if state.is_reread:
            news.append(Reread(known.text, live.text, state.is_undone))
        else:
            news.append(Typed(live.text, state.is_undone))
    return msgspec.structs.replace(after, text=live), live, news


def after_edit(state: BufferState, edit: BufferEdit) -> tuple[BufferState, list[News]]:
    """Update the state with a reported change. Return the new state, and the changes to report."""
    known = state.text
    if edit.is_unload:
        state = after_unknown_change(state)
        if known is None or known.bufnr != edit.bufnr:
            return state, []
        left = Unloaded(None if state.is_stale else known.text, edit.was_modified)
        return msgspec.structs.replace(state, text=None), [left, Outdated()]
    if known is None or known.bufnr != edit.bufnr:
        return msgspec.structs.replace(
            after_unknown_change(state), missed=(edit.bufnr, edit.tick)
        ), [Outdated()]
    if edit.is_reload and not edit.is_undo:
        return _require_read(msgspec.structs.replace(state, is_reread=True, is_undone=False))
    if known.tick >= edit.tick and not edit.is_reload:
        return state, []
    if known.tick != edit.tick_before or edit.is_reload:
        is_undone = edit.is_undo or state.is_undone
        return _require_read(msgspec.structs.replace(state, is_undone=is_undone))
    text = _apply_edit(known, edit)
    return msgspec.structs.replace(state, text=text), [Typed(text.text, edit.is_undo)]


def after_unknown_change(state: BufferState) -> BufferState:
    """Return the state after a change that no region describes."""
    return msgspec.structs.replace(
        state, confirmed_signature=None, unknown_changes=state.unknown_changes + 1
    )


def after_refresh(state: BufferState, before: BufferState, signature: str | None) -> BufferState:
    """Return the state after the editor brought the buffer up to date with its file.

    `signature` is the file's signature before that, and `before` is the state at the request.
    Changes reported in between may be newer than the file.
    """
    is_sure = (
        state.text is not None
        and not state.is_stale
        and state.unknown_changes == before.unknown_changes
    )
    stale = state.text is None or state.text.is_stale or state.text.is_file_missing
    confirmed = signature if is_sure and not stale else None
    return (
        state
        if state.confirmed_signature == confirmed
        else msgspec.structs.replace(state, confirmed_signature=confirmed)
    )


def with_eol(state: BufferState, eol: bool) -> BufferState:
    """Set the final newline as a save did. Return the same state if nothing changes."""
    live = state.text
    if live is None or live.text.eol == eol:
        return state
    raw, text = Text(live.raw.lines, eol), Text(live.text.lines, eol)
    text = raw if live.raw is live.text else text
    return msgspec.structs.replace(state, text=msgspec.structs.replace(live, raw=raw, text=text))


def _require_read(state: BufferState) -> tuple[BufferState, list[News]]:
    """Mark the buffer as stale. Return the new state, and the changes to report."""
    return msgspec.structs.replace(after_unknown_change(state), is_stale=True), [Outdated()]


def _is_newer(known: BufferText, live: BufferText) -> bool:
    return known.bufnr == live.bufnr and known.tick > live.tick


def _apply_edit(known: BufferText, edit: BufferEdit) -> BufferText:
    region = Text(tuple(edit.lines), edit.eol)
    clean_region = clean(region)

    def put(text: Text, lines: tuple[str, ...]) -> Text:
        return Text((*text.lines[: edit.first], *lines, *text.lines[edit.last :]), edit.eol)

    raw = put(known.raw, region.lines)
    is_clean = known.raw is known.text and clean_region is region
    text = raw if is_clean else put(known.text, clean_region.lines)
    return msgspec.structs.replace(
        known, tick=edit.tick, raw=raw, text=text, is_modified=edit.is_modified
    )
