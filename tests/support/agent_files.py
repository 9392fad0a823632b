r"""Agents' reads and writes of files, with plain objects as buffers.

Example:

    files = AgentFiles(root)
    assert await files.read("a.txt") == "one\n"
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim.edits.agent_bases import AgentBases
from acp_nvim.edits.hunks import apply
from acp_nvim.edits.text import Text, parse
from acp_nvim.files.bytes.disk import read as read_disk
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.ports import (
    AgentSession,
    BufferChange,
    BufferText,
    FileOptions,
    NotLoaded,
    WriteResult,
)
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RequestError
from tests.support.file_requests import Recorder, Requests


class Session:
    """Session as files need it."""

    is_cancelling, cancels, worktree = False, 0, None

    def __init__(self, *roots: str, session_id: str = "s1") -> None:
        self.n, self.id, self.key = 1, session_id, session_id
        self.roots = roots


class FakeBuffers:
    """Texts by path. `meanwhile` runs in the middle of each write."""

    def __init__(self) -> None:
        self.texts: dict[str, Text] = {}
        self.ticks: dict[str, int] = {}
        self.outcomes: list[WriteResult] = []
        self.changes: list[BufferChange] = []
        self.stale = False
        self.meanwhile: Callable[[], Any] = lambda: None

    def open(self, path: str, content: str) -> None:
        self.texts[path] = parse(content)
        self.ticks[path] = self.ticks.get(path, 0) + 1

    def live(self, path: str) -> BufferText:
        text = self.texts[path]
        return BufferText(1, self.ticks[path], text, text, is_stale=self.stale)

    async def read(self, where: Place, known: object = None) -> BufferText | NotLoaded:
        del known
        await anyio.lowlevel.checkpoint()
        return self.live(where.real) if where.real in self.texts else NotLoaded()

    async def announce(self, _roots: object) -> None:
        """No turn runs."""

    async def unsaved(self) -> dict[str, Text]:
        return dict(self.texts)

    async def load(self, where: Place, file_format: object = None) -> BufferText | NotLoaded:
        del file_format
        if where.real not in self.texts:
            self.open(where.real, (read_disk(where, 1 << 20) or b"").decode())
        return self.live(where.real)

    async def write(self, _place: Place, live: BufferText, change: BufferChange) -> WriteResult:
        self.meanwhile()
        (path,) = [p for p, text in self.texts.items() if text.lines is live.text.lines] or [""]
        if not path or self.ticks[path] != live.tick:
            return WriteResult("moved")
        if self.outcomes:
            return self.outcomes.pop(0)
        self.changes.append(change)
        half = len(change.hunks) // 2
        self.open(path, str(Text(tuple(apply(live.text.lines, change.hunks[half:])), change.eol)))
        await anyio.lowlevel.checkpoint()
        self.open(path, str(Text(tuple(apply(live.text.lines, change.hunks)), change.eol)))
        return WriteResult("done", "", True, self.live(path))


class AgentFiles:
    """Files served to one session, with requests as from the wire. Notices are stored in lists."""

    def __init__(self, root: Path, **options: Any) -> None:
        self.root = root
        self.buffers = FakeBuffers()
        self.asked: list[tuple[str, str, str]] = []
        self.answer = True
        self.located: list[tuple[str, int | None]] = []
        self.recorder = Recorder()
        self.written = self.recorder.written
        self.options = FileOptions(**options)
        self.files = self.serve(AgentBases())
        self.session: Any = Session(str(root))

    def serve(self, bases: AgentBases) -> Requests:
        """Return the request handlers for agents with this knowledge of bases."""
        return Requests(
            self.buffers,
            self.options,
            self.ask,
            lambda _session, path, line: self.located.append((path, line)),
            self.recorder,
            bases,
        )

    async def ask(self, _session: AgentSession, verb: str, where: Place, reason: str) -> bool:
        self.asked.append((verb, where.path, reason))
        return self.answer

    def path(self, name: str) -> str:
        return name if name.startswith("/") else f"{self.root}/{name}"

    async def read(self, name: str, line: int | None = None, limit: int | None = None) -> str:
        params = schema.ReadTextFileRequest("s1", self.path(name), line, limit)
        return (await self.files.read(self.session, params)).content

    async def write(self, name: str, content: str) -> None:
        params = schema.WriteTextFileRequest("s1", self.path(name), content)
        await self.files.write(self.session, params, lambda _: None)

    async def reason(self, act: Callable[..., Any], *args: Any) -> tuple[int, str]:
        with pytest.raises(RequestError) as caught:
            await act(*args)
        assert caught.value.data["path"] == self.path(args[0])
        assert caught.value.message.isprintable()
        return caught.value.code, caught.value.data["reason"]
