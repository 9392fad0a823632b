"""The user's decisions on pending edits, carried out in buffers and on disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Literal

from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.agent_bases import Act
from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.pending import Pending, Restoration
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import Removed
from acp_nvim.files.bytes import disk, nofollow, obstacles
from acp_nvim.files.bytes.disk import read_signed
from acp_nvim.files.bytes.file_format import (
    BinaryError,
    text_of,
)
from acp_nvim.files.bytes.obstacles import Blocked, in_order, pending_inside, users_file_inside
from acp_nvim.files.bytes.paths import Place, is_below
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.ports import BufferText, BusyError, Claim
from acp_nvim.files.review.pending_edits import PendingEdits
from acp_nvim.files.writes.file_writer import FileWriter, Refused, read_or_none, refused_why

Verdict = Literal["accept", "reject"]


class ReviewDecisions:
    """Accepts, rejects and undoes rejects. Results are lines for the user."""

    def __init__(
        self, edits: PendingEdits, look: Callable[[str], Awaitable[None]], claim: Claim
    ) -> None:
        """``look`` reads the latest changes of a file by running agents; ``claim`` excludes
        decisions by other Neovims.
        """
        self._claim = claim
        self._edits = edits
        self._look = look
        self._ledger = edits.ledger
        self._writer = FileWriter(edits)

    async def hunk(
        self, verdict: Verdict, path: str, row: int, tick: int | None = None
    ) -> list[str]:
        """Decide the hunk at a 0-based row of the live text at this changedtick of its buffer.

        ``tick`` is None if the file has no buffer.
        """
        try:
            async with self._claim([path]) as seen:
                if path in seen and seen[path] != self._ledger.get(path):
                    return await self._hunk_as_seen(verdict, path, row, seen[path])
                return await self._own_hunk(verdict, path, row, tick)
        except BusyError:
            return [wording.OTHER_NEOVIM_BUSY]

    async def _hunk_as_seen(
        self, verdict: Verdict, path: str, row: int, seen: Pending | None
    ) -> list[str]:
        """Decide a hunk of a file in which another Neovim has decided in the meantime."""
        async with self._edits.alone(path):
            await self._edits.sync(path)
            entry = self._ledger.get(path)
            chosen = seen.hunk_at(row) if seen is not None else None
            if entry is None or (chosen and seen and entry.like(seen, chosen) is None):
                return [wording.DECIDED_ELSEWHERE.format(file=Path(path).name)]
            return await self._hunk(verdict, path, row, seen)

    async def _own_hunk(self, verdict: Verdict, path: str, row: int, tick: int | None) -> list[str]:
        live = self._edits.buffers.get(path)
        if (
            live is not None
            and not live.modified
            and not await to_thread.run_sync(_is_as_file, live, path)
        ):
            tick = None  # another program has written the file
        with self._edits.buffers.vouched(path, tick) as is_known:
            entry = self._ledger.get(path)
            if is_known and live and entry and entry.live == live.text and not self._edits.turns:
                async with self._edits.alone(path):
                    return await self._hunk(verdict, path, row, self._ledger.get(path))
            return await self._decide_hunk(verdict, path, row)

    async def _decide_hunk(self, verdict: Verdict, path: str, row: int) -> list[str]:
        async with self._edits.alone(path):
            seen, count = await self._as_seen(path)
        if verdict == "reject" and seen is not None and pending_inside(self._ledger, [seen]):
            return await self._all_of(verdict, [seen], {})
        await self._look(path)
        async with self._edits.alone(path):
            await self._edits.sync(path)
            same = self._edits.state(path).agent_change_count == count
            return await self._hunk(verdict, path, row, self._ledger.get(path) if same else seen)

    async def _as_seen(self, path: str) -> tuple[Pending | None, int]:
        """Return the pending edits of a file as the user sees them, and `agent_change_count`."""
        await self._edits.hear(path)
        return self._ledger.get(path), self._edits.state(path).agent_change_count

    async def _hunk(self, verdict: Verdict, path: str, row: int, seen: Pending | None) -> list[str]:
        """Decide a hunk at a ``row`` of the pending edits that the user saw (``seen``)."""
        entry = self._ledger.get(path)
        if entry is None:
            return [wording.NOTHING_IN.format(file=Path(path).name)]
        chosen = seen.hunk_at(row) if seen is not None else None
        hunk = None
        if not _is_whole(entry):
            hunk = entry.like(seen, chosen) if seen and chosen else entry.hunk_at(row)
        if hunk is None and not _is_whole(entry) and chosen is None:
            return [wording.NO_HUNK.format(line=row + 1)]
        if hunk is None and seen is not None and not (_is_whole(entry) and _is_whole(seen)):
            return [wording.HUNK_CHANGED.format(line=row + 1)]
        notes = await self._file(verdict, entry, hunk)
        self._edits.view.next_hunk(self._edits.next_hunk(path, hunk.new_start if hunk else 0))
        return notes

    async def files(self, verdict: Verdict, entries: Sequence[Pending]) -> list[str]:
        try:
            async with self._claim([entry.path for entry in entries]) as seen:
                return await self._all_of(verdict, entries, seen)
        except BusyError:
            return [wording.OTHER_NEOVIM_BUSY]

    async def _all_of(
        self, verdict: Verdict, entries: Sequence[Pending], others: Mapping[str, Pending | None]
    ) -> list[str]:
        """Decide files. ``others`` are the edits as seen, of files changed by another Neovim."""
        if len(entries) == 1 and others and self._ledger.get(entries[0].path) is None:
            return [wording.DECIDED_ELSEWHERE.format(file=Path(entries[0].path).name)]
        scope = {entry.path for entry in entries}
        if verdict == "reject":
            entries = [*entries, *pending_inside(self._ledger, entries)]
        paths = [path for entry in entries for path in (entry.path, entry.origin) if path]
        async with self._edits.alone(*paths):
            seen = [(entry.path, *await self._as_seen(entry.path)) for entry in entries]
        for path in paths:
            await self._look(path)
        async with self._edits.alone(*paths):
            for entry in entries:
                await self._edits.sync(entry.path)
            state = self._edits.state
            changed = {
                path: others.get(path, then)
                for path, then, count in seen
                if state(path).agent_change_count != count or path in others
            }
            paths, notes = self._free([entry.path for entry in entries], scope, verdict)
            return [*notes, *(await self._files(verdict, paths, changed) if paths else ())]

    def _free(
        self, paths: Sequence[str], scope: AbstractSet[str], verdict: Verdict
    ) -> tuple[list[str], list[str]]:
        """Remove files that cannot be rejected since a folder with a user's file replaces them.

        Also returns lines that say so.
        """
        if verdict == "accept":
            return list(paths), []
        notes: list[str] = []
        blocked: list[str] = []
        for path in paths:
            entry = self._ledger.get(path)
            name = users_file_inside(self._ledger, entry) if entry is not None else ""
            if name:
                blocked.append(path)
                why = wording.WHY_FOLDER.format(file=name)
                notes.append(wording.LEFT.format(file=Path(path).name, reason=why))
        free = [path for path in paths if path not in blocked]
        return [
            path
            for path in free
            if path in scope or not any(is_below(path, folder) for folder in blocked)
        ], notes

    async def _files(
        self, verdict: Verdict, paths: Sequence[str], seen: Mapping[str, Pending | None]
    ) -> list[str]:
        """Decide files. ``seen`` has the edits as decided, of files that agents changed since."""
        found = [now for path in paths if (now := self._ledger.get(path)) is not None]
        if not found:
            return [wording.NOTHING_THERE]
        if verdict == "reject":
            return await self._carry_out(self._ledger.reject_files([e.path for e in found]), found)
        steps: list[Restoration] = []
        notes: list[str] = []
        for entry in found:
            steps += self._accept(entry, seen.get(entry.path, entry))
            if self._ledger.get(entry.path) is not None:
                notes.append(wording.CHANGED_MEANWHILE.format(file=Path(entry.path).name))
        return [*await self._carry_out(steps, found), *notes]

    def _accept(self, entry: Pending, seen: Pending | None) -> list[Restoration]:
        """Accept the edits that the user has seen; an agent's later ones stay pending."""
        if entry == seen:
            return self._ledger.accept(entry.path)
        if seen is not None and not (_is_whole(entry) or _is_whole(seen) or entry.base is None):
            known = {(seen.removed_lines(hunk), hunk.lines) for hunk in seen.hunks}
            self._ledger.accept_hunks(
                entry.path, [h for h in entry.hunks if (entry.removed_lines(h), h.lines) in known]
            )
        return []

    async def unreject(self) -> list[str]:
        """Undo the last reject."""
        try:
            async with self._claim(self._ledger.unreject_paths()):
                return await self._unreject()
        except BusyError:
            return [wording.OTHER_NEOVIM_BUSY]

    async def _unreject(self) -> list[str]:
        paths = self._ledger.unreject_paths()
        for path in paths:
            await self._look(path)
        async with self._edits.alone(*paths):
            if not paths or paths != self._ledger.unreject_paths():
                return [wording.NOTHING_REJECTED]
            present: dict[str, Text | None] = {}
            for path in paths:
                present[path] = await self._edits.sync(path)
            return await self._carry_out(self._ledger.unreject(present), [], Act.RETURNED)

    async def _file(self, verdict: Verdict, entry: Pending, hunk: Hunk | None) -> list[str]:
        decide = self._ledger.accept if verdict == "accept" else self._ledger.reject
        return await self._carry_out(decide(entry.path, hunk), [entry])

    # ---- in buffers and on disk

    async def _carry_out(
        self, steps: Sequence[Restoration], entries: Sequence[Pending], act: Act = Act.DECIDED
    ) -> list[str]:
        """Carry out the steps of a decision. If one fails, its edits become pending again."""
        before = {entry.path: entry for entry in entries}
        notes: list[str] = []
        stays: set[str] = set()
        async with self._edits.carrying_out([step.path for step in steps], act):
            for step in in_order(steps):
                if step.path in stays:
                    self._ledger.reinstated(step.path, step.before, before.get(step.path))
                    continue
                done, said = await self._step(step, before.get(step.path))
                notes += said
                if not done:
                    stays |= self._other_end(step, entries)
                    present = await self._present_text(step)
                    self._ledger.reinstated(step.path, present, before.get(step.path))
        touched = {step.path for step in steps} | before.keys()
        if steps and act is Act.DECIDED:
            notes += await self._not_saved(entries)
        self._edits.changed(*touched)
        return notes

    async def _not_saved(self, entries: Sequence[Pending]) -> list[str]:
        """Name the files that still have, on disk, the text rejected in their unsaved buffers."""
        ledger, limit = self._ledger, self._edits.options().message_bytes
        notes: list[str] = []
        for entry in entries:
            live = self._edits.buffers.get(entry.path)
            if live is None or entry.path not in ledger.on_disk:
                continue
            place = Place(entry.path, entry.path)
            try:
                text = await to_thread.run_sync(disk.saved, place, limit, live.format)
            except Refusal:
                continue  # the file is no longer text
            left, now = ledger.on_disk.compare(entry.path, text), ledger.get(entry.path)
            rejected = [hunk for hunk in entry.hunks if not (now and now.like(entry, hunk))]
            if left and (entry.conflict or any(left.like(entry, hunk) for hunk in rejected)):
                notes.append(wording.NOT_SAVED_YET.format(file=Path(entry.path).name))
        return notes

    async def _step(self, step: Restoration, entry: Pending | None) -> tuple[bool, list[str]]:
        """Carry out one step; return whether it succeeded, and notes for the user."""
        name = Path(step.path).name
        notes = [wording.NOTE.format(file=name, note=step.note)] if step.note else []
        try:
            await self._apply(step, entry)
            self._note(step)
        except (Refused, Refusal) as error:
            return False, [*notes, wording.LEFT.format(file=name, reason=refused_why(error))]
        return True, notes

    def _other_end(self, step: Restoration, entries: Sequence[Pending]) -> set[str]:
        """Return the other path of a file that could not be moved.

        If the reject of a move could not be undone, nothing stays pending.
        """
        if step.before is not None:
            return set()
        rejected = {entry.path for entry in entries if entry.origin == step.path}
        again = self._ledger.get(step.path)
        if again is None or again.origin is None:
            return rejected
        self._ledger.restored(step.path, None, None)
        return {again.origin}

    async def _present_text(self, step: Restoration) -> Text | None:
        """Return the present text of a file whose step has failed."""
        try:
            return await self._edits.live(step.path, gone=step.before is None)
        except Refusal:  # the path leads elsewhere, or is no longer a file
            return step.before

    def _note(self, step: Restoration) -> None:
        """Record a decision, which does not count as the user's own change."""
        if step.before != step.after:
            live = self._edits.buffers.get(step.path)
            after = live.text if live and step.after is not None else step.after
            self._edits.checkpoints.record(step.path, step.before, after, agent=False)

    async def _apply(self, step: Restoration, entry: Pending | None) -> None:
        now = self._ledger.get(step.path)
        relaid = now is not None and now.relaid != ""
        self._part(step, entry)
        if step.before == step.after and not (relaid or (entry is not None and entry.relaid)):
            return
        gone = (entry is not None and entry.live is None) or _replaces_link(step, now)
        present = await self._edits.live(step.path, gone=gone)
        if present != step.before:
            raise Refused(wording.WHY_CHANGED)
        live = self._edits.buffers.get(step.path)
        if live and step.after and entry and entry.conflict and step.after == entry.theirs:
            await self._take_agents_text(step.path, live, step.after)
        elif step.after is None:
            await self._writer.remove(step.path)
        else:
            whole = entry is not None and entry.base == step.after and not relaid
            agents = self._edits.state(step.path).agent_format if relaid and entry is None else None
            if gone:
                await self._give_way(step)
            try:
                await self._writer.put(step.path, step.before, step.after, whole, agents)
            except (Refused, Refusal):
                await to_thread.run_sync(obstacles.come_back, self._edits.tracked[step.path])
                raise
            self._edits.tracked[step.path].hear(Removed(None))

    def _part(self, step: Restoration, entry: Pending | None) -> None:
        """Keep the edits of a file whose buffer has unsaved changes, until it is saved.

        A conflict that is decided for the agent's side leaves no such changes.
        """
        path = step.path
        live, on_disk = self._edits.buffers.get(path), self._ledger.on_disk
        if live is None or not live.modified or entry is None or path in on_disk:
            return
        if not entry.conflict:
            on_disk.put(path, entry)
            return
        if step.after == entry.theirs:
            return
        common, theirs = self._edits.state(path).conflict_base, entry.theirs
        if not entry.overtaken and isinstance(common, Text) and theirs is not None:
            on_disk.put(path, Pending(path, common, theirs, theirs, writers=entry.writers))

    async def _give_way(self, step: Restoration) -> None:
        """Remove the obstacle in place of a restored file. Raises Refused."""
        try:
            await to_thread.run_sync(obstacles.give_way, self._edits.tracked[step.path])
        except Blocked as error:
            raise Refused(str(error)) from error
        except OSError as error:
            raise Refused(error.strerror or str(error)) from error

    async def _take_agents_text(self, path: str, live: BufferText, theirs: Text) -> None:
        """Load the agent's text from disk into the buffer, even if the user's was saved over it.

        An autosave is not a decision.
        """
        try:
            data, signature = await to_thread.run_sync(read_signed, path)
            if data is None:  # raises for a folder or a link
                data = await to_thread.run_sync(nofollow.read, path)
            now = text_of(data, live.format)
            without_crs = text_of(data, live.format.with_crs())
        except BinaryError as error:
            raise Refused(str(error)) from error
        except OSError as error:
            raise Refused(error.strerror or str(error)) from error
        if now == live.text and not live.modified:
            await self._writer.put(path, live.text, theirs)
            return
        if theirs not in (now, without_crs):
            raise Refused(wording.WHY_CHANGED_AGAIN)
        outcome = await self._edits.buffers.take(
            path, live, theirs, modified=False, signature=signature
        )
        if outcome != "done":
            raise Refused(wording.WHY_OUTCOME.format(outcome=outcome))


def _replaces_link(step: Restoration, now: Pending | None) -> bool:
    """Return whether a file replaces the link again that its reject had restored."""
    is_new = step.before is None and now is not None and now.base is None
    return is_new and now is not None and now.relaid != ""


def _is_whole(entry: Pending) -> bool:
    """Return whether the file can only be decided as a whole."""
    return not entry.hunks or entry.conflict or entry.live is None


def _is_as_file(live: BufferText, path: str) -> bool:
    """Return whether a buffer has the text of its file."""
    try:
        return text_of(read_or_none(path), live.format) == live.text
    except BinaryError:
        return False
