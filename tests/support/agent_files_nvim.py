"""An agent's reads and writes of files in a real Neovim, without an agent.

Example:

    files = AgentFilesInNvim(editor)
    files.write("a.txt", "one\\n")
    assert files.read("a.txt") == "one\\n"
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.ports import AgentSession, FileOptions
from acp_nvim.nvim.buffers import NvimBuffers
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RequestError
from tests.support.agent_files import Session
from tests.support.editor import Editor
from tests.support.file_requests import Recorder, Requests

CALL = "local m, f = ... return require(m)[f](select(3, ...))"


class Bridge:
    """The bridge's `call` over an editor under test; it counts calls."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.calls: list[tuple[str, list[Any]]] = []
        self.before: Callable[[str], None] = lambda _function: None

    async def call(self, module: str, function: str, *args: Any) -> Any:
        self.before(function)
        self.calls.append((function, list(args)))
        return self.editor.lua(CALL, module, function, *args)

    def call_nowait(self, module: str, function: str, *args: Any) -> None:
        self.editor.lua(CALL, module, function, *args)


class AgentFilesInNvim:
    """Editor, with files that are served from it and their notices."""

    def __init__(self, editor: Editor, **options: Any) -> None:
        self.editor = editor
        self.bridge = Bridge(editor)
        self.options = FileOptions(**options)
        self.answer = True
        self.asked: list[tuple[str, str, str]] = []
        self.locations: list[tuple[str, int | None]] = []
        recorder = Recorder()
        self.writes = recorder.written
        self.files: Any = Requests(
            NvimBuffers(self.bridge),
            self.options,
            self._ask,
            lambda _session, path, line: self.locations.append((path, line)),
            recorder,
        )
        self.session = Session(str(editor.work))

    async def _ask(self, _session: AgentSession, verb: str, where: Place, reason: str) -> bool:
        self.asked.append((verb, where.path, reason))
        return self.answer

    def path(self, name: str | Path) -> str:
        return str(self.editor.work / name)

    def read(self, name: str | Path, line: int | None = None, limit: int | None = None) -> str:
        content: str = self.run(self.aread, name, line, limit)
        return content

    def write(self, name: str | Path, content: str) -> None:
        self.run(self.awrite, name, content)

    async def aread(self, name: str | Path, line: int | None, limit: int | None) -> str:
        params = schema.ReadTextFileRequest(self.session.id, self.path(name), line, limit)
        content: str = (await self.files.read(self.session, params)).content
        return content

    async def awrite(self, name: str | Path, content: str) -> None:
        params = schema.WriteTextFileRequest(self.session.id, self.path(name), content)
        await self.files.write(self.session, params, lambda _: None)

    def refused(self, act: Callable[..., Any], *args: Any) -> RequestError:
        """Return the refusal of a read or write, and check that it names the path and has one
        line.
        """
        with pytest.raises(RequestError) as caught:
            act(*args)
        assert caught.value.data["path"] == self.path(args[0])
        assert "\n" not in caught.value.message
        return caught.value

    def reason(self, act: Callable[..., Any], *args: Any) -> tuple[int, str]:
        """Return code and reason of a refusal."""
        error = self.refused(act, *args)
        return error.code, error.data["reason"]

    @staticmethod
    def run(function: Callable[..., Any], *args: Any) -> Any:
        return anyio.run(function, *args)

    def bytes(self, name: str | Path) -> bytes:
        return Path(self.path(name)).read_bytes()
