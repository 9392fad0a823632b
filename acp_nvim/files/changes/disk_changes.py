"""Edits that agents make on disk by themselves: found, attributed, entered into buffers.

While a turn runs, changes in the session's directories are its agent's, but for the user's saves.
Files that a tool call names are looked at as soon as it ends, the work tree soon after, and once
more when the turn ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import msgspec
from anyio import to_thread
from msgspec import UNSET, UnsetType

from acp_nvim import wording
from acp_nvim.edits.moves import Move, Moves
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.read_texts import ReadTexts
from acp_nvim.files.buffers.tracked_file import (
    CaughtUp,
    Compared,
    Forgotten,
    Holds,
    Late,
    Looked,
    PutOff,
    SavedIdle,
)
from acp_nvim.files.buffers.unread_files import UnreadFiles
from acp_nvim.files.bytes import nofollow
from acp_nvim.files.bytes.disk import (
    changed_at,
    read_dated,
)
from acp_nvim.files.bytes.file_format import (
    BinaryError,
    Format,
    FormatChange,
    format_change,
    text_of,
)
from acp_nvim.files.bytes.known_files import compared, read_all, settled_signatures
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.changes.entered_change import EnteredChange, enter, kind_of, texts
from acp_nvim.files.changes.folder_watch import FolderWatch
from acp_nvim.files.changes.git_tree import HeadMove
from acp_nvim.files.changes.naming import Naming
from acp_nvim.files.changes.outer_trees import OuterTrees
from acp_nvim.files.changes.turn_start import TurnStart, TurnStarts, differing
from acp_nvim.files.changes.turns import Attribution, Turn, real_roots
from acp_nvim.files.checkpoints.agent_changes import SAME, ContentChange
from acp_nvim.files.checkpoints.snapshots import FileChange, Snapshots
from acp_nvim.files.checkpoints.store import (
    UNKNOWN,
    Brought,
    Change,
    Unstored,
    blob_mark,
)
from acp_nvim.files.ports import AgentSession, BufferText
from acp_nvim.files.review.pending_edits import PendingEdits
from acp_nvim.tasks import Tasks

ATTEMPTS: Final = 5
"""How often a change is entered into a buffer that keeps changing."""
PAUSE_S: Final = 0.05
EMPTY: Final[Mapping[str, Sequence[Brought]]] = {}
LATE_S: Final = 0.25
"""The pause before a change is entered that Neovim did not take."""


class DiskChanges:
    """Finds the changes of all sessions whose turn runs."""

    def __init__(self, edits: PendingEdits, snapshots: Snapshots, tasks: Tasks) -> None:
        self._edits = edits
        self._files = edits.tracked
        self._snapshots = snapshots
        self._tasks = tasks
        self.turns = edits.turns
        self._attribution = Attribution(self.turns)
        self.turn_starts = TurnStarts(edits.tracked)
        self._naming = Naming(edits)
        self.outer = OuterTrees(snapshots, edits.view, self._take_up_all)
        self.unread = UnreadFiles(edits.turns, snapshots)
        self.reads = ReadTexts(edits, snapshots, tasks)
        self._watch = FolderWatch(snapshots.folders)
        self._is_late = False
        """A task brings late changes to their buffers."""
        self._warned: set[str] = set()
        self._moves = Moves()
        self.by_git = set[str]()
        """Files that the user has changed by git while turns ran."""
        self._lock = anyio.Lock(fast_acquire=True)

    # ---- turns

    def enter(self, session: AgentSession) -> Turn:
        """A turn is about to start; `begin` comes next."""
        if not self.turns:
            self._moves = Moves()
            self.by_git.clear()
        turn = self.turns.enter(session)
        self._attribution.enter(turn)
        return turn

    async def remember(self, turn: Turn, sent: int | None = None) -> TurnStart:
        """Read the files that the user has saved since the last look: these contents are theirs,
        whatever the agent makes of the files before the next look. Returns the files at the start
        of a prompt; ``sent``: since when the agent has it, if it does.
        """
        idle = (file for file in self._files if file.state.saved_idle)
        saved = sorted(file.path for file in idle if turn.concerns(file.path))
        for path in saved:
            self._files[path].hear(SavedIdle(False))
        found = await to_thread.run_sync(read_all, saved) if saved else {}
        for path, (data, signature) in found.items():
            state = self._edits.state(path)
            if state.disk is not UNSET and state.saved != signature:
                continue
            live = self._edits.buffers.get(path)
            buffer = live.format if live else None
            with suppress(BinaryError):
                text, reformat = text_of(data, buffer), format_change(buffer, data, data)
                self._holds(path, text, reformat)
        return self.turn_starts.note(turn, sent)

    async def begin(self, turn: Turn) -> None:
        """Changes so far are nobody's, unless another turn runs; changes while this looks are the
        agent's from when the prompt was sent.
        """
        await self.turns.announce()
        old = {} if self.turns.ready() else self._files.known()
        await self.look_before(turn.session)
        turn.ready.set()
        for path, then in old.items():
            now = self._edits.state(path)
            if now.disk is then.disk and now.late is None:
                self._files[path].hear(Forgotten())

    async def look_before(self, session: AgentSession) -> None:
        """Look at the files as they are before the session's turn."""
        self._snapshots.retry(real_roots(session))
        await self.look(session.roots)

    async def begun(self, start: TurnStart) -> None:
        """Take up files that changed after they were named and before they were looked at."""
        turn = start.turn
        early, turn.early = turn.early, {}  # older than the next prompt of the turn
        found = await to_thread.run_sync(differing, early) if early else ()
        if found:
            start.add(found)
            async with self._lock, self._edits.alone(*(change.path for change in found)):
                await self._take_up(found)

    async def end(self, session: AgentSession) -> None:
        """A turn is over: the last look that counts as its agent's. `leave` comes next."""
        turn = self.turns.get(session)
        if turn is None:
            return
        await turn.ready.wait()
        await self.look_at_named(turn)
        await self.look(turn.roots, watch=True)
        await self.outer.look(turn, is_over=True)
        self._naming.report(turn)

    def leave(self, session: AgentSession) -> None:
        """All is done for a prompt, and for its turn unless another prompt has joined that."""
        turn = self.turns.get(session)
        if turn is not None and turn.looked():
            self.turns.leave(session)
            self._tasks.start_soon(self.turns.announce)

    async def over(self, session: AgentSession) -> None:
        """Wait until the last look of a turn that has ended is done."""
        turn = self.turns.get(session)
        if turn is not None:
            await turn.over.wait()

    async def caught_up(self, *, running: bool) -> None:
        """Wait for the looks that follow the turns that have ended; with ``running`` also for those
        that follow the tool calls of the others.
        """
        for turn in self.turns:
            if turn.last_looks:
                await turn.last_looks_done.wait()
            elif running and turn.is_looking:
                await self.look_at_named(turn)
                await self.look(turn.roots)

    # ---- looking

    def on_disk(self, path: str) -> Text | UnsetType | None:
        """The text of a file on disk at the last look or save; UNSET: it is not known."""
        return self._edits.state(path).disk

    async def look_at_named(self, turn: Turn) -> None:
        """Take up changes of the files that ended tool calls have named."""
        async with turn.naming:
            paths, turn.named = sorted(turn.named), set()
            given, turn.diffs = turn.diffs, []
            await self.look(turn.roots, paths)
            await self._believe(given)

    async def _believe(self, given: Sequence[tuple[str, str | None, str]]) -> None:
        """Take the old texts of files in no store from diffs of the whole file, where a tool call
        has named them only after it had changed them.
        """
        for path, old, new in given:
            data = self._snapshots.single(path)
            known = self._edits.state(path).disk is not UNSET
            if data is None or known or data != new.encode():
                continue
            change = FileChange(path, None if old is None else old.encode(), data)
            async with self._lock, self._edits.alone(path):
                await self._take_up([change])

    async def before_use(self, path: str) -> None:
        """A decision is about to be made on a file that an agent may have changed just now; not
        while `PendingEdits.alone`.
        """
        if self.turns.ready():
            await self.look(self.turns.roots(), [path])

    def rests(self, turn: Turn) -> bool:
        """Whether a look before a turn that is alone at work would find what the last one has
        found: the system has noted no change since. Then that look counts as the one before it.
        """
        roots, known = self._snapshots.within(turn.roots), self._files.known()
        others = [*known, *self._snapshots.singles()]
        alone = not self.turns.ready() and not any(state.late for state in known.values())
        inside = all(any(is_below(path, root) for root in roots) for path in others)
        if not (alone and inside and self._is_settled(roots)):
            return False
        for path in known:
            self._files[path].hear(Forgotten())
        return True

    def _is_settled(self, roots: Sequence[str]) -> bool:
        looking = self._lock.locked()  # what it has not read yet may change before it does
        return not looking and self._snapshots.stored(roots) and self._watch.rest(roots)

    async def settle(self, roots: Sequence[str]) -> None:
        """Nobody is at work, and the user has saved: look now, so that no prompt has to wait."""
        within = self._snapshots.within(roots)
        if not self.turns and self._watch.knows(within) and not self._watch.rest(within):
            await self.look(roots)

    async def look(
        self, roots: Sequence[str], paths: Sequence[str] | None = None, *, watch: bool = False
    ) -> set[str]:
        """Take up changes below these directories, or of these files only. Returns the files that
        changed. ``watch``: whether there are any before the next prompt is to be known then.
        """
        if paths is not None and not paths:
            return set()
        async with self._lock:
            if paths is None:
                begin = self._watch.begin if watch else self._watch.again
                await begin(self._snapshots.within(roots))
            signatures: dict[str, str | None] = {}
            if paths is not None:
                signatures = await to_thread.run_sync(settled_signatures, paths)
            turns = self.turns.round
            rest: list[Change] = []
            changes = await self._snapshots.look(roots, paths, rest)
            if rest:
                await self._note(rest)
            changes += await self._rewritten(paths, {change.path for change in changes})
            await self._take_up_alone(changes)
            await self._naming.later()
            for path, signature in signatures.items():
                self._files[path].hear(Looked((turns, signature)))
        return {change.path for change in changes}

    async def _take_up_all(self, changes: Sequence[FileChange]) -> None:
        """Take up changes that no look at the session's directories has found."""
        async with self._lock:
            await self._take_up_alone(changes)

    async def _take_up_alone(self, changes: Sequence[FileChange]) -> None:
        if changes:
            brought = await self._brought(changes)
            async with self._edits.alone(*(change.path for change in changes)):
                with self._edits.together():
                    await self._take_up(changes, brought)

    async def _note(self, changes: Sequence[Change]) -> None:
        """Note agents' changes that are not reviewed: modes, links, more than can be shown."""
        paths = [change.path for change in changes]
        dates = await to_thread.run_sync(lambda: list(map(changed_at, paths)))
        for change, at in zip(changes, dates, strict=True):
            if self._attribution.of(change.path, at) is not None:
                marks = blob_mark(change.before), blob_mark(change.after)
                noted = ContentChange(SAME, SAME) if change.same_bytes else ContentChange(*marks)
                self._edits.checkpoints.record_change(change.path, noted)

    async def before_write(self, path: str) -> None:
        """An agent is about to write a file through the editor. Its own change on disk just before
        is taken up first: else that would pass for the text that was there.
        """
        if self._edits.state(path).disk is not UNSET:
            await self.look([], [path])
        elif self.turns and await to_thread.run_sync(changed_at, path) >= self.turns.began():
            await self.look(self.turns.roots(), [path])

    def close(self) -> None:
        """Watch nothing any more."""
        self._watch.close()
        self.outer.close()

    async def unchanged(self, path: str, roots: Sequence[str]) -> bool:
        """Take up changes of a file below these directories; returns whether its text is known not
        to have changed.
        """
        if self._edits.state(path).disk is not UNSET:
            return path not in await self.look([], [path])
        held = await self._snapshots.holds(roots, path)
        return path not in await self.look(roots, [path]) and held

    async def _rewritten(self, paths: Sequence[str] | None, found: set[str]) -> list[FileChange]:
        """Changes of files (None: all) that their stores have not found, since they may again hold
        the stored content.
        """
        known = self._files.known(paths)
        states = {path: state for path, state in known.items() if path not in found}
        if not states:
            return []
        changes, signatures = await to_thread.run_sync(compared, states)
        for path, signature in signatures.items():
            if self._edits.state(path).disk is states[path].disk:
                self._files[path].hear(Compared(signature))
        for path in states.keys() - {change.path for change in changes}:
            if states[path].late is not None:
                self._files[path].hear(CaughtUp())  # it is as it was
        return changes

    async def _brought(self, changes: Sequence[FileChange]) -> Mapping[str, Sequence[Brought]]:
        """Return what the user's checkouts, commits and pulls in the turns have made of files."""
        if not self.turns:
            return {}
        paths = [change.path for change in changes]
        began = self.turns.began()
        roots = [root for turn in self.turns for root in (*turn.roots, *turn.outer)]
        return await self._snapshots.brought(roots, paths, began, self.by_agent)

    def by_agent(self, move: HeadMove) -> bool:
        """Whether an agent at work may have moved HEAD."""
        return any(turn.ran_git(move.first, move.last) for turn in self.turns)

    async def _take_up(
        self, changes: Sequence[FileChange], brought: Mapping[str, Sequence[Brought]] = EMPTY
    ) -> None:
        entered: dict[int, dict[str, Pending | None]] = {}
        for change in changes:
            if change.after is None and self._edits.state(change.path).disk is not None:
                self._edits.gone(change.path, change.rights, change.executable)
            turn, at = await self._attribution.last(change.path)
            if any(_has_brought(it, change, at) for it in brought.get(change.path, ())):
                await self._gits(change)
                continue
            was = self._edits.ledger.get(change.path)
            writer = await self._take_up_one(change, turn, at)
            if writer is not None:
                entered.setdefault(writer.n, {})[change.path] = was
        for turn in self.turns:
            if turn.session.n in entered:
                await self._naming.changed(turn, entered[turn.session.n])

    async def _take_up_one(
        self, change: FileChange, turn: Turn | None, at: int
    ) -> AgentSession | None:
        """Take up a change that this turn, or the user, made at that time. Returns the session
        whose pending edit it is.
        """
        if turn is not None:
            self.turn_starts.has_changed(turn, change, at)
        state = self._edits.state(change.path)
        session = None if state.late is None else state.late.session
        if turn is not None and (state.late is None or at != state.late.at):
            session = turn.session
        if state.late is not None:
            self._files[change.path].hear(CaughtUp())
        if session is None or self._edits.is_store(session, change.path):
            await self._users(change)
        elif isinstance(change.after, Unstored) or (
            isinstance(change.before, Unstored) and state.disk is UNSET
        ):
            if not await to_thread.run_sync(self._is_written, change.path):
                self._warn_unreviewed(session, change)
        else:
            return await self._agents(session, at, change)
        return None

    async def _gits(self, change: FileChange) -> None:
        """Take up a change that the user made by git."""
        file = self._files[change.path]
        self.by_git.add(change.path)
        file.hear(Forgotten())
        if file.state.late is not None:
            file.hear(CaughtUp())
        if self._edits.ledger.get(change.path) or self._edits.buffers.get(change.path):
            await self._edits.sync(change.path)

    async def _users(self, change: FileChange) -> None:
        """Take up a change that no agent made."""
        if self._edits.ledger.get(change.path) is not None:
            await self._edits.sync(change.path)

    async def _agents(
        self, session: AgentSession, at: int, change: FileChange
    ) -> AgentSession | None:
        """Take up a change that an agent made at that time. Returns the session that made it."""
        live = self._edits.buffers.get(change.path)
        await self.unread.learn(session, change.path, live.format if live else Format())
        was = self._edits.ledger.get(change.path)
        entered = await self._enter(session, at, change)
        if entered is None:
            return None
        if self._snapshots.is_single(change.path) or self.turns.is_outside(change.path):
            self._edits.checkpoints.touched(change.path, entered.before)
        move = self._moves.noted(change.path, entered.before, entered.after, was)
        if move is not None:
            self._join(entered.session, move)
        return entered.session

    def _join(self, session: AgentSession, move: Move) -> None:
        """Both parts of a move have been entered."""
        self._edits.attribute_moved(session, move.old, move.new)
        ledger = self._edits.ledger
        if ledger.joined(move.old, move.new, move.text, move.was, session.n):
            self._edits.changed(move.old, move.new)
            return
        came, was = ledger.get(move.new), move.was
        if came is not None and was is not None and was.base is None:  # new, as another one made it
            both = msgspec.structs.replace(came, writers=came.writers | was.writers)
            ledger.reinstated(move.new, came.live, both)
            self._edits.changed(move.new)

    async def _enter(
        self, session: AgentSession, at: int, change: FileChange
    ) -> EnteredChange | None:
        """Enter a change into buffer and ledger. Returns it with the session that made it (who
        changes the file meanwhile has changed it last), None where nothing was entered.
        """
        path = change.path
        entered: EnteredChange | None = None
        for _ in range(ATTEMPTS):
            prepared = await self._prepare(session, at, change)
            if prepared is None:
                return None
            entered, at = prepared
            session, after, reformat = entered.session, entered.after, entered.format_change
            if self._is_users(entered):
                self._holds(path, after, reformat)
                await self._users(change)
                return None
            if entered.before == after and not entered.changes_format:
                self._holds(path, after, reformat)  # the store has seen it as it was in between
                return None
            outcome = "moved"
            if not await to_thread.run_sync(entered.is_still_empty):
                outcome = await enter(self._edits, entered)
            if outcome == "done":
                self._holds(path, after, reformat)
                return entered
            if outcome not in ("moved", "busy"):
                self._edits.view.warn(
                    session, wording.NOT_TAKEN_UP.format(file=path, outcome=outcome)
                )
                return None
            await anyio.sleep(PAUSE_S)
            session, at = await self._last_author(path, session)
        if entered is not None:
            old = entered.format_change.old if entered.format_change else None
            self._put_off(path, PutOff(entered.before, old, Late(session, at)))
        return None

    async def _prepare(
        self, session: AgentSession, at: int, change: FileChange
    ) -> tuple[EnteredChange, int] | None:
        """Read both sides of a change; returns it and its time. None for a file that is no text, or
        too large now.
        """
        path, data = change.path, None
        try:
            data, signature, then = await to_thread.run_sync(read_dated, path)
            if then != at:
                session, at = await self._last_author(path, session)
            found, known = await self._edits.buffers.glance(path)
            live = found if isinstance(found, BufferText) else None
            self._read_again(path, live, known)
            before, after, reformat = texts(self._edits, change, data, live)
        except OSError:
            return None
        except BinaryError:
            self._announce_binary(session, change, data)
            return None
        sides = before, after, live, data, signature, reformat
        is_read, link = known == signature, change.link
        return EnteredChange(session, path, *sides, is_read=is_read, link=link), at

    async def _last_author(self, path: str, session: AgentSession) -> tuple[AgentSession, int]:
        """The agent that changed a file last, this one if none did, and when that was."""
        turn, at = await self._attribution.last(path)
        return turn.session if turn else session, at

    def _announce_binary(
        self, session: AgentSession, change: FileChange, data: bytes | None
    ) -> None:
        """A file that is no text has no hunks."""
        kind, path = kind_of(change.before, change.after), change.path
        if not self._edits.state(path).holds(data):
            self._edits.checkpoints.record(path, change.before, data)
            self._edits.view.edited(session, path, kind, "disk", conflict=False)

    def _is_written(self, path: str) -> bool:
        """Whether a file holds the text that was written through the editor last. Blocks."""
        forms = self._edits.state(path).byte_forms()
        with suppress(OSError):  # it is larger, or it cannot be read
            return nofollow.read(path, max(map(len, forms), default=0)) in forms
        return False

    def _warn_unreviewed(self, session: AgentSession, change: FileChange) -> None:
        """One side is not known: there is nothing to compare, and nothing to take back."""
        path = change.path
        self._edits.checkpoints.record(path, change.before, change.after)
        kind = kind_of(change.before, change.after)
        self._edits.view.edited(session, path, kind, "disk", conflict=False)
        text = _why_unreviewed(Path(path).name, change)
        if text not in self._warned:
            self._warned.add(text)
            self._edits.view.warn(session, text)

    def _holds(self, path: str, text: Text | None, reformat: FormatChange | None) -> None:
        """The file has been looked at."""
        self._files[path].hear(Holds(text, reformat.new if reformat else None))

    def _read_again(self, path: str, live: BufferText | None, signature: str | None) -> None:
        """A formatter has made another text of the file than the user saved: their buffer has it,
        if it was read from the file with the signature of that save.
        """
        state = self._edits.state(path)
        if live is None or live.modified or not state.saved_other_bytes or signature is None:
            return
        if signature == state.saved and state.disk != live.text:
            self._files[path].hear(Holds(live.text, live.format))

    def _is_users(self, change: EnteredChange) -> bool:
        """Whether the file has the signature of a save of the user's, and holds what they saved. An
        agent may have changed it after it was written and before Neovim could tell: that is as long
        as it takes to reach the disk.
        """
        state = self._edits.state(change.path)
        if change.after is None or change.signature is None or state.saved != change.signature:
            return False
        return state.saved_other_bytes or state.disk is UNSET or state.disk == change.after

    def _put_off(self, path: str, event: PutOff) -> None:
        """The buffer cannot be changed now: the change is entered later."""
        self._files[path].hear(event)
        if not self._is_late:
            self._is_late = True
            self._tasks.start_soon(self._catch_up)

    async def _catch_up(self) -> None:
        try:
            while late := [it.path for it in self._files if it.state.late is not None]:
                await anyio.sleep(LATE_S)
                await self.look([], late)
        finally:
            self._is_late = False


def _has_brought(brought: Brought, change: FileChange, at: int) -> bool:
    """Whether git has made a change of that time. Of a file that is gone the time is not known."""
    if change.after is None:
        return brought.data is None
    return brought.data == change.after and at <= brought.until


def _why_unreviewed(name: str, change: FileChange) -> str:
    """Why a change of a file is not reviewed, and whether it can be taken back."""
    before, after = change.before, change.after
    if isinstance(before, Unstored) and before.mark != UNKNOWN:
        return wording.UNREVIEWED.format(file=name, reason=before.why)
    if isinstance(before, Unstored):
        return wording.UNREVIEWED_FOR_GOOD.format(file=name, reason=before.why)
    why = after.why if isinstance(after, Unstored) else ""
    return wording.UNREVIEWED_FROM_NOW.format(file=name, reason=why)
