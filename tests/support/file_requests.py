"""Agents' file requests without a workspace; their reports are recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from acp_nvim.agent.serving.file_requests import FileRequests
from acp_nvim.edits.agent_bases import AgentBases
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.buffer_cache import BufferCache
from acp_nvim.files.buffers.tracked_file import TrackedFiles
from acp_nvim.files.ports import FileOptions
from acp_nvim.files.writes.agent_files import AgentFiles
from acp_nvim.files.writes.agent_write import Lands, Made
from acp_nvim.protocol import schema

Written = tuple[str, Text | None, Text, str]


class Recorder:
    """Parts of a workspace that a write reports to; the user does nothing."""

    def __init__(self) -> None:
        self.written: list[Written] = []
        self.first: list[Callable[[str], Awaitable[None]]] = []
        """Awaited before each write."""
        self.unread = self.reads = self

    async def ready(self, _real: str) -> None:
        """Return at once: no scan is in progress."""

    async def base(self, _session: Any, _real: str, _format: Any) -> Text | None:
        """Return no base: the user saves nothing."""
        return None

    async def before_write(self, real: str) -> None:
        for look in self.first:
            await look(real)

    @contextmanager
    def landing(self, _session: Any, _real: str) -> Iterator[Lands]:
        """Do nothing."""
        yield lambda *_: None

    def add(self, real: str, text: Text) -> None:
        """Do nothing."""

    def wrote(self, _session: Any, real: str, made: Made, _agents: Text | None) -> None:
        kind = "created" if made.before is None else "modified"
        self.written.append((real, made.before, made.after, kind))

    def amend(self, _session: Any, _real: str, text: Text) -> Text:
        return text

    def landed(self, _session: Any, _real: str) -> None:
        """Return that nothing was amended."""

    def agents(self, _session: Any, _real: str) -> Text | None:
        return None

    async def ended(self, _session: Any, _look: Any) -> None:
        """Return that nothing was amended."""


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
        self.tracked = TrackedFiles()
        self.bases = AgentBases() if bases is None else bases
        self.cache = cache = BufferCache(buffers, self.tracked, lambda *_: None)
        edits: Any = SimpleNamespace(
            tracked=self.tracked,
            buffers=cache,
            bases=self.bases,
            options=lambda: options,
            wrote=recorder.wrote,
        )
        parts: Any = recorder
        self.files: AgentFiles[Any] = AgentFiles(edits, parts, parts, recorder, ask, on_location)
        super().__init__(self.files)

    async def read(
        self, session: Any, params: schema.ReadTextFileRequest
    ) -> schema.ReadTextFileResponse:
        """Read a file; every read asks the buffers, since nothing reports their changes here."""
        for file in list(self.tracked):
            self.cache.doubted(file.path)
        return await super().read(session, params)
