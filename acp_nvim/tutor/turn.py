"""One prompt turn: the tutor's actions while it answers.

Every `await` here is a place where a cancel ends the turn: nothing catches it on the way.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from msgspec import UNSET

from acp_nvim.protocol import schema as s
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.methods import METHODS
from acp_nvim.tutor.editor_tools import EditorTools, NoTools, ToolFailed
from acp_nvim.tutor.session import PACES
from acp_nvim.tutor.texts import first_change, from_disk, note, pieces, to_disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from acp_nvim.tutor.connection import Connection
    from acp_nvim.tutor.session import Session

OUTPUT_BYTES: Final = 64 << 10

METHOD_OF: Final = {row.params: row.name for row in METHODS if row.handler == "client"}

OPTIONS: Final = (
    s.PermissionOption("allow_once", "Yes, this once", "allow_once"),
    s.PermissionOption("allow_always", "Yes, and don't ask again in this session", "allow_always"),
    s.PermissionOption("reject_once", "No", "reject_once"),
    s.PermissionOption("reject_always", "No, and don't ask again in this session", "reject_always"),
)


class Refused(Exception):
    """The user, or the client for the user, said no; the text says who and why."""


class Turn:
    """A prompt being answered."""

    def __init__(
        self,
        connection: Connection,
        client: s.ClientCapabilities,
        session: Session,
        prompt: Sequence[s.ContentBlock],
    ) -> None:
        self.session = session
        self.client = client
        self.prompt = prompt
        self.text = "".join(b.text for b in prompt if isinstance(b, s.TextContent)).strip()
        self._connection = connection
        self._speaking = False
        self.began = time.monotonic()

    # ---- saying

    async def say(self, text: str) -> None:
        """Stream Markdown in chunks of a few words, at the session's pace.

        What is said with no thought or tool call in between is one message, in paragraphs.
        """
        text = text.strip("\n")
        if self._speaking:
            text = f"\n\n{text}"
        else:
            self.session.messages += 1
        self._speaking = True
        for piece in pieces(text):
            self.chunk(piece)
            await self.pause()
        self.update(self.session.count(text))

    def begin_message(self) -> None:
        """What is said next is a message of its own."""
        self._speaking = False

    def tell(self, text: str) -> None:
        """Say it at once, as a message of its own: a turn that is cancelled has no time."""
        self.session.messages += 1
        self.chunk(text)

    def chunk(self, text: str) -> None:
        """A piece of the message that is being said."""
        self.update(s.AgentMessageChunk(s.TextContent(text), f"m{self.session.messages}"))

    async def think(self, text: str) -> None:
        """Stream a thought."""
        self._speaking = False
        for piece in pieces(text):
            self.update(s.AgentThoughtChunk(s.TextContent(piece)))
            await self.pause()

    def plan(self, entries: Sequence[str], done: int) -> None:
        """Show the plan: the first `done` entries are completed, the next one is in progress."""
        self.update(
            s.Plan(
                [
                    s.PlanEntry(
                        text,
                        "high" if number == 0 else "medium",
                        "completed"
                        if number < done
                        else ("in_progress" if number == done else "pending"),
                    )
                    for number, text in enumerate(entries)
                ]
            )
        )

    async def pause(self, seconds: float | None = None) -> None:
        """Wait between two chunks; a cancel arrives here at the latest."""
        await asyncio.sleep(PACES[self.session.pace] if seconds is None else seconds)

    def update(self, update: s.SessionUpdate) -> None:
        """One `session/update`."""
        self._connection.tell("session/update", s.SessionNotification(self.session.id, update))

    # ---- files

    def file(self, named: str = "") -> Path | None:
        """Return the file to work on: the named one, else the prompt's, else the project's main
        file.
        """
        if named:
            return self.session.cwd / named
        attached = next(self._attached(), None)
        if attached is not None:
            return attached
        usual = (self.session.cwd / name for name in ("till.py", "README.md", "README"))
        return next((path for path in usual if path.is_file()), None)

    async def read(self, path: Path) -> str:
        """The text of a file as the editor has it. RequestError when it can't be read."""
        call = self._start(f"Read {path.name}", "read", path)
        try:
            text = await self.live(path)
        except RequestError as error:
            self._finish(call, "failed", note(error.message))
            raise
        lines = text.count("\n")
        self._finish(call, "completed", note(f"{lines} lines, unsaved changes included"))
        return text

    async def write(self, path: Path, old: str, new: str, title: str) -> None:
        """Propose a change with a diff, ask, write. Refused when it was not to be."""
        diff = s.Diff(str(path), new, old)
        call = self._start(title, "edit", path, diff, line=first_change(old, new))
        await self._permit(call, "edit", title, [diff], path)
        self.update(s.ToolCallUpdate(call, status="in_progress"))
        try:
            await self._write(path, new)
        except RequestError as error:
            self._finish(call, "failed", diff, note(error.message))
            raise Refused(f"The editor would not take it: {error.message}") from error
        self._finish(call, "completed", diff)

    async def call_tool(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool of the editor's: its text. NoTools, ToolFailed."""
        call = self._start(f"mcp__neovim__{tool}", "other")
        try:
            text = await EditorTools(self.session.servers).call(tool, arguments)
        except (NoTools, ToolFailed) as error:
            self._finish(call, "failed", note(str(error)))
            raise
        self._finish(call, "completed", note(text))
        return text

    # ---- commands

    @property
    def has_terminal(self) -> bool:
        """Whether the client runs commands for us."""
        return s.given(self.client.terminal) is True

    async def run(
        self, command: str, args: Sequence[str], title: str, *, ask: bool
    ) -> tuple[str, int | None]:
        """Run a command in a terminal of the client: its output and exit code.

        Refused when the user or the client says no. A cancel ends the command.
        """
        call = self._start(title, "execute")
        if ask:
            await self._permit(call, "execute", title)
        try:
            terminal = await self._ask(
                s.CreateTerminalRequest(
                    self.session.id,
                    command,
                    list(args),
                    cwd=str(self.session.cwd),
                    output_byte_limit=OUTPUT_BYTES,
                )
            )
        except RequestError as error:
            self._finish(call, "failed", note(error.message))
            raise Refused(f"The editor would not run it: {error.message}") from error
        return await self._follow(call, terminal.terminal_id)

    async def _follow(self, call: str, terminal: str) -> tuple[str, int | None]:
        content = s.Terminal(terminal)
        self.update(s.ToolCallUpdate(call, status="in_progress", content=[content]))
        session = self.session.id
        try:
            status = await self._ask(s.WaitForTerminalExitRequest(session, terminal))
            output = await self._ask(s.TerminalOutputRequest(session, terminal))
        finally:
            # Also when cancelled: releasing ends a command that still runs. Not awaited, because
            # a client that is gone would never answer.
            release = s.ReleaseTerminalRequest(session, terminal)
            self._connection.post(METHOD_OF[type(release)], release)
        code = s.given(status.exit_code)
        self._finish(call, "completed" if code == 0 else "failed", content)
        return output.output, code

    # ---- questions

    async def form(self, message: str, schema: s.ElicitationSchema) -> dict[str, object] | None:
        """Ask with a form; None when the user declines."""
        request = s.ElicitationFormMode(
            message=message, requested_schema=schema, session_id=self.session.id
        )
        answer = await self._connection.ask("elicitation/create", request)
        if isinstance(answer, s.ElicitationAcceptAction):
            return dict(s.given(answer.content) or {})
        return None

    async def _permit(
        self,
        call: str,
        kind: s.ToolKind,
        title: str,
        content: list[s.ToolCallContent] | None = None,
        path: Path | None = None,
    ) -> None:
        session = self.session
        if session.mode == "trust" or kind in session.always:
            return
        if kind in session.never:
            self._finish(call, "failed", note("You said: never in this session."))
            raise Refused("You told me not to ask again, so I leave it.")
        about = s.PermissionToolCall(
            call,
            kind,
            title=title,
            content=content or UNSET,
            locations=[s.ToolCallLocation(str(path))] if path else UNSET,
        )
        request = s.RequestPermissionRequest(session.id, about, list(OPTIONS))
        outcome = (await self._ask(request)).outcome
        if not isinstance(outcome, s.SelectedPermissionOutcome):
            self._finish(call, "failed", note("Cancelled."))
            raise asyncio.CancelledError
        if outcome.option_id.endswith("_always"):
            (session.always if outcome.option_id == "allow_always" else session.never).add(kind)
        if not outcome.option_id.startswith("allow_"):
            self._finish(call, "failed", note("You said no."))
            raise Refused("All right, I leave it as it is.")

    # ---- the wire

    def _start(
        self,
        title: str,
        kind: s.ToolKind,
        path: Path | None = None,
        *content: s.ToolCallContent,
        line: int | None = None,
    ) -> str:
        self._speaking = False
        self.session.calls += 1
        call = f"call-{self.session.calls}"
        places = [s.ToolCallLocation(str(path), line or UNSET)] if path else UNSET
        self.update(
            s.ToolCall(
                call,
                title,
                kind=kind,
                status="pending",
                content=list(content) or UNSET,
                locations=places,
            )
        )
        return call

    def _finish(self, call: str, status: s.ToolCallStatus, *content: s.ToolCallContent) -> None:
        self.update(s.ToolCallUpdate(call, status=status, content=list(content)))

    async def live(self, path: Path) -> str:
        """The text as the editor has it, without a word about it."""
        can = s.given(self.client.fs)
        if can is not None and s.given(can.read_text_file):
            answer = await self._ask(s.ReadTextFileRequest(self.session.id, str(path)))
            return str(answer.content)
        return await asyncio.to_thread(from_disk, path)

    async def _write(self, path: Path, text: str) -> None:
        can = s.given(self.client.fs)
        if can is not None and s.given(can.write_text_file):
            await self._ask(s.WriteTextFileRequest(self.session.id, str(path), text))
        else:
            await asyncio.to_thread(to_disk, path, text)

    async def _ask(self, request: s.Wire) -> Any:
        return await self._connection.ask(METHOD_OF[type(request)], request)

    def _attached(self) -> Iterator[Path]:
        for block in self.prompt:
            if isinstance(block, s.ResourceLink):
                uri = block.uri
            elif isinstance(block, s.EmbeddedResource) and isinstance(
                block.resource, s.TextResourceContents | s.BlobResourceContents
            ):
                uri = block.resource.uri
            else:
                continue
            if uri.startswith("file://"):
                yield Path(url2pathname(urlsplit(uri).path))
