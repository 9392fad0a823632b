"""Writes and deletions of files for decisions and restores, through the buffer if there is one."""

from __future__ import annotations

from typing import Final

import anyio
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.hunks import diff
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.buffers.tracked_file import ContentKnown, Removed, UserFormat
from acp_nvim.files.bytes import disk, nofollow, obstacles
from acp_nvim.files.bytes.disk import bytes_or_none
from acp_nvim.files.bytes.file_format import (
    BinaryError,
    Decoded,
    Format,
    decode,
    encode,
    format_to_write,
)
from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.bytes.text_fit import restore_raw, unencodable
from acp_nvim.files.files import Files
from acp_nvim.files.ports import BufferChange, BufferText, NotLoaded, WriteResult
from acp_nvim.files.writes.agent_write import PATIENCE_S, PAUSE_S

ATTEMPTS: Final = 20
"""Number of attempts to write to a buffer that keeps changing."""


class Refused(Exception):
    """A file could not be written or deleted. The message is the reason, in one line."""


class FileWriter:
    """Writes and deletions of files, recorded in the ledger."""

    def __init__(self, files: Files) -> None:
        self._files = files

    async def remove(self, path: str) -> None:
        """Delete a file. Empty its buffer, and unload the buffer unless a window shows it."""
        live = self._files.buffers.get(path)
        file = self._files.tracked[path]
        file.apply(UserFormat(await self._format_of(path)))
        try:
            was = await to_thread.run_sync(nofollow.remove, path)
        except OSError as error:
            raise Refused(f"it cannot be deleted: {error.strerror}") from error
        if was is not None:
            file.apply(Removed(Rights.of(was)))
        await to_thread.run_sync(obstacles.restore, file)
        file.apply(ContentKnown(None, None))
        self._files.ledger.disk_entries.drop(path)
        if live is not None:
            await self._files.buffers.vacate(path, live)

    async def write(
        self,
        path: str,
        before: Text | None,
        after: Text,
        whole: bool = False,
        agents_format: Format | None = None,
    ) -> None:
        """Write a text to a file, by hunks in its buffer, and save it like an agent's write.

        `before` is the text that an existing file must have. With `whole`, no part of an
        agent's edit remains in the file. `agents_format` is the format to write, if set. Raise
        Refused or Refusal and change nothing on failure.
        """
        place = Place(path, path)
        for _ in range(ATTEMPTS):
            live, stored = await self._load(place)
            exists = await _exists(path)
            known = live if isinstance(live, BufferText) else stored
            present = known.format if known and exists else None
            user_format = self._files.tracked.state(path).user_format
            file_format = agents_format or format_to_write(
                user_format, present, before, after, whole
            )
            if isinstance(live, NotLoaded):
                disk_format = file_format or present or Format()
                await self._write_to_disk(place, before, after, disk_format, live)
                return
            if before is not None and live.text != before:
                raise Refused(wording.WHY_CHANGED)
            is_fresh = stored is not None
            if await self._write_buffer(place, live, after, file_format, is_fresh, exists):
                return
        raise Refused("the buffer keeps changing")

    async def _write_buffer(
        self,
        place: Place,
        live: BufferText,
        after: Text,
        file_format: Format | None,
        is_fresh: bool,
        exists: bool,
    ) -> bool:
        """Change the format (if set) and the text of a buffer, and save the buffer.

        Return False if the buffer has moved. `is_fresh` means that the buffer was loaded for this
        write, `exists` that the buffer has a file.
        """
        if file_format is not None and file_format != live.format:
            await self._files.buffers.set_format(place.real, live, file_format)
            formatted = await self._files.buffers.read(place)
            if isinstance(formatted, NotLoaded):
                return False
            live = formatted
        written = await self._write(place, live, after, is_fresh, exists)
        if written.outcome == "moved":
            self._files.buffers.distrust(place.real)
            return False
        self._on_written(place.real, after, written, live.format)
        return True

    def _on_written(
        self, path: str, after: Text, written: WriteResult, file_format: Format
    ) -> None:
        """Record the text after autocommands, and the content on disk."""
        if written.requested is None or written.live is None:
            return
        self._files.ledger.record_formatting(path, after, written.live.text)
        if written.is_saved:
            self._files.ledger.disk_entries.drop(path)
            self._files.tracked[path].apply(ContentKnown(written.live.text, file_format))

    async def _format_of(self, path: str) -> Format | None:
        """Return the format of a file, or None if it does not exist or is not text."""
        live = self._files.buffers.get(path)
        data = await to_thread.run_sync(bytes_or_none, path)
        if live is not None or data is None:
            return live.format if live else None
        try:
            return decode(data).format
        except BinaryError:
            return None

    async def _load(self, place: Place) -> tuple[BufferText | NotLoaded, Decoded | None]:
        """Return the buffer, and the text of the file if this call has loaded it."""
        live = await self._files.buffers.read(place)
        if isinstance(live, BufferText):
            return live, None
        limit = self._files.options().message_bytes
        stored = disk.read_decoded(place, limit, live.fileencodings, live.fileformats)
        fresh = await self._files.buffers.load(place, stored.format if stored else None)
        return fresh, stored or Decoded(EMPTY, Format())

    async def _write(
        self, place: Place, live: BufferText, after: Text, is_fresh: bool, exists: bool
    ) -> WriteResult:
        """Try to write once, waiting while the buffer is busy. Return outcome `done` or `moved`."""
        options = self._files.options()
        hunks = restore_raw(live.raw.lines, live.text.lines, diff(live.text.lines, after.lines))
        lacking = unencodable(hunks, live.format.encoding)
        if lacking:
            raise Refused(lacking)
        change = BufferChange(
            hunks,
            eol=after.eol,
            is_empty=after == EMPTY,
            save=options.save if exists or options.save == "never" else "always",
            autocmds=options.autocmds,
            is_fresh=is_fresh,
            is_synced=live.is_stale,
            rights=None if exists else self._files.tracked.state(place.real).rights,
        )
        deadline = anyio.current_time() + PATIENCE_S
        written = await self._files.buffers.write(place, live, change)
        while written.outcome == "busy" and anyio.current_time() < deadline:
            await anyio.sleep(PAUSE_S)
            written = await self._files.buffers.write(place, live, change)
        if written.outcome not in ("done", "moved"):
            raise Refused(written.reason)
        return written

    async def _write_to_disk(
        self,
        place: Place,
        before: Text | None,
        after: Text,
        file_format: Format,
        not_loaded: NotLoaded,
    ) -> None:
        """Write the file without Neovim, which cannot load it."""
        if not_loaded.is_name_taken:
            raise Refused(not_loaded.reason)
        limit = self._files.options().message_bytes
        now = disk.read_decoded(place, limit, not_loaded.fileencodings, not_loaded.fileformats)
        if (now.text if now else None) != before:
            raise Refused(wording.WHY_CHANGED)
        try:
            data = encode(after, file_format)
        except UnicodeEncodeError as error:
            raise Refused(f"it cannot be written: {error.reason}") from error
        rights = self._files.tracked.state(place.real).rights
        await to_thread.run_sync(disk.write, place, data, rights)
        self._files.tracked[place.real].apply(ContentKnown(after, file_format))


def refusal_reason(error: Refused | Refusal) -> str:
    """Return the reason without the path, in one line."""
    return error.why if isinstance(error, Refusal) else str(error)


async def _exists(path: str) -> bool:
    try:
        return await to_thread.run_sync(nofollow.info, path) is not None
    except OSError as error:
        raise Refused(error.strerror or str(error)) from error
