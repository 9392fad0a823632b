"""Which sessions are at work, and which of them changed a file on disk.

A prompt does not wait for a long look at the files before it, so its agent may have changed some
when they are first seen. And a tool call may be read after the file that it has changed.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Final

import anyio
from anyio import to_thread
from msgspec import UNSET, UnsetType

from acp_nvim.edits.merge import overlaid
from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.files.bytes.disk import GRAIN_NS, changed_at
from acp_nvim.files.bytes.paths import Place, is_below
from acp_nvim.files.changes.git_tree import find_top
from acp_nvim.files.changes.git_use import GitUse
from acp_nvim.files.changes.mentions import Mentions
from acp_nvim.files.ports import AgentSession, ToolCall

HEARD_NS: Final = 100_000_000
"""How long a message of an agent may be under way."""


def real_roots(session: AgentSession) -> list[str]:
    """The session's directories, symlinks resolved."""
    return [Place(root, root).real for root in session.roots]


def roots_above(roots: Sequence[str]) -> list[str]:
    """Return the work trees that are larger than those of these directories (real paths) which are
    in them.
    """
    tops = {top for root in roots if (top := find_top(root)) and top != root}
    return sorted(top for top in tops if not any(is_below(top, root) for root in roots))


class Turn:
    """One session at work."""

    def __init__(self, session: AgentSession) -> None:
        self.session = session
        self.roots = real_roots(session)
        self.outer = roots_above(self.roots)
        """The work trees of those that are folders of larger ones."""
        self.prompts = 0
        """How many have begun: a second one may begin before the first one's last look is done."""
        self.at_work = 0
        """How many of them the agent has and has not answered."""
        self.last_looks = 0
        """How many prompts have been answered whose last look is not done."""
        self.last_looks_done = anyio.Event()
        """Set when there are none again."""
        self.named: set[str] = set()
        """Files of tool calls that have ended, to be looked at."""
        self.diffs: list[tuple[str, str | None, str]] = []
        """The changes that such tool calls report."""
        self.reported: dict[ToolCall, object] = {}
        """The state in which each tool call was reported last; kept for `ToolCallWatch`."""
        self.naming = anyio.Lock()
        self.is_looking = False
        self.look_again = False
        self.over = anyio.Event()
        self.ended = anyio.Event()
        """Set when a tool call has ended that names files."""
        self.ready = anyio.Event()
        """Set when the look at the files before the prompt is done."""
        self.began = time.time_ns() - GRAIN_NS
        self.idle: list[tuple[int, int]] = []
        """The times without a prompt, in nanoseconds, as far as the looks at the files did not keep
        up: what changed then is the user's.
        """
        self.closed = 0
        """When the agent was done with the last prompt; 0 from when the next one goes."""
        self.early: dict[str, bytes | None] = {}
        """The contents of files that tool calls have named before `ready`."""
        self.names: dict[str, int] = {}
        """When each file was named last, in nanoseconds."""
        self.git = GitUse()
        self.mentions = Mentions()
        self.calls: dict[ToolCall, tuple[int, int]] = {}
        """From when to when each tool call ran that may change files; 0: it runs still."""
        self.trees: dict[str, str] = {}
        """The trees of its directories before the prompt, once `ready`."""
        self.user_saves: dict[str, Text | UnsetType | None] = {}
        """Files that the user has saved since the prompt, with their texts before that (None: no
        file; UNSET: not known here, the `trees` may have it). Changes that the agent made on disk
        are in these texts.
        """
        self.reads: dict[ToolCall, dict[str, Text | UnsetType | None]] = {}
        """The texts of such files when a tool call that reads them was announced."""

    def sent(self, at: int, *, looked: bool) -> None:
        """The agent has a prompt since then, in nanoseconds. What changed while it had none is the
        user's, also where the looks at the files are not done. ``looked``: the one before is.
        """
        if not self.at_work and (self.closed or not looked):
            self.idle.append((self.closed, at))
        self.closed = 0
        self.at_work += 1

    def given_up(self) -> None:
        """A prompt that has begun is not sent after all."""
        self.prompts -= 1
        if not self.last_looks:
            self.last_looks_done = anyio.Event()
        self.last_looks += 1

    def answered(self) -> None:
        """The agent is done with a prompt: later changes are the user's."""
        self.given_up()
        self.at_work = max(0, self.at_work - 1)
        if not self.at_work:
            self.closed = time.time_ns()  # the clock of files is never ahead

    def looked(self) -> bool:
        """The last look after a prompt is done; returns whether it was the last of the turn: the
        next prompt may have been answered before this look was done.
        """
        self.last_looks -= 1
        if not self.last_looks:
            self.last_looks_done.set()
        return not self.prompts and not self.last_looks

    def heard(self, calls: Iterable[ToolCall], paths: Iterable[str] = ()) -> bool:
        """Tool calls that may change files were announced or changed; returns whether one of them
        has just ended.
        """
        now, known, over = time.time_ns(), self.calls, False
        for path in paths:
            self.names[path] = now
        for call in calls:
            began, ended = known.get(call) or (now - GRAIN_NS, 0)
            finished = call.finished
            known[call] = began, now if finished else 0
            over = over or (finished and not ended)
        return over

    def changed_on_disk(self, path: str, before: Text | None, after: Text | None) -> None:
        """Note a change that its agent made past the editor: the agent knows of that."""
        known = self.user_saves.get(path, UNSET)
        if isinstance(known, UnsetType):
            return
        if after is None:
            del self.user_saves[path]
        else:
            self.user_saves[path] = overlaid(before or EMPTY, known or EMPTY, after)

    def concerns(self, path: str) -> bool:
        """Whether a file is in its directories, or has been named."""
        roots = (*self.roots, *self.outer)
        return path in self.names or any(is_below(path, root) for root in roots)

    def had_prompt(self, at: int) -> bool:
        """Whether the agent had a prompt at that time, in nanoseconds."""
        if any(start <= at < end for start, end in self.idle):
            return False
        return not self.closed or at < self.closed

    def called(self, at: int, late: int = 0) -> bool:
        """Whether a tool call ran at that time, in nanoseconds; each may have begun so much earlier
        than it was heard of.
        """
        return any(began - late <= at <= (end or at) for began, end in self.calls.values())

    def ran_git(self, first: int, last: int) -> bool:
        """Whether its agent may have run git between these times, in nanoseconds."""
        return self.git.may_have_run(self.calls, first, last, HEARD_NS)


class Turns:
    """All sessions at work, in the order in which they began."""

    def __init__(self, announce: Callable[[list[str]], Awaitable[None]]) -> None:
        """``announce`` tells the editor in which directories turns run."""
        self.round = 0
        """How often work has begun after a rest of all."""
        self._turns: dict[int, Turn] = {}
        self._announce = announce
        self._announcing = anyio.Lock(fast_acquire=True)
        self._announced: list[str] = []
        self._expected: dict[int, list[str]] = {}
        """Directories of sessions that will soon be at work, by our number."""

    def __bool__(self) -> bool:
        """Whether any session is at work."""
        return bool(self._turns)

    def __iter__(self) -> Iterator[Turn]:
        """Iterate over the turns as they are now."""
        return iter(list(self._turns.values()))

    def expect(self, session: AgentSession) -> None:
        """A prompt waits for its session: the editor is told already."""
        roots = real_roots(session)
        self._expected[session.n] = [*roots, *roots_above(roots)]

    def give_up(self, session: AgentSession) -> None:
        """The session has come, or has not in time."""
        self._expected.pop(session.n, None)

    def enter(self, session: AgentSession) -> Turn:
        """A prompt is about to be sent. It joins the turn before it, unless the last look of that
        is done.
        """
        if not self._turns:
            self.round += 1
        turn = self._turns.setdefault(session.n, Turn(session))
        turn.prompts += 1
        return turn

    def leave(self, session: AgentSession) -> None:
        """The last look of a turn is done."""
        turn = self._turns.pop(session.n, None)
        if turn is not None:
            turn.over.set()

    def get(self, session: AgentSession) -> Turn | None:
        """The turn of a session, if it is at work."""
        return self._turns.get(session.n)

    async def announce(self) -> None:
        """Tell the editor in which directories turns run. From then on it reports each save there,
        and earlier saves are on disk already. So a later look takes no save of the user's for an
        agent's change.
        """
        async with self._announcing:
            expected = (root for roots in self._expected.values() for root in roots)
            outer = (root for turn in self for root in turn.outer)
            roots = sorted({*self.roots(), *outer, *expected})
            if roots != self._announced:
                await self._announce(roots)
                self._announced = roots

    def user_saved(self, path: str, before: Text | UnsetType | None) -> None:
        """The user has saved a file that had this text on disk before (UNSET: not known)."""
        for turn in self._turns.values():
            if turn.concerns(path):
                turn.user_saves.setdefault(path, before)

    def roots(self) -> list[str]:
        """Real paths of the directories in which turns run."""
        return sorted({root for turn in self._turns.values() for root in turn.roots})

    def ready(self) -> list[Turn]:
        """The turns for which the look before the prompt is done."""
        return [turn for turn in self._turns.values() if turn.ready.is_set()]

    def concern(self, path: str) -> bool:
        """Whether a session is at work that may change this file."""
        return any(turn.concerns(path) for turn in self.ready())

    def is_outside(self, path: str) -> bool:
        """Whether a file is in the directories of no session at work."""
        return not any(is_below(path, root) for turn in self for root in turn.roots)

    def began(self) -> int:
        """When the first of them began, in nanoseconds."""
        return min(turn.began for turn in self._turns.values())


class Attribution:
    """Finds the turn that changed a file, also among those that are not `ready` yet."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._starting: list[Turn] = []

    def enter(self, turn: Turn) -> None:
        """A turn has begun, or goes on with another prompt."""
        waiting = (one for one in self._starting if not (one.ready.is_set() or one.over.is_set()))
        self._starting = [one for one in waiting if one is not turn]
        if not turn.ready.is_set():
            self._starting.append(turn)

    async def last(self, path: str) -> tuple[Turn | None, int]:
        """The turn that made the last change of a file (None: the user), and its time in
        nanoseconds. Waits where a message of an agent that is under way may tell otherwise.
        """
        at = await to_thread.run_sync(changed_at, path)
        age = time.time_ns() - at
        if 0 <= age < HEARD_NS and not self.is_sure(path, at):
            await anyio.sleep((HEARD_NS - age) / 1e9)
            at = await to_thread.run_sync(changed_at, path)
        return self.of(path, at), at

    def of(self, path: str, at: int) -> Turn | None:
        """The turn that changed a file at that time, in nanoseconds; None: the user.

        Of several turns: the one whose tool calls named the file last; the only one with a tool
        call at that time, or about then; the one that began first.
        """
        found = self._at_work(path, at)
        naming = [turn for turn in found if path in turn.names]
        if naming:
            return max(naming, key=lambda turn: turn.names[path])
        calling = [turn for turn in found if turn.called(at)]
        calling = calling or [turn for turn in found if turn.called(at, HEARD_NS)]
        return calling[0] if len(calling) == 1 else next(iter(found), None)

    def is_sure(self, path: str, at: int) -> bool:
        """Whether no message that is under way could change the answer."""
        found = self._at_work(path, at)
        return len(found) < 2 or any(path in turn.names and turn.called(at) for turn in found)

    def _at_work(self, path: str, at: int) -> list[Turn]:
        """The turns that had a prompt at that time and may change this file; for a file in the
        directories of none, those that are `ready`.
        """
        self._starting = [turn for turn in self._starting if not turn.ready.is_set()]
        ready = [turn for turn in self._turns.ready() if turn.had_prompt(at)]
        sent = [turn for turn in self._starting if turn.idle and turn.had_prompt(at)]
        return [turn for turn in (*ready, *sent) if turn.concerns(path)] or ready
