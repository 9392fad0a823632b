"""`fs/read_text_file` and `fs/write_text_file`, served from live buffers (v1/file-system).

A write is a three-way merge: the agent's change to what it last read (else to the file as saved) is
put into the text as it is now, whole or not at all. Nothing that a user typed is ever lost to it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal, Protocol

import anyio
import msgspec
from msgspec import UNSET, UnsetType

from acp_nvim.agent import disk
from acp_nvim.agent.decode import BinaryError, Decoded, Format, decode, decode_as, encode
from acp_nvim.agent.fit import excerpt, fitted, restored, unencodable
from acp_nvim.agent.live import BufferText, Change, Closed, LiveBuffers, Save, Written
from acp_nvim.agent.paths import Place, below, place, secret
from acp_nvim.agent.reads import LastReads
from acp_nvim.agent.refusals import Reason, refusal
from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.merge import Conflict, Merged, merge
from acp_nvim.edits.text import EMPTY, Text, parse
from acp_nvim.protocol import schema

ATTEMPTS = 20
"""How often a write starts anew because the buffer moved meanwhile."""
PATIENCE_S, PAUSE_S = 5.0, 0.05
"""How long, and how often, Neovim is asked again when it allows no edit (textlock)."""

_REASONS: dict[str, Reason] = {"readonly": "readonly", "conflict": "conflict"}

Verb = Literal["read", "write"]
Kind = Literal["created", "modified"]


class FileSession(Protocol):
    """What files need to know of a session."""

    @property
    def id(self) -> str:
        """The session's id on the wire."""
        ...

    @property
    def roots(self) -> Sequence[str]:
        """The directories the agent may use: cwd and the additional ones."""
        ...


class FileOptions(msgspec.Struct):
    """The options `files.*` and `limits.message_bytes`; read anew for every request."""

    outside: Literal["ask", "deny", "allow"] = "ask"
    secret: Sequence[str] = ()
    save: Save = "auto"
    autocmds: bool = True
    message_bytes: int = 64 * 1024 * 1024


Ask = Callable[[FileSession, Verb, str, Literal["outside", "secret"]], Awaitable[bool]]
"""Puts a question to the user, with the path and why it is asked; true when the agent may."""
OnLocation = Callable[[FileSession, str, int | None], None]
"""Told of each file an agent uses, with the 1-based line where there is one."""
OnWrite = Callable[[FileSession, str, Text | None, Text, Kind], None]
"""Told of each write: text before (None: no such file) and after, autocommands' edits included."""


class Files:
    """Answers agents' file requests. Refusals are `RequestError` with `data = {path, reason}`."""

    def __init__(
        self,
        buffers: LiveBuffers,
        options: FileOptions,
        ask: Ask,
        on_location: OnLocation,
        on_write: OnWrite,
    ) -> None:
        self.options = options
        self._buffers = buffers
        self._ask = ask
        self._on_location = on_location
        self._on_write = on_write
        self._reads = LastReads()
        self._turns: dict[str, tuple[anyio.Lock, int]] = {}

    async def read(
        self, session: FileSession, params: schema.ReadTextFileRequest
    ) -> schema.ReadTextFileResponse:
        """The live text, or the lines asked for; never the middle of a write."""
        where = await self._allowed(session, "read", params.path)
        if where.real in self._turns:
            async with self._turn(where.real):
                text = await self._text(where)
        else:
            text = await self._text(where)
        content = excerpt(text, _number(params.line), _number(params.limit))
        if len(content) > self.options.message_bytes:
            raise refusal("too_large", where.path, f"{len(content)} characters")
        self._reads.put(session.id, where.real, text)
        self._on_location(session, where.real, _number(params.line))
        return schema.ReadTextFileResponse(content)

    async def write(
        self, session: FileSession, params: schema.WriteTextFileRequest
    ) -> schema.WriteTextFileResponse:
        """Merge the content into the live text, save by policy. What was read changes nothing."""
        where = await self._allowed(session, "write", params.path)
        if params.path.endswith("/"):
            raise refusal("directory", where.path, "names a directory")
        async with self._turn(where.real):
            await self._write(session, where, parse(params.content))
        return schema.WriteTextFileResponse()

    def forget(self, session_id: str) -> None:
        """Drop what is remembered of a session that has ended."""
        self._reads.forget(session_id)

    # ---- who may

    async def _allowed(self, session: FileSession, verb: Verb, path: str) -> Place:
        where = place(path)
        options = self.options
        inside = below(where.real, session.roots)
        if inside is None and options.outside == "deny":
            raise refusal("outside", path, "outside of the session's directories")
        if secret(where, inside, options.secret):
            await self._question(session, verb, path, "secret")
        elif inside is None and options.outside == "ask":
            await self._question(session, verb, path, "outside")
        return where

    async def _question(
        self, session: FileSession, verb: Verb, path: str, reason: Literal["outside", "secret"]
    ) -> None:
        if not await self._ask(session, verb, path, reason):
            about = {"outside": "outside of the session's directories", "secret": "a secret file"}
            raise refusal("denied", path, f"the user did not allow to {verb} {about[reason]}")

    @asynccontextmanager
    async def _turn(self, real: str) -> AsyncIterator[None]:
        """One at a time for each file."""
        lock, waiting = self._turns.get(real, (anyio.Lock(), 0))
        self._turns[real] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._turns[real]
            self._turns[real] = lock, waiting - 1
            if waiting == 1:
                del self._turns[real]

    # ---- reading

    async def _text(self, where: Place) -> Text:
        live = await self._buffers.read(where)
        if isinstance(live, BufferText):
            return live.text
        stored = self._stored(where, live)
        if stored is None:
            raise refusal("missing", where.path, "no such file")
        return stored.text

    def _stored(self, where: Place, options: Closed) -> Decoded | None:
        """The file as saved, decoded as Neovim would; None when there is none."""
        data = disk.read(where, self.options.message_bytes)
        if data is None:
            return None
        try:
            return decode(data, options.fileencodings, options.fileformats)
        except BinaryError as error:
            raise refusal("binary", where.path, "is not a text file") from error

    def _saved(self, where: Place, live: BufferText) -> Text:
        """The file as saved, decoded as its buffer was."""
        data = disk.read(where, self.options.message_bytes)
        if data is None:
            return EMPTY
        try:
            return decode_as(data, Format(live.encoding, live.bomb, live.dos)).text
        except BinaryError as error:
            raise refusal("binary", where.path, "is not a text file") from error

    # ---- writing

    async def _write(self, session: FileSession, where: Place, theirs: Text) -> None:
        fresh = created = False
        live = await self._buffers.read(where)
        if isinstance(live, Closed):
            stored = self._stored(where, live)
            created = stored is None
            if stored is not None and not self._changes(session, where, theirs, stored):
                return
            live = await self._buffers.load(where)
            if isinstance(live, Closed):
                self._write_disk(session, where, theirs, stored, live)
                return
            fresh = True
        await self._write_buffer(session, where, theirs, live, fresh=fresh, created=created)

    def _changes(self, session: FileSession, where: Place, theirs: Text, stored: Decoded) -> bool:
        """Whether writing changes the stored file; RequestError when it cannot be merged."""
        base = self._reads.get(session.id, where.real) or stored.text
        wanted = fitted(theirs, base, stored.format.dos, stored.format.bomb)
        if self._merged(where, base, stored.text, wanted).text != stored.text:
            return True
        self._reads.put(session.id, where.real, wanted)
        return False

    def _merged(self, where: Place, base: Text, live: Text, theirs: Text) -> Merged:
        merged = merge(base, live, theirs)
        if isinstance(merged, Conflict):
            raise refusal("conflict", where.path, f"{merged.reason}; read it again")
        return merged

    async def _write_buffer(
        self,
        session: FileSession,
        where: Place,
        theirs: Text,
        live: BufferText,
        *,
        fresh: bool,
        created: bool,
    ) -> None:
        for _ in range(ATTEMPTS):
            base = live.text if created else self._base(session, where, live, fresh)
            wanted = fitted(theirs, base, live.dos, live.bomb)
            merged = self._merged(where, base, live.text, wanted)
            if merged.text == live.text and not created:
                self._reads.put(session.id, where.real, wanted)
                return
            written = await self._apply(where, live, merged, fresh=fresh)
            if written.outcome == "done" and written.live is not None:
                before = None if created else live.text
                self._done(session, where, before, written.live.text, merged, wanted)
                return
            again = await self._buffers.load(where)
            if isinstance(again, Closed):
                raise refusal("failed", where.path, again.why or "the buffer is gone")
            fresh = fresh and again.tick == live.tick
            live = again
        raise refusal("failed", where.path, "the buffer keeps changing")

    def _base(self, session: FileSession, where: Place, live: BufferText, fresh: bool) -> Text:
        """What the agent's change is a change to."""
        read = self._reads.get(session.id, where.real)
        if read is not None:
            return read
        return self._saved(where, live) if live.modified and not fresh else live.text

    async def _apply(
        self, where: Place, live: BufferText, merged: Merged, *, fresh: bool
    ) -> Written:
        """Put a merge into the buffer. Comes back when it is done or the buffer moved."""
        hunks = _hunks(live, merged)
        lacking = unencodable(hunks, live.encoding)
        if lacking:
            raise refusal("failed", where.path, lacking)
        text, options = merged.text, self.options
        change = Change(hunks, text.eol, text == EMPTY, options.save, options.autocmds, fresh=fresh)
        waited = 0.0
        while True:
            written = await self._buffers.write(live, change)
            if written.outcome in {"done", "moved"}:
                return written
            if written.outcome != "busy" or waited >= PATIENCE_S:
                raise refusal(_REASONS.get(written.outcome, "failed"), where.path, written.why)
            await anyio.sleep(PAUSE_S)
            waited += PAUSE_S
            if written.live is not None:
                live = written.live

    def _write_disk(
        self,
        session: FileSession,
        where: Place,
        theirs: Text,
        stored: Decoded | None,
        closed: Closed,
    ) -> None:
        """Write past Neovim, which cannot load the file."""
        if closed.taken:
            raise refusal("failed", where.path, closed.why)
        live = stored or Decoded(EMPTY, Format())
        base = EMPTY if stored is None else self._reads.get(session.id, where.real) or live.text
        wanted = fitted(theirs, base, live.format.dos, live.format.bomb)
        merged = self._merged(where, base, live.text, wanted)
        try:
            data = encode(merged.text, live.format)
        except UnicodeEncodeError as error:
            raise refusal("failed", where.path, f"cannot be written: {error.reason}") from error
        disk.write(where, data)
        before = None if stored is None else live.text
        self._done(session, where, before, merged.text, merged, wanted)

    def _done(
        self,
        session: FileSession,
        where: Place,
        before: Text | None,
        after: Text,
        merged: Merged,
        wanted: Text,
    ) -> None:
        """Remember what the agent believes: its own text, with what autocommands made of it."""
        believed = merge(merged.text, after, wanted)
        text = wanted if isinstance(believed, Conflict) else believed.text
        self._reads.put(session.id, where.real, text)
        line = merged.hunks[0].new_start + 1 if merged.hunks else 1
        self._on_location(session, where.real, line)
        self._on_write(
            session, where.real, before, after, "created" if before is None else "modified"
        )


def _hunks(live: BufferText, merged: Merged) -> list[Hunk]:
    """The merge's hunks for the buffer as it is, bytes that are no UTF-8 included."""
    if not merged.hunks and live.text == EMPTY and merged.text.eol:
        return [Hunk(0, 1, ("",), 0)]  # no byte becomes one newline
    return restored(live.raw.lines, live.text.lines, merged.hunks)


def _number(value: int | UnsetType | None) -> int | None:
    return None if value is UNSET or isinstance(value, UnsetType) else value
