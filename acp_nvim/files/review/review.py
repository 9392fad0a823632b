"""The user's decisions on pending edits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.agent_bases import ChangeKind
from acp_nvim.edits.pending import Pending, Restoration
from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.disk import bytes_or_none
from acp_nvim.files.bytes.file_format import BinaryError, text_of
from acp_nvim.files.bytes.obstacles import pending_inside, users_file_inside
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.changes.disk_changes import DiskChanges
from acp_nvim.files.files import Files
from acp_nvim.files.ports import BufferText, BusyError, Claim, EarlierEdits
from acp_nvim.files.review.decision_writer import DecisionWriter
from acp_nvim.files.review.live_texts import LiveTexts

Verdict = Literal["accept", "reject"]


class _SeenFile(NamedTuple):
    """A file as the user saw it."""

    entry: Pending | None
    agent_change_count: int


_SeenFiles = dict[str, _SeenFile]


class Review:
    """The user's decisions: accept, reject, and undo the last reject.

    Each decision claims the journal, brings the ledger up to date with the files, changes the
    ledger, and writes the texts that the ledger restores. It returns lines for the user.
    """

    def __init__(self, files: Files, live: LiveTexts, disk: DiskChanges, claim: Claim) -> None:
        """`claim` keeps other Neovims from accepting or rejecting edits."""
        self._files = files
        self._ledger = files.ledger
        self._live = live
        self._disk = disk
        self._claim = claim
        self._writer = DecisionWriter(files, live)

    # -- one hunk ---------------------------------------------------------------------------------

    async def hunk(
        self, verdict: Verdict, path: str, row: int, tick: int | None = None
    ) -> list[str]:
        """Accept or reject the hunk at a 0-based row of the live text. Return lines for the user.

        `tick` is the changedtick at which the user saw the row, or None if the file has no buffer.
        The ledger is synchronized first, unless it has the text that the user saw.
        """
        try:
            async with self._claim([path]) as others:
                if path in others and others[path] != self._ledger.get(path):
                    return await self._decide_after_another(verdict, path, row, others[path])
                tick = await self._trusted_tick(path, tick)
                with self._files.buffers.trust_at(path, tick) as is_tick_known:
                    entry = self._ledger.get(path)
                    if not is_tick_known or not await self._is_current(entry, path):
                        return await self._decide_synced(verdict, path, row)
                    async with self._live.hold(path):
                        return await self._decide(verdict, path, row, entry)
        except BusyError:
            return [wording.OTHER_NEOVIM_BUSY]

    async def _trusted_tick(self, path: str, tick: int | None) -> int | None:
        """Return the changedtick, or None if another program wrote the file of a clean buffer."""
        buffer = self._files.buffers.get(path)
        if buffer is None or buffer.is_modified:
            return tick
        return None if await to_thread.run_sync(_is_outdated, buffer, path) else tick

    async def _is_current(self, entry: Pending | None, path: str) -> bool:
        """Return whether an entry has the buffer's text, and no agent can have changed the file."""
        buffer = self._files.buffers.get(path)
        if buffer is None or entry is None or entry.live != buffer.text:
            return False
        return not self._files.turns or await self._disk.has_known_text(path)

    async def _decide_after_another(
        self, verdict: Verdict, path: str, row: int, seen: Pending | None
    ) -> list[str]:
        """Accept or reject the hunk that the user saw, unless another Neovim has done so.

        Another Neovim has accepted or rejected edits of this file since the user saw `seen`. If the
        hunk is gone, return a message.
        """
        async with self._live.hold(path):
            await self._live.sync(path)
            entry = self._ledger.get(path)
            chosen = seen.hunk_at(row) if seen is not None else None
            if entry is None or (chosen and seen and entry.equal_hunk(seen, chosen) is None):
                return [wording.DECIDED_ELSEWHERE.format(file=Path(path).name)]
            return await self._decide(verdict, path, row, seen)

    async def _decide_synced(self, verdict: Verdict, path: str, row: int) -> list[str]:
        """Enter the latest edits into the ledger, then accept or reject a hunk.

        Return lines for the user. The files are synchronized twice. The first time enters only the
        user's own changes, so `seen` has the edits that the user sees. The second time also enters
        changes on disk, which the user has not seen.

        If a folder with pending files has replaced a deleted file, the deletion can be rejected
        only together with those files. No other Neovim has changed these edits: `hunk` has checked
        that.
        """
        seen = await self._sync_typed([path], [path])
        entry = seen[path].entry
        if verdict == "reject" and entry is not None and pending_inside(self._ledger, [entry]):
            return await self._decide_files(verdict, [entry], {})
        async with self._hold_synced([path], [path], seen) as changed:
            entry = changed.get(path, self._ledger.get(path))
            return await self._decide(verdict, path, row, entry)

    async def _decide(
        self, verdict: Verdict, path: str, row: int, seen: Pending | None
    ) -> list[str]:
        """Accept or reject the hunk at a `row` of the pending edits that the user saw (`seen`)."""
        entry = self._ledger.get(path)
        if entry is None or seen is None:
            return [wording.NOTHING_PENDING_IN.format(file=Path(path).name)]
        if _is_whole(entry):
            hunk, is_as_seen = None, _is_whole(seen)
        elif (chosen := seen.hunk_at(row)) is None:
            return [wording.NO_HUNK.format(line=row + 1)]
        else:
            hunk = entry.equal_hunk(seen, chosen)
            is_as_seen = hunk is not None
        if not is_as_seen:
            return [wording.HUNK_CHANGED.format(line=row + 1)]
        decide = self._ledger.accept if verdict == "accept" else self._ledger.reject
        notes = await self._writer.carry_out(decide(path, hunk), [entry])
        self._files.view.next_hunk(self.next_hunk(path, hunk.new_start if hunk else 0))
        return notes

    # -- whole files ------------------------------------------------------------------------------

    async def files(self, verdict: Verdict, entries: Sequence[Pending]) -> list[str]:
        """Accept or reject all edits of these files. Return lines for the user."""
        try:
            async with self._claim([entry.path for entry in entries]) as others:
                return await self._decide_files(verdict, entries, others)
        except BusyError:
            return [wording.OTHER_NEOVIM_BUSY]

    async def _decide_files(
        self, verdict: Verdict, entries: Sequence[Pending], others: Mapping[str, Pending | None]
    ) -> list[str]:
        """Accept or reject files. `others` are edits as seen before another Neovim changed them."""
        if len(entries) == 1 and others and self._ledger.get(entries[0].path) is None:
            return [wording.DECIDED_ELSEWHERE.format(file=Path(entries[0].path).name)]
        scope = {entry.path for entry in entries}
        if verdict == "reject":
            entries = [*entries, *pending_inside(self._ledger, entries)]
        if not entries:
            return []
        paths = [entry.path for entry in entries]
        held = [path for entry in entries for path in (entry.path, entry.origin) if path]
        seen = await self._sync_typed(paths, held)
        async with self._hold_synced(paths, held, seen) as changed:
            if verdict == "accept":
                return await self._accept(paths, {**changed, **others})
            free, notes = self._rejectable(paths, scope)
            return [*notes, *(await self._reject(free) if free else ())]

    async def _sync_typed(self, paths: Sequence[str], held: Sequence[str]) -> _SeenFiles:
        """Enter the user's changes to files. Return the edits that the user now sees.

        `held` are the files to hold: `paths`, and the earlier paths of moved files.
        """
        seen: _SeenFiles = {}
        async with self._live.hold(*held):
            for path in paths:
                await self._live.sync_typed(path)
                count = self._files.tracked.state(path).agent_change_count
                seen[path] = _SeenFile(self._ledger.get(path), count)
        return seen

    @asynccontextmanager
    async def _hold_synced(
        self, paths: Sequence[str], held: Sequence[str], seen: _SeenFiles
    ) -> AsyncIterator[EarlierEdits]:
        """Enter all the latest changes to `paths`, and hold the files `held`.

        For each file that an agent has changed since, yield the edits that the user saw (`seen`).
        """
        for path in held:
            await self._disk.before_use(path)
        async with self._live.hold(*held):
            for path in paths:
                await self._live.sync(path)
            yield {
                path: file.entry
                for path, file in seen.items()
                if file.agent_change_count != self._files.tracked.state(path).agent_change_count
            }

    def _rejectable(
        self, paths: Sequence[str], scope: AbstractSet[str]
    ) -> tuple[list[str], list[str]]:
        """Return the files that can be rejected, and notes on the others.

        A file cannot be rejected if a folder with a user's file is in its place.
        """
        notes: list[str] = []
        blocked: list[str] = []
        for path in paths:
            entry = self._ledger.get(path)
            name = users_file_inside(self._ledger, entry) if entry is not None else ""
            if name:
                blocked.append(path)
                why = wording.WHY_FOLDER.format(file=name)
                notes.append(wording.FILE_LEFT_UNCHANGED.format(file=Path(path).name, reason=why))
        free = [path for path in paths if path not in blocked]
        return [
            path
            for path in free
            if path in scope or not any(is_below(path, folder) for folder in blocked)
        ], notes

    async def _reject(self, paths: Sequence[str]) -> list[str]:
        entries = self._entries(paths)
        if not entries:
            return [wording.NOTHING_PENDING_THERE]
        steps = self._ledger.reject_files([entry.path for entry in entries])
        return await self._writer.carry_out(steps, entries)

    async def _accept(
        self, paths: Sequence[str], changed: Mapping[str, Pending | None]
    ) -> list[str]:
        """Accept files.

        `changed` has the edits that the user saw, of the files that have changed since.
        """
        entries = self._entries(paths)
        if not entries:
            return [wording.NOTHING_PENDING_THERE]
        steps: list[Restoration] = []
        notes: list[str] = []
        for entry in entries:
            steps += self._accept_seen(entry, changed.get(entry.path, entry))
            if self._ledger.get(entry.path) is not None:
                notes.append(wording.CHANGED_MEANWHILE.format(file=Path(entry.path).name))
        return [*await self._writer.carry_out(steps, entries), *notes]

    def _entries(self, paths: Sequence[str]) -> list[Pending]:
        return [entry for path in paths if (entry := self._ledger.get(path)) is not None]

    def _accept_seen(self, entry: Pending, seen: Pending | None) -> list[Restoration]:
        """Accept the edits that the user has seen, not later ones. Return the steps to take."""
        if entry == seen:
            return self._ledger.accept(entry.path)
        if seen is not None and not (_is_whole(entry) or _is_whole(seen) or entry.base is None):
            known = {(seen.removed_lines(hunk), hunk.lines) for hunk in seen.hunks}
            self._ledger.accept_hunks(
                entry.path, [h for h in entry.hunks if (entry.removed_lines(h), h.lines) in known]
            )
        return []

    # -- the last reject --------------------------------------------------------------------------

    async def unreject(self) -> list[str]:
        """Undo the last reject. Return lines for the user."""
        paths, live = self._ledger.unreject_paths(), self._live
        try:
            async with self._claim(paths):
                paths = self._ledger.unreject_paths()
                for path in paths:
                    await self._disk.before_use(path)
                async with live.hold(*paths):
                    if not paths or paths != self._ledger.unreject_paths():
                        return [wording.NOTHING_REJECTED]
                    present: dict[str, Text | None] = {}
                    for path in paths:
                        present[path] = await live.sync(path)
                    steps = self._ledger.unreject(present)
                    return await self._writer.carry_out(steps, [], ChangeKind.UNDONE)
        except BusyError:
            return [wording.OTHER_NEOVIM_BUSY]

    # -- pending state ----------------------------------------------------------------------------

    def in_scope(self, n: int | None) -> list[Pending]:
        """Return the entries in the scope of `all`: those of session `n` and of ended sessions."""
        over = {session.n for session in self._files.sessions() if session.is_over}
        live = {session.n for session in self._files.sessions()} - over
        return [
            entry
            for entry in self._ledger.files()
            if n is None or n in entry.writers or not (entry.writers & live)
        ]

    def next_hunk(self, path: str, row: int) -> tuple[str, int] | None:
        """Return the first hunk from a row on, or else the next file's first, wrapping around."""
        entries = [entry for entry in self._ledger.files() if entry.live is not None]
        here = next((entry for entry in entries if entry.path == path), None)
        for hunk in here.hunks if here else ():
            if hunk.new_end > row or hunk.new_start >= row:
                return path, hunk.new_start
        order: Sequence[Pending] = entries
        if here is not None:
            at = entries.index(here)
            order = [*entries[at + 1 :], *entries[: at + 1]]
        for entry in order:
            if entry.hunks:
                return entry.path, entry.hunks[0].new_start
        return None


def _is_whole(entry: Pending) -> bool:
    """Return whether the file can only be accepted or rejected as a whole."""
    return not entry.hunks or entry.is_conflict or entry.live is None


def _is_outdated(buffer: BufferText, path: str) -> bool:
    """Return whether a buffer without unsaved changes differs from its file. This call blocks."""
    try:
        return text_of(bytes_or_none(path), buffer.format) != buffer.text
    except BinaryError:
        return True
