"""Pending edits, rejects and checkpoints belong to the workspace: a journal keeps them, from which
the next Neovim goes on, and which all Neovims of that workspace have in common.

Whoever changes something adds it to the journal, shortly afterwards, while it holds the journal's
lock; whoever has the lock first takes over what others have added. Each process has its own live
text of a file: what another one says of it is carried over to that.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from anyio import to_thread

from acp_nvim import wording
from acp_nvim.edits.merge import Merged, merge, overlaid
from acp_nvim.edits.pending import Pending, Reject
from acp_nvim.tasks import Tasks
from acp_nvim.workspace import disk, roots
from acp_nvim.workspace.commits import Commits
from acp_nvim.workspace.paths import Place, is_below
from acp_nvim.workspace.pending_edits import PendingEdits
from acp_nvim.workspace.ports import AgentSession, OtherSessions, SessionInfo
from acp_nvim.workspace.refusals import Refusal
from acp_nvim.workspace.replica import (
    CHECKPOINT,
    FILE,
    HEAD,
    NOTHING,
    REJECT,
    SESSION,
    TREE,
    UNDO,
    FileValue,
    Key,
    NewerVersionError,
    Replica,
    Values,
)
from acp_nvim.workspace.rewind import Rewind
from acp_nvim.workspace.session_keys import SessionKeys
from acp_nvim.workspace.snapshots.checkpoints import Checkpoint
from acp_nvim.workspace.tracked_file import (
    ConflictOver,
    FileState,
    TakenOver,
)

DELAY_S: Final = 0.003
"""The answer to an agent's request comes first."""
SHARE: Final = 4.0
"""Writing is followed by a pause of so many times its length, but not of more than `PAUSE_S`."""
PAUSE_S: Final = 0.5
CLAIM_S: Final = 3.0
"""How long a decision waits for another Neovim."""
WAIT_S: Final = 0.005, 0.1
"""First and longest pause between two attempts to get the lock."""
MOVING: Final = 3
"""How many of a session's latest checkpoints may still grow."""
TOGETHER: Final = 20
"""Files that are compared before the first of them are shown."""

Seen = dict[str, Pending | None]
"""The pending edits of files before another Neovim's changes were taken over."""


class BusyError(Exception):
    """Another Neovim holds the journal."""


class Persistence:
    """The journals of all workspaces in use, by their root."""

    def __init__(
        self,
        edits: PendingEdits,
        rewind: Rewind,
        commits: Commits,
        tasks: Tasks,
        sessions: Callable[[], Iterable[AgentSession]],
        others: OtherSessions,
        problem: Callable[[str], None],
    ) -> None:
        """``others`` takes up sessions of other Neovims; ``problem`` hears why something cannot be
        read or written.
        """
        self.cut_until = 0
        """Until when an agent may have been at work that the host before this one had started, in
        nanoseconds.
        """
        self.keys = SessionKeys(others)
        self._edits = edits
        self._rewind = rewind
        self._commits = commits
        self._tasks = tasks
        self._sessions = sessions
        self._others = others
        self._problem = problem
        self._data: Path | None = None
        self._replicas: dict[str, Replica] = {}
        self._locks: dict[str, anyio.Lock] = {}
        self._touched = anyio.Event()
        self._has_warned = False
        self._frozen: dict[int, tuple[Checkpoint, Checkpoint]] = {}
        self._named: dict[int, tuple[Any, str]] = {}
        self._began, self._count = time.time_ns(), 0
        self._roots: dict[str, str] = {}
        self._followed = set[str]()
        self._is_closing = False

    # -- life -------------------------------------------------------------------------------------

    def cut(self, until: int) -> None:
        """An agent may have been at work until then, under the host before this one."""
        self.cut_until = until

    def begin(self, data: Path, instance: str) -> None:
        """Keep journals below `stdpath('data')/acp` from now on; ``instance`` names this Neovim."""
        if self._data is None:
            self._data, self.keys.instance = data, instance
            self._tasks.start_soon(self._run)

    def open(self, directory: str, first: str = "", *, again: bool = False) -> list[str]:
        """Take over the journal of the workspace of a directory, unless that is done; blocks.

        Returns the files with edits. Their texts are compared later, that of ``first`` before the
        others. ``again``: this Neovim had it already, in another process.
        """
        root = self._root(directory)
        if self._data is None or root in self._replicas:
            return []
        folder = roots.folder(self._data, root)
        replica = self._replicas[root] = Replica(root, folder, self.keys)
        self._locks[root] = anyio.Lock(fast_acquire=True)
        keys = self._first_read(replica)
        for key in _by_kind(keys):
            self._take_over(replica, key)
        paths = [name for kind, name in keys if kind == FILE]
        if not again:
            self._edits.restored.update(paths)
        for path in paths:
            replica.own[FILE, path] = self._file_value(path)
        self._settle(replica)
        if keys:
            self._follow(replica)
        self._show_sessions()
        paths.sort(key=lambda path: path != first)
        return paths

    def _first_read(self, replica: Replica) -> list[Key]:
        try:
            keys = replica.read(locked=False)
            if keys or not replica.damaged:
                return keys
            replica.damaged = False
            self._problem(wording.JOURNAL_DAMAGED.format(path=replica.file.set_aside()))
        except NewerVersionError:
            self._set_aside(replica)
        except OSError as error:
            self._failed(error)
        return []

    def _set_aside(self, replica: Replica) -> None:
        try:
            aside = replica.file.set_aside()
        except OSError as error:
            self._failed(error)
        else:
            self._problem(wording.JOURNAL_NEWER.format(path=aside))

    def _settle(self, replica: Replica) -> None:
        replica.settle()
        if replica.damaged:
            replica.damaged = False
            self._problem(wording.RECORDS_DAMAGED)

    def touch(self) -> None:
        """Something may have changed."""
        self._touched.set()

    async def _run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._touched.wait()
            await anyio.sleep(DELAY_S)
            self._touched = anyio.Event()
            began = anyio.current_time()
            await self.exchange()
            await anyio.sleep(min(PAUSE_S, SHARE * (anyio.current_time() - began)))

    async def close(self) -> None:
        """This process ends: what is not written yet is."""
        self._is_closing = True
        with anyio.move_on_after(CLAIM_S):
            await self.exchange()
        for replica in self._replicas.values():
            try:
                replica.close()
            except OSError as error:
                self._failed(error)
        self._replicas.clear()

    def abandon(self) -> None:
        """Read and write no more, as if the process were killed."""
        for replica in self._replicas.values():
            replica.file.close()
        self._replicas.clear()

    # -- with others ------------------------------------------------------------------------------

    async def exchange(self) -> None:
        """Take over what other Neovims have written, and write what is new here."""
        for root, replica in list(self._replicas.items()):
            try:
                is_due = replica.file.has_news() or replica.differs(self._values(root))
            except OSError as error:
                self._failed(error)
                continue
            if is_due:
                try:
                    async with self._held(replica, CLAIM_S):
                        pass
                except BusyError:
                    self.touch()

    @asynccontextmanager
    async def claim(self, paths: Sequence[str]) -> AsyncIterator[Seen]:
        """Be the only Neovim that decides edits of these files. Gives what the user saw of those
        that another one has changed. BusyError: another one is at it.
        """
        wanted = sorted({root for path in paths if (root := self._home(path))})
        seen: Seen = {}
        async with AsyncExitStack() as stack:
            for root in wanted:
                held = self._held(self._replicas[root], CLAIM_S)
                seen |= await stack.enter_async_context(held)
            yield seen

    @asynccontextmanager
    async def _held(self, replica: Replica, patience: float) -> AsyncIterator[Seen]:
        """Hold the journal: first all news are taken over, in the end what is new is written.
        Where that cannot be done, all else goes on.
        """
        async with self._locks[replica.root]:
            is_locked = await self._try(self._lock, replica, patience)
            try:
                seen = await self._try(self._take_news, replica) if is_locked else None
                yield seen or {}
                if is_locked:
                    await self._try(self._publish, replica)
            finally:
                replica.file.unlock()

    async def _lock(self, replica: Replica, patience: float) -> bool:
        pause, longest = WAIT_S
        until = anyio.current_time() + patience
        while not replica.file.try_lock():
            if anyio.current_time() > until:
                raise BusyError
            await anyio.sleep(pause)
            pause = min(2 * pause, longest)
        self._follow(replica)
        return True

    def _follow(self, replica: Replica) -> None:
        """The folder is there: hear of changes of others in it."""
        if replica.root not in self._followed:
            self._followed.add(replica.root)
            self._others.follow(replica.root, str(replica.file.folder))

    async def _try(self, work: Callable[..., Any], *args: Any) -> Any:
        """Do it, and report the first failure."""
        try:
            return await work(*args)
        except BusyError:
            raise
        except Exception as error:
            self._failed(error)
            return None

    def _failed(self, error: Exception) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        if isinstance(error, OSError) and error.filename:
            reason = f"{error.strerror}: {error.filename}"
        else:
            reason = str(error) or type(error).__name__
        self._problem(wording.JOURNAL_FAILED.format(reason=reason))

    async def _publish(self, replica: Replica) -> None:
        now = self._values(replica.root)
        await to_thread.run_sync(replica.write, now)
        for (kind, path), value in now.items():
            if kind == FILE:
                self._edits.ledger.told(path, value.entry)

    async def _take_news(self, replica: Replica) -> Seen:
        if not replica.file.has_news():
            return {}
        try:
            keys = await to_thread.run_sync(partial(replica.read, locked=True))
        except NewerVersionError:
            self._set_aside(replica)
            return {}
        paths = [name for kind, name in keys if kind == FILE]
        edits = self._edits
        async with edits.alone(*paths):
            seen = {path: edits.ledger.get(path) for path in paths}
            for key in _by_kind(keys):
                self._take_over(replica, key)
            with edits.together():
                for path in paths if not self._is_closing else ():
                    await self._compare(replica, path)
                edits.changed(*paths)
        self._settle(replica)
        self._show_sessions()
        return seen

    async def _compare(self, replica: Replica, path: str) -> None:
        """Carry over what others know of a file to its text here. Nobody else needs to hear of
        that, unless edits were parked or are in conflict.
        """
        before = self._file_value(path)
        is_known = before == replica.own.get((FILE, path), NOTHING)
        await self._edits.sync(path)
        after = self._file_value(path)
        told = after.parked == before.parked and _in_conflict(after) == _in_conflict(before)
        if is_known and told:
            replica.own[FILE, path] = after

    async def catch_up(self, paths: Sequence[str], marked: Iterable[str] = ()) -> None:
        """Compare files that a process before this one had edits of with their texts now. Neovim
        still shows hunks of the ``marked`` files.
        """
        edits = self._edits
        trees = edits.trees.read(paths)
        edits.view.pending([entry.path for entry in edits.ledger.files()])
        for at in range(0, len(paths), TOGETHER):
            some = paths[at : at + TOGETHER]
            with edits.together():
                for path in some:
                    await self._catch_up(path)
                edits.changed(*some)
        edits.trees.known.update(trees)
        edits.changed(*marked)
        self.touch()

    async def _catch_up(self, path: str) -> None:
        root = self._home(path)
        async with self._locks[root], self._edits.alone(path):
            await self._compare(self._replicas[root], path)
            await self._settle_conflict(path)

    async def _settle_conflict(self, path: str) -> None:
        """A conflict is over where buffer and file are one text again: the user has saved."""
        entry, live = self._edits.ledger.get(path), self._edits.buffers.get(path)
        if entry is None or not entry.conflict or live is None or not self._is_apart(path):
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

    def _is_apart(self, path: str) -> bool:
        """Whether buffer and file were in conflict."""
        return self._edits.state(path).conflict_base is not msgspec.UNSET

    def _root(self, directory: str) -> str:
        """The root of the workspace of a directory, as it was when that was first asked."""
        if directory not in self._roots:
            self._roots[directory] = roots.root_of(directory)
        return self._roots[directory]

    # -- to the journal ---------------------------------------------------------------------------

    def _home(self, path: str) -> str:
        """The root whose journal has a file: the one that has it already, else the innermost."""
        for root, replica in self._replicas.items():
            if (FILE, path) in replica.stored:
                return root
        inside = [root for root in self._replicas if is_below(path, root)]
        if inside:
            return max(inside, key=len)
        entry = self._edits.ledger.get(path)
        writers = {it.n: it for it in self._sessions()}
        for n in sorted(entry.writers if entry else ()):
            if n in writers and (root := self._root(writers[n].cwd)) in self._replicas:
                return root
        return next(iter(self._replicas), "")

    def _values(self, root: str) -> Values:
        """The present values of a workspace: all of it in one go of the loop."""
        ledger = self._edits.ledger
        pictures, values = ledger.pictures(), Values()
        kept = {file.path for file in self._edits.tracked if _is_kept(file.state)}
        for path in [*pictures, *(kept - pictures.keys())]:
            if self._home(path) == root and (value := self._file_value(path)) != NOTHING:
                values[FILE, path] = value
        for level in ledger.rejects:
            if self._home(level[0].before.path) == root:
                values[REJECT, self._name(level)] = level
        values |= self._checkpoints(root)
        if not values:
            return values
        tops = {self._edits.trees.top(path) for kind, path in values if kind == FILE}
        values |= {(TREE, it): self._edits.trees.known[it] for it in tops if self._knows(it)}
        heads = self._commits.heads.items()
        values |= {(HEAD, it): head for it, head in heads if is_below(it, root) or it == root}
        numbers = set(_numbers(values.values())) | {
            self.keys.number(name.partition(":")[0])
            for kind, name in values
            if kind in (CHECKPOINT, UNDO)
        }
        described = self.keys.described(numbers, self._sessions())
        return values | {(SESSION, key): info for key, info in described.items()}

    def _knows(self, top: str) -> bool:
        return top in self._edits.trees.known

    def _file_value(self, path: str) -> FileValue:
        edits, state = self._edits.ledger.picture(path), self._edits.state(path)
        return FileValue(
            edits.entry,
            edits.settled,
            edits.history,
            edits.parked,
            state.user_format,
            state.agent_format,
            state.conflict_base,
            state.rights,
        )

    def _checkpoints(self, root: str) -> Values:
        frozen: dict[int, tuple[Checkpoint, Checkpoint]] = {}
        values = Values()
        for kind, lists in zip((CHECKPOINT, UNDO), self._rewind.checkpoints.lists(), strict=True):
            for n, found in lists.items():
                if self._session_root(n) == root:
                    for made, kept in zip(found, self._freeze(found, frozen), strict=True):
                        values[kind, f"{self.keys.key(n)}:{self._name(made)}"] = kept
        self._frozen = {**self._frozen, **frozen}
        return values

    def _session_root(self, n: int) -> str:
        """The workspace of a session."""
        found = next((it for it in self._sessions() if it.n == n), None)
        cwd = found.cwd if found else self.keys.infos.get(self.keys.key(n), _NO_INFO).cwd
        return self._root(cwd) if cwd else ""

    def _freeze(
        self, found: list[Checkpoint], frozen: dict[int, tuple[Checkpoint, Checkpoint]]
    ) -> Iterator[Checkpoint]:
        """Copies of checkpoints, which may still grow: the same one as long as nothing changes."""
        settled = len(found) - MOVING
        for at, checkpoint in enumerate(found):
            known = self._frozen.get(id(checkpoint))
            if (
                known is None
                or known[0] is not checkpoint
                or (at >= settled and known[0] != known[1])
            ):
                known = checkpoint, _copy(checkpoint)
            frozen[id(checkpoint)] = known
            yield known[1]

    def _name(self, value: Any, name: str = "") -> str:
        """The name of a value that has none of its own, the same in all processes."""
        known = self._named.get(id(value))
        if known is None or known[0] is not value:
            self._count += 1
            known = value, name or f"{self.keys.instance}.{self._began}.{self._count}"
            self._named[id(value)] = known
        return known[1]

    # -- from the journal -------------------------------------------------------------------------

    def _take_over(self, replica: Replica, key: Key) -> None:
        """Another process has changed this value."""
        kind, name = key
        value = replica.value(key)
        if kind == FILE:
            self._take_file(replica, name, value or NOTHING)
        elif kind == REJECT:
            self._take_reject(name, value)
        elif kind in (CHECKPOINT, UNDO):
            self._take_checkpoint(kind, name, value)
        elif kind == SESSION and value is not None:
            self.keys.learn(name, value)
        elif kind == HEAD and value is not None:
            self._commits.heads.setdefault(name, value)
        elif kind == TREE and value is not None:
            self._edits.trees.known.setdefault(name, value)
        replica.take(key, value)
        if value is None:
            replica.own.pop(key, None)
        elif kind in (CHECKPOINT, UNDO):
            replica.own[key] = _copy(value)
        elif kind != FILE:
            replica.own[key] = value

    def _take_file(self, replica: Replica, path: str, theirs: FileValue) -> None:
        key, mine = (FILE, path), self._edits.ledger.get(path)
        before = self._edits.ledger.untold(path)
        if before is None or mine is None:
            self._install(path, theirs)
            replica.own[key] = self._file_value(path)
        else:
            self._install(path, theirs._replace(entry=merged(before, mine, theirs.entry)))
            replica.own[key] = theirs
            self.touch()

    def _install(self, path: str, value: FileValue) -> None:
        self._edits.ledger.take_file(path, value.edits)
        if value.formats != self._file_value(path).formats:
            self._edits.tracked[path].hear(TakenOver(*value.formats))

    def _take_reject(self, name: str, level: list[Reject] | None) -> None:
        ledger = self._edits.ledger
        kept = [it for it in ledger.rejects if self._name(it) != name]
        if level:
            self._name(level, name)
            kept.append(level)
        ledger.take_rejects(kept)

    def _take_checkpoint(self, kind: str, name: str, made: Checkpoint | None) -> None:
        key, _, own = name.partition(":")
        lists = self._rewind.checkpoints.lists()[kind == UNDO]
        found = lists.setdefault(self.keys.number(key), [])
        known = next((it for it in found if self._name(it) == own), None)
        if made is None:
            found[:] = [it for it in found if it is not known]
        elif known is None:
            self._name(made, own)
            found.append(made)
        else:
            _grow(known, made)

    def revived(self, session: AgentSession) -> None:
        """A session goes on here that has edits and checkpoints."""
        self._edits.revived(session)
        self._rewind.revived(session)

    def _show_sessions(self) -> None:
        """Sessions of other Neovims show what they have."""
        for session in self._sessions():
            if not self.keys.is_ours(self.keys.key(session.n)):
                self._rewind.revived(session)


def merged(before: Pending, mine: Pending, theirs: Pending | None) -> Pending:
    """The pending edits of a file that an agent here has changed since this process knew what
    another one has made of them: what is ``before`` the agent's writes, then ``mine``. Where that
    one knows of none any more, all of it was decided.
    """
    writers = mine.writers | theirs.writers if theirs is not None else mine.writers
    if mine.base is None and before.live is None:
        return mine  # a new file
    if mine.live is None or before.live is None:
        return msgspec.structs.replace(mine, writers=writers)
    known = theirs.edited(before.live) if theirs is not None else None
    decided = before.live if known is None else known.base
    if before.base is None or mine.base is None or decided is None:
        return msgspec.structs.replace(mine, base=decided, writers=writers)
    found = merge(before.base, mine.base, decided)
    base = found.text if isinstance(found, Merged) else overlaid(before.base, mine.base, decided)
    return msgspec.structs.replace(mine, base=base, writers=writers)


def _copy(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint with copies of all that may still grow."""
    growing = ("trees", "reasons", "touched", "late", "agent_changes", "ends")
    fields = {name: copy(getattr(checkpoint, name)) for name in growing}
    return msgspec.structs.replace(checkpoint, **fields)


def _grow(checkpoint: Checkpoint, other: Checkpoint) -> None:
    """Add what another process knows of the same checkpoint."""
    for name in ("trees", "touched", "late", "agent_changes"):
        mine, theirs = getattr(checkpoint, name), getattr(other, name)
        for key in theirs.keys() - mine.keys():
            mine[key] = theirs[key]
    if not checkpoint.ends:
        checkpoint.ends.extend(other.ends)


def _by_kind(keys: Iterable[Key]) -> list[Key]:
    """Sessions first: all others name them."""
    return sorted(keys, key=lambda key: key[0] != SESSION)


def _in_conflict(value: FileValue) -> bool:
    return value.entry is not None and value.entry.conflict


def _is_kept(state: FileState) -> bool:
    """Whether a file's state matters also where nothing is pending."""
    known = state.user_format or state.agent_format or state.rights
    return known is not None or state.conflict_base is not msgspec.UNSET


def _numbers(values: Iterable[Any]) -> Iterator[int]:
    """Our numbers of the sessions that have written what is pending, or was."""
    for value in values:
        entries: list[Pending] = []
        if isinstance(value, FileValue):
            entries = [*value.history, *(it.entry for it in value.parked)]
            entries += [value.entry] if value.entry else []
        elif isinstance(value, list):
            entries = [it.before for it in value]
        for entry in entries:
            yield from entry.writers


_NO_INFO: Final = SessionInfo()
