"""Application of changes on disk, by an agent, the user or git, to buffers and ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import msgspec
from anyio import to_thread
from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.edits.moves import Move, Moves
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import (
    CaughtUp,
    ContentKnown,
    Forgotten,
    Postponed,
    PostponedChange,
    Removed,
)
from acp_nvim.files.buffers.turn_texts import UnreadFiles
from acp_nvim.files.bytes import nofollow
from acp_nvim.files.bytes.disk import bytes_of, read_dated, signature_of
from acp_nvim.files.bytes.file_format import BinaryError, Format, FormatChange
from acp_nvim.files.bytes.paths import Place, below, matches
from acp_nvim.files.changes.entered_change import (
    EnteredChange,
    apply_change,
    decode_change,
    kind_of,
    lacks_save,
    steps_of,
)
from acp_nvim.files.changes.naming import Naming
from acp_nvim.files.changes.save_notes import Save
from acp_nvim.files.changes.turn_start import TurnStarts
from acp_nvim.files.changes.turns import Attribution, Turn
from acp_nvim.files.checkpoints.rights import usual_rights
from acp_nvim.files.checkpoints.snapshots import FileChange
from acp_nvim.files.checkpoints.store import UNKNOWN, GitContent, Unstored
from acp_nvim.files.files import Files
from acp_nvim.files.ports import AgentSession, BufferText
from acp_nvim.files.review.live_texts import LiveTexts

ATTEMPTS: Final = 5
"""Number of attempts to apply a change to a buffer that keeps changing."""
PAUSE_S: Final = 0.05
EMPTY: Final[Mapping[str, Sequence[GitContent]]] = {}


class ChangeApplier:
    """Applier of the changes that a scan has found. The caller holds the locks of the files."""

    def __init__(
        self,
        files: Files,
        live: LiveTexts,
        attribution: Attribution,
        turn_starts: TurnStarts,
        naming: Naming,
        unread: UnreadFiles,
    ) -> None:
        self.by_user = set[str]()
        """Files that the user has changed during the running turns.

        The change was by git, or by another Neovim and in conflict with unsaved edits of the buffer
        here.
        """
        self._files = files
        self._live = live
        self._tracked = files.tracked
        self._snapshots = files.snapshots
        self._attribution = attribution
        self._turn_starts = turn_starts
        self._naming = naming
        self._unread = unread
        self._notes = files.save_notes
        self._moves = Moves()
        self._warned: set[str] = set()

    def reset(self) -> None:
        """Forget the moves and the user's changes from earlier turns."""
        self._moves = Moves()
        self.by_user.clear()

    async def apply(
        self, changes: Sequence[FileChange], by_git: Mapping[str, Sequence[GitContent]] = EMPTY
    ) -> None:
        """Apply changes. `by_git` has the contents that the user's git commands made."""
        entered: dict[int, dict[str, Pending | None]] = {}
        by_user: list[FileChange] = []
        for change in changes:
            self._record_removed_rights(change)
            turn, at = await self._attribution.last_author(change.path)
            if any(_is_by_git(content, change, at) for content in by_git.get(change.path, ())):
                is_known = self._files.buffers.get(change.path) is not None
                if not (is_known and await self._is_own_write(change.path)):
                    by_user.append(change)
                await self._enter_git_change(change)
                continue
            earlier = self._files.ledger.get(change.path)
            session = self._session_of(change, turn, at)
            if session is None:
                by_user.append(change)
            writer = await self._apply_one(change, turn, at, session)
            if writer is not None:
                entered.setdefault(writer.n, {})[change.path] = earlier
        await self._find_unmerged(by_user)
        for turn in self._files.turns:
            if turn.session.n in entered:
                await self._naming.mark_changed(turn, entered[turn.session.n])

    def _record_removed_rights(self, change: FileChange) -> None:
        """Record the rights of a deleted file, which it gets again if the deletion is undone."""
        state = self._tracked.state(change.path)
        if change.after is not None or state.disk is None:
            return
        rights = change.rights or (usual_rights(True) if change.executable else None)
        if rights or state.rights:
            self._tracked[change.path].apply(Removed(rights))

    async def _find_unmerged(self, changes: Sequence[FileChange]) -> None:
        """Mark the files whose unsaved buffers lack one of these changes by the user.

        Neovim asks before it overwrites such a file, even after later changes by agents.
        """
        unsaved = await self._files.buffers.unsaved() if changes else {}
        for change in changes:
            path, live = change.path, self._files.buffers.get(change.path)
            if path not in unsaved or await self._is_own_write(path):
                continue
            before, after = (
                UNSET if isinstance(data, Unstored) else data
                for data in (change.before, change.after)
            )
            file_format = live.format if live else None
            if lacks_save(unsaved[path], [Save(before, after, None)], file_format):
                await self._files.buffers.mark_unmerged(path)

    async def _is_own_write(self, path: str) -> bool:
        """Return whether this Neovim has saved or written the content of a file."""
        state = self._tracked.state(path)
        if await to_thread.run_sync(signature_of, path) == state.saved:
            return True
        with suppress(OSError):
            return state.has_content(await to_thread.run_sync(bytes_of, path))
        return False

    def _session_of(self, change: FileChange, turn: Turn | None, at: int) -> AgentSession | None:
        """Return the session whose agent made a change, or None for the user."""
        late = self._tracked.state(change.path).postponed
        if turn is not None and (late is None or at != late.at):
            return turn.session
        return None if late is None else late.session

    async def _apply_one(
        self, change: FileChange, turn: Turn | None, at: int, session: AgentSession | None
    ) -> AgentSession | None:
        """Process a change by a turn or the user.

        Return the session if the change became a pending edit of its agent, otherwise None.
        """
        if turn is not None:
            self._turn_starts.on_change(turn, change, at)
        state = self._tracked.state(change.path)
        if state.postponed is not None:
            self._tracked[change.path].apply(CaughtUp())
        if session is None or self._is_agent_store(session, change.path):
            await self._enter_user_change(change)
        elif isinstance(change.after, Unstored) or (
            isinstance(change.before, Unstored) and state.disk is UNSET
        ):
            if not await to_thread.run_sync(self._is_known, change.path):
                self._warn_unreviewed(session, change)
        else:
            return await self._enter_agent_change(session, at, change)
        return None

    def _is_agent_store(self, session: AgentSession, path: str) -> bool:
        """Return whether a file is the agent's own storage (option `agents.*.store`)."""
        globs = self._files.options().stores.get(session.agent, ())
        return matches(Place(path, path), below(path, session.roots), globs)

    async def _enter_git_change(self, change: FileChange) -> None:
        file = self._tracked[change.path]
        self.by_user.add(change.path)
        file.apply(Forgotten())
        if file.state.postponed is not None:
            file.apply(CaughtUp())
        if self._files.ledger.get(change.path) or self._files.buffers.get(change.path):
            await self._live.sync(change.path)

    async def _enter_user_change(self, change: FileChange) -> None:
        if self._files.ledger.get(change.path) is not None:
            await self._live.sync(change.path)

    async def _enter_agent_change(
        self, session: AgentSession, at: int, change: FileChange
    ) -> AgentSession | None:
        """Process a change by an agent, and join it with another one if the two are a move.

        Return the session that made the change, or None if it was not applied.
        """
        live = self._files.buffers.get(change.path)
        await self._unread.find_saved_text(session, change.path, live.format if live else Format())
        was = self._files.ledger.get(change.path)
        entered = await self._enter(session, at, change)
        if entered is None or entered.is_by_user:
            return None
        if self._snapshots.is_single(change.path) or self._files.turns.is_outside(change.path):
            self._files.checkpoints.on_touch(change.path, entered.before)
        move = self._moves.add(change.path, entered.before, entered.after, was)
        if move is not None:
            self._join_move(entered.session, move)
        return entered.session

    def _join_move(self, session: AgentSession, move: Move) -> None:
        self._files.authors.on_move(session, move.old, move.new)
        ledger = self._files.ledger
        if ledger.join_move(move.old, move.new, move.text, move.entry, session.n):
            self._files.pending_view.refresh(move.old, move.new)
            return
        created, was = ledger.get(move.new), move.entry
        if created is not None and was is not None and was.base is None:  # created by another agent
            both = msgspec.structs.replace(created, writers=created.writers | was.writers)
            ledger.reinstate(move.new, created.live, both)
            self._files.pending_view.refresh(move.new)

    async def _enter(
        self, session: AgentSession, at: int, change: FileChange
    ) -> EnteredChange | None:
        """Apply a change to buffer and ledger. Return the applied change, or None.

        Try again if the buffer changes or Neovim is busy, and postpone the change after `ATTEMPTS`.
        If another agent changes the file in the meantime, the applied change has the session of
        that agent.
        """
        path = change.path
        entered: EnteredChange | None = None
        for _ in range(ATTEMPTS):
            prepared = await self._prepare(session, at, change)
            if prepared is None:
                return None
            entered, at = prepared
            session = entered.session
            if self._is_user_save(entered):
                self.record_disk(path, entered.after, entered.format_change)
                await self._enter_user_change(change)
                return None
            outcome = await self._try_to_enter(entered, at)
            if outcome in ("done", "unchanged", "unsaved"):
                self.record_disk(path, entered.after, entered.format_change)
                self._notes.forget(path, entered.saves)
                if outcome == "unsaved":
                    self.by_user.add(path)
                return entered if outcome == "done" else None
            if outcome not in ("moved", "busy"):
                self._files.view.warn(
                    session, wording.DISK_CHANGE_NOT_APPLIED.format(file=path, outcome=outcome)
                )
                return None
            await anyio.sleep(PAUSE_S)
            session, at = await self._last_author(path, session)
        if entered is not None:
            old = entered.format_change.old if entered.format_change else None
            event = Postponed(entered.before, old, PostponedChange(session, at))
            self._tracked[path].apply(event)
        return None

    async def _try_to_enter(self, entered: EnteredChange, at: int) -> str:
        """Try to apply a change. Return an outcome of `apply_change`, or `unchanged`."""
        if entered.before == entered.after and not entered.changes_format:
            return "unchanged"  # the store has seen an intermediate state
        if self._notes.is_being_written(entered.path, entered.signature, at):
            return "busy"
        if await to_thread.run_sync(entered.is_still_empty):
            return "moved"
        return await apply_change(self._files, entered)

    async def _prepare(
        self, session: AgentSession, scanned_at: int, change: FileChange
    ) -> tuple[EnteredChange, int] | None:
        """Read both sides of a change. Return the change with both texts, and its time.

        Start again if the file changes while it is read. Record the text of a save that a formatter
        has changed. Announce a change to a binary file. Return None for a file that is too large or
        not text.
        """
        path, data, signature, at = change.path, None, None, scanned_at
        try:
            data, signature, changed_at = await to_thread.run_sync(read_dated, path)
            saves = await self._notes.saves(
                path, signature, changed_at, self._tracked.state(path).saved
            )
            if saves and await to_thread.run_sync(signature_of, path) != signature:
                return await self._prepare(session, scanned_at, change)
            if changed_at != scanned_at:
                session, at = await self._last_author(path, session)
            buffer, known = await self._files.buffers.glance(path)
            live = buffer if isinstance(buffer, BufferText) else None
            self._record_formatted_save(path, live, known)
            decoded = decode_change(self._files, change, data, live)
            steps = steps_of(decoded, signature, saves)
        except OSError:
            return None
        except BinaryError:
            if not self._notes.is_saved(path, signature):
                self._announce_binary(session, change, data)
            return None
        is_unseen = self._tracked.state(path).is_unseen_change(decoded.after, signature)
        entered = EnteredChange(
            session,
            path,
            before=decoded.before,
            after=decoded.after,
            live=live,
            data=data,
            signature=signature,
            format_change=decoded.format_change,
            is_read=known == signature and not is_unseen,
            link=change.link,
            saves=saves,
            file_format=decoded.file_format,
            steps=steps,
        )
        return entered, at

    async def _last_author(self, path: str, session: AgentSession) -> tuple[AgentSession, int]:
        """Return the session that last changed a file, or `session` for the user, and the time."""
        turn, at = await self._attribution.last_author(path)
        return turn.session if turn else session, at

    def _announce_binary(
        self, session: AgentSession, change: FileChange, data: bytes | None
    ) -> None:
        kind, path = kind_of(change.before, change.after), change.path
        if not self._tracked.state(path).has_content(data):
            self._files.checkpoints.record(path, change.before, data)
            self._files.view.report_edit(session, path, kind, "disk", conflict=False)

    def _is_known(self, path: str) -> bool:
        """Return whether the file was saved by another Neovim, or has the text last written here.

        This call blocks.
        """
        if self._notes.is_saved(path, signature_of(path)):
            return True
        forms = self._tracked.state(path).byte_forms()
        with suppress(OSError):  # larger, or unreadable
            return nofollow.read(path, max(map(len, forms), default=0)) in forms
        return False

    def _warn_unreviewed(self, session: AgentSession, change: FileChange) -> None:
        """Record and announce a change that is not reviewed because one side is not known.

        Warn once for each such message.
        """
        path = change.path
        self._files.checkpoints.record(path, change.before, change.after)
        kind = kind_of(change.before, change.after)
        self._files.view.report_edit(session, path, kind, "disk", conflict=False)
        text = _why_unreviewed(Path(path).name, change)
        if text not in self._warned:
            self._warned.add(text)
            self._files.view.warn(session, text)

    def _record_formatted_save(
        self, path: str, live: BufferText | None, signature: str | None
    ) -> None:
        """Record the text that a formatter made of the user's save.

        The buffer has this text if it was read from the file with the signature of the save.
        """
        state = self._tracked.state(path)
        if live is None or live.is_modified or not state.saved_other_bytes or signature is None:
            return
        if signature == state.saved and state.disk != live.text:
            self._tracked[path].apply(ContentKnown(live.text, live.format))

    def _is_user_save(self, change: EnteredChange) -> bool:
        """Return whether the file has the signature and the text of a save by the user.

        An agent may have changed the file between the save and Neovim's report of the save, which
        comes right after the write.
        """
        state = self._tracked.state(change.path)
        if change.after is None or change.signature is None or state.saved != change.signature:
            return False
        return state.saved_other_bytes or state.disk is UNSET or state.disk == change.after

    def record_disk(self, path: str, text: Text | None, reformat: FormatChange | None) -> None:
        """Record the text of a file on disk."""
        self._tracked[path].apply(ContentKnown(text, reformat.new if reformat else None))


def _is_by_git(content: GitContent, change: FileChange, at: int) -> bool:
    """Return whether git has made this change. The time of a deletion is unknown."""
    if change.after is None:
        return content.data is None
    return content.data == change.after and at <= content.until


def _why_unreviewed(name: str, change: FileChange) -> str:
    """Explain to the user why a change is not reviewed, and whether it can be undone."""
    before, after = change.before, change.after
    if isinstance(before, Unstored) and before.mark != UNKNOWN:
        return wording.UNREVIEWED.format(file=name, reason=before.why)
    if isinstance(before, Unstored):
        return wording.UNREVIEWED_NOT_STORED.format(file=name, reason=before.why)
    why = after.why if isinstance(after, Unstored) else ""
    return wording.UNREVIEWED_FROM_NOW.format(file=name, reason=why)
