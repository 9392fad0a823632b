"""`fs/read_text_file` and `fs/write_text_file`, served from live buffers (v1/file-system).

A write is a three-way merge: the agent's change to what it last read (else to the file as saved) is
put into the text as it is now, whole or not at all. Nothing that a user typed is ever lost to it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Final, Generic, Literal, Protocol, TypeVar

import anyio
from msgspec import UNSET, UnsetType

from acp_nvim.edits.agent_bases import Act, AgentBases
from acp_nvim.edits.text import EMPTY, Text, parse
from acp_nvim.protocol import schema
from acp_nvim.workspace import disk, key_files
from acp_nvim.workspace.agent_write import Amend, Write
from acp_nvim.workspace.guard import Guarded, Verb, by_link, by_name
from acp_nvim.workspace.paths import Place, below, place
from acp_nvim.workspace.ports import BufferText, Closed, FileOptions, LiveBuffers
from acp_nvim.workspace.refusals import refusal
from acp_nvim.workspace.text_fit import excerpt

__all__ = [
    "Amends",
    "Ask",
    "FileOptions",
    "FileSession",
    "Files",
    "LiveBuffers",
    "OnLocation",
    "OnWrite",
]

Kind = Literal["created", "modified"]


class FileSession(Protocol):
    """What files need to know of a session."""

    @property
    def key(self) -> str:
        """Names the session among those of all agents, whose ids on the wire may be the same."""
        ...

    @property
    def roots(self) -> Sequence[str]:
        """The directories the agent may use: cwd and the additional ones."""
        ...


S = TypeVar("S", bound=FileSession)
S_contra = TypeVar("S_contra", contravariant=True)

Why = Guarded | Literal["outside"]
_ABOUT: Final[dict[Why, str]] = {
    "outside": "outside of the session's directories",
    "secret": "a secret file",
    "executed": "a file that other programs run",
}

Ask = Callable[[S, Verb, Place, Why], Awaitable[bool]]
"""Puts a question to the user, with the path and why it is asked; true when the agent may."""
OnLocation = Callable[[S, str, int | None], None]
"""Told of each file an agent uses, with the 1-based line where there is one."""
OnWrite = Callable[[S, str, Text | None, Text, Kind], None]
"""Told of each write: text before (None: no such file) and after, autocommands' edits included."""


Lines = dict[str, tuple[anyio.Lock, int]]
"""Who waits, by real path: the lock, and how many hold it or wait for it."""


@asynccontextmanager
async def _in_line(lines: Lines, real: str) -> AsyncIterator[None]:
    """One at a time for each file, in the order in which they came."""
    lock, waiting = lines.get(real, (anyio.Lock(), 0))
    lines[real] = lock, waiting + 1
    try:
        async with lock:
            yield
    finally:
        lock, waiting = lines[real]
        lines[real] = lock, waiting - 1
        if waiting == 1:
            del lines[real]


class Amends(Protocol[S_contra]):
    """What the user wants changed in what an agent writes."""

    def amend(self, session: S_contra, real: str, text: Text) -> Text:
        """The text to write in place of this one. May be asked again for the same write."""
        ...

    def landed(self, session: S_contra, real: str) -> None:
        """The file holds what was answered; `OnWrite` has been told, where anything changed."""
        ...


class Files(Generic[S]):
    """Answers agents' file requests. Refusals are `RequestError` with `data = {path, reason}`."""

    def __init__(
        self,
        buffers: LiveBuffers,
        options: FileOptions,
        ask: Ask[S],
        on_location: OnLocation[S],
        on_write: OnWrite[S],
        agent_bases: AgentBases | None = None,
    ) -> None:
        self.options = options
        self.amends: Amends[S] | None = None
        self.look_first: Callable[[str], Awaitable[None]] | None = None
        """Awaited before each write, with the real path: what else became of the file is seen."""
        self.on_read: Callable[[str, Text], None] = lambda *_: None
        """Told of each text that an agent was given, with the real path."""
        self._buffers = buffers
        self._ask = ask
        self._on_location = on_location
        self._on_write = on_write
        self.agent_bases = agent_bases if agent_bases is not None else AgentBases()
        self._turns: Lines = {}
        self._writers: Lines = {}

    async def read(
        self, session: S, params: schema.ReadTextFileRequest
    ) -> schema.ReadTextFileResponse:
        """The live text, or the lines asked for; never the middle of a write."""
        where, why = await self._allowed(session, "read", params.path)
        line, limit = _number(params.line), _number(params.limit)
        text = await self._settled(where)
        content = excerpt(text, line, limit)
        whole = line is None and limit is None
        unknown = why != "secret" and bool(self.options.secret)
        if unknown and key_files.is_secret(where, text, content, whole=whole):
            await self._question(session, "read", where, "secret")
            text = await self._settled(where)
            content = excerpt(text, line, limit)
        if len(content) > self.options.message_bytes:
            raise refusal("too_large", where.path, f"{len(content)} characters")
        self.agent_bases.note(session.key, where.real, text)
        self.on_read(where.real, text)
        self._on_location(session, where.real, line)
        return schema.ReadTextFileResponse(content)

    async def write(
        self,
        session: S,
        params: schema.WriteTextFileRequest,
        answer: Callable[[schema.WriteTextFileResponse], None] = lambda _: None,
    ) -> schema.WriteTextFileResponse:
        """Merge the content into the live text, save by policy. What was read changes nothing.

        ``answer`` is given the result as soon as the file is written, before that is reviewed.
        """
        where, _ = await self._allowed(session, "write", params.path)
        if params.path.endswith("/"):
            raise refusal("directory", where.path, "names a directory")
        async with _in_line(self._writers, where.real):  # the write that came last stands
            if self.look_first is not None:
                await self.look_first(where.real)
            async with self.turn(where.real):
                text, amend = parse(params.content), self._amend(session)
                bases, options = self.agent_bases, self.options
                work = Write(self._buffers, options, where, text, bases, session.key, amend)
                made = await work.run()
                bases.wrote(session.key, where.real, work.base, work.believed, work.present)
        done = schema.WriteTextFileResponse()
        failed = made is not None and made.unsaved
        if not failed:
            answer(done)
        if made is not None:
            kind: Kind = "created" if made.before is None else "modified"
            self._on_location(session, where.real, made.line)
            self._on_write(session, where.real, made.before, made.after, kind)
        if self.amends is not None:
            self.amends.landed(session, where.real)
        if failed:
            raise refusal("failed", where.path, failed)
        return done

    def _amend(self, session: S) -> Amend | None:
        return partial(self.amends.amend, session) if self.amends is not None else None

    def last_read(self, session_key: str, real: str) -> Text | None:
        """What a session believes a file to hold; None when that is not known."""
        return self.agent_bases.last(session_key, real)

    def forget(self, session_key: str) -> None:
        """Drop what is remembered of a session that has ended."""
        self.agent_bases.forget(session_key)

    # ---- who may

    async def _allowed(self, session: S, verb: Verb, path: str) -> tuple[Place, Why | None]:
        """Which file is meant, and about what the user was asked, if they were."""
        where = place(path)
        options = self.options
        inside = below(where.real, session.roots)
        if inside is None and options.outside == "deny":
            raise refusal("outside", path, "outside of the session's directories")
        why: Why | None = by_name(where, inside, verb, options)
        why = why or await by_link(where, session.roots, verb, options)
        if why is None and inside is None and options.outside == "ask":
            why = "outside"
        if why is not None:
            await self._question(session, verb, where, why)
        return where, why

    async def _question(self, session: S, verb: Verb, where: Place, why: Why) -> None:
        if not await self._ask(session, verb, where, why):
            what = f"the user did not allow to {verb} {_ABOUT[why]}"
            raise refusal("denied", where.path, what)
        if place(where.path).real != where.real:
            raise refusal("failed", where.path, "leads elsewhere since the user was asked about it")

    def turn(self, real: str) -> AbstractAsyncContextManager[None]:
        """One at a time for each file."""
        return _in_line(self._turns, real)

    async def _settled(self, where: Place) -> Text:
        """The text when all writes are over that were asked for before."""
        if where.real in self._writers:
            async with _in_line(self._writers, where.real), self.turn(where.real):
                return await self._text(where)
        if where.real in self._turns:
            async with self.turn(where.real):
                return await self._text(where)
        return await self._text(where)

    async def _text(self, where: Place) -> Text:
        """The text as it is now; RequestError where there is no such file."""
        limit = self.options.message_bytes
        live = await self._buffers.read(where)
        if isinstance(live, BufferText):
            text = disk.saved(where, limit, live.format) if live.stale else live.text
            missing, act = live.absent and not live.new, Act.TYPED
        else:
            stored = disk.stored(where, limit, live.fileencodings, live.fileformats)
            missing, act = stored is None, Act.REPLACED
            text = stored.text if stored is not None else EMPTY
        if missing:
            self.agent_bases.changed(where.real, None, Act.REPLACED)
            raise refusal("missing", where.path, "no such file")
        self.agent_bases.found(where.real, self._present(where, live, text), act)
        return text

    def _present(self, where: Place, live: BufferText | Closed, text: Text) -> Iterator[Text]:
        """The text, and the one that is saved where it is another."""
        yield text
        if isinstance(live, BufferText) and live.modified:
            yield disk.saved(where, self.options.message_bytes, live.format)


def _number(value: int | UnsetType | None) -> int | None:
    return None if value is UNSET or isinstance(value, UnsetType) else value
