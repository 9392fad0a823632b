"""Changes of several files for an agent at once, which the user has allowed: all or none.

Each text is merged into the live one like an agent's write (`agent_files`). If one fails despite
all checks, those before it are undone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import anyio
import msgspec
from anyio import to_thread

from acp_nvim.edits.agent_bases import Act
from acp_nvim.edits.merge import Conflict, merge
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import Holds
from acp_nvim.files.bytes import disk, nofollow
from acp_nvim.files.bytes.paths import Place, place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.ports import AgentSession
from acp_nvim.files.review.pending_edits import PendingEdits
from acp_nvim.files.writes.agent_files import AgentFiles, Landed
from acp_nvim.files.writes.file_writer import FileWriter, Refused, refused_why

S = TypeVar("S", bound=AgentSession)


class FileChange(msgspec.Struct, frozen=True):
    """A file's text before (None: no such file) and after (None: deleted), by real path.

    With ``origin`` the file is moved here from that path. It has the text ``before`` there.
    """

    path: str
    before: Text | None
    after: Text | None
    origin: str | None = None


class Seen(msgspec.Struct, frozen=True):
    """Live text of a file, and the changedtick of its buffer if one is loaded."""

    text: Text | None
    tick: int | None = None


class ChangeSets(Generic[S]):
    """Reads files, and changes several of them as one."""

    def __init__(
        self,
        edits: PendingEdits,
        files: AgentFiles[S],
        look: Callable[[str], Awaitable[None]],
    ) -> None:
        """``look`` reads the latest changes of a file by running agents."""
        self._edits = edits
        self._files = files
        self._look = look
        self._writer = FileWriter(edits)

    async def seen(self, path: str, *, saved: bool = False) -> Seen:
        """Return the live text of a file by its real path, or the ``saved`` one. Raises Refusal."""
        await self._look(path)
        text = await self._edits.live(path)
        buffer = self._edits.buffers.get(path)
        if saved and buffer is not None and buffer.modified:
            limit, where = self._edits.options().message_bytes, Place(path, path)
            text = await to_thread.run_sync(disk.saved, where, limit, buffer.format)
        return Seen(text, buffer.tick if buffer is not None and text is not None else None)

    async def check(self, changes: Sequence[FileChange]) -> None:
        """Raise Refusal if a change cannot be made now. Changes nothing."""
        places = [path for it in changes for path in (it.path, it.origin) if path is not None]
        for path in places:
            if place(path).real != path:
                raise Refusal("failed", path, "leads elsewhere now")
        blocked = await self._edits.buffers.obstacles(places, self._edits.options().save)
        for path in places:
            if blocked.get(path):
                raise Refusal("readonly", path, blocked[path])
        for change in changes:
            await self._check(change)

    async def _check(self, change: FileChange) -> None:
        live = (await self.seen(change.origin or change.path)).text
        if change.after is None or change.origin is not None:
            self._check_whole(change.origin or change.path, live, change.before)
            if change.origin is not None and (await self.seen(change.path)).text is not None:
                raise Refusal("conflict", change.path, "there is such a file already")
        elif change.before is None:
            if live is not None:
                raise Refusal("conflict", change.path, "there is such a file already")
        elif live is None:
            raise Refusal("missing", change.path, "no such file")
        else:
            merged = merge(change.before, live, change.after)
            if isinstance(merged, Conflict):
                raise Refusal("conflict", change.path, f"{merged.reason}; try again")

    def _check_whole(self, path: str, live: Text | None, before: Text | None) -> None:
        """Raise Refusal unless a file that is to go has its earlier text and is saved."""
        buffer = self._edits.buffers.get(path)
        if live is None:
            raise Refusal("missing", path, "no such file")
        if buffer is not None and buffer.modified:
            raise Refusal("conflict", path, "its buffer has unsaved changes")
        if live != before:
            raise Refusal("conflict", path, "it has changed; try again")

    async def carry_out(
        self, session: S, changes: Sequence[FileChange], *, knows: bool
    ) -> list[Landed]:
        """Make all changes, or none; return those that changed something.

        ``knows`` is as in `AgentFiles.put`. Raises Refusal, with the files in its text that could
        not be restored. A cancellation waits for the end.
        """
        landed: list[Landed] = []
        with anyio.CancelScope(shield=True):
            landed += await self._carry_out(session, changes, knows)
        return landed

    async def _carry_out(
        self, session: S, changes: Sequence[FileChange], knows: bool
    ) -> list[Landed]:
        await self.check(changes)
        places = [path for it in changes for path in (it.path, it.origin) if path is not None]
        pending = {path: self._edits.ledger.get(path) for path in places}
        done: list[FileChange] = []
        landed: list[Landed] = []
        for step in _in_order(changes):
            try:
                made = await self._make(session, step, knows)
            except (Refusal, Refused) as error:
                left = await self._put_back(reversed(done), pending)
                raise Refusal("failed", step.path, f"{refused_why(error)}{left}") from error
            if made is not None:
                landed.append(made)
                done.append(msgspec.structs.replace(step, after=made.after))
        return landed

    async def _make(self, session: S, step: FileChange, knows: bool) -> Landed | None:
        if step.origin is not None:
            await self._move(session, step.origin, step.path, step.before)
            return Landed(step.path, step.before, step.after)
        where = Place(step.path, step.path)
        if step.after is not None:
            return await self._files.put(session, where, step.before, step.after, knows=knows)
        await self._delete(session, step.path, step.before)
        return Landed(step.path, step.before, None)

    async def _delete(self, session: S, path: str, before: Text | None) -> None:
        edits = self._edits
        async with edits.alone(path):
            self._check_whole(path, await edits.sync(path), before)
            assert before is not None
            await self._writer.remove(path)
            edits.bases.changed(path, None, Act.REPLACED)
            edits.checkpoints.touched(path, before)
            edits.checkpoints.record(path, before, None)
            edits.ledger.agent_deleted(path, before, session.n)
            edits.announce(session, path, "deleted", "fs")

    async def _move(self, session: S, old: str, new: str, before: Text | None) -> None:
        edits = self._edits
        async with edits.alone(old, new):
            self._check_whole(old, await edits.sync(old), before)
            assert before is not None
            await self._rename(old, new, before)
            edits.bases.changed(old, None, Act.REPLACED)
            for path, was, text in ((old, before, None), (new, None, before)):
                edits.checkpoints.touched(path, was)
                edits.checkpoints.record(path, was, text)
            edits.ledger.agent_renamed(old, new, before, session.n)
            edits.attribute_moved(session, old, new)
            with edits.together():
                edits.announce(session, old, "deleted", "fs")
                edits.announce(session, new, "created", "fs")

    async def _rename(self, old: str, new: str, text: Text) -> None:
        """Move a file on disk; empty the buffer of the old path, and unload it unless shown."""
        try:
            await to_thread.run_sync(nofollow.rename, old, new)
        except OSError as error:
            why = f"cannot be moved to {new}: {error.strerror}"
            raise Refusal("failed", old, why) from error
        live = self._edits.buffers.get(old)
        self._edits.tracked[old].hear(Holds(None, None))
        self._edits.tracked[new].hear(Holds(text, live.format if live else None))
        if live is not None:
            await self._edits.buffers.vacate(old, live)

    # ---- undo

    async def _put_back(
        self, done: Iterable[FileChange], pending: Mapping[str, Pending | None]
    ) -> str:
        """Undo the steps, given in reverse order. Names the files that stay changed."""
        left: list[str] = []
        for step in done:
            paths = [path for path in (step.path, step.origin) if path is not None]
            try:
                async with (
                    self._edits.alone(*paths),
                    self._edits.carrying_out(paths, Act.RETURNED),
                ):
                    await self._take_back(step, pending)
            except (Refusal, Refused) as error:
                left.append(f"{step.path} ({refused_why(error)})")
            self._edits.changed(*paths)
        return f"; changed all the same: {', '.join(left)}" if left else ""

    async def _take_back(self, step: FileChange, pending: Mapping[str, Pending | None]) -> None:
        edits, path = self._edits, step.path
        present = await edits.sync(path)
        if step.origin is not None:
            await self._rename(path, step.origin, present or Text(("",)))
            edits.ledger.restored(path, None, pending[path])
            edits.ledger.restored(step.origin, present, pending[step.origin])
            return
        if step.before is None:
            await self._writer.remove(path)
        elif step.after is None or present is None:
            await self._writer.put(path, None, step.before)
        else:
            merged = merge(step.after, present, step.before)
            if isinstance(merged, Conflict):
                raise Refused(merged.reason)
            await self._writer.put(path, present, merged.text)
        text = await edits.live(path)
        edits.checkpoints.record(path, present, text, agent=False)
        edits.ledger.restored(path, text, pending[path])


def _in_order(changes: Sequence[FileChange]) -> list[FileChange]:
    """Sort the steps: moves, then writes, then deletions, which are the least likely to fail."""
    order = sorted(changes, key=lambda it: (it.origin is None, it.after is None))
    return [step for change in order for step in _steps(change)]


def _steps(change: FileChange) -> list[FileChange]:
    """Split a file that is moved and changed into two steps."""
    if change.origin is None or change.after == change.before:
        return [change]
    moved = msgspec.structs.replace(change, after=change.before)
    return [moved, FileChange(change.path, change.before, change.after)]
