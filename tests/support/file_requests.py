"""Agents' file requests without a workspace; their reports are recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from acp_nvim.agent.serving.file_requests import FileRequests
from acp_nvim.edits.agent_bases import AgentBases
from acp_nvim.edits.text import Text
from acp_nvim.files.files import Files
from acp_nvim.files.ports import FileOptions
from acp_nvim.files.writes.agent_files import AgentFiles
from acp_nvim.files.writes.agent_write import OnWrite
from acp_nvim.protocol import schema

Written = tuple[str, Text | None, Text, str]


class Recorder:
    """Parts of a workspace that are notified of a write. The user does nothing."""

    def __init__(self) -> None:
        self.written: list[Written] = []
        self.first: list[Callable[[str], Awaitable[None]]] = []
        """Awaited before each write."""
        self.unread = self.reads = self

    async def wait_ready(self, _real: str) -> None:
        """Return at once: no scan is in progress."""

    async def base(self, _session: Any, _real: str, _format: Any) -> Text | None:
        """Return no base: the user saves nothing."""
        return None

    async def before_write(self, real: str) -> None:
        for look in self.first:
            await look(real)

    @contextmanager
    def note_write(self, _session: Any, _real: str) -> Iterator[OnWrite]:
        """Do nothing."""
        yield lambda *_: None

    def add(self, real: str, text: Text) -> None:
        """Do nothing."""

    def on_write(
        self, _session: Any, real: str, before: Text | None, _agents_text: Text, after: Text
    ) -> None:
        self.written.append((real, before, after, "created" if before is None else "modified"))

    def apply(self, _session: Any, _real: str, text: Text) -> Text:
        return text

    def on_written(self, _session: Any, _real: str) -> None:
        """Do nothing."""

    async def on_turn_end(self, _session: Any, _look: Any) -> None:
        """Do nothing."""


class Unseen:
    """View that shows nothing."""

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *_args, **_named: None


class Requests(FileRequests):
    """Handlers of `fs/*` over these buffers (the port `Buffers`)."""

    def __init__(
        self,
        buffers: Any,
        options: FileOptions,
        ask: Any,
        on_location: Any,
        recorder: Recorder,
        bases: AgentBases | None = None,
    ) -> None:
        options.blame = True  # reports each write
        parts: Any = recorder
        view: Any = Unseen()
        files = Files(buffers, view, lambda: options, list)
        files.authors.recorders.append(parts)
        files.bases = files.bases if bases is None else bases
        self.tracked, self.bases, self.cache = files.tracked, files.bases, files.buffers
        self.files: AgentFiles[Any] = AgentFiles(files, parts, parts, recorder, ask, on_location)
        super().__init__(self.files)

    async def read(
        self, session: Any, params: schema.ReadTextFileRequest
    ) -> schema.ReadTextFileResponse:
        """Read a file; every read asks the buffers, since nothing reports their changes here."""
        self._doubt_all()
        return await super().read(session, params)

    async def write(
        self,
        session: Any,
        params: schema.WriteTextFileRequest,
        answer: Callable[[schema.WriteTextFileResponse], None],
    ) -> schema.WriteTextFileResponse:
        """Write a file; every write asks the buffers, as every read does."""
        self._doubt_all()
        return await super().write(session, params, answer)

    def _doubt_all(self) -> None:
        for file in list(self.tracked):
            self.cache.on_unknown_change(file.path)
