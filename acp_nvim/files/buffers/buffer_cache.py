"""Cache of the texts of all watched buffers, updated with the regions that the user changes.

It wraps the port `Buffers` and records each text in `TrackedFile.buffer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from anyio import to_thread
from msgspec.structs import replace

from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers import buffer_state
from acp_nvim.files.buffers.buffer_state import BufferState, News
from acp_nvim.files.buffers.tracked_file import TrackedFile, TrackedFiles, Unmerged
from acp_nvim.files.bytes import disk
from acp_nvim.files.bytes.disk import settled_signature, signature_of
from acp_nvim.files.bytes.file_format import Format
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.text_fit import restore_raw
from acp_nvim.files.ports import (
    BufferChange,
    BufferEdit,
    Buffers,
    BufferText,
    NotLoaded,
    Save,
    WriteResult,
)


class BufferCache:
    """`Buffers` with a cache."""

    def __init__(
        self, inner: Buffers, files: TrackedFiles, listener: Callable[[str, News], None]
    ) -> None:
        """`listener` is called with the real path for each change, except agents' writes."""
        self._inner = inner
        self._files = files
        self._listener = listener

    def get(self, path: str) -> BufferText | None:
        """Return the loaded buffer of a file, if known."""
        return self._files.buffer(path).text

    # -- read -------------------------------------------------------------------------------------

    async def read(self, place: Place) -> BufferText | NotLoaded:
        """Read the buffer as `Buffers.read` does, or return the cached one if it can be trusted."""
        await _wait_filled(place.real)
        state = self._files.buffer(place.real)
        if state.text is not None and state.is_trusted:
            return state.text
        signature = settled_signature(place.real)
        known = None if state.is_stale else state.text
        answer = await self._inner.read(place, known)
        file = self._files[place.real]
        live = self._store_read(file, answer)
        file.set_buffer(buffer_state.after_refresh(file.buffer, state, signature))
        return live

    async def read_cached(self, place: Place) -> BufferText | NotLoaded:
        """Return the buffer, from the cache if all changes to it have been reported.

        Neovim reports each change to a watched buffer on the channel of the user's actions, before
        later actions (`flush_all` in `acp.buffers.watch`). So an agent that has received a prompt,
        an answer or a decision never reads a text from before the user's earlier changes. A write
        names the changedtick, and Neovim refuses it if the buffer has changed since.

        Two kinds of changes are not reported. A clean buffer follows changes to its file, so the
        signature is compared here. After a change to anything but the text, such as an option
        (`report_unknown_change` in `acp.buffers.watch`), the buffer is read again.
        """
        state = self._files.buffer(place.real)
        if state.text is None or state.is_stale or state.confirmed_signature is None:
            return await self.read(place)
        if state.confirmed_signature != signature_of(place.real):
            return await self.read(place)
        return state.text

    async def load(self, place: Place, file_format: Format | None = None) -> BufferText | NotLoaded:
        await _wait_filled(place.real)
        answer = await self._inner.load(place, file_format)
        return self._store_read(self._files[place.real], answer)

    async def peek(self, path: str) -> BufferText | NotLoaded:
        """Return the cached buffer while a decision trusts it, otherwise call `glance`."""
        state = self._files.buffer(path)
        if state.text is not None and state.is_trusted:
            return state.text
        return (await self.glance(path))[0]

    async def glance(self, path: str) -> tuple[BufferText | NotLoaded, str | None]:
        """Ask Neovim for the buffer, which is not reloaded from its file.

        Also return the file's signature at the editor's last read or write.
        """
        live, signature = await self._inner.glance(Place(path, path))
        return self._store_read(self._files[path], live), signature

    def _store_read(
        self, file: TrackedFile, live: BufferText | NotLoaded
    ) -> BufferText | NotLoaded:
        state, live, news = buffer_state.after_read(file.buffer, live)
        self._update(file, state, news)
        return live

    def _update(self, file: TrackedFile, state: BufferState, news: Sequence[News]) -> None:
        file.set_buffer(state)
        for new in news:
            self._listener(file.path, new)

    @contextmanager
    def trust_at(self, path: str, tick: int | None) -> Iterator[bool]:
        """Trust the cached text while the user's decision at this changedtick is carried out.

        Yield whether the cache has this changedtick. If so, the buffer is not read again until it
        changes. Neovim compares changedtick and file when it writes.
        """
        if tick is None:
            yield False
            return
        file = self._files[path]
        file.set_buffer(replace(file.buffer, trusted_tick=tick))
        try:
            yield file.buffer.is_trusted
        finally:
            self.distrust(path)

    def distrust(self, path: str) -> None:
        """Stop trusting the user's changedtick, so that the buffer is read again."""
        file = self._files[path]
        if file.buffer.trusted_tick is not None:
            file.set_buffer(replace(file.buffer, trusted_tick=None))

    # -- writing ----------------------------------------------------------------------------------

    async def write(self, place: Place, live: BufferText, change: BufferChange) -> WriteResult:
        """Make a change as `Buffers.write` does, record the buffer, and return the result."""
        written = await self._inner.write(place, live, change)
        file = self._files[place.real]
        if written.is_unloaded:
            file.set_buffer(replace(file.buffer, text=None))
        elif file.buffer.text is None:  # unloaded in the meantime
            return replace(written, requested=None)
        elif written.live is not None:
            _record(file, written.live)
            if written.is_saved:
                file.apply(Unmerged(False))
        return written

    async def follow_disk(
        self, path: str, live: BufferText, after: Text, modified: bool, signature: str | None
    ) -> str:
        """Apply a change in the file on disk to its buffer, by hunks, without saving.

        `signature` is the file's signature when it was read. Return `done`, `moved` (buffer
        or file changed again), `busy` (Neovim allows no edit now), or the reason for a failure.
        """
        hunks = restore_raw(live.raw.lines, live.text.lines, diff(live.text.lines, after.lines))
        unmerged = modified and self._files.state(path).is_unmerged
        written = await self._inner.follow_disk(live, hunks, after, modified, signature, unmerged)
        if written.live is not None:
            _record(self._files[path], written.live)
            if not modified:
                self._files[path].apply(Unmerged(False))
        return written.reason if written.outcome == "failed" else written.outcome

    async def unsaved(self) -> dict[str, Text]:
        return await self._inner.unsaved()

    async def obstacles(self, paths: Sequence[str], save: Save) -> dict[str, str]:
        return await self._inner.obstacles(paths, save)

    async def mark_unmerged(self, path: str) -> None:
        """Record that the unsaved text lacks a change by the user (`FileState.is_unmerged`)."""
        self._files[path].apply(Unmerged(True))
        await self._inner.mark_unmerged(path)

    async def mark_conflict(self, path: str, live: BufferText) -> None:
        await self._inner.mark_conflict(live, self._files.state(path).is_unmerged)

    async def set_format(self, path: str, live: BufferText, file_format: Format) -> None:
        await self._inner.set_format(live, file_format)
        file = self._files[path]
        if file.buffer.text is live:
            _record(file, replace(live, format=file_format))

    async def vacate(self, path: str, live: BufferText) -> None:
        """Empty the buffer of a deleted file, and unload it unless a window shows it.

        Do not change a buffer that the user has changed since `live`.
        """
        await self._inner.vacate(path, live)
        file = self._files[path]
        if file.buffer.text in (live, None):
            file.set_buffer(replace(file.buffer, text=None))
        await self.read(Place(path, path))

    # -- events from Neovim -----------------------------------------------------------------------

    def on_unknown_change(self, path: str) -> None:
        """Record a change that no region describes (`buffer_state.after_unknown_change`)."""
        file = self._files[path]
        file.set_buffer(buffer_state.after_unknown_change(file.buffer))

    def on_edit(self, edit: BufferEdit) -> None:
        """Record a change to a watched buffer (`buffer_state.after_edit`)."""
        file = self._files[edit.path]
        state, news = buffer_state.after_edit(file.buffer, edit)
        self._update(file, state, news)


async def _wait_filled(path: str) -> None:
    """Wait for the text of a file that a program has just truncated, but not for long."""
    if disk.is_just_emptied(path):
        await to_thread.run_sync(disk.wait_filled, path)


def _record(file: TrackedFile, live: BufferText) -> None:
    """Record the buffer after a change by this plugin."""
    tick = None if file.buffer.trusted_tick is None else live.tick
    file.set_buffer(replace(file.buffer, text=live, trusted_tick=tick))
