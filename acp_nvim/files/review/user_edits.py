"""The user's changes, recorded in the ledger as Neovim reports them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from acp_nvim.edits.agent_bases import AgentBases, ChangeKind
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers import buffer_state
from acp_nvim.files.buffers.buffer_state import News, Outdated, Reread, Typed, Unloaded
from acp_nvim.files.buffers.tracked_file import (
    AuthorUnknown,
    FileState,
    Saved,
    SavedIdle,
    SaveSigned,
    TrackedFiles,
    Unmerged,
)
from acp_nvim.files.bytes.disk import bytes_of, signature_of
from acp_nvim.files.bytes.file_format import BinaryError, Format, clean, text_of
from acp_nvim.files.changes.git_tree import GitTrees
from acp_nvim.files.changes.turns import Turns
from acp_nvim.files.review.pending_view import PendingView
from acp_nvim.tasks import Trigger


class UserEdits:
    """Changes and saves of buffers by the user. No method waits."""

    def __init__(
        self,
        tracked: TrackedFiles,
        ledger: Ledger,
        bases: AgentBases,
        turns: Turns,
        trees: GitTrees,
        pending_view: PendingView,
    ) -> None:
        self.is_exiting = False
        """Whether Neovim is exiting."""
        self._to_read = set[str]()
        """Files whose buffers have to be read again."""
        self.news = Trigger()
        """Trigger set when a change has to be shown or a buffer has to be read."""
        self._tracked = tracked
        self._ledger = ledger
        self._bases = bases
        self._turns = turns
        self._trees = trees
        self._view = pending_view

    def on_exit(self) -> None:
        """Ignore later buffer changes, since Neovim unloads all buffers when it exits."""
        self.is_exiting = True

    def collect(self) -> set[str]:
        """Return the files whose buffers have to be read again, and clear them and the `news`."""
        self.news.clear()
        paths, self._to_read = self._to_read, set()
        return paths

    # -- changes to buffers -----------------------------------------------------------------------

    def on_buffer_news(self, path: str, news: News) -> None:
        """Process a buffer change that Neovim reported or that a read detected."""
        if self.is_exiting:
            return
        match news:
            case Typed(after, is_undo):
                self._on_typed(path, after, is_undo)
            case Reread(_, after, is_undo):
                self._tracked[path].apply(Unmerged(False))
                self._on_reread(path, after, is_undo)
            case Unloaded(before, unsaved):
                self._tracked[path].apply(Unmerged(False))
                self._on_discarded(path, before, unsaved)
            case Outdated():
                self._read_later(path)

    def _on_typed(self, path: str, after: Text, is_undo: bool = False) -> None:
        """Process a change to the buffer by the user."""
        self._bases.record_change(path, after, ChangeKind.UNDONE if is_undo else ChangeKind.TYPED)
        # A buffer that a typed change leaves clean was saved, perhaps by a formatter.
        self._on_edited(path, after, is_undo=is_undo, may_be_discarded=is_undo)

    def _on_edited(
        self, path: str, after: Text, *, is_undo: bool, may_be_discarded: bool = True
    ) -> None:
        """Enter a change by the user, if the file has pending or parked edits."""
        if self._tracked.state(path).is_author_unknown:
            if is_undo:
                self._ledger.undo_history.expect(path)
            return  # the change is entered once its author is known
        buffer = self._tracked.buffer(path).text
        if buffer is not None and buffer.is_modified:
            self._ledger.split_from_disk(path)
        elif buffer is not None:
            self._ledger.join_disk(path, after, may_be_discarded=may_be_discarded)
        may_unpark = is_undo and path in self._ledger.parked
        if may_unpark or self._ledger.tracked_entry(path) is not None:
            self._ledger.record_user_edit(path, after, is_undo=is_undo)
            if may_unpark:
                self._ledger.unpark(path, after)
            self._view.refresh_later(path)
            self.news.set()

    def _on_reread(self, path: str, after: Text, is_undo: bool) -> None:
        """Record a file's text after Neovim has read the file again.

        If an agent may have written the text, mark the author as unknown. If git has moved the work
        tree, read the file later. Otherwise the change counts as the user's.
        """
        self._bases.record_change(path, after, ChangeKind.REPLACED)
        self._ledger.join_disk(path, after)
        if is_undo:
            self._ledger.undo_history.expect(path)
        if self._turns.any_may_change(path) and self._tracked.state(path).disk != after:
            self.mark_author_unknown(path)
        elif path in self._ledger.parked or (
            self._ledger.get(path) and self._trees.change(path).has_moved
        ):
            self._read_soon(path)
        else:
            self._on_edited(path, after, is_undo=is_undo)

    def mark_author_unknown(self, path: str) -> None:
        """Mark the author of a file's text as unknown, until `LiveTexts` has read the file."""
        self._tracked[path].apply(AuthorUnknown(True))
        self._read_soon(path)

    def _read_soon(self, path: str) -> None:
        self._to_read.add(path)
        self.news.set()

    def _on_discarded(self, path: str, before: Text | None, unsaved: bool) -> None:
        """Process the discard of a buffer's text, by `:edit!` or `:bwipeout!`.

        A text that was not `unsaved` was saved right before.
        """
        if not unsaved:
            self._ledger.on_saved(path)
        if before is not None:
            self._bases.record_change(path, before, ChangeKind.TYPED)
        self._bases.record_discard(
            path, ChangeKind.DECIDED if unsaved and before is not None else ChangeKind.REPLACED
        )

    def _read_later(self, path: str) -> None:
        """Request a new read of the buffer, if the file is known."""
        ledger = self._ledger
        is_known = ledger.tracked_entry(path) is not None or path in ledger.disk_entries
        if is_known or path in ledger.parked or self._tracked.buffer(path).text is not None:
            self._read_soon(path)

    # -- saves ------------------------------------------------------------------------------------

    def on_save_signature(self, path: str, signature: str, other_bytes: bool) -> None:
        """Record the signature of a user's save, and whether its bytes differ from the text."""
        self._tracked[path].apply(SaveSigned(signature, other_bytes))

    def on_save(
        self,
        path: str,
        lines: Sequence[str] | None,
        eol: bool,
        file_format: Format,
        unaware: bool = False,
    ) -> None:
        """Process a save by the user, which resolves a conflict unless they are `unaware` of it.

        `lines` are passed for a buffer whose text is not known yet.
        """
        file = self._tracked[path]
        self._turns.on_user_save(path, file.state.disk)
        if path in self._ledger.disk_entries:
            self._ledger.on_saved(path)
            self._view.refresh(path)
        live = file.buffer.text
        text = Text(live.text.lines, eol) if live is not None else None
        if lines is not None:
            text = clean(Text(tuple(lines), eol))
        is_known = text is not None and not (lines is None and file.buffer.is_stale)
        if not is_known:
            text = _saved_text(path, file.state, file_format)
        if text is None:
            file.apply(Saved(None, file_format))
            if not self._turns:  # read it before the next prompt
                file.apply(SavedIdle())
            return
        if lines is None and is_known:
            ended = buffer_state.with_eol(file.buffer, eol)
            if ended is not file.buffer:
                file.set_buffer(ended)
                self._on_typed(path, text)
        file.apply(Saved(text, file_format))
        entry = self._ledger.get(path)
        if entry is not None and entry.is_conflict and not unaware:
            self._ledger.resolve_conflict(path, text)
            self._view.refresh(path)


def _saved_text(path: str, state: FileState, file_format: Format) -> Text | None:
    """Return the text of a file that has not changed since its last save, or None if it has.

    A later change by an agent would otherwise include the save.
    """
    if state.saved_other_bytes:
        return None
    with suppress(OSError, BinaryError):
        text = text_of(bytes_of(path), file_format)
        return text if signature_of(path) == state.saved else None
    return None
