"""Prompt turn: the actions of the tutor while it answers.

No function here catches a cancellation.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from msgspec import UNSET

from acp_nvim.protocol import schema as s
from acp_nvim.protocol.errors import RequestError
from acp_nvim.tutor.session import PACES
from acp_nvim.tutor.texts import chunks, first_change
from acp_nvim.tutor.words import CHATTER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from acp_nvim.tutor.connection import Connection
    from acp_nvim.tutor.session import Session

OPTIONS: Final = (
    s.PermissionOption("allow_once", "Yes, this once", "allow_once"),
    s.PermissionOption("allow_always", "Yes, and don't ask again in this session", "allow_always"),
    s.PermissionOption("reject_once", "No", "reject_once"),
    s.PermissionOption("reject_always", "No, and don't ask again in this session", "reject_always"),
)


class RefusedError(Exception):
    """Refusal by the user or the client, with the reason."""


class Turn:
    """Prompt that is being answered."""

    def __init__(
        self,
        connection: Connection,
        session: Session,
        prompt: Sequence[s.ContentBlock],
    ) -> None:
        self.session = session
        self.prompt = prompt
        self.text = "".join(b.text for b in prompt if isinstance(b, s.TextContent)).strip()
        self._connection = connection
        self.began_at = time.monotonic()
        self._is_in_message = False
        self.anchor: s.CursorAnchor | None = None
        """Last message or tool call, or None if a later update has no id."""

    # -- messages ---------------------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """Stream Markdown at the session's pace.

        Texts without a thought or tool call between them are paragraphs of one message.
        """
        text = text.strip("\n")
        if self._is_in_message:
            text = f"\n\n{text}"
        else:
            self.session.messages += 1
        self._is_in_message = True
        for chunk in chunks(text):
            self.chunk(chunk)
            await self.pause()
        self.update(self.session.count(text))

    def chunk(self, text: str) -> None:
        """Send a piece of the current message."""
        message_id = f"m{self.session.messages}"
        self.update(s.AgentMessageChunk(s.TextContent(text), message_id))
        self.anchor = s.CursorAnchor("agent_message", "after", message_id)

    async def stream_lines(self, lines: int, seconds: float) -> None:
        """Append numbered lines to the current message, one every `seconds`."""
        self.chunk("\n")
        for number in range(lines):
            self.chunk(f"\n{number + 1}. {CHATTER[number % len(CHATTER)]}")
            await self.pause(seconds)

    async def think(self, text: str) -> None:
        self._is_in_message, self.anchor = False, None
        for chunk in chunks(text):
            self.update(s.AgentThoughtChunk(s.TextContent(chunk)))
            await self.pause()

    def plan(self, entries: Sequence[str], done: int) -> None:
        """Show a plan of which the first `done` entries are completed."""
        shown = [s.PlanEntry(text, "medium", "pending") for text in entries]
        shown[:done] = [s.PlanEntry(text, "medium", "completed") for text in entries[:done]]
        if done < len(entries):
            shown[done] = s.PlanEntry(entries[done], "medium", "in_progress")
        self.update(s.Plan(shown))

    async def pause(self, seconds: float | None = None) -> None:
        await asyncio.sleep(PACES[self.session.pace] if seconds is None else seconds)

    def update(self, update: s.SessionUpdate) -> None:
        """Send a `session/update`."""
        self._connection.notify("session/update", s.SessionNotification(self.session.id, update))

    # -- files ------------------------------------------------------------------------------------

    def file(self, named: str = "") -> Path | None:
        """Return the named file, or one that the prompt attaches, or the project's main file."""
        if named:
            return self.session.cwd / named
        usual = (self.session.cwd / name for name in ("till.py", "README.md", "README"))
        return next(self._attached_files(), next((path for path in usual if path.is_file()), None))

    async def read(self, path: Path) -> str:
        """Read a file through the editor, with a tool call. Raise RequestError."""
        call = self._start(f"Read {path.name}", "read", path)
        try:
            text = await self.live(path)
        except RequestError as error:
            self._finish(call, "failed", _text(error.message))
            raise
        lines = text.count("\n")
        self._finish(call, "completed", _text(f"{lines} lines, unsaved changes included"))
        return text

    async def write(self, path: Path, old: str, new: str, title: str) -> None:
        """Show a diff, ask for permission, and write the file. Raise RefusedError."""
        diff = s.Diff(str(path), new, old)
        line, _ = first_change(old, new) or (1, "")
        call = self._start(title, "edit", path, line, diff)
        await self._permit(call, title, diff)
        self.update(s.ToolCallUpdate(call, status="in_progress"))
        try:
            request = s.WriteTextFileRequest(self.session.id, str(path), new)
            await self._connection.ask("fs/write_text_file", request)
        except RequestError as error:
            self._finish(call, "failed", diff, _text(error.message))
            raise RefusedError(f"The editor would not take it: {error.message}") from error
        self._finish(call, "completed", diff)

    # -- the wire ---------------------------------------------------------------------------------

    async def _permit(self, call: str, title: str, diff: s.Diff) -> None:
        """Ask for permission, unless the mode or an earlier answer decides. Raise RefusedError."""
        session = self.session
        if session.mode == "trust" or session.always_answer == "allow_always":
            return
        if session.always_answer == "reject_always":
            self._finish(call, "failed", _text("You said: never in this session."))
            raise RefusedError("You told me not to ask again, so I'll leave it.")
        place = s.ToolCallLocation(diff.path)
        about = s.PermissionToolCall(call, "edit", title=title, content=[diff], locations=[place])
        request = s.RequestPermissionRequest(session.id, about, list(OPTIONS))
        answer = await self._connection.ask("session/request_permission", request)
        if not isinstance(answer.outcome, s.SelectedPermissionOutcome):
            self._finish(call, "failed", _text("Cancelled."))
            raise asyncio.CancelledError
        option = answer.outcome.option_id
        if option.endswith("_always"):
            session.always_answer = option
        if not option.startswith("allow_"):
            self._finish(call, "failed", _text("You said no."))
            raise RefusedError("All right, I'll leave it as it is.")

    def _start(
        self, title: str, kind: s.ToolKind, path: Path, line: int | None = None, *diff: s.Diff
    ) -> str:
        self._is_in_message = False
        self.session.calls += 1
        call = f"call-{self.session.calls}"
        self.anchor = s.CursorAnchor("tool_call", "after", tool_call_id=call)
        place = s.ToolCallLocation(str(path), line or UNSET)
        content: list[s.ToolCallContent] = [*diff]
        self.update(
            s.ToolCall(
                call,
                title,
                kind=kind,
                status="pending",
                content=content or UNSET,
                locations=[place],
            )
        )
        return call

    def _finish(self, call: str, status: s.ToolCallStatus, *content: s.ToolCallContent) -> None:
        self.update(s.ToolCallUpdate(call, status=status, content=list(content)))

    async def live(self, path: Path) -> str:
        """Read a file through the editor, without a tool call. Raise RequestError."""
        request = s.ReadTextFileRequest(self.session.id, str(path))
        answer = await self._connection.ask("fs/read_text_file", request)
        return str(answer.content)

    def _attached_files(self) -> Iterator[Path]:
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


def _text(text: str) -> s.Content:
    return s.Content(s.TextContent(text))
