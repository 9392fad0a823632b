"""Live texts of files, with which the ledger is kept up to date."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.agent_bases import ChangeKind
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import AuthorUnknown
from acp_nvim.files.bytes import disk, obstacles
from acp_nvim.files.bytes.disk import signature_of
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.files import Files
from acp_nvim.files.ports import BufferText, NotLoaded

QUIET_S: Final = 0.05
"""Pause in the user's typing after which hunks are computed again, in seconds."""


class LiveTexts:
    """Reader of the live texts of files, which enters the user's changes into the ledger.

    The live text of a file is the text of its buffer, or of the disk if no buffer is loaded.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._tracked = files.tracked
        self._ledger = files.ledger
        self._bases = files.bases
        self._buffers = files.buffers
        self._user_edits = files.user_edits
        self._view = files.pending_view
        self._lock = anyio.Lock()
        self.restored = set[str]()
        """Files with edits from an earlier Neovim that have not been compared with the texts."""
        self.unobserved = set[str]()
        """Files with edits from this Neovim's last host that have not been compared either."""

    @asynccontextmanager
    async def hold(self, *paths: str) -> AsyncIterator[None]:
        """Hold the locks of these files and of decisions.

        During the context, only the user may change the files.
        """
        async with self._lock, AsyncExitStack() as stack:
            for path in sorted(set(paths)):
                await stack.enter_async_context(self._tracked[path].lock)
            yield

    # -- user edits -------------------------------------------------------------------------------

    async def run(self, scan: Callable[[str], Awaitable[None]]) -> None:
        """Process the user's edits until cancelled.

        `scan` reads the latest changes to a file by running agents.
        """
        while True:
            await self._user_edits.news.wait()
            await anyio.sleep(QUIET_S)
            to_read = self._user_edits.collect()
            for path in to_read:
                await scan(path)
                self._settle_reread(path)
                async with self.hold(path):
                    await self.sync(path)
                    await self._record_replacement(path)
            if any(self._files.trees.change(path).has_moved for path in to_read):
                await self.sync_all(scan)
            self._view.flush()

    async def sync_all(self, scan: Callable[[str], Awaitable[None]]) -> None:
        """Bring all entries up to date with their files."""
        paths = list(self._ledger.all_edits())
        trees = self._files.trees.read(paths)
        with self._view.together():
            for path in paths:
                await scan(path)
                async with self.hold(path):
                    await self.sync(path)
        self._files.trees.known.update(trees)

    def _settle_reread(self, path: str) -> None:
        if self._tracked.state(path).is_author_unknown:
            self._tracked[path].apply(AuthorUnknown(False))

    async def _record_replacement(self, path: str) -> None:
        """Record the text that replaced a discarded buffer text as a new base for agents."""
        if not self._bases.is_discarded(path):
            return
        limit, place = self._files.options().message_bytes, Place(path, path)
        try:
            live = await self.text(path)
            buffer = self._buffers.get(path)
            present = [] if live is None else [live]
            if buffer is not None and buffer.is_modified:
                present.append(
                    await to_thread.run_sync(disk.saved_text, place, limit, buffer.format)
                )
        except Refusal:
            return  # not text, so an agent cannot write it either
        if present:
            self._bases.record_present(path, iter(present), ChangeKind.TYPED)
        else:
            self._bases.record_change(path, None, ChangeKind.REPLACED)

    # -- the ledger -------------------------------------------------------------------------------

    async def sync_typed(self, path: str) -> None:
        """Enter the changes that the user has made into the ledger.

        Do not read a loaded buffer that has a file.
        """
        buffer, text = await self._buffers.peek(path), None
        if not isinstance(buffer, NotLoaded):
            text = await self._buffer_text(path, buffer)
        if text is None:
            await self.sync(path)
        else:
            await self.enter(path, text)

    async def sync(self, path: str) -> Text | None:
        """Bring the ledger up to date with the file. Return its live text."""
        try:
            text = await self.text(path)
            if text is None and await self._has_returned(path):
                text = await self.text(path)
        except Refusal:
            return None  # no longer text: its edits stay pending until it is text again
        await self.enter(path, text)
        return text

    async def _has_returned(self, path: str) -> bool:
        """Return whether a missing file with edits exists again. Wait if it was just removed."""
        entry = self._ledger.tracked_entry(path)
        if entry is None or entry.live is None:
            return False
        await to_thread.run_sync(disk.wait_written, path)
        return await to_thread.run_sync(obstacles.is_file, path)

    async def enter(self, path: str, text: Text | None) -> None:
        """Enter the text of a file as the user's change, unless an agent may have changed it.

        If an agent may have, mark the author as unknown. If git has moved the work tree, park the
        edits that the text lacks. A text from a time without a host may result from an undo.
        """
        buffer = self._buffers.get(path)
        is_typed = buffer is not None and buffer.is_modified
        if is_typed:
            self._ledger.split_from_disk(path)
        elif path in self._ledger.disk_entries:
            self._ledger.join_disk(path, text)
            self._view.refresh(path)
        entry = self._ledger.tracked_entry(path)
        is_same = entry is None or entry.live == text
        if self._user_edits.is_exiting or (is_same and path not in self._ledger.parked):
            self._ledger.undo_history.take_expected(path)
            self._on_compared(path)
            return
        if self._files.turns.any_may_change(path) and await self._has_unscanned_change(path):
            self._user_edits.mark_author_unknown(path)
            return
        tree = await to_thread.run_sync(self._files.trees.change, path)
        if (tree.has_moved or path in self.restored or is_same) and not is_typed:
            self._enter_tree_change(path, text, tree.branch, replaced=tree.has_moved)
        else:
            may_be_undo = path in self.restored or path in self.unobserved
            self._ledger.record_user_edit(path, text, is_undo=may_be_undo)
            self._ledger.unpark(path, text)
        self._on_compared(path)
        self._view.refresh(path)

    def _on_compared(self, path: str) -> None:
        """Record that the edits of a file have been compared with the present text."""
        self.restored.discard(path)
        self.unobserved.discard(path)

    def _enter_tree_change(
        self, path: str, text: Text | None, branch: str, *, replaced: bool
    ) -> None:
        """Process a text that git, another program or the user of an earlier Neovim has written."""
        ledger = self._ledger
        entry = ledger.get(path)
        was_apart = entry is not None and entry.is_conflict
        if ledger.record_tree_change(
            path, text, replaced=replaced, branch=branch, time=time.time()
        ):
            self._view.on_parked(path)
        now = ledger.get(path)
        if now is not None and now.is_conflict and not was_apart:
            self._files.view.echo(wording.CHANGED_BY_BOTH.format(file=Path(path).name))

    async def _has_unscanned_change(self, path: str) -> bool:
        """Return whether the file has changed since its last scan. An agent may have changed it."""
        last_scan = self._tracked.state(path).last_scan
        now = await to_thread.run_sync(signature_of, path)
        return last_scan != (self._files.turns.round, now)

    @asynccontextmanager
    async def as_one_change(self, paths: Iterable[str], kind: ChangeKind) -> AsyncIterator[None]:
        """Record all changes to these files within the context as one change by the user."""
        known = [path for path in paths if self._bases.has_beliefs(path)]
        before = {path: await self._text_or_none(path) for path in known}
        yield
        for path, text in before.items():
            self._bases.record_change(path, await self._text_or_none(path), kind, text)

    # -- texts ------------------------------------------------------------------------------------

    async def text(self, path: str, *, is_deleted: bool = False) -> Text | None:
        """Return the text of a file from buffer or disk, or None for no file. Raise Refusal.

        If an agent has deleted the file (`is_deleted`), a directory or link in its place does not
        count.
        """
        place = Place(path, path)
        buffer = await self._buffers.read(place)
        if isinstance(buffer, BufferText):
            return await self._buffer_text(path, buffer, is_deleted=is_deleted)
        if (is_deleted or self._is_deleted(path)) and await to_thread.run_sync(_is_replaced, path):
            return None
        limit = self._files.options().message_bytes
        formats = buffer.fileencodings, buffer.fileformats
        stored = await to_thread.run_sync(disk.read_decoded, place, limit, *formats)
        return stored.text if stored else None

    async def _text_or_none(self, path: str) -> Text | None:
        """Return the live text, or None if there is no file, or the file is not text."""
        try:
            return await self.text(path)
        except Refusal:
            return None

    async def _buffer_text(
        self, path: str, buffer: BufferText, *, is_deleted: bool = False
    ) -> Text | None:
        """Return the text of a buffer, or None for a clean one whose file is deleted."""
        there = buffer.is_modified or await to_thread.run_sync(Path(path).exists)
        if there and (is_deleted or self._is_deleted(path)) and not buffer.is_modified:
            there = await to_thread.run_sync(obstacles.is_file, path)
        now = self._buffers.get(path) or buffer  # the user may have typed in the meantime
        return now.text if there else None

    def _is_deleted(self, path: str) -> bool:
        """Return whether an agent has deleted the file and the deletion is pending."""
        entry = self._ledger.get(path)
        return entry is not None and entry.live is None


def _is_replaced(path: str) -> bool:
    """Return whether a directory, link or FIFO has replaced a file."""
    return obstacles.describe(path) != ""
