"""Who is at work: the sessions whose turn runs, and whose doing a change of a file is."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import anyio

from acp_nvim.workspace.paths import Place
from acp_nvim.workspace.ports import AgentSession, ToolCall
from acp_nvim.workspace.snapshots.snapshots import FileChange, below

GRAIN_NS: Final = 20_000_000
"""How far the clock of files may be behind."""


class Turn:
    """One session at work."""

    def __init__(self, session: AgentSession) -> None:
        self.session = session
        self.roots = [Place(root, root).real for root in session.roots]
        self.prompts = 0
        """How many are at work: a second one may begin before all is done for the first."""
        self.named: set[str] = set()
        """Files of tool calls that have ended, to be looked at."""
        self.diffs: list[tuple[str, str | None, str]] = []
        """What such tool calls say they changed."""
        self.seen: dict[ToolCall, object] = {}
        """What was known of each tool call when it was looked at last; for who tells of them."""
        self.naming = anyio.Lock()
        self.looking = False
        self.again = False
        self.over = anyio.Event()
        self.ended = anyio.Event()
        """Set when a tool call has ended that names files."""
        self.ready = anyio.Event()
        """Set when the files have been looked at as they were before the prompt."""
        self.began = time.time_ns() - GRAIN_NS
        self.rests: list[tuple[int, int]] = []
        """From when to when it had no prompt, in nanoseconds, as far as the looks at the files did
        not keep up: what changed then is the user's.
        """
        self.closed = 0
        """When the agent was done with the last prompt; 0 from when the next one goes."""
        self.early: dict[str, bytes | None] = {}
        """Files that tool calls have named before that, as they were then."""
        self.late: list[FileChange] = []
        """What it had changed by then: no tree holds what these files were before the prompt."""
        self.names: dict[str, int] = {}
        """When each file was named last, in nanoseconds."""
        self.calls: dict[ToolCall, tuple[int, int]] = {}
        """From when to when each tool call ran that may change files; 0: it runs still."""

    def answered(self) -> None:
        """The agent is done with a prompt: what changes from now on is the user's."""
        self.prompts -= 1
        if not self.prompts:
            self.closed = time.time_ns()  # the clock of files is never ahead

    def heard(self, calls: Iterable[ToolCall], paths: Iterable[str] = ()) -> bool:
        """Tool calls that may change files were announced or changed; tells whether one of them has
        ended now.
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

    def concerns(self, path: str) -> bool:
        """Whether a file lies in its directories, or has been named."""
        return path in self.names or any(below(path, root) for root in self.roots)

    def called(self, at: int) -> bool:
        """Whether a tool call ran at that time, in nanoseconds."""
        return any(began <= at and at <= (end or at) for began, end in self.calls.values())


class Turns:
    """All sessions at work, in the order in which they began."""

    def __init__(self, tell: Callable[[list[str]], Awaitable[None]]) -> None:
        """``tell`` has the editor know in which directories turns run."""
        self.round = 0
        """How often work has begun after a rest of all."""
        self._turns: dict[int, Turn] = {}
        self._tell = tell
        self._telling = anyio.Lock(fast_acquire=True)
        self._told: list[str] = []
        self._coming: dict[int, list[str]] = {}
        """Directories of sessions that will soon be at work, by our number."""

    def __bool__(self) -> bool:
        """Whether any session is at work."""
        return bool(self._turns)

    def expect(self, session: AgentSession) -> None:
        """A prompt waits for its session: Neovim is to know of it already."""
        self._coming[session.n] = [Place(root, root).real for root in session.roots]

    def give_up(self, session: AgentSession) -> None:
        """It has come, or has not in time."""
        self._coming.pop(session.n, None)

    def enter(self, session: AgentSession) -> Turn:
        """A prompt is about to be sent. A turn that the last look of the one before it has not left
        yet goes on with that.
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
        """Neovim knows in which directories turns run. From then on it tells of each save there;
        what was saved before is on disk already. So whoever looks at the files afterwards takes no
        save of the user's for an agent's change.
        """
        async with self._telling:
            roots = self._to_tell()
            if roots != self._told:
                await self._tell(roots)
                self._told = roots

    def roots(self) -> list[str]:
        """Real paths of the directories in which turns run."""
        return sorted({root for turn in self._turns.values() for root in turn.roots})

    def _to_tell(self) -> list[str]:
        coming = (root for roots in self._coming.values() for root in roots)
        return sorted({*self.roots(), *coming})

    def ready(self) -> list[Turn]:
        """Those for which the files have been looked at as they were before their prompts."""
        return [turn for turn in self._turns.values() if turn.ready.is_set()]

    def concern(self, path: str) -> bool:
        """Whether a session is at work that may change this file."""
        return any(turn.concerns(path) for turn in self.ready())

    def began(self) -> int:
        """When the first of them began, in nanoseconds."""
        return min(turn.began for turn in self._turns.values())
