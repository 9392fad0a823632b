"""Running turns, and the attribution of changes on disk to them.

A prompt does not wait long for the scan before it, so the agent may change files before they are
scanned. A tool call may be received after the change that it made.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Final

import anyio
from anyio import to_thread
from msgspec import UNSET, UnsetType

from acp_nvim.edits.merge import overlay
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes.disk import GRAIN_NS, changed_at
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.changes.git_tree import find_top
from acp_nvim.files.changes.mentions import GitUse, Mentions
from acp_nvim.files.ports import AgentSession, ToolCall

MAX_DELAY_NS: Final = 100_000_000
"""Maximum delay of a message from an agent, in nanoseconds."""


def real_roots(session: AgentSession) -> list[str]:
    """Return the session's directories with symlinks resolved."""
    return list(map(os.path.realpath, session.roots))


def turn_roots(session: AgentSession) -> list[str]:
    """Return the session's directories, and the work trees around them."""
    roots = real_roots(session)
    return [*roots, *roots_above(roots)]


def roots_above(roots: Sequence[str]) -> list[str]:
    """Return the larger work trees that contain these directories (real paths)."""
    tops = {top for root in roots if (top := find_top(root)) and top != root}
    return sorted(top for top in tops if not any(is_below(top, root) for root in roots))


class CallScan:
    """Scan for the ended tool calls of a turn."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        """Files named by the ended tool calls, still to be scanned."""
        self.diffs: list[tuple[str, str | None, str]] = []
        """Changes that the ended tool calls report."""
        self.ended = anyio.Event()
        """Set when a tool call that names files has ended."""
        self.is_running = False
        self.is_due = False
        """Whether a tool call has ended since the scan began."""
        self.lock = anyio.Lock()


class Turn:
    """One session with a running turn."""

    def __init__(self, session: AgentSession) -> None:
        self.session = session
        self.roots = real_roots(session)
        self.outer = roots_above(self.roots)
        """Work trees that contain the session's directories as folders."""
        self.prompts = 0
        """Number of prompts in the turn. A second one may begin before the first is scanned."""
        self.at_work = 0
        """Number of prompts that the agent has received but not answered."""
        self.pending_scans = 0
        """Number of answered prompts whose last scan is not done."""
        self.scans_done = anyio.Event()
        """Set when `pending_scans` is 0 again."""
        self.scan = CallScan()
        self.reported: dict[ToolCall, object] = {}
        """State of each tool call at the last report of `ToolCallWatch`."""
        self.over = anyio.Event()
        self.ready = anyio.Event()
        """Set when the scan before the prompt is done."""
        self.began = time.time_ns() - GRAIN_NS
        self.idle: list[tuple[int, int]] = []
        """Periods without a prompt, in nanoseconds, for which scans lag behind.

        Changes in these periods are the user's.
        """
        self.idle_since = 0
        """Time at which the agent finished the last prompt, or 0 while a prompt runs."""
        self.early_contents: dict[str, bytes | None] = {}
        """Contents of files that tool calls have named before `ready`."""
        self.naming_times: dict[str, int] = {}
        """Time at which each file was last named, in nanoseconds."""
        self.git = GitUse()
        self.mentions = Mentions()
        self.calls: dict[ToolCall, tuple[int, int]] = {}
        """Start and end of each tool call that may change files. The end is 0 while it runs."""
        self.trees: dict[str, str] = {}
        """Trees of the session's directories before the prompt, once `ready`."""
        self.user_saves: dict[str, Text | UnsetType | None] = {}
        """Files that the user has saved since the prompt, with their earlier texts.

        None means that there was no file. UNSET means that the text is unknown, although `trees`
        may have it. The texts include the agent's own changes on disk.
        """
        self.early_saves: set[str] = set()
        """Files that the user saved before the prompt was sent. The agent knows these texts."""
        self.reads: dict[ToolCall, dict[str, Text | UnsetType | None]] = {}
        """Texts of the files in `user_saves` when a tool call that reads them was announced."""

    def forget_saves(self) -> None:
        """Forget the user's saves, because the agent gets its prompt after them."""
        self.early_saves.update(self.user_saves)
        self.user_saves.clear()

    def on_sent(self, at: int, *, is_scanned: bool) -> None:
        """Record that the agent got a prompt at a time in nanoseconds.

        Changes while it had no prompt are the user's, even if the scans are not done.
        `is_scanned` is true if the scan before the prompt is done.
        """
        if not self.at_work and (self.idle_since or not is_scanned):
            self.idle.append((self.idle_since, at))
        self.idle_since = 0
        self.at_work += 1

    def withdraw(self) -> None:
        """Withdraw a prompt that has begun but is not sent."""
        self.prompts -= 1
        if not self.pending_scans:
            self.scans_done = anyio.Event()
        self.pending_scans += 1

    def on_answer(self) -> None:
        """Record the answer to a prompt. If no other prompt runs, later changes are the user's."""
        if self.at_work <= 1:
            self.idle_since = time.time_ns()  # the clock of files is never ahead

    def on_finished(self) -> None:
        """Finish a prompt, which may have ended without an answer."""
        if not self.idle_since:
            self.on_answer()
        self.withdraw()
        self.at_work = max(0, self.at_work - 1)

    def on_scanned(self) -> bool:
        """Record the last scan after a prompt. Return whether it was the last of the turn.

        It is not the last if the next prompt has begun before this scan was done.
        """
        self.pending_scans -= 1
        if not self.pending_scans:
            self.scans_done.set()
        return not self.prompts and not self.pending_scans

    def on_tool_calls(self, calls: Iterable[ToolCall], paths: Iterable[str] = ()) -> bool:
        """Update tool calls that may change files. Return whether one of them has just ended."""
        now, known, has_ended = time.time_ns(), self.calls, False
        for path in paths:
            self.naming_times[path] = now
        for call in calls:
            began, ended = known.get(call) or (now - GRAIN_NS, 0)
            finished = call.is_finished
            known[call] = began, now if finished else 0
            has_ended = has_ended or (finished and not ended)
        return has_ended

    def on_disk_change(self, path: str, before: Text | None, after: Text | None) -> None:
        """Record a change that the agent made on disk, and therefore knows."""
        known = self.user_saves.get(path, UNSET)
        if isinstance(known, UnsetType):
            return
        if after is None:
            del self.user_saves[path]
        else:
            self.user_saves[path] = overlay(before or EMPTY, known or EMPTY, after)

    @property
    def is_new(self) -> bool:
        """Return whether the turn's first prompt has not been sent."""
        return self.prompts == 1 and not (self.at_work or self.pending_scans)

    def may_change(self, path: str) -> bool:
        """Return whether a file is in the directories of the turn or was named."""
        roots = (*self.roots, *self.outer)
        return path in self.naming_times or any(is_below(path, root) for root in roots)

    def may_have_changed(self, path: str, at: int) -> bool:
        """Return whether a command at a time (ns) may have changed a file outside of `roots`.

        It names the file, or runs in a directory that contains the file. This call blocks.
        """
        if not self.had_call(at, MAX_DELAY_NS):
            return False
        self.mentions.parse()
        return self.mentions.contains(path) or any(
            is_below(path, folder) and not any(is_below(root, folder) for root in self.roots)
            for folder in self.mentions.directories
        )

    def had_prompt(self, at: int) -> bool:
        """Return whether the agent had a prompt at a time in nanoseconds."""
        if any(start <= at < end for start, end in self.idle):
            return False
        return not self.idle_since or at < self.idle_since

    def had_call(self, at: int, late: int = 0) -> bool:
        """Return whether a tool call ran at a time in nanoseconds.

        Each call may have started up to `late` nanoseconds before it was reported.
        """
        return self._had_call_between(at, at, late)

    def _had_call_between(self, first: int, last: int, late: int) -> bool:
        return any(
            began - late <= last and (not ended or first <= ended)
            for began, ended in self.calls.values()
        )

    def may_have_run_git(self, first: int, last: int) -> bool:
        """Return whether the agent may have run git between two times in nanoseconds."""
        return self.git.may_have_run(self.calls, first, last, MAX_DELAY_NS)

    def may_have_committed(self, first: int, last: int, late: int) -> bool:
        """Return whether the agent may have made a commit between two times in nanoseconds.

        Each tool call counts, since a script may run git too. A call may have started up to
        `late` nanoseconds before it was reported.
        """
        return self._had_call_between(first, last, late) or self.may_have_run_git(first, last)


class Turns:
    """All running turns, in the order of their start."""

    def __init__(self, announce: Callable[[list[str]], Awaitable[None]]) -> None:
        """`announce` reports the directories of running turns to the editor."""
        self.round = 0
        """Number of times that work began while no turn was running."""
        self._crashed_until = 0
        """Time in nanoseconds until which an earlier process may have run turns."""
        self._turns: dict[int, Turn] = {}
        self._announce = announce
        self._announcing = anyio.Lock(fast_acquire=True)
        self._announced: list[str] = []
        """The directories last reported."""
        self._expected: dict[int, list[str]] = {}
        """Directories of sessions that are about to start a turn, by session number."""

    def __bool__(self) -> bool:
        """Return whether any turn is running."""
        return bool(self._turns)

    def __iter__(self) -> Iterator[Turn]:
        """Iterate over a copy of the running turns."""
        return iter(list(self._turns.values()))

    def expect(self, session: AgentSession) -> None:
        """Record the directories of a session that is still opening, for the next announcement."""
        self._expected[session.n] = turn_roots(session)

    def withdraw(self, session: AgentSession) -> None:
        """Withdraw `expect`, since the session has opened or took too long."""
        self._expected.pop(session.n, None)

    def enter(self, session: AgentSession) -> Turn:
        """Start a prompt and return its turn.

        The prompt joins the previous turn unless that turn's last scan is done.
        """
        if not self._turns:
            self.round += 1
        turn = self._turns.get(session.n)
        if turn is None:
            turn = self._turns[session.n] = Turn(session)
        turn.prompts += 1
        return turn

    def leave(self, session: AgentSession) -> None:
        """End a turn after its last scan."""
        turn = self._turns.pop(session.n, None)
        if turn is not None:
            turn.over.set()

    def get(self, session: AgentSession) -> Turn | None:
        """Return the running turn of a session, if any."""
        return self._turns.get(session.n)

    async def announce(self) -> None:
        """Report the directories of running turns to the editor.

        From then on the editor reports each save there, and earlier saves are on disk. So a later
        scan never attributes a save by the user to an agent.
        """
        async with self._announcing:
            expected = (root for roots in self._expected.values() for root in roots)
            outer = (root for turn in self for root in turn.outer)
            roots = sorted({*self.roots(), *outer, *expected})
            if roots != self._announced:
                await self._announce(roots)
                self._announced = roots

    def on_user_save(self, path: str, before: Text | UnsetType | None) -> None:
        """Record a save by the user of a file with the earlier text `before` (UNSET: unknown)."""
        for turn in self._turns.values():
            if turn.may_change(path):
                turn.user_saves.setdefault(path, before)

    def roots(self) -> list[str]:
        """Return the real paths of the directories in which turns run."""
        return sorted({root for turn in self._turns.values() for root in turn.roots})

    def ready_turns(self) -> list[Turn]:
        """Return the turns for which the scan before the prompt is done."""
        return [turn for turn in self._turns.values() if turn.ready.is_set()]

    def on_crash(self, until: int) -> None:
        """Record that an agent of the previous host may have worked until a time (ns)."""
        self._crashed_until = until

    def may_have_committed(self, first: int, last: int, late: int) -> bool:
        """Return whether an agent may have made a commit between two times in nanoseconds.

        An agent of the host before a crash counts too. A tool call may have started up to `late`
        before it was reported.
        """
        is_cut = first <= self._crashed_until
        return is_cut or any(turn.may_have_committed(first, last, late) for turn in self)

    @property
    def is_working(self) -> bool:
        """Return whether any agent has an unanswered prompt."""
        return any(turn.at_work and not turn.idle_since for turn in self)

    def any_may_change(self, path: str) -> bool:
        """Return whether a running turn may change this file."""
        return any(turn.may_change(path) for turn in self.ready_turns())

    def is_outside(self, path: str) -> bool:
        """Return whether a file is outside of the directories of all running turns."""
        return not any(is_below(path, root) for turn in self for root in turn.roots)

    def first_start(self) -> int:
        """Return the start of the first running turn, in nanoseconds."""
        return min(turn.began for turn in self._turns.values())


class Attribution:
    """Finder of the turns that made changes, including turns that are not `ready` yet."""

    def __init__(self, turns: Turns, sessions: Callable[[], Iterable[AgentSession]]) -> None:
        self._turns = turns
        self._sessions = sessions
        self._real_roots: dict[str, str] = {}
        """Directories of sessions with symlinks resolved, since a turn last began."""
        self._starting: list[Turn] = []
        """Turns that were not ready when they began."""

    def enter(self, turn: Turn) -> None:
        """Add a turn that begins or gets another prompt."""
        self._real_roots.clear()
        waiting = (
            other for other in self._starting if not (other.ready.is_set() or other.over.is_set())
        )
        self._starting = [other for other in waiting if other is not turn]
        if not turn.ready.is_set():
            self._starting.append(turn)

    async def last_author(self, path: str) -> tuple[Turn | None, int]:
        """Return the turn that last changed a file, or None for the user, and the time in ns.

        If a message that may still arrive could change the answer, wait for it.
        """
        at = await to_thread.run_sync(self._changed_at, path)
        age = time.time_ns() - at
        if 0 <= age < MAX_DELAY_NS and not self.is_sure(path, at):
            await anyio.sleep((MAX_DELAY_NS - age) / 1e9)
            at = await to_thread.run_sync(changed_at, path)
        return self.author_of(path, at), at

    def _changed_at(self, path: str) -> int:
        """Return the time of a change. Also parse agents' new commands in this worker thread."""
        for turn in self._turns:
            turn.mentions.parse()
        return changed_at(path)

    def author_of(self, path: str, at: int) -> Turn | None:
        """Return the turn that changed a file at a time in nanoseconds, or None for the user.

        If several turns are possible, choose the one whose tool calls named the file last, else the
        only one with a tool call at or about that time, else the one that began first.
        """
        candidates = self._turns_at_work(path, at)
        naming = [turn for turn in candidates if path in turn.naming_times]
        if naming:
            return max(naming, key=lambda turn: turn.naming_times[path])
        calling = [turn for turn in candidates if turn.had_call(at)]
        calling = calling or [turn for turn in candidates if turn.had_call(at, MAX_DELAY_NS)]
        return calling[0] if len(calling) == 1 else next(iter(candidates), None)

    def is_sure(self, path: str, at: int) -> bool:
        """Return whether no message that may still arrive could change `author_of`."""
        candidates = self._turns_at_work(path, at)
        return len(candidates) < 2 or any(
            path in turn.naming_times and turn.had_call(at) for turn in candidates
        )

    def _turns_at_work(self, path: str, at: int) -> list[Turn]:
        """Return the turns that had a prompt at a time and may change a file.

        If there are none, return all `ready` turns for a file outside of all sessions, or else the
        ones with a command that may have changed it.
        """
        ready = [turn for turn in self._turns.ready_turns() if turn.had_prompt(at)]
        starting = (turn for turn in self._starting if not turn.ready.is_set())
        sent = [turn for turn in starting if turn.idle and turn.had_prompt(at)]
        turns = [turn for turn in (*ready, *sent) if turn.may_change(path)]
        if turns or not self._is_in_session(path):
            return turns or ready
        return [turn for turn in ready if turn.may_have_changed(path, at)]

    def _is_in_session(self, path: str) -> bool:
        roots = {root for session in self._sessions() for root in session.roots}
        return any(turn.may_change(path) for turn in self._turns) or any(
            is_below(path, self._real_root(root)) for root in roots
        )

    def _real_root(self, root: str) -> str:
        if root not in self._real_roots:
            self._real_roots[root] = os.path.realpath(root)
        return self._real_roots[root]
