"""Exchange of pending edits, rejects and checkpoints through journals.

All Neovims of a workspace share a journal, and the next Neovim continues from it. Soon after a
change, a process takes the journal's lock, applies the changes appended by other processes, and
appends its own. Each process has its own live text of a file.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import msgspec
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.pending import Pending, Summary
from acp_nvim.files.buffers.tracked_file import ConflictOver
from acp_nvim.files.bytes import disk, roots
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.files.checkpoints.prompt_checkpoints import PromptCheckpoints
from acp_nvim.files.files import Files
from acp_nvim.files.journal.replica import FILE, NOTHING, WRITES, Key, NewerVersionError, Replica
from acp_nvim.files.journal.session_keys import SessionKeys
from acp_nvim.files.journal.shared_state import SharedState, in_order
from acp_nvim.files.ports import AgentSession, BusyError, EarlierEdits, OtherSessions
from acp_nvim.files.review.commits import Commits
from acp_nvim.files.review.live_texts import LiveTexts
from acp_nvim.files.writes.agent_write import OnWrite
from acp_nvim.tasks import Tasks

if TYPE_CHECKING:
    from acp_nvim.files.writes.writes_under_way import WritesUnderWay

T = TypeVar("T")

DELAY_S: Final = 0.003
"""Delay of a write, in seconds, so that the answer to an agent's request is sent first."""
PAUSE_RATIO: Final = 4.0
"""Ratio of the pause after a write to the duration of the write. `PAUSE_S` limits the pause."""
PAUSE_S: Final = 0.5
MAX_SCREEN_WAIT_S: Final = 0.5
"""Maximum time that the screen waits for the journal, in seconds.

After a timeout it waits again only once the journal is up to date.
"""
RETRY_S: Final = 5.0, 300.0
"""First and longest pause before a failed write is tried again."""
MAX_CLAIM_S: Final = 3.0
"""Maximum time that a decision waits for another Neovim, in seconds."""
LOCK_PAUSE_S: Final = 0.005, 0.1
"""First and longest pause between two attempts to get the lock."""
FILES_AT_ONCE: Final = 20
"""Number of files that are compared and then shown together."""


class Persistence:
    """Journals of all workspaces in use, by root."""

    def __init__(
        self,
        files: Files,
        live: LiveTexts,
        prompts: PromptCheckpoints,
        commits: Commits,
        tasks: Tasks,
        others: OtherSessions,
    ) -> None:
        """`others` are the sessions of other Neovims."""
        self.keys = SessionKeys(others)
        self._files = files
        self._live = live
        self._prompts = prompts
        self._state = SharedState(files, commits, self.keys)
        self._tasks = tasks
        self._sessions = files.sessions
        self._others = others
        self._problem = files.view.notice
        self._data: Path | None = None
        self._locks: dict[str, anyio.Lock] = {}
        self._writes_under_way: dict[str, WritesUnderWay] = {}
        self._due, self._hurry = files.journal_due, anyio.Event()
        self._written, self._writing = anyio.Event(), anyio.Event()
        """Events at the end of the next exchange, and of the current or last one."""
        self._writing.set()
        self._is_late = False
        """Whether the screen stopped waiting because of a timeout."""
        self._failing = set[str]()
        """Roots whose journals could not be read or written the last time."""
        self._watched = set[str]()
        self._is_closing = False

    # -- begin and end ----------------------------------------------------------------------------

    def begin(self, data: Path, instance: str) -> None:
        """Start using journals below `stdpath('data')/acp`. `instance` names this Neovim."""
        if self._data is None:
            self._data = data
            self.keys.set_instance(instance)
            self._files.save_notes.set_inbox(data, instance)
            self._tasks.start_soon(self._run)

    def open(self, directory: str, first: str = "", *, again: bool = False) -> list[str]:
        """Open the journal of a directory's workspace, unless it is open already. This call blocks.

        Return the files with edits, `first` at the start. `catch_up` compares them with their
        texts. With `again`, an earlier process of this Neovim had the workspace open.
        """
        root = self._state.root(directory)
        if self._data is None or root in self._state.replicas.keys() | self._state.ignored:
            return []
        folder = roots.folder(self._data, root)
        replica = self._state.replicas[root] = Replica(root, folder, self.keys)
        self._locks[root] = anyio.Lock(fast_acquire=True)
        keys = self._first_read(replica)
        if root in self._state.ignored:
            return []
        paths = self._adopt_values(replica, keys, again)
        self._finish_reading(replica)
        if keys:
            self._watch(replica)
        self._show_foreign_checkpoints()
        return sorted(paths, key=lambda path: path != first)

    def _adopt_values(self, replica: Replica, keys: Sequence[Key], again: bool) -> list[str]:
        """Apply the values of these keys. Return the files with edits.

        These include files with writes by a killed process, and with `again` the files of the
        unsaved buffers.
        """
        if replica.file.has_notes() or any(kind == WRITES for kind, _ in keys):
            self._writes_of(replica).read_old_notes()
        for key in in_order(keys):
            self._state.apply(replica, key)
        paths = [name for kind, name in keys if kind == FILE]
        if again:
            paths += set(self._state.restore_buffers(replica)) - set(paths)
            self._live.unobserved.update(paths)
        else:
            self._live.restored.update(paths)
        for path in paths:
            replica.own[FILE, path] = self._state.file_value(path)
        if replica.root in self._writes_under_way:
            unrecorded = self._writes_under_way[replica.root].unrecorded_paths()
            paths += set(unrecorded) - set(paths)
        return paths

    def _first_read(self, replica: Replica) -> list[Key]:
        try:
            keys = replica.read(locked=False)
            if replica.is_cut and replica.file.try_lock():
                try:
                    keys += replica.read(locked=True)
                finally:
                    replica.file.unlock()
            if keys or not replica.is_damaged:
                return keys
            replica.finish_reading()
            self._problem(wording.JOURNAL_DAMAGED.format(path=replica.set_aside()))
        except NewerVersionError:
            self._ignore(replica)
        except OSError as error:
            self._on_failure(replica.root, error)
        return []

    def _ignore(self, replica: Replica) -> None:
        """Stop using a journal that a newer version wrote."""
        self._state.ignored.add(replica.root)
        del self._state.replicas[replica.root]
        replica.file.close()
        self._problem(wording.JOURNAL_NEWER.format(path=replica.file.path))

    def _finish_reading(self, replica: Replica) -> None:
        if replica.finish_reading():
            self._problem(wording.RECORDS_DAMAGED.format(path=replica.set_aside()))
            self.request_exchange()

    def request_exchange(self) -> None:
        """Request an exchange."""
        self._due.set()

    async def wait_written(self) -> None:
        """Wait until the journal has the writes by agents of this process.

        The wait takes at most `MAX_SCREEN_WAIT_S`. A pending edit is shown only after that, so that
        it survives if Neovim is killed.
        """
        if self._data is None or self._failing or self._is_late:
            return
        if not self._files.ledger.has_unpublished:
            return
        is_due = self._due.is_set
        if is_due:
            self._hurry.set()
        with anyio.move_on_after(MAX_SCREEN_WAIT_S) as waiting:
            await (self._written if is_due else self._writing).wait()
        self._is_late = waiting.cancelled_caught

    async def _run(self) -> None:
        retry, longest = RETRY_S
        while True:
            with anyio.move_on_after(retry if self._failing else math.inf):
                await self._due.wait()
            await self._pause(DELAY_S)
            self._due.clear()
            self._hurry = anyio.Event()
            self._written, self._writing = anyio.Event(), self._written
            began = anyio.current_time()
            await self.exchange()
            self._writing.set()
            self._is_late = self._is_late and self._files.ledger.has_unpublished
            retry = min(2 * retry, longest) if self._failing else RETRY_S[0]
            await self._pause(min(PAUSE_S, PAUSE_RATIO * (anyio.current_time() - began)))

    async def _pause(self, seconds: float) -> None:
        """Pause, unless a caller of `wait_written` is waiting."""
        with anyio.move_on_after(seconds):
            await self._hurry.wait()

    async def close(self) -> None:
        """Write all remaining changes and close the journals, at the end of this process."""
        self._is_closing = True
        with anyio.move_on_after(MAX_CLAIM_S):
            await self.exchange()
        for replica in self._state.replicas.values():
            try:
                replica.close()
            except OSError as error:
                self._on_failure(replica.root, error)
        self._state.replicas.clear()
        for writes in self._writes_under_way.values():
            writes.close()

    def abandon(self) -> None:
        """Close the journals without writing, as if the process were killed."""
        for replica in self._state.replicas.values():
            replica.file.close()
        self._state.replicas.clear()
        for writes in self._writes_under_way.values():
            writes.abandon()

    # -- exchange with others ---------------------------------------------------------------------

    async def exchange(self, *, only_if_news: bool = False) -> None:
        """Apply the changes by other Neovims, and write this one's.

        With `only_if_news`, leave journals that no other Neovim has changed to `request_exchange`.
        """
        for replica in list(self._state.replicas.values()):
            if await self._check_due(replica, only_if_news=only_if_news):
                try:
                    async with self._hold_journal(replica, is_decision=False):
                        pass
                except BusyError as error:
                    self._on_failure(replica.root, error)

    async def _check_due(self, replica: Replica, *, only_if_news: bool) -> bool:
        """Return whether there are changes to read or to write. Report a failure of the check."""
        async with self._locks[replica.root]:  # a thread may be reading the file
            try:
                writes = self._writes_under_way.get(replica.root)
                if replica.file.has_news() or (writes is not None and writes.has_old_notes):
                    return True
                return not only_if_news and replica.differs(self._state.values(replica.root))
            except OSError as error:
                self._on_failure(replica.root, error)
                return False

    def claim(self, paths: Iterable[str]) -> AbstractAsyncContextManager[EarlierEdits]:
        """Hold the lock of the journals for decisions on these files.

        Yield the earlier pending edits of files that other Neovims have changed. Raise BusyError if
        another Neovim holds the lock.
        """
        return self._claim({root for path in paths if (root := self._state.root_of(path))})

    def claim_workspaces(
        self, directories: Iterable[str]
    ) -> AbstractAsyncContextManager[EarlierEdits]:
        """Hold the lock for decisions on all files in the workspaces of these directories."""
        return self._claim({self._state.root(directory) for directory in directories})

    @asynccontextmanager
    async def _claim(self, wanted: Iterable[str]) -> AsyncIterator[EarlierEdits]:
        seen: EarlierEdits = {}
        async with AsyncExitStack() as stack:
            for root in sorted(wanted):
                if (replica := self._state.replicas.get(root)) is not None:
                    seen |= await stack.enter_async_context(self._hold_journal(replica))
            yield seen

    @asynccontextmanager
    async def _hold_journal(
        self, replica: Replica, *, publish: bool = True, is_decision: bool = True
    ) -> AsyncIterator[EarlierEdits]:
        """Hold the lock of a journal. Read changes first. If `publish`, write changes at the end.

        Only a decision waits for another Neovim that has not released the journal before. If the
        journal cannot be read or written, or is closed, the work continues without it.
        """
        async with self._locks[replica.root]:
            lock = partial(self._lock, is_patient=is_decision or replica.root not in self._failing)
            is_locked = self._is_open(replica) and await self._try(replica, lock)
            try:
                seen = await self._try(replica, self._apply_changes) if is_locked else None
                yield seen or {}
                if publish and is_locked and self._is_open(replica):
                    await self._try(replica, self._publish)
            finally:
                replica.file.unlock()

    def _is_open(self, replica: Replica) -> bool:
        """Return whether a journal is still open. The state has no values for a closed one."""
        return self._state.replicas.get(replica.root) is replica

    async def _lock(self, replica: Replica, *, is_patient: bool) -> bool:
        pause, longest = LOCK_PAUSE_S
        until = anyio.current_time() + (MAX_CLAIM_S if is_patient else 0)
        while not replica.file.try_lock():
            if anyio.current_time() > until:
                raise BusyError(wording.WHY_JOURNAL_LOCKED.format(path=replica.file.path))
            await anyio.sleep(pause)
            pause = min(2 * pause, longest)
        self._watch(replica)
        return True

    def _watch(self, replica: Replica) -> None:
        """Watch the journal's folder, which exists by now, for changes by other processes."""
        if replica.root not in self._watched:
            self._watched.add(replica.root)
            self._others.follow(replica.root, str(replica.file.folder))

    async def _try(self, replica: Replica, work: Callable[[Replica], Awaitable[T]]) -> T | None:
        """Run the work. On a failure, report it and return None."""
        try:
            return await work(replica)
        except BusyError:
            raise
        except Exception as error:
            self._on_failure(replica.root, error)
            return None

    def _on_failure(self, root: str, error: Exception) -> None:
        """Record that a journal could not be read or written. Report the first such failure."""
        has_warned = bool(self._failing)
        self._failing.add(root)
        if has_warned:
            return
        if isinstance(error, OSError) and error.filename:
            reason = f"{error.strerror}: {error.filename}"
        elif isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        else:
            reason = str(error) or type(error).__name__
        self._problem(wording.JOURNAL_FAILED.format(reason=reason))

    def note_write(self, session: AgentSession, path: str) -> AbstractContextManager[OnWrite]:
        """Note an agent's write, so that its lines keep their author if this process dies.

        At the end of the context, the write is in the ledger or was not made.
        """
        replica = self._state.replicas.get(self._state.root_of(path))
        if replica is None:
            return nullcontext(lambda *_: None)
        return self._writes_of(replica).note_write(session, path)

    def _writes_of(self, replica: Replica) -> WritesUnderWay:
        """Return the writes under way in a workspace. Import their module on first use."""
        from acp_nvim.files.writes.writes_under_way import WritesUnderWay

        if replica.root not in self._writes_under_way:
            made = WritesUnderWay(replica, self._files, self._live, self.keys, self._on_failure)
            self._writes_under_way[replica.root] = made
        return self._writes_under_way[replica.root]

    async def _publish(self, replica: Replica) -> None:
        now, writes = self._state.values(replica.root), self._writes_under_way.get(replica.root)
        if writes is None:
            await to_thread.run_sync(replica.write, now)
        else:
            await writes.publish(now)
        self._failing.discard(replica.root)
        for (kind, path), value in now.items():
            if kind == FILE:
                self._files.ledger.mark_published(path, value.entry)

    async def _apply_changes(self, replica: Replica) -> EarlierEdits:
        if not replica.file.has_news():
            return {}
        try:
            keys = await to_thread.run_sync(partial(replica.read, locked=True))
        except NewerVersionError:
            self._ignore(replica)
            return {}
        paths = [name for kind, name in keys if kind == FILE]
        async with self._live.hold(*paths):
            seen = {path: self._files.ledger.get(path) for path in paths}
            rejects = list(self._files.ledger.rejects)
            for key in in_order(keys):
                self._state.apply(replica, key)
            fresh = [level for level in self._files.ledger.rejects if level not in rejects]
            self._keep_unsaved(seen, {reject.before.path for level in fresh for reject in level})
            with self._files.pending_view.together():
                for path in paths if not self._is_closing else ():
                    await self._apply_change(replica, path)
                self._files.pending_view.refresh(*paths)
        self._finish_reading(replica)
        self._show_foreign_checkpoints()
        return seen

    def _keep_unsaved(self, seen: EarlierEdits, rejected: Iterable[str]) -> None:
        """Keep edits pending in unsaved buffers after another Neovim has `rejected` them."""
        for path in rejected:
            buffer, was = self._files.buffers.get(path), seen.get(path)
            if was and buffer and buffer.is_modified and self._files.ledger.get(path) is None:
                self._files.ledger.keep_in_buffer(path, was)

    async def _apply_change(self, replica: Replica, path: str) -> None:
        """Apply the changes by other processes to this process's text of a file.

        The result is not written again, unless it parked edits or caused a conflict.
        """
        before = self._state.file_value(path)
        is_known = before == replica.own.get((FILE, path), NOTHING)
        await self._live.sync(path)
        after = self._state.file_value(path)
        is_reported = after.parked == before.parked and after.in_conflict == before.in_conflict
        if is_known and is_reported and after == NOTHING:
            replica.own.pop((FILE, path), None)
        elif is_known and is_reported:
            replica.own[FILE, path] = after

    async def catch_up(self, paths: Sequence[str], marked: Iterable[str] = ()) -> None:
        """Compare edits of an earlier process with the current texts of their files.

        Neovim still shows hunks of the `marked` files.
        """
        trees = self._files.trees.read(paths)
        entries = self._files.ledger.files()
        self._files.view.pending([entry.path for entry in entries])
        await to_thread.run_sync(_summaries, entries)
        for at in range(0, len(paths), FILES_AT_ONCE):
            batch = paths[at : at + FILES_AT_ONCE]
            async with self._hold_undisturbed(batch, publish=self._has_unrecorded(batch)):
                with self._files.pending_view.together():
                    for path in batch:
                        await self._catch_up(path)
                    self._files.pending_view.refresh(*batch)
        self._files.trees.known.update(trees)
        self._files.pending_view.refresh(*marked)
        self.request_exchange()

    def _has_unrecorded(self, paths: Iterable[str]) -> bool:
        """Return whether these files have writes that no journal contains."""
        writes = self._writes_under_way.values()
        return any(path in one.unrecorded for one in writes for path in paths)

    @asynccontextmanager
    async def _hold_undisturbed(
        self, paths: Iterable[str], *, publish: bool
    ) -> AsyncIterator[None]:
        """Hold the journals of these files, so that no other Neovim accepts or rejects their edits.

        A reject changes the file first, then the journal: in between, the two do not match. If
        another Neovim does not release a journal, continue without its lock. With `publish`, write
        changes at the end.
        """
        async with AsyncExitStack() as stack:
            for root in sorted({self._state.root_of(path) for path in paths}):
                if (replica := self._state.replicas.get(root)) is None:
                    continue
                try:
                    held = self._hold_journal(replica, publish=publish, is_decision=False)
                    await stack.enter_async_context(held)
                except BusyError as error:
                    self._on_failure(root, error)
                    await stack.enter_async_context(self._locks[root])
            yield

    async def _catch_up(self, path: str) -> None:
        """Compare the edits of one file with its current text. The caller holds its journal."""
        root = self._state.root_of(path)
        async with self._live.hold(path):
            if root in self._writes_under_way:
                await self._writes_under_way[root].adopt(path)
            await self._live.sync(path)
            await self._end_conflict(path)

    async def adopt_writes(self) -> None:
        """Enter all writes that were interrupted when an earlier process was killed."""
        for root, writes in list(self._writes_under_way.items()):
            for path in list(writes.unrecorded):
                async with self._locks[root], self._live.hold(path):
                    await writes.adopt(path)

    async def _end_conflict(self, path: str) -> None:
        """End a conflict if the user's save has made buffer and file equal again."""
        entry, live = self._files.ledger.get(path), self._files.buffers.get(path)
        if (
            entry is None
            or not entry.is_conflict
            or live is None
            or not self._has_conflict_base(path)
        ):
            return
        try:
            stored = await to_thread.run_sync(
                disk.saved_text, Place(path, path), self._files.options().message_bytes, live.format
            )
        except Refusal:
            return
        if stored == entry.live:
            self._files.tracked[path].apply(ConflictOver())
            self._files.ledger.resolve_conflict(path, stored)

    def _has_conflict_base(self, path: str) -> bool:
        """Return whether buffer and file of a path are in conflict."""
        return self._files.tracked.state(path).conflict_base is not msgspec.UNSET

    def resume(self, session: AgentSession) -> None:
        """Show the edits and checkpoints of a resumed session."""
        pending = self._files.ledger.files(session.n)
        self._files.view.summary(session, pending, silent=True)  # for its first snapshot
        self._prompts.resume(session)

    def _show_foreign_checkpoints(self) -> None:
        """Show the checkpoints of other Neovims' sessions."""
        for session in self._sessions():
            if not self.keys.is_own(self.keys.key(session.n)):
                self._prompts.resume(session)


def _summaries(entries: Sequence[Pending]) -> list[Summary]:
    """Compute and cache the summaries of many files. This call takes long, so use a thread."""
    return [entry.summary for entry in entries]
