"""`fs/read_text_file` and `fs/write_text_file`, served from live buffers (v1/file-system).

A write is a three-way merge. The base is the text that the agent last read, otherwise the file as
saved. The agent's change is merged into the current text, whole or not at all. It never overwrites
the user's typing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from acp_nvim.edits.agent_bases import ChangeKind
from acp_nvim.edits.text import EMPTY, Text, parse
from acp_nvim.files.buffers.tracked_file import ContentKnown, TrackedFile, UserFormat
from acp_nvim.files.bytes import disk, key_files
from acp_nvim.files.bytes.file_format import format_as_written
from acp_nvim.files.bytes.guard import Ask, PathGuard
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.bytes.text_fit import excerpt
from acp_nvim.files.changes.disk_changes import DiskChanges
from acp_nvim.files.files import Files
from acp_nvim.files.journal.persistence import Persistence
from acp_nvim.files.ports import AgentSession, Amendments, BufferText, NotLoaded
from acp_nvim.files.writes.agent_write import (
    AgentWrite,
    AllowedChange,
    CheckCancelled,
    CompletedWrite,
    WriteRequest,
    cancel_check,
)

S = TypeVar("S", bound=AgentSession)

OnLocation = Callable[[S, str, int | None], None]
"""Function called with each file that an agent uses, and the 1-based line, if any."""


class WrittenFile(msgspec.Struct, frozen=True):
    """Completed write, with the text before (None for no such file) and after."""

    path: str
    before: Text | None
    after: Text | None
    is_amended: bool = False
    """Whether the user had changed the proposal."""


class AgentFiles(Generic[S]):
    """Server of agents' file requests. Methods raise `Refusal` for requests that are refused."""

    def __init__(
        self,
        files: Files,
        disk_changes: DiskChanges,
        persistence: Persistence,
        amendments: Amendments[S],
        ask: Ask[S],
        on_location: OnLocation[S],
    ) -> None:
        self._files = files
        self._buffers = files.buffers
        self._bases = files.bases
        self._options = files.options
        self._disk_changes = disk_changes
        self._persistence = persistence
        self._amendments = amendments
        self._on_location = on_location
        self.guard = PathGuard(files.options, ask)
        self._harmless: tuple[str, Text] = "", EMPTY
        """Path and text of the last whole file that was searched and has no secret."""

    async def read(
        self, session: S, path: str, line: int | None = None, limit: int | None = None
    ) -> str:
        """Return the live text, or `limit` lines of it from the 1-based `line` on.

        Wait for writes that are under way. Ask the user if the text contains a secret. Record that
        the agent has read the whole text, and report the location.
        """
        where, why = await self.guard.allow(session, "read", path)
        text = await self._text_after_writes(where)
        content = excerpt(text, line, limit)
        is_whole = line is None and limit is None
        options = self._options()
        may_be_secret = why != "secret" and bool(options.secret)
        if may_be_secret and (
            self._find_secret(where, text, content)
            if is_whole
            else key_files.is_secret(where, text, content)
        ):
            await self.guard.question(session, "read", where, "secret")
            text = await self._text_after_writes(where)
            content = excerpt(text, line, limit)
        if len(content) > options.message_bytes:
            raise Refusal("too_large", where.path, f"{len(content)} characters")
        self._bases.record_read(session.key, where.real, text)
        self._disk_changes.reads.add(where.real, text)
        self._on_location(session, where.real, line)
        return content

    async def locate(self, session: S, path: str) -> tuple[Place, Text]:
        """Return the file and its live text, for answers about positions in it.

        This does not count as a read by the agent. Raise Refusal as `read` does.
        """
        where, why = await self.guard.allow(session, "read", path)
        text = await self._text_after_writes(where)
        may_be_secret = why != "secret" and bool(self._options().secret)
        if may_be_secret and self._find_secret(where, text):
            await self.guard.question(session, "read", where, "secret")
        return where, text

    async def write(
        self, session: S, path: str, content: str, answer: Callable[[], None] = lambda: None
    ) -> None:
        """Merge the content into the live text, and save it as option `files.save` says.

        Do nothing if the text is the same. Call `answer` as soon as the file is written, before
        the change is shown for review.
        """
        check_cancelled = cancel_check(session)
        check_cancelled(path)
        where, why = await self.guard.allow(session, "write", path)
        if path.endswith("/"):
            raise Refusal("directory", where.path, "names a directory")
        if why != "secret" and self._options().secret and await self._overwrites_key(where):
            await self.guard.question(session, "write", where, "secret")
        await self._write(WriteRequest(session, where, parse(content), check_cancelled), answer)

    async def merge_change(
        self,
        session: S,
        where: Place,
        base: Text | None,
        text: Text,
        check_cancelled: CheckCancelled,
        *,
        is_known: bool,
    ) -> WrittenFile | None:
        """Merge an allowed change into the live text. Return None if nothing changes.

        If `base` is None, the file must not exist. With `is_known`, the agent counts as knowing the
        change, whatever it last read of the file. Otherwise the change counts as the user's.
        """
        seen = self._bases.last_seen(session.key, where.real)
        allowed = AllowedChange(base, seen, is_known)
        return await self._write(WriteRequest(session, where, text, check_cancelled, allowed))

    async def _write(
        self, request: WriteRequest[S], answer: Callable[[], None] = lambda: None
    ) -> WrittenFile | None:
        session, where, unread = request.session, request.where, self._disk_changes.unread
        file = self._files.tracked[where.real]
        with self._persistence.note_write(session, where.real) as on_write:
            async with file.writers:  # the last request wins
                await unread.wait_ready(where.real)
                await self._disk_changes.before_write(where.real)
                async with file.lock:
                    write = AgentWrite(self._files, request, self._amendments, unread, on_write)
                    completed = await write.run(answer)
            written = None if completed is None else self._record(session, file, completed)
            self._amendments.on_written(session, where.real)
            if completed is not None and completed.failure:
                raise Refusal("failed", where.path, completed.failure)
            return written

    def _record(self, session: S, file: TrackedFile, completed: CompletedWrite) -> WrittenFile:
        """Enter a completed write in the ledger and the checkpoints, and show it.

        Return the texts before and after. If the user has amended a proposal, the agent's own text
        counts as the agent's write, and the rest as an edit by the user.
        """
        files, path, before, after = self._files, file.path, completed.before, completed.after
        proposed = completed.proposed
        self._on_location(session, path, completed.line)
        turn = files.turns.get(session)
        if turn is not None:
            turn.mentions.add_paths([path])
        live = file.buffer.text
        if live is not None and files.ledger.get(path) is None:
            file.apply(UserFormat(live.format))
        agents_text = completed.requested if proposed is None or before is None else proposed
        files.ledger.record_agent_write(
            path, before, agents_text, session.n, saved=completed.is_saved
        )
        if agents_text is not completed.requested:
            files.ledger.record_user_edit(path, completed.requested)
        if completed.requested != after:
            files.ledger.record_formatting(path, completed.requested, after)
        if completed.is_saved:
            files.ledger.disk_entries.drop(path)
            file_format = format_as_written(after, live.format if live else None)
            file.apply(ContentKnown(after, file_format))
        files.checkpoints.record_write(path, before, after if proposed is None else proposed)
        files.authors.on_write(session, path, before, proposed or after, after)
        kind = "created" if before is None else "modified"
        files.pending_view.announce(session, path, kind, "fs")
        return WrittenFile(path, before, after, is_amended=proposed not in (None, after))

    async def _text_after_writes(self, where: Place) -> Text:
        """Return the text after all writes that were requested before."""
        file = self._files.tracked[where.real]
        if file.writers.locked():
            async with file.writers, file.lock:
                return await self._text(where)
        if file.lock.locked():
            async with file.lock:
                return await self._text(where)
        return await self._text(where)

    async def _overwrites_key(self, where: Place) -> bool:
        """Return whether the text to be overwritten contains a private key."""
        try:
            text = await self._text_after_writes(where)
        except Refusal:  # no such file, or refused by the write for the same reason
            return False
        return self._find_secret(where, text)

    def _find_secret(self, where: Place, text: Text, content: str | None = None) -> bool:
        """Search a whole file for a private key or a password. Return whether it has one.

        `content` is the text as a string, if the caller has it. The last text without a secret is
        remembered, since most writes follow a read of the same text.
        """
        path, harmless = self._harmless
        if text is harmless and where.real == path:
            return False
        if key_files.is_secret(where, text, content or str(text), whole=True):
            return True
        self._harmless = where.real, text
        return False

    async def _text(self, where: Place) -> Text:
        """Return the current text. Raise Refusal if there is no such file."""
        limit = self._options().message_bytes
        live = await self._buffers.read_cached(where)
        if isinstance(live, BufferText):
            text = disk.saved_text(where, limit, live.format) if live.is_stale else live.text
            missing, kind = live.is_absent and not live.is_new, ChangeKind.TYPED
        else:
            stored = disk.read_decoded(where, limit, live.fileencodings, live.fileformats)
            missing, kind = stored is None, ChangeKind.REPLACED
            text = stored.text if stored is not None else EMPTY
        if missing:
            self._bases.record_change(where.real, None, ChangeKind.REPLACED)
            raise Refusal("missing", where.path, "no such file")
        self._bases.record_present(where.real, self._present_texts(where, live, text), kind)
        return text

    def _present_texts(
        self, where: Place, live: BufferText | NotLoaded, text: Text
    ) -> Iterator[Text]:
        """Yield `text`, and the saved text of a modified buffer."""
        yield text
        if isinstance(live, BufferText) and live.is_modified:
            yield disk.saved_text(where, self._options().message_bytes, live.format)
