"""Execution of decisions in buffers and on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from anyio import to_thread
from msgspec.structs import replace

from acp_nvim import wording
from acp_nvim.edits.agent_bases import ChangeKind
from acp_nvim.edits.disk_entries import disk_entry
from acp_nvim.edits.pending import Pending, Restoration
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import Removed
from acp_nvim.files.bytes import disk, nofollow, obstacles
from acp_nvim.files.bytes.disk import read_signed
from acp_nvim.files.bytes.file_format import BinaryError, Format, text_of
from acp_nvim.files.bytes.obstacles import Blocked, in_order
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.files import Files
from acp_nvim.files.ports import BufferText
from acp_nvim.files.review.live_texts import LiveTexts
from acp_nvim.files.writes.file_writer import FileWriter, Refused, refusal_reason


class DecisionWriter:
    """Writer of the texts that a decision restores."""

    def __init__(self, files: Files, live: LiveTexts) -> None:
        self._files = files
        self._ledger = files.ledger
        self._live = live
        self._writer = FileWriter(files)

    async def carry_out(
        self,
        steps: Sequence[Restoration],
        entries: Sequence[Pending],
        kind: ChangeKind = ChangeKind.DECIDED,
    ) -> list[str]:
        """Carry out the steps of a decision. Return notes for the user.

        If a step fails, its edits become pending again.
        """
        before = {entry.path: entry for entry in entries}
        if not steps:
            self._files.pending_view.refresh(*before)
            return []
        notes: list[str] = []
        unchanged: set[str] = set()
        for step in in_order(steps):
            if step.path in unchanged:
                self._ledger.reinstate(step.path, step.before, before.get(step.path))
                continue
            done, step_notes = await self._try(step, before.get(step.path), kind)
            notes += step_notes
            if not done:
                unchanged |= self._other_end(step, entries)
                await self._reinstate(step, before.get(step.path))
        if kind is ChangeKind.DECIDED:
            notes += await self._notes_on_unsaved(entries)
        self._files.pending_view.refresh(*before, *(step.path for step in steps))
        return notes

    async def _notes_on_unsaved(self, entries: Sequence[Pending]) -> list[str]:
        """Return notes on files whose text on disk still has edits rejected in unsaved buffers."""
        ledger, limit = self._ledger, self._files.options().message_bytes
        notes: list[str] = []
        for entry in entries:
            live = self._files.buffers.get(entry.path)
            if live is None or entry.path not in ledger.disk_entries:
                continue
            place = Place(entry.path, entry.path)
            file_format = self._format_on_disk(entry.path, live.format)
            try:
                text = await to_thread.run_sync(disk.saved_text, place, limit, file_format)
            except Refusal:
                continue  # the file is no longer text
            left, now = ledger.disk_entries.sync_with_disk(entry.path, text), ledger.get(entry.path)
            if left and (entry.is_conflict or _has_more(left, now)):
                notes.append(wording.NOT_SAVED_YET.format(file=Path(entry.path).name))
        return notes

    def _format_on_disk(self, path: str, buffer: Format) -> Format:
        """Return the format of a file whose buffer will be saved in a new format after a reject."""
        known = self._ledger.disk_entries.get(path)
        agents = self._files.tracked.state(path).agent_format
        if known is None or not known.format_change or agents is None:
            return buffer
        return replace(buffer, dos=agents.dos, mac=agents.mac, bomb=agents.bomb)

    async def _try(
        self, step: Restoration, entry: Pending | None, kind: ChangeKind
    ) -> tuple[bool, list[str]]:
        """Carry out one step. Return whether it succeeded, and notes for the user."""
        name = Path(step.path).name
        notes = [wording.NOTE.format(file=name, note=step.note)] if step.note else []
        try:
            await self._apply(step, entry)
        except (Refused, Refusal) as error:
            return False, [
                *notes,
                wording.FILE_LEFT_UNCHANGED.format(file=name, reason=refusal_reason(error)),
            ]
        if step.before != step.after:
            live = self._files.buffers.get(step.path)
            after = live.text if live and step.after is not None else step.after
            self._files.bases.record_change(step.path, after, kind, step.before)
            self._files.checkpoints.record(step.path, step.before, after, agent=False)
        return True, notes

    def _other_end(self, step: Restoration, entries: Sequence[Pending]) -> set[str]:
        """Return the other path of a file that could not be moved.

        If the undo of a rejected move has failed, the move does not become pending again.
        """
        if step.before is not None:
            return set()
        rejected = {entry.path for entry in entries if entry.origin == step.path}
        restored = self._ledger.get(step.path)
        if restored is None or restored.origin is None:
            return rejected
        self._ledger.restore(step.path, None, None)
        return {restored.origin}

    async def _reinstate(self, step: Restoration, entry: Pending | None) -> None:
        """Make the edits of a failed step pending again.

        A running agent may have changed the file. A scan enters such a change, which would count as
        the user's here.
        """
        present = await self._present_text(step)
        if entry is None:
            self._ledger.reinstate(step.path, present, entry)
            return
        self._ledger.reinstate(step.path, entry.live, entry)
        await self._live.enter(step.path, present)

    async def _present_text(self, step: Restoration) -> Text | None:
        """Return the current text of a file whose step has failed."""
        try:
            return await self._live.text(step.path, is_deleted=step.before is None)
        except Refusal:  # the path has become a link or a directory
            return step.before

    async def _apply(self, step: Restoration, entry: Pending | None) -> None:
        """Write or delete the file of a step. Raise Refused or Refusal.

        `entry` are the pending edits of the file before the decision.
        """
        self._keep_unsaved_edits(step, entry)
        now = self._ledger.get(step.path)
        is_reformatted = _has_format_change(entry) or _has_format_change(now)
        if step.before == step.after and not is_reformatted:
            return
        is_deleted = (entry is not None and entry.live is None) or _replaces_link(step, now)
        if await self._live.text(step.path, is_deleted=is_deleted) != step.before:
            raise Refused(wording.WHY_CHANGED)
        async with self._files.save_notes.note_write(step.path):
            await self._change_file(step, entry, now, is_deleted=is_deleted)

    async def _change_file(
        self, step: Restoration, entry: Pending | None, now: Pending | None, *, is_deleted: bool
    ) -> None:
        live = self._files.buffers.get(step.path)
        if step.after is None:
            await self._writer.remove(step.path)
        elif live is not None and entry is not None and _takes_theirs(step, entry):
            await self._take_agents_text(step.path, live, step.after)
        else:
            if is_deleted:
                await self._remove_obstacle(step)
            await self._write(step, step.after, entry, now)

    async def _write(
        self, step: Restoration, text: Text, entry: Pending | None, now: Pending | None
    ) -> None:
        """Write a text in the user's format, or in the agent's if the undo of a reject restores it.

        `entry` and `now` are the pending edits before and after the decision.
        """
        tracked, agents_format = self._files.tracked, None
        is_whole = entry is not None and entry.base == text and not _has_format_change(now)
        if entry is None and _has_format_change(now):
            agents_format = tracked.state(step.path).agent_format
        try:
            await self._writer.write(step.path, step.before, text, is_whole, agents_format)
        except (Refused, Refusal):
            await to_thread.run_sync(obstacles.restore, tracked[step.path])
            raise
        tracked[step.path].apply(Removed(None))

    def _keep_unsaved_edits(self, step: Restoration, entry: Pending | None) -> None:
        """Keep the edits on disk pending until the buffer, which has unsaved changes, is saved.

        If a conflict is resolved with the agent's text, the buffer has no unsaved changes.
        """
        path, live = step.path, self._files.buffers.get(step.path)
        if (
            live is None
            or not live.is_modified
            or entry is None
            or path in self._ledger.disk_entries
        ):
            return
        if _takes_theirs(step, entry):
            return
        common = self._files.tracked.state(path).conflict_base
        on_disk = disk_entry(entry, common if isinstance(common, Text) else None)
        if on_disk is not None:
            self._ledger.disk_entries.set(path, on_disk)

    async def _remove_obstacle(self, step: Restoration) -> None:
        """Remove a directory or link that is in place of the restored file. Raise Refused."""
        try:
            await to_thread.run_sync(obstacles.displace, self._files.tracked[step.path])
        except Blocked as error:
            raise Refused(str(error)) from error
        except OSError as error:
            raise Refused(error.strerror or str(error)) from error

    async def _take_agents_text(self, path: str, live: BufferText, theirs: Text) -> None:
        """Load the agent's text from disk into the buffer.

        If an autosave has replaced it, write the agent's text: an autosave is not a decision.
        """
        try:
            data, signature = await to_thread.run_sync(read_signed, path)
            if data is None:  # for a folder or a link, the next line raises
                data = await to_thread.run_sync(nofollow.read, path)
            now = text_of(data, live.format)
            without_crs = text_of(data, live.format.with_crs())
        except BinaryError as error:
            raise Refused(str(error)) from error
        except OSError as error:
            raise Refused(error.strerror or str(error)) from error
        if now == live.text and not live.is_modified:
            await self._writer.write(path, live.text, theirs)
            return
        if theirs not in (now, without_crs):
            raise Refused(wording.WHY_CHANGED_AGAIN)
        outcome = await self._files.buffers.follow_disk(
            path, live, theirs, modified=False, signature=signature
        )
        if outcome != "done":
            raise Refused(wording.WHY_OUTCOME.format(outcome=outcome))
        self._ledger.disk_entries.drop(path)


def _replaces_link(step: Restoration, now: Pending | None) -> bool:
    """Return whether undoing a reject replaces the link that the reject had restored."""
    is_new = step.before is None and now is not None and now.base is None
    return is_new and _has_format_change(now)


def _has_format_change(entry: Pending | None) -> bool:
    return entry is not None and entry.format_change != ""


def _takes_theirs(step: Restoration, entry: Pending) -> bool:
    """Return whether a conflict is resolved with the agent's text."""
    return entry.is_conflict and step.after == entry.theirs


def _has_more(left: Pending, now: Pending | None) -> bool:
    """Return whether a file has a change that is not pending in its buffer.

    Changes are compared by the lines that they replace, since the user may have edited new lines.
    """
    is_format_left = _has_format_change(left) and not _has_format_change(now)
    return is_format_left or bool(_replaced_lines(left) - _replaced_lines(now))


def _replaced_lines(entry: Pending | None) -> Counter[tuple[str, ...]]:
    return Counter(map(entry.removed_lines, entry.hunks) if entry else ())
