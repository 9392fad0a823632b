"""One write by an agent: merge with the current text, change the buffer, save, verify.

The base of the merge is the text that the agent last saw (`edits.agent_bases`), otherwise the saved
file. The change is made whole or not at all. Every failure is a `Refusal`, including a file that
does not contain the saved text afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Generic, TypeVar

import anyio
import msgspec
from anyio import to_thread

from acp_nvim.edits.agent_bases import ChangeKind, Stale
from acp_nvim.edits.hunks import Hunk, diff
from acp_nvim.edits.merge import Conflict, Merged, merge, overlay
from acp_nvim.edits.text import EMPTY, Text, rows
from acp_nvim.files.buffers.turn_texts import UnreadFiles
from acp_nvim.files.bytes import disk
from acp_nvim.files.bytes.file_format import Decoded, Format, encode
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Reason, Refusal
from acp_nvim.files.bytes.text_fit import fit_text, restore_raw, unencodable, with_returns
from acp_nvim.files.files import Files
from acp_nvim.files.ports import (
    AgentSession,
    Amendments,
    BufferChange,
    BufferText,
    NotLoaded,
    WriteResult,
)

S = TypeVar("S", bound=AgentSession)

PATIENCE_S: Final = 10.0
"""Time to retry a write while the buffer keeps changing or allows no edit, in seconds."""
PAUSE_S: Final = 0.05
"""Pause before the next attempt when Neovim allows no edit, in seconds."""

OnWrite = Callable[[Text | None, Text, Sequence[Hunk]], None]
"""Function called right before an agent's write.

Its arguments are the text before (None for no such file), the text after, and the hunks between
them.
"""

_REASONS: Final[dict[str, Reason]] = {
    "readonly": "readonly",
    "conflict": "conflict",
    "directory": "directory",
}


GONE: Final = "all lines of this text have been removed from the file; read it again"
UNVERIFIED: Final = "the file does not contain the written text, but its buffer does"


CheckCancelled = Callable[[str], None]
"""Function that raises Refusal, for a path, once the user has cancelled the turn."""


def cancel_check(session: AgentSession) -> CheckCancelled:
    """Return a function that raises Refusal if a turn is cancelled now or has been since."""
    cancels = session.cancels

    def check(path: str) -> None:
        if session.is_cancelling or session.cancels != cancels:
            raise Refusal("denied", path, "the turn was cancelled")

    return check


class AllowedChange(msgspec.Struct, frozen=True):
    """Change that the user has allowed, with its own base."""

    base: Text | None
    """Text to change, or None if the file must not exist."""
    seen: Text | None
    """Text that the agent last saw."""
    is_known: bool
    """Whether the agent counts as knowing the change. Otherwise the change counts as the user's."""


class WriteRequest(msgspec.Struct, Generic[S], frozen=True):
    """Text that an agent writes to a file."""

    session: S
    where: Place
    content: Text
    check_cancelled: CheckCancelled
    """Called right before each attempt."""
    allowed: AllowedChange | None = None
    """The change that the user has allowed, if the write required permission."""


class AgentMerge(msgspec.Struct, frozen=True):
    """The agent's change, merged into the live text."""

    base: Text
    """Text from which the agent's change starts."""
    agents_text: Text
    """Text that the agent writes, without the user's changes."""
    live: Text
    text: Text
    """Text to write."""
    hunks: list[Hunk]
    """Hunks between `live` and `text`."""
    proposed: Text | None = None
    """Text to write without the user's amendment, if there is one."""


class CompletedWrite(msgspec.Struct, frozen=True):
    """Texts before and after a write, and its result on disk."""

    before: Text | None
    """Text before the write, or None if there was no such file."""
    after: Text
    requested: Text
    """The requested text. `after` differs if an autocommand changed it."""
    base: Text
    agents_text: Text
    """Text before and after the write, as the agent knows it."""
    line: int = 1
    """First line that changed, 1-based."""
    is_change: bool = True
    """False if there was nothing to write."""
    proposed: Text | None = None
    """The requested text without the user's amendment, if there is one."""
    is_saved: bool = True
    """Whether the file has the text. Option `files.save` may leave saving to the user."""
    failure: str = ""
    """Reason why the file does not contain the text although it was saved."""


class AgentWrite(Generic[S]):
    """One write. Call `run` once."""

    def __init__(
        self,
        files: Files,
        request: WriteRequest[S],
        amendments: Amendments[S],
        unread: UnreadFiles,
        on_write: OnWrite,
    ) -> None:
        self._buffers = files.buffers
        self._bases = files.bases
        self._options = files.options()
        self._request = request
        self._where = request.where
        self._amendments = amendments
        self._unread = unread
        self._on_write = on_write
        self._is_new = False
        """Whether the write creates the file."""
        self._is_fresh = False
        """Whether the write has loaded the buffer, so that it has no edits by the user."""

    async def run(self, answer: Callable[[], None]) -> CompletedWrite | None:
        """Make the change, and record it as known to the agent.

        Return None if there is nothing to change. `answer` is called as soon as the file has the
        text, before the change is recorded, since the agent waits for it.
        """
        completed = await self._merge_and_write()
        if not completed.failure:
            answer()
        self._record_known(completed)
        return completed if completed.is_change else None

    def _record_known(self, completed: CompletedWrite) -> None:
        """Record the agent's knowledge of the file."""
        allowed, agents, after = self._request.allowed, completed.agents_text, completed.after
        key, path = self._request.session.key, self._where.real
        if allowed is None:
            self._bases.record_write(key, path, completed.base, agents, after)
        elif allowed.is_known and (allowed.seen is not None or allowed.base is None):
            seen = EMPTY if allowed.seen is None else allowed.seen
            known = agents if allowed.base is None else overlay(allowed.base, seen, agents)
            self._bases.record_write(key, path, seen, known, after)
        else:
            self._bases.record_change(path, after, ChangeKind.TYPED, completed.before)

    async def _merge_and_write(self) -> CompletedWrite:
        path, live = self._where.real, await self._read()
        if isinstance(live, BufferText):
            self._is_new = live.is_absent
            if self._is_new:
                self._bases.record_change(path, None, ChangeKind.REPLACED)
            else:
                self._bases.record_present(path, self._present_texts(live), ChangeKind.TYPED)
            self._check_allowed()
            return await self._write_to_buffer(live)
        stored = disk.read_decoded(self._where, self._limit, live.fileencodings, live.fileformats)
        self._is_new = stored is None
        self._check_allowed()
        if stored is None:
            self._bases.record_change(path, None, ChangeKind.REPLACED)
        else:
            self._bases.record_present(path, iter((stored.text,)), ChangeKind.REPLACED)
            merged = await self._merge_into_stored(stored)
            if merged.text == stored.text:
                return _unchanged(merged)
        live = await self._buffers.load(self._where, stored.format if stored else None)
        if isinstance(live, BufferText):
            self._is_fresh = True
            return await self._write_to_buffer(live)
        if live.is_busy:  # the user has just opened it
            return await self._merge_and_write()
        return await self._write_to_disk(stored or Decoded(EMPTY, Format()), live)

    async def _read(self) -> BufferText | NotLoaded:
        """Return the buffer. Wait while Neovim is reading the file into it."""
        deadline = anyio.current_time() + PATIENCE_S
        live = await self._buffers.read_cached(self._where)
        while isinstance(live, NotLoaded) and live.is_busy:
            if anyio.current_time() > deadline:
                raise self._refuse("busy", live.reason)
            await anyio.sleep(PAUSE_S)
            live = await self._buffers.read_cached(self._where)
        return live

    def _check_allowed(self) -> None:
        """Raise Refusal to create a file that exists, or to change a file that does not."""
        allowed = self._request.allowed
        if allowed is None:
            return
        if allowed.base is None and not self._is_new:
            raise self._refuse("conflict", "the file already exists")
        if allowed.base is not None and self._is_new:
            raise self._refuse("conflict", "the file is gone")

    @property
    def _limit(self) -> int:
        return self._options.message_bytes

    def _refuse(self, reason: Reason, why: str) -> Refusal:
        return Refusal(reason, self._where.path, why)

    def _merge(self, base: Text, live: Text, file_format: Format) -> AgentMerge:
        """Merge the agent's change to the base into the live text.

        Also apply the user's amendment of the proposal, which the agent does not know. The agent's
        next write is merged as a change to its own text, so that the amendment stays.
        """
        content = self._request.content
        if file_format.binary:
            base, content = with_returns(base, live), with_returns(content, live)
        agents_text = fit_text(content, base, file_format.dos, file_format.bomb)
        merged = merge(base, live, agents_text)
        if isinstance(merged, Conflict):
            raise self._refuse("conflict", f"{merged.reason}; read it again")
        if live == base:
            agents_text = merged.text  # equal, and shares its lines with the live text
        if _lacks_all_lines_of(merged.text, agents_text):
            raise self._refuse("conflict", GONE)
        text = self._amendments.apply(self._request.session, self._where.real, merged.text)
        if text == merged.text:
            return AgentMerge(base, agents_text, live, merged.text, merged.hunks)
        hunks = diff(live.lines, text.lines)
        return AgentMerge(base, agents_text, live, text, hunks, proposed=merged.text)

    async def _merge_into_stored(self, stored: Decoded) -> AgentMerge:
        """Merge the agent's change into the text of a file that Neovim has not loaded."""
        base = None
        if not self._is_new:
            base = await self._known_base([stored.text], stored.format)
        return self._merge(base or stored.text, stored.text, stored.format)

    def _complete(
        self,
        merged: AgentMerge,
        after: Text,
        requested: Text | None = None,
        *,
        is_saved: bool = True,
        failure: str = "",
    ) -> CompletedWrite:
        """Return the result. Edits by autocommands count as known to the agent."""
        agents_text = merged.agents_text
        if after != merged.text:
            known = merge(merged.text, after, agents_text)
            agents_text = known.text if isinstance(known, Merged) else agents_text
        return CompletedWrite(
            before=None if self._is_new else merged.live,
            after=after,
            requested=requested or after,
            base=EMPTY if self._is_new else merged.base,
            agents_text=agents_text,
            line=merged.hunks[0].new_start + 1 if merged.hunks else 1,
            proposed=merged.proposed,
            is_saved=is_saved,
            failure=failure,
        )

    # -- through the buffer -----------------------------------------------------------------------

    async def _write_to_buffer(self, live: BufferText) -> CompletedWrite:
        deadline = anyio.current_time() + PATIENCE_S
        while True:
            merged = self._merge(await self._base_for(live), live.text, live.format)
            if merged.text == live.text and not (self._is_new or self._must_save(live)):
                return _unchanged(merged)
            written = await self._attempt(live, merged)
            if written.outcome == "done" and written.live is not None:
                return self._complete(
                    merged,
                    written.live.text,
                    written.requested,
                    is_saved=written.is_saved or written.requested is None,
                    failure="" if written.is_verified else UNVERIFIED,
                )
            if anyio.current_time() > deadline:
                reason: Reason = "busy" if written.outcome == "busy" else "failed"
                raise self._refuse(reason, written.reason or "the buffer keeps changing")
            if written.outcome == "busy":
                await anyio.sleep(PAUSE_S)
            live = await self._reload(live)

    def _must_save(self, live: BufferText) -> bool:
        """Return whether the buffer has unsaved changes and option `files.save` is `always`."""
        return live.is_modified and self._options.save == "always"

    async def _base_for(self, live: BufferText) -> Text:
        """Return the text that the agent's change starts from."""
        if self._is_new and (self._is_fresh or live.is_absent):
            return live.text
        base = await self._known_base(self._present_texts(live), live.format)
        return base or list(self._present_texts(live))[-1]

    def _present_texts(self, live: BufferText) -> Iterator[Text]:
        """Yield the live text, and the saved text of a modified buffer."""
        yield live.text
        if live.is_modified and not self._is_fresh:
            yield disk.saved_text(self._where, self._limit, live.format)

    async def _known_base(self, present: Iterable[Text], file_format: Format) -> Text | None:
        """Return the text that the agent last saw, or None if it is unknown.

        If the agent has not read the file and the user has saved it during the turn, return the
        text at the start of the turn.
        """
        session, allowed = self._request.session, self._request.allowed
        if allowed is not None:
            return allowed.base
        base = self._bases.base_of(session.key, self._where.real, present)
        if base is None:
            base = await self._unread.base(session, self._where.real, file_format)
        if isinstance(base, Stale):
            raise self._refuse("conflict", f"{base.reason}; read it again")
        return base

    async def _attempt(self, live: BufferText, merged: AgentMerge) -> WriteResult:
        """Try once, and return the result. Raise Refusal for a failure that a retry cannot fix."""
        hunks = _hunks(live, merged)
        lacking = unencodable(hunks, live.format.encoding)
        if lacking:
            raise self._refuse("failed", lacking)
        if live.is_stale and disk.saved_text(self._where, self._limit, live.format) != live.text:
            return WriteResult("busy", "Neovim cannot reload the changed file right now")
        change = BufferChange(
            hunks,
            eol=merged.text.eol,
            is_empty=merged.text == EMPTY,
            save=self._options.save,
            autocmds=self._options.autocmds,
            is_fresh=self._is_fresh,
            is_synced=live.is_stale,
            set_modified=self._is_new,
            is_cancellable=True,
            verify=self._where,
        )
        self._request.check_cancelled(self._where.path)
        self._on_write(None if self._is_new else live.text, merged.text, merged.hunks)
        with anyio.CancelScope(shield=True):  # Neovim's change is recorded if the agent dies
            written = await self._buffers.write(self._where, live, change)
        if written.outcome not in {"done", "moved", "busy"}:
            raise self._refuse(_REASONS.get(written.outcome, "failed"), written.reason)
        return written

    async def _reload(self, live: BufferText) -> BufferText:
        """Read the buffer again and return it."""
        again = await self._buffers.load(self._where)
        if isinstance(again, NotLoaded) and again.is_busy:
            again = await self._read()
        if isinstance(again, NotLoaded):
            raise self._refuse("failed", again.reason or "the buffer is gone")
        self._is_fresh = self._is_fresh and (again.bufnr, again.text) == (live.bufnr, live.text)
        self._is_new = self._is_new and disk.read(self._where, self._limit) is None
        if not again.is_absent:
            texts = self._present_texts(again)
            self._bases.record_present(self._where.real, texts, ChangeKind.TYPED)
        return again

    # -- without the buffer -----------------------------------------------------------------------

    async def _write_to_disk(self, stored: Decoded, not_loaded: NotLoaded) -> CompletedWrite:
        """Write the file without Neovim, which cannot load it."""
        if not_loaded.is_name_taken:
            raise self._refuse("failed", not_loaded.reason)
        merged = await self._merge_into_stored(stored)
        try:
            data = encode(merged.text, stored.format)
        except UnicodeEncodeError as error:
            raise self._refuse("failed", f"cannot be written: {error.reason}") from error
        self._request.check_cancelled(self._where.path)
        self._on_write(None if self._is_new else stored.text, merged.text, merged.hunks)
        await to_thread.run_sync(disk.write, self._where, data)
        if disk.read(self._where, None) != data:
            raise self._refuse("failed", "the file does not contain the written text")
        return self._complete(merged, merged.text)


def _unchanged(merged: AgentMerge) -> CompletedWrite:
    """Return the result of a merge that leaves the live text as it is."""
    live = merged.live
    return CompletedWrite(live, live, live, merged.base, merged.agents_text, is_change=False)


def _lacks_all_lines_of(text: Text, written: Text) -> bool:
    """Return whether a text has none of the written lines, apart from blank ones."""
    if text == written:
        return False
    lines = {line for line in written.lines if line.strip()} or set(rows(written))
    return bool(lines) and lines.isdisjoint(rows(text))


def _hunks(live: BufferText, merged: AgentMerge) -> list[Hunk]:
    """Convert the hunks of a merge for the raw buffer, which may have bytes that are not UTF-8."""
    if not merged.hunks and live.text == EMPTY and merged.text.eol:
        return [Hunk(0, 1, ("",), 0)]  # an empty file becomes one newline
    return restore_raw(live.raw.lines, live.text.lines, merged.hunks)
