"""Writes of agents that are under way, and those interrupted by the end of an earlier process.

Each write is noted before it is made (`write_notes.py`): one `write(2)` of its hunks. After a
crash, the notes attribute lines to the agent that the journal does not contain.
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
from acp_nvim.files.files import Files
from acp_nvim.files.journal.replica import WRITES, Replica, Values, is_pending
from acp_nvim.files.journal.session_keys import SessionKeys, info_of
from acp_nvim.files.ports import AgentSession, PromptName
from acp_nvim.files.review.live_texts import LiveTexts
from acp_nvim.files.writes.agent_write import OnWrite
from acp_nvim.files.writes.write_notes import (
    OldNotes,
    WriteNote,
    WriteNotes,
    noted_hunks,
    old_notes,
    path_of,
)


class Mark(NamedTuple):
    """Extent of the notes that a ledger covers."""

    number: int
    """Number of the last note of this process up to which all writes are in the ledger."""
    all_left: bool
    """Whether the ledger has all writes that dead processes noted."""


class WritesUnderWay:
    """Writes under way in one workspace. Created by the first write, or if notes of others
    exist.
    """

    def __init__(
        self,
        replica: Replica,
        files: Files,
        live: LiveTexts,
        keys: SessionKeys,
        failed: Callable[[str, Exception], None],
    ) -> None:
        """``failed`` is called if a write could not be noted."""
        self._replica, self._files, self._live, self._keys = replica, files, live, keys
        self._failed = failed
        self._notes = WriteNotes(replica.file.folder, f"{keys.instance}.{os.getpid()}")
        self._under_way: list[int] = []
        """First note numbers of the writes that are not in a ledger yet."""
        self._left: list[OldNotes] = []
        self.unknown: dict[str, list[WriteNote]] = {}
        """Writes that no journal contains, by path. Each is passed to `adopt` once."""

    # -- under way
    # ------------------------------------------------------------------------------------

    @contextmanager
    def note_write(self, session: AgentSession, path: str) -> Iterator[OnWrite]:
        """Note a write; at the end of the context it is in the ledger, or was not made."""
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
            self._files.authors.prompt(session),
        )
        try:
            self._replica.file.mark(pending=True)  # otherwise no process looks for the note
            self._notes.add(note)
        except OSError as error:
            self._failed(self._replica.root, error)

    # -- in the journal
    # -------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Return the extent of the notes that the ledger covers now."""
        number = min(self._under_way) - 1 if self._under_way else self._notes.number
        return Mark(number, not self.unknown)

    def with_mark(self, values: Values) -> Values:
        """Add the number of the last noted write to these values of the journal."""
        number = self.mark().number
        return {**values, (WRITES, self._notes.owner): number} if values and number else values

    @property
    def has_old_notes(self) -> bool:
        """Return whether notes of dead processes can be removed."""
        return bool(self._left) and not self.unknown

    def on_published(self, mark: Mark, values: Values) -> None:
        """Remove the notes on writes that the journal now contains. Raises OSError."""
        if self._notes.number == mark.number:
            self._notes.clear()
        else:
            self._replica.file.mark(pending=True)
        if mark.all_left and self._left:
            for left in self._left:
                left.remove()
            self._left = []
            self._replica.file.mark(pending=is_pending(values.values()))

    # -- notes of dead processes
    # ----------------------------------------------------------------------

    def read_old_notes(self) -> None:
        """Take over the notes of dead processes, and learn the sessions that they name."""
        try:
            self._left = old_notes(self._replica.file.folder)
        except OSError as error:
            self._failed(self._replica.root, error)
        for left in self._left:
            for note in left.notes:
                self._keys.learn(note.session, note.info)

    def lacking(self) -> list[str]:
        """Return the files of noted writes that the journal does not contain."""
        for left in self._left:
            known = self._replica.stored.get((WRITES, left.owner), 0)
            for note in left.notes:
                if note.number > known:
                    self.unknown.setdefault(decoded(note.path), []).append(note)
        self._drop_marks()
        return list(self.unknown)

    def _drop_marks(self) -> None:
        """Remove the journal's note numbers of processes without notes, with the next record."""
        replica = self._replica
        left = {one.owner for one in self._left}
        for (kind, owner), number in replica.stored.items():
            path = path_of(replica.file.folder, owner)
            if kind == WRITES and (owner in left or not path.exists()):
                replica.own[kind, owner] = number

    async def adopt(self, path: str) -> None:
        """Enter the interrupted writes of a file, as far as its text contains them."""
        if path in self.unknown:
            try:
                await self._adopt(path, self.unknown[path])
            finally:
                del self.unknown[path]

    async def _adopt(self, path: str, notes: Sequence[WriteNote]) -> None:
        try:
            text = await self._live.text(path)
        except Refusal:  # no longer text
            return
        made = self._made(path, text, notes)
        if made and made[0][1] is not None:
            await self._live.enter(path, made[0][1])
        for note, before, after in made:
            n = self._keys.number(note.session)
            self._enter(n, note.prompt, path, before, after)

    def _enter(
        self, n: int, prompt: PromptName | None, path: str, before: Text | None, after: Text
    ) -> None:
        """Enter an agent's write. ``prompt`` is the agent's, if option `blame` was on."""
        files = self._files
        files.ledger.record_agent_write(path, before, after, n)
        if prompt is not None:
            files.authors.on_adopt(prompt, path, before, after)
        files.checkpoints.on_touch(path, before)
        files.checkpoints.record(path, before, after)
        files.pending_view.refresh(path)

    def _made(
        self, path: str, text: Text | None, notes: Sequence[WriteNote]
    ) -> list[tuple[WriteNote, Text | None, Text]]:
        """Return the writes that a text contains and no journal does, with the texts around."""
        entry = self._files.ledger.get(path)
        made: list[tuple[WriteNote, Text | None, Text]] = []
        for note in reversed(notes):
            is_known = entry is not None and entry.live == text
            if text is not None and not is_known and (rows := note.rows_in(text)):
                before = note.undone(text, rows)
                made.append((note, before, text))
                text = before
        return made[::-1]

    # -- end
    # ------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the notes at the end of this process, after all possible writes."""
        self._notes.close()
        self._close_left()

    def abandon(self) -> None:
        """Stop reading and writing, as if the process were killed."""
        self._notes.abandon()
        self._close_left()

    def _close_left(self) -> None:
        for left in self._left:
            os.close(left.handle)
        self._left = []
