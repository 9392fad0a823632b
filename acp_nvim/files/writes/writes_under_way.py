"""Agents' writes under way, and writes interrupted by the end of an earlier process.

Each write is noted before it is made (`write_notes.py`). After a crash, the notes attribute lines
that the journal lacks to the agent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from anyio import to_thread

from acp_nvim.edits.hunks import Hunk
from acp_nvim.edits.records import from_bytes, to_bytes
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
    make_noted_hunk,
    old_notes,
    path_of,
)


class WritesUnderWay:
    """Writes under way in one workspace."""

    def __init__(
        self,
        replica: Replica,
        files: Files,
        live: LiveTexts,
        keys: SessionKeys,
        on_failure: Callable[[str, Exception], None],
    ) -> None:
        """`on_failure` is called if notes cannot be written or read."""
        self._replica, self._files, self._live, self._keys = replica, files, live, keys
        self._on_failure = on_failure
        self._notes = WriteNotes(replica.file.folder, f"{keys.instance}.{os.getpid()}")
        self._under_way: list[int] = []
        """Number of the first note of each write that is not in the ledger yet."""
        self._old_notes: list[OldNotes] = []
        self.unrecorded: dict[str, list[WriteNote]] = {}
        """Writes that no journal contains, by path. `adopt` is called once for each path."""

    # -- under way --------------------------------------------------------------------------------

    @contextmanager
    def note_write(self, session: AgentSession, path: str) -> Iterator[OnWrite]:
        """Note a write. At the end of the context, it is in the ledger or was not made."""
        first = self._notes.number + 1
        self._under_way.append(first)
        try:
            yield partial(self._note, session, path)
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
        """Note a write on disk before it is made."""
        if not hunks:
            return
        note = WriteNote(
            self._notes.number + 1,
            self._keys.key(session.n),
            info_of(session),
            to_bytes(path),
            before is None,
            len(after.lines),
            before is not None and before.eol,
            after.eol,
            [make_noted_hunk(before or EMPTY, after, hunk) for hunk in hunks],
            self._files.authors.prompt(session),
        )
        try:
            self._replica.file.set_pending(pending=True)  # otherwise no process looks for the note
            self._notes.add(note)
        except OSError as error:
            self._on_failure(self._replica.root, error)

    # -- in the journal ---------------------------------------------------------------------------

    async def publish(self, values: Values) -> None:
        """Write values of the ledger to the journal, then remove the notes on writes in them.

        The journal also gets the number of the last note up to which it has all writes of this
        process. Raise OSError.
        """
        number = min(self._under_way) - 1 if self._under_way else self._notes.number
        has_old_writes = not self.unrecorded
        if values and number:
            values = {**values, (WRITES, self._notes.owner): number}
        await to_thread.run_sync(self._replica.write, values)
        if self._notes.number == number:
            self._notes.clear()
        else:
            self._replica.file.set_pending(pending=True)
        if has_old_writes and self._old_notes:
            for notes in self._old_notes:
                notes.remove()
            self._old_notes = []
            self._replica.file.set_pending(pending=is_pending(values.values()))

    @property
    def has_old_notes(self) -> bool:
        """Return whether there are notes of dead processes that can be removed."""
        return bool(self._old_notes) and not self.unrecorded

    # -- notes of dead processes ------------------------------------------------------------------

    def read_old_notes(self) -> None:
        """Take over the notes of dead processes and the names of their sessions."""
        try:
            self._old_notes = old_notes(self._replica.file.folder)
        except OSError as error:
            self._on_failure(self._replica.root, error)
        for notes in self._old_notes:
            for note in notes.notes:
                self._keys.add_info(note.session, note.info)

    def unrecorded_paths(self) -> list[str]:
        """Return the files of noted writes that the journal does not contain."""
        for old in self._old_notes:
            recorded = self._replica.stored.get((WRITES, old.owner), 0)
            for note in old.notes:
                if note.number > recorded:
                    self.unrecorded.setdefault(from_bytes(note.path), []).append(note)
        self._drop_note_numbers()
        return list(self.unrecorded)

    def _drop_note_numbers(self) -> None:
        """Let the next write of the journal remove the numbers of processes without notes."""
        replica = self._replica
        for (kind, owner), number in replica.stored.items():
            if kind == WRITES and not path_of(replica.file.folder, owner).exists():
                replica.own[kind, owner] = number

    async def adopt(self, path: str) -> None:
        """Enter the interrupted writes of a file that its text contains."""
        if path in self.unrecorded:
            try:
                await self._adopt(path, self.unrecorded[path])
            finally:
                del self.unrecorded[path]

    async def _adopt(self, path: str, notes: Sequence[WriteNote]) -> None:
        try:
            text = await self._live.text(path)
        except Refusal:  # no longer text
            return
        writes = self._contained_writes(path, text, notes)
        if writes and writes[0][1] is not None:
            await self._live.enter(path, writes[0][1])
        for note, before, after in writes:
            n = self._keys.number(note.session)
            self._enter(n, note.prompt, path, before, after)

    def _enter(
        self, n: int, prompt: PromptName | None, path: str, before: Text | None, after: Text
    ) -> None:
        """Enter an agent's write. `prompt` names its prompt, if option `blame` was on."""
        files = self._files
        files.ledger.record_agent_write(path, before, after, n)
        if prompt is not None:
            files.authors.on_adopt(prompt, path, before, after)
        files.checkpoints.record_write(path, before, after)
        files.pending_view.refresh(path)

    def _contained_writes(
        self, path: str, text: Text | None, notes: Sequence[WriteNote]
    ) -> list[tuple[WriteNote, Text | None, Text]]:
        """Return the writes that a text contains, each with the texts before and after it.

        Stop at the text of the ledger, which has the earlier writes.
        """
        entry = self._files.ledger.get(path)
        writes: list[tuple[WriteNote, Text | None, Text]] = []
        for note in reversed(notes):
            is_known = entry is not None and entry.live == text
            if text is not None and not is_known and (rows := note.rows_in(text)):
                before = note.text_before(text, rows)
                writes.append((note, before, text))
                text = before
        return writes[::-1]

    # -- end --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the notes at the end of this process, after the last write."""
        self._notes.close()
        self._close_old_notes()

    def abandon(self) -> None:
        """Stop reading and writing, as if the process were killed."""
        self._notes.abandon()
        self._close_old_notes()

    def _close_old_notes(self) -> None:
        for notes in self._old_notes:
            os.close(notes.handle)
        self._old_notes = []
