"""Files for tools: live texts behind the guard, and paths as agents write them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from anyio import to_thread

from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.buffer_cache import BufferCache
from acp_nvim.files.bytes import disk, key_files
from acp_nvim.files.bytes.file_format import FILEENCODINGS, FILEFORMATS, clean
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal, one_line
from acp_nvim.files.ports import FileOptions
from acp_nvim.files.writes.agent_files import AgentFiles
from acp_nvim.protocol.uris import file_path
from acp_nvim.session.calls.named_files import expand_home
from acp_nvim.session.session import Session

NOTHING: Final[Mapping[str, Text]] = MappingProxyType({})
LINE_WIDTH: Final = 300
"""Maximum number of characters in a line of an answer."""


class ToolFiles:
    """Files of sessions, as their agents may see them."""

    def __init__(
        self, files: AgentFiles[Session], buffers: BufferCache, options: Callable[[], FileOptions]
    ) -> None:
        self._files = files
        self._buffers = buffers
        self._options = options
        self.may_list = files.guard.may_list

    async def read(self, session: Session, path: str) -> tuple[Place, Text]:
        """Return a file that an agent names, absolute or relative, and its live text.

        The guard may ask the user. Raise Refusal.
        """
        return await self._files.locate(session, absolute(session, path))

    async def allow(self, session: Session, path: str) -> Place:
        """Return the place of a file that an agent names, without its text."""
        return (await self._files.guard.allow(session, "read", absolute(session, path)))[0]

    def sources(self, session: Session, read_before: Mapping[str, Text] = NOTHING) -> Sources:
        """Return the texts that one answer may quote. `read_before` has those already read."""
        return Sources(self._files, self._buffers, self._options(), session, read_before)


class Sources:
    """Texts of files that one answer may quote. Each is read once, without asking the user."""

    def __init__(
        self,
        files: AgentFiles[Session],
        buffers: BufferCache,
        options: FileOptions,
        session: Session,
        read_before: Mapping[str, Text] = NOTHING,
    ) -> None:
        self._guard = files.guard
        self._buffers = buffers
        self._options = options
        self._session = session
        self._texts: dict[str, Text | None] = {
            real: clean(value) for real, value in read_before.items()
        }
        self._unsaved: dict[str, Text] | None = None
        """Texts of modified buffers, or None if not read yet."""

    async def unsaved(self) -> Mapping[str, Text]:
        """Return all unsaved texts of the editor by path, cleaned for JSON."""
        if self._unsaved is None:
            texts = await self._buffers.unsaved()
            self._unsaved = {path: clean(text) for path, text in texts.items()}
        return self._unsaved

    async def text(self, real: str) -> Text | None:
        """Return the live text of a file, or None if it is forbidden or unreadable."""
        if real not in self._texts:
            self._texts[real] = await self._read(real)
        return self._texts[real]

    async def line(self, real: str, row: int) -> str | None:
        """Return the line of a file at a 0-based row, or None."""
        text = await self.text(real)
        return text.lines[row] if text is not None and 0 <= row < len(text.lines) else None

    async def _read(self, real: str) -> Text | None:
        if not await self._guard.may_show(self._session, real):
            return None
        text = (await self.unsaved()).get(real)
        if text is None:
            text = await to_thread.run_sync(_saved_text, real, self._options.message_bytes)
        if text is None or not self._options.secret:
            return text
        is_secret = key_files.is_secret(Place(real, real), text, str(text), whole=True)
        return None if is_secret else text


def _saved_text(real: str, limit: int) -> Text | None:
    try:
        decoded = disk.read_decoded(Place(real, real), limit, FILEENCODINGS, FILEFORMATS)
    except Refusal:
        return None
    return None if decoded is None else decoded.text


def absolute(session: Session, path: str) -> str:
    """Return the absolute path of an agent's path or `file:` URI."""
    return os.path.join(session.cwd, file_path(path) or expand_home(path))  # noqa: PTH118


def display_path(session: Session, real: str) -> str:
    """Return a resolved path for the agent: relative if it is inside the session's directory."""
    folder = session.cwd.rstrip(os.sep) + os.sep
    if not real.startswith(folder):  # a link, or the file is elsewhere
        folder = os.path.realpath(session.cwd).rstrip(os.sep) + os.sep
    return real.removeprefix(folder)


def cut_line(line: str) -> str:
    """Return a line of a file for an answer, stripped and cut."""
    text = line.replace("\t", " ").strip()
    return one_line(text if len(text) <= LINE_WIDTH else text[:LINE_WIDTH] + "…")
