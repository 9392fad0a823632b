r"""The writing tools over a fake Neovim, with language servers and a user that tests script.

Example:

    async with writing_tools(tmp_path) as tools:
        tools.write("a", "one\n")
        assert await tools.call("nvim_edit", path="a", edits=[...]) == "edited a: +1 -1, …"
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from acp_nvim.edits.text import parse
from acp_nvim.features.tools.tool_list import writing_tools as all_tools
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.writes.change_set import FileChange
from acp_nvim.session.session import Session
from acp_nvim.tools.changing.change_ports import (
    Document,
    FormattedText,
    Formatters,
    ProposedChanges,
)
from acp_nvim.tools.changing.changes import Changes
from acp_nvim.tools.ports import Answer
from acp_nvim.tools.server.tool import Call, ToolError, ToolResult
from tests.support.fake_neovim import FakeNeovim
from tests.support.fake_workspace import FakeWorkspace, fake_workspace

CLIENT = 7


class FakeServers:
    """One language server; ``answers`` are values or functions of the request, by method."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, Any]] = []
        self.encoding: Any = "utf-16"

    async def ask(
        self,
        session: Session,
        path: str | None,
        method: str,
        params: dict[str, Any],
        *,
        at: Any = None,
        wait_ms: int = 1500,
        client: int | None = None,
    ) -> Sequence[Answer]:
        del session, path, wait_ms, client
        self.asked.append((method, at))
        return [Answer(CLIENT, "fake", self.encoding, self._answer(method, params))]

    async def resolve(
        self, client: int, path: str, method: str, params: Any, session: Session | None = None
    ) -> Any:
        del client, path, session
        self.asked.append((method, params))
        return self._answer(method, params)

    def _answer(self, method: str, params: Any) -> Any:
        if method not in self.answers:
            raise ToolError(f"fake does not know {method}")
        found = self.answers[method]
        return found(params) if callable(found) else found


class FakeDocuments:
    """Buffers of the fake Neovim, all served by the one server except those in ``strange``."""

    def __init__(self, neovim: FakeNeovim) -> None:
        self.neovim = neovim
        self.strange: set[str] = set()
        self.said: list[Any] = []
        self.formatters_of_user = Formatters({"tabSize": 8, "insertSpaces": True})
        self.formatted = FormattedText()
        self.runs = 0
        """Number of runs of formatters."""
        self.command: Callable[[Mapping[str, Any]], Sequence[Any]] = lambda _: ()

    async def loaded(self) -> Mapping[str, Document]:
        return {
            path: Document(it.tick, it.tick, () if path in self.strange else (CLIENT,))
            for path, it in self.neovim.buffers.items()
        }

    async def diagnostics(self, path: str, first: int, last: int) -> Sequence[Any]:
        del path, first, last
        return self.said

    async def formatters(self, session: Session, path: str) -> Formatters:
        del session, path
        return self.formatters_of_user

    async def format(
        self, session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
    ) -> FormattedText:
        del session, path, lines, rows
        self.runs += 1
        return self.formatted

    async def format_by_options(
        self, session: Session, path: str, lines: Sequence[str], rows: tuple[int, int] | None
    ) -> FormattedText:
        del session, path, lines, rows
        self.runs += 1
        return self.formatted

    async def run(
        self, session: Session, client: int, path: str, command: Mapping[str, Any]
    ) -> Sequence[Any]:
        del session, client, path
        return self.command(command)


class FakePermissions:
    """User who allows everything, unless ``refusal`` has a reason; ``meanwhile`` runs before the
    answer.
    """

    def __init__(self) -> None:
        self.refusal = ""
        self.forbids = ""
        self.proposed: list[ProposedChanges] = []
        self.meanwhile: Callable[[], Any] = lambda: None

    @asynccontextmanager
    async def ask(self, session: Session, proposed: ProposedChanges) -> AsyncIterator[str]:
        del session
        self.proposed.append(proposed)
        self.meanwhile()
        yield self.refusal

    def forbidden(self, session: Session, changes: Sequence[FileChange]) -> str:
        del session, changes
        return self.forbids


class WritingTools:
    """Editor, servers, buffers and user together, with files by their names in the session's
    directory.
    """

    def __init__(self, workspace: FakeWorkspace) -> None:
        self.workspace = workspace
        self.servers = FakeServers()
        self.documents = FakeDocuments(workspace.neovim)
        self.user = FakePermissions()
        core = workspace.core
        changes = Changes(core.agent_files, core.change_sets, self.user)
        self.tools = {it.name: it for it in all_tools(self.servers, self.documents, changes)}

    def path(self, name: str) -> str:
        return str(self.workspace.work / name)

    def uri(self, name: str) -> str:
        return f"file://{self.path(name)}"

    def write(self, name: str, content: str) -> None:
        (self.workspace.work / name).write_text(content, newline="")

    def open(self, name: str, unsaved: str | None = None) -> None:
        """Show the file in a window. ``unsaved`` is the text that the user then types."""
        self.workspace.neovim.open(self.path(name))
        if unsaved is not None:
            self.type(name, unsaved)

    def type(self, name: str, content: str) -> None:
        self.workspace.neovim.type(self.path(name), parse(content))

    def text(self, name: str) -> str:
        """Return the live text."""
        buffer = self.workspace.neovim.buffers.get(self.path(name))
        return str(buffer.text) if buffer else self.disk(name)

    def disk(self, name: str) -> str:
        return Path(self.path(name)).read_bytes().decode()

    def names(self) -> list[str]:
        """Return the names of existing files."""
        return sorted(it.name for it in self.workspace.work.iterdir())

    async def result(self, tool: str, session: int = 0, /, **arguments: Any) -> ToolResult:
        """Call a tool. Raise ToolError, Refusal."""
        found = self.tools[tool]
        run: Callable[[Call, Any], Awaitable[ToolResult]] = found.run
        call = Call(self.workspace.sessions[session])
        return await run(call, msgspec.convert(arguments, found.arguments))

    async def call(self, tool: str, session: int = 0, /, **arguments: Any) -> str:
        """Call a tool and return the text of its result, or of its error."""
        try:
            return (await self.result(tool, session, **arguments)).text
        except (ToolError, Refusal) as error:
            return f"error: {error}".replace(f"{self.workspace.work}/", "")


@asynccontextmanager
async def writing_tools(root: Path, agents: int = 1) -> AsyncIterator[WritingTools]:
    """Yield the tools for the length of a block."""
    async with fake_workspace(root, agents) as workspace:
        yield WritingTools(workspace)
