"""Files that agents and the user share, for the layers above."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio
from anyio import to_thread
from msgspec import UNSET

from acp_nvim import wording
from acp_nvim.edits.text import Text
from acp_nvim.files.buffers.tracked_file import NeovimRead, SavedIdle
from acp_nvim.files.bytes import disk
from acp_nvim.files.bytes.disk import GRAIN_NS, signature_of
from acp_nvim.files.bytes.guard import Ask
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.changes.disk_changes import DiskChanges
from acp_nvim.files.changes.git_tree import moves_of
from acp_nvim.files.changes.tool_call_files import ToolCallFiles
from acp_nvim.files.changes.turn_start import ANNOUNCED_S, EarlyScans, TurnStart
from acp_nvim.files.changes.turns import MAX_DELAY_NS, Turn, real_roots
from acp_nvim.files.checkpoints.checkpoints import Checkpoint, targets
from acp_nvim.files.checkpoints.prompt_checkpoints import PromptCheckpoints
from acp_nvim.files.checkpoints.pruning import prune
from acp_nvim.files.files import Files
from acp_nvim.files.journal.persistence import Persistence
from acp_nvim.files.ports import AgentSession, Amendments, OtherSessions
from acp_nvim.files.review.commits import Commits
from acp_nvim.files.review.live_texts import LiveTexts
from acp_nvim.files.writes.agent_files import AgentFiles, OnLocation
from acp_nvim.tasks import Tasks

if TYPE_CHECKING:
    from acp_nvim.files.review.review import Review
    from acp_nvim.files.writes.change_set import ChangeSets

SCAN_WAIT_S: Final = 0.05
"""Maximum time that a prompt waits for the scan before it, in seconds."""
FIRST_SCAN_WAIT_S: Final = 2.0
"""Maximum time that the first prompt waits for the scan, in seconds.

Otherwise its agent's changes during the scan would count as the earlier content.
"""
MAX_CATCH_UP_S: Final = 10.0
"""Maximum time that the user's command waits for running scans, in seconds."""
MAX_DECISION_S: Final = 10.0
"""Maximum time that a prompt or a decision waits for decisions made before it, in seconds."""
SLOW_S: Final = 1.0
"""Duration in seconds after which the first scan is reported to the user."""

S = TypeVar("S", bound=AgentSession)


class Workspace(Generic[S]):
    """Pending edits, edits on disk, decisions and checkpoints of all sessions."""

    _has_pruned = False
    _is_scan_starting = False
    """Whether a scan of files that the user has saved is about to begin."""

    def __init__(
        self,
        files: Files,
        live: LiveTexts,
        tasks: Tasks,
        amendments: Amendments[S],
        ask: Ask[S],
        on_location: OnLocation[S],
        others: OtherSessions,
    ) -> None:
        """`others` are the sessions of other Neovims. The rest are arguments of `AgentFiles`."""
        self.files = files
        self.live = live
        self._tasks = tasks
        self._amendments = amendments
        self.disk = DiskChanges(files, live, tasks)
        self.commits = Commits(files, live)
        self.tool_calls = ToolCallFiles(self.disk, files.snapshots, tasks)
        self.early_scans = EarlyScans(files.turns, self.disk.scan_early, tasks)
        self.prompts = PromptCheckpoints(files)
        self.persistence = Persistence(files, live, self.prompts, self.commits, tasks, others)
        self.agent_files = AgentFiles(
            files, self.disk, self.persistence, amendments, ask, on_location
        )
        self._open_checkpoints: dict[int, tuple[Checkpoint | None, anyio.Event]] = {}
        """Checkpoints of the running turns, by session number."""
        self._decisions: list[anyio.Event] = []
        """Ends of the decisions and restores that are being carried out."""
        tasks.start_soon(live.run, self.disk.before_use)

    @cached_property
    def review(self) -> Review:
        """Return the user's decisions. Import their modules on first use."""
        from acp_nvim.files.review.review import Review

        return Review(self.files, self.live, self.disk, self.persistence.claim)

    @cached_property
    def change_sets(self) -> ChangeSets[S]:
        """Return the changes of several files at once. Import their module on first use."""
        from acp_nvim.files.writes.change_set import ChangeSets

        return ChangeSets(self.files, self.live, self.agent_files, self.disk.before_write)

    async def close(self) -> None:
        """Stop watching files, then write and close the journals."""
        self.disk.close()
        await self.persistence.close()

    # -- events -----------------------------------------------------------------------------------

    def on_idle_save(self, path: str) -> None:
        """Handle a save of a file by the user while no agent is working."""
        self.files.tracked[path].apply(SavedIdle())
        if not self._is_scan_starting:
            self._is_scan_starting = True
            self._tasks.start_soon(self._scan_saved)

    async def _scan_saved(self) -> None:
        self._is_scan_starting = False
        for session in self.files.sessions():
            await self.disk.scan_after_save(real_roots(session))

    def on_other_save(self, path: str) -> None:
        """Handle a save of a buffer, or a part of it, to another file."""
        self._tasks.start_soon(self.disk.before_write, path)

    async def check_changed(self, path: str, neovim_text: Text | None = None) -> str | None:
        """Handle a file that Neovim found changed. Return its signature if the text is the same.

        `neovim_text` is the text that Neovim has already read, if any.
        """
        if neovim_text is not None:
            self.files.tracked[path].apply(NeovimRead(neovim_text))
        signature = await to_thread.run_sync(signature_of, path)
        roots = [root for session in self.files.sessions() for root in real_roots(session)]
        same = await self.disk.check_unchanged(path, roots)
        if neovim_text is None:
            same = same and await self._is_shown(path)
        elif self.disk.on_disk(path) not in (UNSET, neovim_text):
            same = False  # Neovim has read a state between the steps of a write
        if neovim_text is not None and self.files.tracked.state(path).neovim_read is neovim_text:
            self.files.tracked[path].apply(NeovimRead(None))
        return signature if same else None

    async def _is_shown(self, path: str) -> bool:
        """Return whether a clean buffer has the text of its file, as far as both are known.

        The file has not changed since the last scan, but the buffer may have been read before it.
        """
        live = self.files.buffers.get(path)
        if live is None or live.is_modified:
            is_unmerged = self.files.tracked.state(path).is_unmerged
            return path not in self.disk.by_user and not is_unmerged
        limit = self.files.options().message_bytes
        try:
            place = Place(path, path)
            return await to_thread.run_sync(disk.saved_text, place, limit, live.format) == live.text
        except Refusal:  # a link or binary file, which is not read into the buffer either
            return True

    def prepare(self, session: S) -> None:
        """Scan the files of a new session while its agent starts."""
        self.open(session.cwd)
        if not self.files.snapshots.is_scanned(real_roots(session)):
            self._tasks.start_soon(self._prepare, session)

    async def _prepare(self, session: AgentSession) -> None:
        roots = real_roots(session)
        await self.disk.scan(roots)
        await self.commits.check(roots)
        await self.disk.outer.prepare(roots)

    def open(self, directory: str, first: str = "") -> None:
        """Open the workspace of a directory, and show edits by earlier and other Neovims.

        `first` is a file that the user is editing. It is shown first.
        """
        paths = self.persistence.open(directory, first)
        if paths:
            self._tasks.start_soon(self.resume, paths)

    async def resume(self, paths: Sequence[str], marked: Iterable[str] = ()) -> None:
        """Continue with the edits of another process. Process later changes of their files.

        First wait for the scan of a prompt that is about to be sent.
        """
        await self.early_scans.wait_all()
        await self.persistence.catch_up(paths, marked)
        prepared: set[tuple[str, ...]] = set()
        for session in list(self.files.sessions()) if self.files.ledger.files() else ():
            if tuple(session.roots) not in prepared:
                prepared.add(tuple(session.roots))
                await self._prepare(session)

    def drop_parked(self, paths: Sequence[str]) -> None:
        """Drop the parked edits of these files."""
        self.files.ledger.parked.drop(paths)
        self.persistence.request_exchange()

    @asynccontextmanager
    async def deciding(self) -> AsyncIterator[None]:
        """Carry out the user's decisions and restores one after the other, before later prompts."""
        earlier, end = list(self._decisions), anyio.Event()
        self._decisions.append(end)
        try:
            await _wait_decided(earlier)
            yield
        finally:
            self._decisions.remove(end)
            end.set()

    async def wait_decided(self) -> bool:
        """Wait for the decisions and restores begun so far. Return whether there were any."""
        ends = list(self._decisions)
        if ends:
            await _wait_decided(ends)
        return bool(ends)

    def turn_roots(self, session: S) -> list[str]:
        """Return the directories of a session's running turn, and the work trees around them."""
        turn = self.files.turns.get(session)
        return [] if turn is None else [*turn.roots, *turn.outer]

    async def begin_turn(
        self,
        session: S,
        prompt: object | None,
        label: str,
        unsaved: Mapping[str, Text] | None = None,
        *,
        under_way: bool = False,
    ) -> Mapping[str, Text] | None:
        """Begin a turn before its prompt is sent: record the current contents of the files.

        The same prompt may be sent again. If the agent works without a prompt, there is no
        checkpoint. With `under_way`, the agent has the prompt already. `unsaved` are the texts with
        unsaved edits by path, if known. Return these texts, or None if they were not read.
        """
        checkpoint = None
        if prompt is not None:
            n = self.prompts.number(session, prompt)
            wanted = self.files.options().checkpoints
            checkpoint = await self.prompts.create(session, n, label, unsaved) if wanted else None
        begun = anyio.Event()
        if prompt is not None:
            self._open_checkpoints[session.n] = checkpoint, begun
        self.persistence.request_exchange()
        turn = self.disk.enter(session)
        if not turn.at_work:
            turn.forget_saves()
        try:
            await self._start(turn, checkpoint, begun, under_way=under_way or prompt is None)
        except BaseException:  # the prompt never becomes a turn
            turn.withdraw()
            self.disk.leave(session)
            begun.set()
            raise
        return unsaved if checkpoint is None else checkpoint.unsaved

    async def _start(
        self, turn: Turn, checkpoint: Checkpoint | None, begun: anyio.Event, *, under_way: bool
    ) -> None:
        """Do the work that a prompt has to wait for. Record when the prompt is sent."""
        sent = time.time_ns() - MAX_DELAY_NS if under_way else None
        if sent is not None:
            turn.on_sent(sent, is_scanned=False)
        with anyio.move_on_after(ANNOUNCED_S):
            await self.disk.turns.announce()
        start = await self.disk.remember(turn, sent)  # earlier saves have been reported by now
        is_scanned = self.early_scans.use(turn.session) or self.disk.reuse_last_scan(turn)
        if is_scanned:
            self._on_scanned(start, checkpoint)
            begun.set()
        else:
            is_first = not self.files.snapshots.is_scanned(turn.roots)
            patience = max(SCAN_WAIT_S, FIRST_SCAN_WAIT_S) if is_first else SCAN_WAIT_S
            is_scanned = await self._run_with_timeout(
                patience, self._begin, start, checkpoint, begun
            )
        if sent is None:
            if not self.disk.outer.is_prepared(turn):
                is_scanned = False  # files may change while the prompt waits for this scan
                await self._run_with_timeout(SCAN_WAIT_S, self.disk.outer.prepare, turn.roots)
            start.on_sent(time.time_ns() - GRAIN_NS, is_scanned=is_scanned)

    async def _run_with_timeout(
        self, patience: float, work: Callable[..., Awaitable[None]], *args: Any
    ) -> bool:
        """Start work, and wait at most `patience` seconds for it to finish.

        Return whether the work has finished.
        """
        done = anyio.Event()

        async def run() -> None:
            try:
                await work(*args)
            finally:
                done.set()

        self._tasks.start_soon(run)
        with anyio.move_on_after(patience):
            await done.wait()
        return done.is_set()

    async def _begin(
        self, start: TurnStart, checkpoint: Checkpoint | None, begun: anyio.Event
    ) -> None:
        """Scan the files before the prompt. The scan may continue after the prompt is sent.

        Set `begun` when the checkpoint is complete.
        """
        try:
            await self._scan_before(start, checkpoint)
        finally:
            self.disk.turn_starts.remove(start)
            begun.set()

    async def _scan_before(self, start: TurnStart, checkpoint: Checkpoint | None) -> None:
        turn, session = start.turn, start.turn.session
        if not self.files.snapshots.is_scanned(turn.roots):
            self._tasks.start_soon(self._warn_if_slow, turn)
        try:
            if not await self.early_scans.wait(session):
                await self.disk.begin(turn)
        finally:
            turn.ready.set()
        self._on_scanned(start, checkpoint)
        await self.disk.enter_early(start)
        if checkpoint is not None:
            checkpoint.late.update(targets(start.changes))
            self.persistence.request_exchange()

    def _on_scanned(self, start: TurnStart, checkpoint: Checkpoint | None) -> None:
        """Complete the checkpoint after the scan."""
        turn, snapshots = start.turn, self.files.snapshots
        turn.trees = snapshots.trees(turn.roots)
        turn.ready.set()
        self.disk.turn_starts.remove(start)
        if checkpoint is not None:
            checkpoint.complete(turn.trees, snapshots.reasons(turn.roots))
            self.persistence.request_exchange()
        self._tasks.start_later(self._run_later_work, turn.roots)
        if turn.outer:
            self._tasks.start_later(self._scan_outer, turn)

    async def _scan_outer(self, turn: Turn) -> None:
        await self.disk.outer.scan(turn, is_over=False)

    async def _run_later_work(self, roots: Sequence[str]) -> None:
        """Do work that no prompt waits for."""
        await self.commits.check(roots)
        if not self._has_pruned:
            self._has_pruned = True
            await to_thread.run_sync(prune, self.files.home.all())

    async def _warn_if_slow(self, turn: Turn) -> None:
        with anyio.move_on_after(SLOW_S):
            await turn.ready.wait()
            return
        self.files.view.notice(wording.MANY_FILES)

    def on_prompt_sent(self, session: S) -> None:
        """Record that an idle agent gets a prompt, and with it the files as they are saved now."""
        turn = self.disk.turns.get(session)
        if turn is not None:
            turn.forget_saves()

    def on_turn_answered(self, session: S) -> None:
        """Attribute later changes to the user, before they can see the end of the turn."""
        turn = self.disk.turns.get(session)
        if turn is not None:
            turn.on_answer()

    async def end_turn(self, session: S, *, own: bool = False) -> None:
        """Finish a prompt after its answer or the agent's exit.

        `own` means that the agent began the turn without a prompt.
        """
        turn = self.disk.turns.get(session)
        if turn is not None:
            turn.on_finished()
        self._learn_trees(turn)
        await self._amendments.on_turn_end(session, self.disk.before_use)
        checkpoint = None if own else self._open_checkpoints.pop(session.n, None)
        opened = checkpoint or (None, None)
        await self._run_with_timeout(SCAN_WAIT_S, self._end, session, *opened)

    def _learn_trees(self, turn: Turn | None) -> None:
        """Record the git state at the end of a turn. Later git operations are the user's.

        Trees that the user has moved during the turn are compared after the last scan.
        """
        trees = self.files.trees
        marks = trees.read(entry.path for entry in self.files.ledger.files())
        for top, mark in marks.items():
            moves = [] if turn is None else moves_of(top, turn.began)
            if all(map(self.disk.by_agent, moves)):
                trees.known[top] = mark

    async def _end(
        self, session: S, checkpoint: Checkpoint | None, begun: anyio.Event | None
    ) -> None:
        try:
            await self.disk.end(session)
            trees = self.files.trees
            if any(trees.change(entry.path).has_moved for entry in self.files.ledger.files()):
                await self.live.sync_all(self.disk.before_use)
            if begun is not None:
                await begun.wait()  # the checkpoint must be complete for a restore
            if checkpoint is not None:
                checkpoint.ends.append(time.time())
                self.persistence.request_exchange()
            await self.commits.check(real_roots(session))
        finally:
            self.disk.leave(session)

    async def refresh(self, sessions: Iterable[S]) -> None:
        """Look for commits and edits by other programs."""
        named = {root for session in sessions for root in session.roots}
        roots = set(map(os.path.realpath, named))
        await self.sync_all()  # first, since a commit is compared with the current texts
        await self.commits.check(sorted(roots))

    async def catch_up(self, *, running: bool = True) -> None:
        """Process agents' changes so far, before the user reviews them.

        Without `running`, process only the changes of turns that have ended.
        """
        await self._run_with_timeout(MAX_CATCH_UP_S, lambda: self.disk.catch_up(running=running))

    async def sync_all(self) -> None:
        await self.persistence.adopt_writes()
        await self.live.sync_all(self.disk.before_use)


async def _wait_decided(ends: Sequence[anyio.Event]) -> None:
    with anyio.move_on_after(MAX_DECISION_S):
        for end in ends:
            await end.wait()
