"""Changes to several files by an agent, made all or not at all with the user's permission.

Each text is merged into the live one like an agent's write (`agent_files`). If one fails despite
all checks, those before it are undone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import anyio
import msgspec
from anyio import to_thread

from acp_nvim.edits.agent_bases import ChangeKind
from acp_nvim.edits.merge import Conflict, merge
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import ContentKnown
from acp_nvim.files.bytes import disk, nofollow
from acp_nvim.files.bytes.file_format import Format, with_ends
from acp_nvim.files.bytes.paths import Place, place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.files import Files
from acp_nvim.files.ports import AgentSession
from acp_nvim.files.review.live_texts import LiveTexts
from acp_nvim.files.writes.agent_files import AgentFiles, WrittenFile
from acp_nvim.files.writes.agent_write import CheckCancelled, cancel_check
from acp_nvim.files.writes.file_writer import FileWriter, Refused, refusal_reason

S = TypeVar("S", bound=AgentSession)


class FileChange(msgspec.Struct, frozen=True):
    """Change to a file (real path), with the texts before and after, or None for no file.

    With `origin`, the file is moved from that path and has the text `before` there.
    """

    path: str
    before: Text | None
    after: Text | None
    origin: str | None = None


class LiveText(msgspec.Struct, frozen=True):
    """Live text of a file, and the changedtick of its buffer, if loaded."""

    text: Text | None
    tick: int | None = None


class ChangeSets(Generic[S]):
    """Reads of live texts, and changes to several files as one."""

    def __init__(
        self,
        files: Files,
        live: LiveTexts,
        agent_files: AgentFiles[S],
        scan: Callable[[str], Awaitable[None]],
    ) -> None:
        """`scan` reads the latest changes to a file by running agents."""
        self._files = files
        self._live = live
        self._agent_files = agent_files
        self._scan = scan
        self._writer = FileWriter(files)

    async def live_text(self, path: str, *, saved: bool = False) -> LiveText:
        """Return the live or `saved` text of a file (real path). Raise Refusal."""
        await self._scan(path)
        text = await self._live.text(path)
        buffer = self._files.buffers.get(path)
        if saved and buffer is not None and buffer.is_modified:
            limit, where = self._files.options().message_bytes, Place(path, path)
            text = await to_thread.run_sync(disk.saved_text, where, limit, buffer.format)
        return LiveText(text, buffer.tick if buffer is not None and text is not None else None)

    async def check(self, changes: Sequence[FileChange]) -> None:
        """Raise Refusal if a change cannot be made now. Nothing is changed."""
        places = [
            path for change in changes for path in (change.path, change.origin) if path is not None
        ]
        for path in places:
            if place(path).real != path:
                raise Refusal("failed", path, "no longer leads to the same file")
        blocked = await self._files.buffers.obstacles(places, self._files.options().save)
        for path in places:
            if blocked.get(path):
                raise Refusal("readonly", path, blocked[path])
        for change in changes:
            await self._check(change)

    async def _check(self, change: FileChange) -> None:
        live = (await self.live_text(change.origin or change.path)).text
        if change.after is None or change.origin is not None:
            self._check_removable(change.origin or change.path, live, change.before)
            if change.origin is not None and (await self.live_text(change.path)).text is not None:
                raise Refusal("conflict", change.path, "the file already exists")
        elif change.before is None:
            if live is not None:
                raise Refusal("conflict", change.path, "the file already exists")
        elif live is None:
            raise Refusal("missing", change.path, "no such file")
        else:
            merged = merge(change.before, live, change.after)
            if isinstance(merged, Conflict):
                raise Refusal("conflict", change.path, f"{merged.reason}; try again")

    def _check_removable(self, path: str, live: Text | None, before: Text | None) -> None:
        """Raise Refusal unless a file to be removed still has the text `before` and is saved."""
        buffer = self._files.buffers.get(path)
        if live is None:
            raise Refusal("missing", path, "no such file")
        if buffer is not None and buffer.is_modified:
            raise Refusal("conflict", path, "its buffer has unsaved changes")
        if live != before:
            raise Refusal("conflict", path, "it has changed; try again")

    async def carry_out(
        self, session: S, changes: Sequence[FileChange], *, is_known: bool
    ) -> list[WrittenFile]:
        """Make all changes or none. Return the changed files.

        `is_known` is as in `AgentFiles.merge_change`. Raise Refusal, which names files that could
        not be restored. A cancellation takes effect afterwards.
        """
        written: list[WrittenFile] = []
        with anyio.CancelScope(shield=True):
            written += await self._carry_out(session, changes, is_known)
        return written

    async def set_ends(self, path: str, ends: Format) -> None:
        """Save a file (real path) with other line endings and BOM. Raise Refusal or Refused."""
        async with self._live.hold(path):
            text = await self._live.sync(path)
            live = self._files.buffers.get(path)
            file_format = ends if live is None else with_ends(live.format, ends)
            if text is not None:
                await self._writer.write(path, text, text, agents_format=file_format)

    async def _carry_out(
        self, session: S, changes: Sequence[FileChange], is_known: bool
    ) -> list[WrittenFile]:
        """Make all changes. If one fails, undo those before it and raise Refusal."""
        check_cancelled = cancel_check(session)
        await self.check(changes)
        places = [
            path for change in changes for path in (change.path, change.origin) if path is not None
        ]
        pending = {path: self._files.ledger.get(path) for path in places}
        done: list[FileChange] = []
        written: list[WrittenFile] = []
        for step in _in_order(changes):
            try:
                check_cancelled(step.path)
                written_file = await self._make_change(session, step, check_cancelled, is_known)
            except (Refusal, Refused) as error:
                unrestored = await self._undo_steps(reversed(done), pending)
                raise Refusal(
                    "failed", step.path, f"{refusal_reason(error)}{unrestored}"
                ) from error
            if written_file is not None:
                written.append(written_file)
                done.append(msgspec.structs.replace(step, after=written_file.after))
        return written

    async def _make_change(
        self, session: S, step: FileChange, check_cancelled: CheckCancelled, is_known: bool
    ) -> WrittenFile | None:
        if step.origin is not None:
            await self._move(session, step.origin, step.path, step.before)
            return WrittenFile(step.path, step.before, step.after)
        where = Place(step.path, step.path)
        if step.after is not None:
            return await self._agent_files.merge_change(
                session, where, step.before, step.after, check_cancelled, is_known=is_known
            )
        await self._delete(session, step.path, step.before)
        return WrittenFile(step.path, step.before, None)

    async def _delete(self, session: S, path: str, before: Text | None) -> None:
        async with self._live.hold(path):
            self._check_removable(path, await self._live.sync(path), before)
            assert before is not None
            await self._writer.remove(path)
            self._files.bases.record_change(path, None, ChangeKind.REPLACED)
            self._files.checkpoints.record_write(path, before, None)
            self._files.ledger.record_agent_deletion(path, before, session.n)
            self._files.pending_view.announce(session, path, "deleted", "fs")

    async def _move(self, session: S, old: str, new: str, before: Text | None) -> None:
        async with self._live.hold(old, new):
            self._check_removable(old, await self._live.sync(old), before)
            assert before is not None
            await self._rename(old, new, before)
            self._files.bases.record_change(old, None, ChangeKind.REPLACED)
            for path, was, text in ((old, before, None), (new, None, before)):
                self._files.checkpoints.record_write(path, was, text)
            self._files.ledger.record_agent_move(old, new, before, session.n)
            self._files.authors.on_move(session, old, new)
            with self._files.pending_view.together():
                self._files.pending_view.announce(session, old, "deleted", "fs")
                self._files.pending_view.announce(session, new, "created", "fs")

    async def _rename(self, old: str, new: str, text: Text) -> None:
        """Move a file on disk. Empty the buffer of the old path, and unload it unless shown."""
        try:
            await to_thread.run_sync(nofollow.rename, old, new)
        except OSError as error:
            why = f"cannot be moved to {new}: {error.strerror}"
            raise Refusal("failed", old, why) from error
        live = self._files.buffers.get(old)
        self._files.tracked[old].apply(ContentKnown(None, None))
        self._files.tracked[new].apply(ContentKnown(text, live.format if live else None))
        if live is not None:
            await self._files.buffers.vacate(old, live)

    # -- undo -------------------------------------------------------------------------------------

    async def _undo_steps(
        self, done: Iterable[FileChange], pending: Mapping[str, Pending | None]
    ) -> str:
        """Undo steps that are given in reverse order. Return a text that names the files left
        changed.
        """
        unrestored: list[str] = []
        for step in done:
            paths = [path for path in (step.path, step.origin) if path is not None]
            try:
                async with (
                    self._live.hold(*paths),
                    self._live.as_one_change(paths, ChangeKind.UNDONE),
                ):
                    await self._undo_step(step, pending)
            except (Refusal, Refused) as error:
                unrestored.append(f"{step.path} ({refusal_reason(error)})")
            self._files.pending_view.refresh(*paths)
        return f"; not restored: {', '.join(unrestored)}" if unrestored else ""

    async def _undo_step(self, step: FileChange, pending: Mapping[str, Pending | None]) -> None:
        """Take a change out of the current text, and restore the edits that were pending."""
        path = step.path
        present = await self._live.sync(path)
        if step.origin is not None:
            await self._rename(path, step.origin, present or Text(("",)))
            self._files.ledger.restore(path, None, pending[path])
            self._files.ledger.restore(step.origin, present, pending[step.origin])
            return
        if step.before is None:
            await self._writer.remove(path)
        elif step.after is None or present is None:
            await self._writer.write(path, None, step.before)
        else:
            merged = merge(step.after, present, step.before)
            if isinstance(merged, Conflict):
                raise Refused(merged.reason)
            await self._writer.write(path, present, merged.text)
        text = await self._live.text(path)
        self._files.checkpoints.record(path, present, text, agent=False)
        self._files.ledger.restore(path, text, pending[path])


def _in_order(changes: Sequence[FileChange]) -> list[FileChange]:
    """Sort the steps: moves, then writes, then deletions, which are the least likely to fail."""
    order = sorted(changes, key=lambda change: (change.origin is None, change.after is None))
    return [step for change in order for step in _steps(change)]


def _steps(change: FileChange) -> list[FileChange]:
    """Split a file that is moved and changed into two steps."""
    if change.origin is None or change.after == change.before:
        return [change]
    moved = msgspec.structs.replace(change, after=change.before)
    return [moved, FileChange(change.path, change.before, change.after)]
