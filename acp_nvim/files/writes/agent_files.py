"""`fs/read_text_file` and `fs/write_text_file`, served from live buffers (v1/file-system).

A write is a three-way merge: the agent's change to the text that it last read (else to the file as
saved) goes into the present text, whole or not at all. Nothing that a user typed is lost to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Generic, Protocol, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from acp_nvim.edits.agent_bases import Act
from acp_nvim.edits.merge import overlaid
from acp_nvim.edits.text import EMPTY, Text, parse
from acp_nvim.files.bytes import disk, key_files
from acp_nvim.files.bytes.path_guard import Ask, PathGuard
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.bytes.text_fit import excerpt
from acp_nvim.files.changes.disk_changes import DiskChanges
from acp_nvim.files.journal.persistence import Persistence
from acp_nvim.files.ports import AgentSession, BufferText, Closed
from acp_nvim.files.review.pending_edits import PendingEdits
from acp_nvim.files.writes.agent_write import AgentWrite, Made

S = TypeVar("S", bound=AgentSession)
S_contra = TypeVar("S_contra", contravariant=True)

OnLocation = Callable[[S, str, int | None], None]
"""Called with each file that an agent uses, and the 1-based line where there is one."""


class Amends(Protocol[S_contra]):
    """The user's changes to proposed edits, put into the agent's writes."""

    def amend(self, session: S_contra, real: str, text: Text) -> Text:
        """The text to write in place of this one. May be asked again for the same write."""
        ...

    def landed(self, session: S_contra, real: str) -> None:
        """The write is done, and entered in the pending edits."""
        ...

    def agents(self, session: S_contra, real: str) -> Text | None:
        """The agent's own text where the user's changes are being put into it; else None."""
        ...

    async def ended(self, session: S_contra, look: Callable[[str], Awaitable[None]]) -> None:
        """The session's turn is over; ``look`` takes up the latest changes of a file by agents."""
        ...


class Landed(msgspec.Struct, frozen=True):
    """One write that was made: the text before (None: there was no such file) and after."""

    path: str
    before: Text | None
    after: Text | None
    amended: bool = False
    """The user had changed the proposal of it."""


class AgentFiles(Generic[S]):
    """Answers agents' file requests, or raises a `Refusal`."""

    def __init__(
        self,
        edits: PendingEdits,
        disk_changes: DiskChanges,
        persistence: Persistence,
        amends: Amends[S],
        ask: Ask[S],
        on_location: OnLocation[S],
    ) -> None:
        self._edits = edits
        self._files = edits.tracked
        self._buffers = edits.buffers
        self._bases = edits.bases
        self._options = edits.options
        self._disk_changes = disk_changes
        self._persistence = persistence
        self._amends = amends
        self._on_location = on_location
        self.guard = PathGuard(edits.options, ask)

    async def read(
        self, session: S, path: str, line: int | None = None, limit: int | None = None
    ) -> str:
        """The live text, or ``limit`` lines from the 1-based ``line`` on; never the middle of a
        write.
        """
        where, why = await self.guard.allowed(session, "read", path)
        text = await self._settled(where)
        content = excerpt(text, line, limit)
        whole = line is None and limit is None
        options = self._options()
        unknown = why != "secret" and bool(options.secret)
        if unknown and key_files.is_secret(where, text, content, whole=whole):
            await self.guard.question(session, "read", where, "secret")
            text = await self._settled(where)
            content = excerpt(text, line, limit)
        if len(content) > options.message_bytes:
            raise Refusal("too_large", where.path, f"{len(content)} characters")
        self._bases.note(session.key, where.real, text)
        self._disk_changes.reads.add(where.real, text)
        self._on_location(session, where.real, line)
        return content

    async def look(self, session: S, path: str) -> tuple[Place, Text]:
        """The file and its live text, for answers about places in it: the agent has not read it.

        Refusal as for `read`.
        """
        where, why = await self.guard.allowed(session, "read", path)
        text = await self._settled(where)
        unknown = why != "secret" and bool(self._options().secret)
        if unknown and key_files.is_secret(where, text, str(text), whole=True):
            await self.guard.question(session, "read", where, "secret")
        return where, text

    async def write(
        self, session: S, path: str, content: str, answer: Callable[[], None] = lambda: None
    ) -> None:
        """Merge the content into the live text, save by policy. An unchanged text is not written.

        ``answer`` is called as soon as the file is written, before that is reviewed.
        """
        where, why = await self.guard.allowed(session, "write", path)
        if path.endswith("/"):
            raise Refusal("directory", where.path, "names a directory")
        if why != "secret" and self._options().secret and await self._holds_key(where):
            await self.guard.question(session, "write", where, "secret")
        await self._write(session, where, parse(content), UNSET, answer)

    async def put(
        self, session: S, where: Place, base: Text | None, text: Text, *, knows: bool
    ) -> Landed | None:
        """Merge the change from ``base`` to ``text``, which the user has allowed, into the live
        text; without base the file must not exist. None where nothing is to change.

        ``knows``: the agent has this change in mind from now on, whatever it last saw of the file;
        else it is like one of the user's.
        """
        seen = self._bases.last(session.key, where.real)

        def remember(work: AgentWrite, before: Text | None) -> None:
            if knows and (seen is not None or base is None):
                mind = EMPTY if seen is None else seen
                made = work.believed if base is None else overlaid(base, mind, work.believed)
                self._bases.wrote(session.key, where.real, mind, made, work.present)
            else:
                self._bases.changed(where.real, work.present, Act.TYPED, before)

        return await self._write(session, where, text, base, lambda: None, remember)

    async def _write(
        self,
        session: S,
        where: Place,
        content: Text,
        base: Text | UnsetType | None,
        answer: Callable[[], None],
        remember: Callable[[AgentWrite, Text | None], None] | None = None,
    ) -> Landed | None:
        file = self._files[where.real]
        unread = self._disk_changes.unread
        with self._persistence.landing(session, where.real) as lands:
            async with file.in_line():  # the write that came last stands
                await unread.ready(where.real)
                await self._disk_changes.before_write(where.real)
                async with file.alone():
                    amend = partial(self._amends.amend, session)
                    work = AgentWrite(
                        self._buffers,
                        self._options(),
                        where,
                        content,
                        self._bases,
                        session.key,
                        amend,
                        lands,
                        partial(unread.base, session),
                        base,
                    )
                    made = await work.run()
                    if remember is None:
                        self._bases.wrote(
                            session.key, where.real, work.base, work.believed, work.present
                        )
                    else:
                        remember(work, made.before if made else work.present)
            if made is None or not made.failed:
                answer()
            landed = None if made is None else self._enter(session, where, made)
            self._amends.landed(session, where.real)
            if made is not None and made.failed:
                raise Refusal("failed", where.path, made.failed)
            return landed

    def _enter(self, session: S, where: Place, made: Made) -> Landed:
        """Follow a write that was made, and enter it in the pending edits."""
        agents = self._amends.agents(session, where.real)
        self._on_location(session, where.real, made.line)
        self._edits.wrote(session, where.real, made, agents)
        is_amended = agents is not None and agents != made.after
        return Landed(where.real, made.before, made.after, is_amended)

    def forget(self, session_key: str) -> None:
        """Drop the memory of a session that has ended."""
        self._bases.forget(session_key)

    async def _settled(self, where: Place) -> Text:
        """The text after all writes that were requested before."""
        if not self._files.is_busy(where.real):
            return await self._text(where)
        file = self._files[where.real]
        if file.is_written:
            async with file.in_line(), file.alone():
                return await self._text(where)
        async with file.alone():
            return await self._text(where)

    async def _holds_key(self, where: Place) -> bool:
        """Whether the text that is to be written over has a private key."""
        try:
            text = await self._settled(where)
        except Refusal:  # no such file, or one that the write refuses for the same reason
            return False
        return key_files.is_secret(where, text, str(text), whole=True)

    async def _text(self, where: Place) -> Text:
        """The text as it is now; Refusal where there is no such file."""
        limit = self._options().message_bytes
        live = await self._buffers.mirrored(where)
        if isinstance(live, BufferText):
            text = disk.saved(where, limit, live.format) if live.stale else live.text
            missing, act = live.absent and not live.new, Act.TYPED
        else:
            stored = disk.stored(where, limit, live.fileencodings, live.fileformats)
            missing, act = stored is None, Act.REPLACED
            text = stored.text if stored is not None else EMPTY
        if missing:
            self._bases.changed(where.real, None, Act.REPLACED)
            raise Refusal("missing", where.path, "no such file")
        self._bases.found(where.real, self._present(where, live, text), act)
        return text

    def _present(self, where: Place, live: BufferText | Closed, text: Text) -> Iterator[Text]:
        """The text, and the one that is saved where it is another."""
        yield text
        if isinstance(live, BufferText) and live.modified:
            yield disk.saved(where, self._options().message_bytes, live.format)
