"""Writes of agents on their way into files, and those that a process before this one was killed
over: their lines are the agent's, though no journal says so.

A write is noted before it lands (`write_notes.py`), which is cheap: one `write(2)` of its hunks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.records import decoded, encoded
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.journal.replica import WRITES, Replica, Values, is_pending
from acp_nvim.files.journal.session_keys import SessionKeys, info_of
from acp_nvim.files.ports import AgentSession
from acp_nvim.files.review.pending_edits import PendingEdits
from acp_nvim.files.writes.agent_write import Lands
from acp_nvim.files.writes.write_notes import (
    LeftNotes,
    WriteNote,
    WriteNotes,
    left_notes,
    noted_hunks,
    path_of,
)


class Mark(NamedTuple):
    """How much of what was noted a ledger has."""

    number: int
    """Of the last note of this process up to which it has all writes."""
    all_left: bool
    """It has all that others had left."""


class Landings:
    """Of one workspace. Made when an agent writes there, or when somebody has left notes."""

    def __init__(
        self,
        replica: Replica,
        edits: PendingEdits,
        keys: SessionKeys,
        failed: Callable[[str, Exception], None],
    ) -> None:
        """``failed`` hears why a write could not be noted."""
        self._replica, self._edits, self._keys = replica, edits, keys
        self._failed = failed
        self._notes = WriteNotes(replica.file.folder, f"{keys.instance}.{os.getpid()}")
        self._under_way: list[int] = []
        """The first numbers of the writes that no ledger has yet."""
        self._left: list[LeftNotes] = []
        self.unknown: dict[str, list[WriteNote]] = {}
        """Writes that are in no journal, by path; each is `adopt`ed once."""

    # -- under way --------------------------------------------------------------------------------

    @contextmanager
    def landing(self, session: AgentSession, path: str) -> Iterator[Lands]:
        """A write that is in the ledger afterwards, or was not made."""
        first = self._notes.number + 1
        self._under_way.append(first)

        def lands(before: Text | None, after: Text, hunks: Sequence[Hunk]) -> None:
            if hunks:
                self._note(session, path, before, after, hunks)

        try:
            yield lands
        finally:
            self._under_way.remove(first)

    def _note(
        self,
        session: AgentSession,
        path: str,
        before: Text | None,
        after: Text,
        hunks: Sequence[Hunk],
    ) -> None:
        note = WriteNote(
            self._notes.number + 1,
            self._keys.key(session.n),
            info_of(session),
            encoded(path),
            before is None,
            len(after.lines),
            before is not None and before.eol,
            after.eol,
            noted_hunks(before or EMPTY, after, hunks),
            self._edits.prompt(session),
        )
        try:
            self._replica.file.mark(pending=True)  # else nobody looks for it
            self._notes.add(note)
        except OSError as error:
            self._failed(self._replica.root, error)

    # -- in the journal ---------------------------------------------------------------------------

    def mark(self) -> Mark:
        """How much the ledger has now."""
        number = min(self._under_way) - 1 if self._under_way else self._notes.number
        return Mark(number, not self.unknown)

    def marked(self, values: Values) -> Values:
        """These values of the journal, and which of the noted writes they tell of."""
        number = self.mark().number
        return {**values, (WRITES, self._notes.owner): number} if values and number else values

    @property
    def has_left(self) -> bool:
        """Whether notes that others had left can go."""
        return bool(self._left) and not self.unknown

    def published(self, mark: Mark, values: Values) -> None:
        """The journal has these values; no notes on them are needed. Raises OSError."""
        if self._notes.number == mark.number:
            self._notes.clear()
        else:
            self._replica.file.mark(pending=True)
        if mark.all_left and self._left:
            for left in self._left:
                left.remove()
            self._left = []
            self._replica.file.mark(pending=is_pending(values.values()))

    # -- left -------------------------------------------------------------------------------------

    def take_left(self) -> None:
        """Take over what dead processes have noted: first their sessions, which the journal names
        too.
        """
        try:
            self._left = left_notes(self._replica.file.folder)
        except OSError as error:
            self._failed(self._replica.root, error)
        for left in self._left:
            for note in left.notes:
                self._keys.learn(note.session, note.info)

    def lacking(self) -> list[str]:
        """The files of writes that the journal, which is read now, does not tell of."""
        for left in self._left:
            known = self._replica.stored.get((WRITES, left.owner), 0)
            for note in left.notes:
                if note.number > known:
                    self.unknown.setdefault(decoded(note.path), []).append(note)
        self._drop_marks()
        return list(self.unknown)

    def _drop_marks(self) -> None:
        """What the journal says of the notes of processes that have none any more goes with the
        next record.
        """
        replica = self._replica
        left = {one.owner for one in self._left}
        for (kind, owner), number in replica.stored.items():
            path = path_of(replica.file.folder, owner)
            if kind == WRITES and (owner in left or not path.exists()):
                replica.own[kind, owner] = number

    async def adopt(self, path: str) -> None:
        """Enter the writes of a file that a process was killed over, those that it has."""
        if path in self.unknown:
            try:
                await self._adopt(path, self.unknown[path])
            finally:
                del self.unknown[path]

    async def _adopt(self, path: str, notes: Sequence[WriteNote]) -> None:
        try:
            text = await self._edits.live(path)
        except Refusal:  # it is no text any more
            return
        made = self._made(path, text, notes)
        if made and made[0][1] is not None:
            await self._edits.found(path, made[0][1])
        for note, before, after in made:
            n = self._keys.number(note.session)
            self._edits.adopt(n, note.prompt, path, before, after)

    def _made(
        self, path: str, text: Text | None, notes: Sequence[WriteNote]
    ) -> list[tuple[WriteNote, Text | None, Text]]:
        """The writes that a text has and no journal knows, each with the texts before and after."""
        entry = self._edits.ledger.get(path)
        made: list[tuple[WriteNote, Text | None, Text]] = []
        for note in reversed(notes):
            is_known = entry is not None and entry.live == text
            if text is not None and not is_known and note.fits(text):
                before = note.undone(text)
                made.append((note, before, text))
                text = before
        return made[::-1]

    # -- ends -------------------------------------------------------------------------------------

    def close(self) -> None:
        """This process ends, and has written all that it could."""
        self._notes.close()
        self._let_go()

    def abandon(self) -> None:
        """Read and write no more, as if the process were killed."""
        self._notes.abandon()
        self._let_go()

    def _let_go(self) -> None:
        for left in self._left:
            os.close(left.handle)
        self._left = []
