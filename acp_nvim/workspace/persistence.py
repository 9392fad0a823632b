"""Keeps pending edits, rejects and checkpoints in the journal, for the next process to restore.

That one then takes up the user's changes of files and buffers meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from copy import copy
from pathlib import Path
from typing import Any, Final

import msgspec
from anyio import to_thread
from msgspec import UNSET

from acp_nvim.edits import serialize
from acp_nvim.edits.records import Reader, Writer, decoded
from acp_nvim.tasks import Tasks, true_within
from acp_nvim.workspace import disk
from acp_nvim.workspace.commits import Commits
from acp_nvim.workspace.file_format import Format
from acp_nvim.workspace.journal import Contents, Journal, JournalFile, Value
from acp_nvim.workspace.nofollow import Rights
from acp_nvim.workspace.paths import Place
from acp_nvim.workspace.pending_edits import PendingEdits
from acp_nvim.workspace.ports import AgentSession
from acp_nvim.workspace.refusals import Refusal
from acp_nvim.workspace.rewind import Rewind
from acp_nvim.workspace.snapshots import serialize as checkpoints
from acp_nvim.workspace.snapshots.checkpoints import Checkpoint
from acp_nvim.workspace.snapshots.serialize import Frozen
from acp_nvim.workspace.tracked_file import (
    AgentFormat,
    Conflicted,
    ConflictOver,
    Removed,
    TrackedFile,
    UserFormat,
)

USER_FORMAT: Final = "layout"
AGENT_FORMAT: Final = "laid"
CONFLICT_BASE: Final = "apart"
RIGHTS: Final = "rights"
HEAD: Final = "head"
ORPHANED_S: Final = 0.2
"""How long a killed Neovim may outlive its pipes."""
MOVING: Final = 3
"""How many of a session's latest checkpoints may still grow."""


class Persistence:
    """Keeps the journal of a host, or restores that of the one before it."""

    def __init__(
        self,
        edits: PendingEdits,
        rewind: Rewind,
        commits: Commits,
        tasks: Tasks,
        problem: Callable[[str], None],
    ) -> None:
        self.cut_until = 0
        """Until when an agent may have been at work that the host before this one had started, in
        nanoseconds.
        """
        self._edits = edits
        self._rewind = rewind
        self._commits = commits
        self._tasks = tasks
        self._journal = Journal(self._contents, problem)
        self._begun = False
        self._frozen: dict[int, Frozen] = {}
        self._parent = os.getppid()
        self._leaving = False
        self.touch = self._journal.touch

    def cut(self, until: int) -> None:
        """An agent may have been at work until then, under the host before this one."""
        self.cut_until = until

    def begin(self, state: Path, run: str) -> None:
        """Keep a journal below `stdpath('state')` from now on; ``run`` names this Neovim."""
        if self._begun:
            return
        self._begun = True
        self._journal.begin(JournalFile(state / "acp" / "journal" / run))
        self._tasks.start_soon(self._journal.run)

    def leaving(self) -> None:
        """Neovim ends: nobody will take up anything."""
        self._leaving = True
        self._journal.stop()

    async def close(self) -> None:
        """This process ends. Unless Neovim does, or is dead, the journal is the next one's."""
        if self._leaving or await true_within(self._is_orphan, ORPHANED_S):
            await self._journal.remove()

    def _is_orphan(self) -> bool:
        return os.getppid() != self._parent

    # -- to the journal -------------------------------------------------------------------------

    def _contents(self) -> Contents:
        """The present: all of it in one go of the loop."""
        edits = self._edits
        made, undo = self._rewind.checkpoints.lists()
        others: dict[tuple[str, str], Value] = {
            (HEAD, root): (head, _plain) for root, head in self._commits.heads.items()
        }
        for file in edits.tracked:
            others |= _written(file)
        frozen: dict[int, Frozen] = {}
        lists = [
            {n: self._freeze(found, frozen) for n, found in all_of.items()}
            for all_of in (made, undo)
        ]
        self._frozen = frozen
        return Contents(edits.ledger.state(), lists[0], lists[1], others)

    def _freeze(self, found: list[Checkpoint], frozen: dict[int, Frozen]) -> list[Frozen]:
        settled = len(found) - MOVING
        result: list[Frozen] = []
        for at, checkpoint in enumerate(found):
            known = self._frozen.get(id(checkpoint))
            if known is None or (at >= settled and known[0] != known[1]):
                known = checkpoint, _copy(checkpoint)
            frozen[id(checkpoint)] = known
            result.append(known)
        return result

    # -- from the journal -----------------------------------------------------------------------

    def put_back(self) -> int:
        """All that the process before this one had written, as it was then; blocks. Returns how
        many of its records are lost.
        """
        reader, edits = self._journal.read(), self._edits
        edits.ledger.take_over(serialize.read(reader))
        for path, file_format in reader.of(USER_FORMAT, Format):
            edits.tracked[decoded(path)].hear(UserFormat(file_format))
        for path, file_format in reader.of(AGENT_FORMAT, Format):
            edits.tracked[decoded(path)].hear(AgentFormat(file_format))
        for key, text in serialize.found(reader, CONFLICT_BASE, bytes, Reader.text):
            edits.tracked[decoded(key)].hear(Conflicted(text))
        for path, rights in reader.of(RIGHTS, Rights):
            edits.tracked[decoded(path)].hear(Removed(rights))
        for root, head in reader.of(HEAD, str):
            self._commits.heads[decoded(root)] = head
        self._rewind.checkpoints.take_over(
            checkpoints.read(reader, checkpoints.CHECKPOINT),
            checkpoints.read(reader, checkpoints.UNDO),
        )
        self.touch()
        return reader.lost

    def revived(self, session: AgentSession) -> None:
        """A session goes on here that has edits and checkpoints."""
        self._edits.revived(session)
        self._rewind.revived(session)

    async def catch_up(self, marked: Iterable[str]) -> None:
        """Take up changes of the files meanwhile as the user's. Neovim still shows hunks of the
        ``marked`` files.
        """
        edits, state = self._edits, self._edits.ledger.state()
        edits.view.pending(list(state.files))
        for path in [*state.files, *state.settled]:
            async with edits.alone(path):
                await edits.sync(path)
                await self._settle(path)
        edits.changed(*marked, *state.files)

    async def _settle(self, path: str) -> None:
        """A conflict is over where buffer and file are one text again: the user has saved."""
        entry, live = self._edits.ledger.get(path), self._edits.buffers.get(path)
        if entry is None or not entry.conflict or live is None:
            return
        try:
            stored = await to_thread.run_sync(
                disk.saved, Place(path, path), self._edits.options().message_bytes, live.format
            )
        except Refusal:
            return
        if stored == entry.live:
            self._edits.tracked[path].hear(ConflictOver())
            self._edits.ledger.resolved(path, stored)


def _copy(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint with copies of all that may still grow."""
    growing = ("trees", "reasons", "touched", "late", "agent_changes", "ends")
    fields = {name: copy(getattr(checkpoint, name)) for name in growing}
    return msgspec.structs.replace(checkpoint, **fields)


def _written(file: TrackedFile) -> dict[tuple[str, str], Value]:
    """The values of a file's state for the journal."""
    state, path = file.state, file.path
    plain = {USER_FORMAT: state.user_format, AGENT_FORMAT: state.agent_format, RIGHTS: state.rights}
    found: dict[tuple[str, str], Value] = {
        (kind, path): (value, _plain) for kind, value in plain.items() if value is not None
    }
    if state.conflict_base is not UNSET:
        found[CONFLICT_BASE, path] = state.conflict_base, Writer.text
    return found


def _plain(_: Writer, path: str, value: Any) -> Any:
    return value
