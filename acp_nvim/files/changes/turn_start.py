"""The look at the files before a prompt: begun while its session opens, or done after it is sent.

A prompt waits neither for its session and then for the look, nor long for the look itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import anyio
import msgspec

from acp_nvim.files.buffers.tracked_file import FileState, TrackedFiles
from acp_nvim.files.bytes.disk import bytes_of
from acp_nvim.files.changes.turns import Turn, Turns
from acp_nvim.files.checkpoints.snapshots import FileChange
from acp_nvim.files.ports import AgentSession
from acp_nvim.tasks import Tasks

ANNOUNCED_S: Final = 1.0
"""How long a prompt waits for an editor that does not answer: it has to report the user's saves."""
FRESH_S: Final = 0.05
"""How long a look counts as just done."""


# -- a prompt that waits for its session ----------------------------------------------------------


class _Look:
    """One look at the files of a session."""

    def __init__(self) -> None:
        self.is_fresh = False
        """It is just done."""
        self.done = anyio.Event()
        """It is done, or failed."""
        self.taken = anyio.Event()
        """The turn has begun."""


class EarlyLooks:
    """Looks at the files while the session of a prompt is opened; by our number of the session."""

    def __init__(
        self, turns: Turns, look: Callable[[AgentSession], Awaitable[None]], tasks: Tasks
    ) -> None:
        self._turns = turns
        self._look = look
        self._tasks = tasks
        self._looks: dict[int, _Look] = {}

    def expect(self, session: AgentSession) -> None:
        """A prompt waits for this session."""
        if session.n not in self._looks:
            look = self._looks[session.n] = _Look()
            self._tasks.start_soon(self._run, session, look)

    async def rest(self) -> None:
        """Wait for the looks that are under way."""
        for look in list(self._looks.values()):
            await look.done.wait()

    def take(self, session: AgentSession) -> bool:
        """The turn has begun; returns whether the look is just done."""
        look = self._looks.get(session.n)
        if look is None:
            return False
        look.taken.set()
        return look.is_fresh

    async def wait(self, session: AgentSession) -> bool:
        """Wait for a look that is under way; returns whether one has been made."""
        look = self._looks.get(session.n)
        if look is None:
            return False
        await look.done.wait()
        return look.is_fresh

    async def _run(self, session: AgentSession, look: _Look) -> None:
        self._turns.expect(session)
        try:
            with anyio.move_on_after(ANNOUNCED_S) as patience:
                await self._turns.announce()
            if not patience.cancelled_caught:
                await self._look(session)
                look.is_fresh = True
                look.done.set()
                with anyio.move_on_after(FRESH_S):
                    await look.taken.wait()
        finally:
            look.done.set()
            del self._looks[session.n]
            self._turns.give_up(session)
        await self._turns.announce()


# -- a prompt that is sent before the look is done ------------------------------------------------


class TurnStart:
    """One prompt whose look is not done."""

    def __init__(self, turn: Turn, files: Mapping[str, FileState], sent: int | None) -> None:
        self.turn = turn
        self.sent = sent
        """Since when the agent has the prompt, in nanoseconds."""
        self.late: list[FileChange] = []
        """The agent's changes since: no tree holds these files as they were before."""
        self._files = files

    def goes(self, at: int, *, looked: bool) -> None:
        """The agent has the prompt since then; ``looked``: the look before it is done."""
        self.sent = at
        self.turn.sent(at, looked=looked)

    def add(self, changes: Iterable[FileChange]) -> None:
        """Its agent has made these changes of files whose contents before are known."""
        self.late.extend(changes)

    def has_changed(self, change: FileChange, at: int) -> None:
        """Its agent has made a change since the last look, at that time; a change before the prompt
        is one of the prompt before it.
        """
        if self.sent is None or at < self.sent:
            return
        held = self._files.get(change.path)
        if held is not None:
            change = msgspec.structs.replace(change, before=held.disk_bytes())
        self.late.append(change)


class TurnStarts:
    """The prompts whose look is not done, with the files at the start of each. The look before that
    is older than the saves and decisions of the user since.
    """

    def __init__(self, files: TrackedFiles) -> None:
        self._files = files
        self._open: list[TurnStart] = []

    def note(self, turn: Turn, sent: int | None = None) -> TurnStart:
        """A prompt is about to be sent, or the agent has it since that time."""
        start = TurnStart(turn, self._files.known(), sent)
        self._open.append(start)
        return start

    def done(self, start: TurnStart) -> None:
        """The look is done, or given up."""
        self._open = [one for one in self._open if one is not start]

    def has_changed(self, turn: Turn, change: FileChange, at: int) -> None:
        """The agent of a turn has made a change, at that time in nanoseconds."""
        for start in self._open:
            if start.turn is turn:
                start.has_changed(change, at)


def keep(contents: dict[str, bytes | None], paths: Sequence[str]) -> None:
    """Read files that are not kept yet; unreadable ones are left out. Blocks."""
    for path in paths:
        if path not in contents:
            with suppress(OSError):
                contents[path] = bytes_of(path)


def differing(contents: Mapping[str, bytes | None]) -> list[FileChange]:
    """The files that hold something else than these contents. Blocks."""
    found: list[FileChange] = []
    for path, data in contents.items():
        with suppress(OSError):
            now = bytes_of(path)
            if now != data:
                found.append(FileChange(path, data, now))
    return found
