"""Files that a user and agents share, over a fake of Neovim: no process is started.

Example:

    async with fake_workspace(tmp_path) as workspace:
        await workspace.write(path, "one\\n")  # as an agent writes
        await workspace.decide("reject")
        workspace.neovim.open(path)  # what the user does
"""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from acp_nvim.editor.buffer_events import on_buffer_event
from acp_nvim.editor.buffers import NvimBuffers
from acp_nvim.editor.review_view import ReviewView
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from acp_nvim.workspace.decisions import Verdict
from acp_nvim.workspace.ports import FileOptions
from acp_nvim.workspace.workspace import Workspace
from tests.support.fake_neovim import FakeNeovim
from tests.support.file_requests import Recorder


class FakeWorkspace:
    """The core's workspace in `root`, with its files in `root/work` and `agents` sessions."""

    def __init__(self, root: Path, tasks: Tasks, agents: int = 1) -> None:
        self.work = root / "work"
        self.work.mkdir()
        self.neovim = FakeNeovim()
        bridge: Any = self.neovim
        self.sessions = [Session(n, "agent", str(self.work)) for n in range(1, agents + 1)]
        for session in self.sessions:
            session.id, session.status = f"s{session.n}", "idle"
        self.options = FileOptions(outside="deny")
        recorder = Recorder()
        self.review: Workspace[Session] = Workspace(
            NvimBuffers(bridge),
            ReviewView(lambda *_: None, print, lambda n: self.sessions[n - 1]),
            lambda: self.options,
            lambda: self.sessions,
            tasks,
            lambda _: recorder,
            _yes,
            lambda *_: None,
        )
        self.review.keep_in(root / "data")
        self.neovim.tell = partial(on_buffer_event, self.review)

    async def read(self, path: str | Path, session: Session | None = None) -> str:
        """An agent reads a file. Refusal."""
        return await self.review.files.read(session or self.sessions[0], str(path))

    async def write(self, path: str | Path, text: str, session: Session | None = None) -> None:
        """An agent writes a file. Refusal."""
        await self.review.files.write(session or self.sessions[0], str(path), text)

    async def settle(self, *paths: str | Path) -> None:
        """The workspace has taken in all that it was told of these files."""
        for path in paths:
            await self.review.edits._settle(str(path))

    async def decide(self, verdict: Verdict) -> None:
        """The user decides all that is pending."""
        await self.review.decisions.files(verdict, self.review.edits.ledger.files())

    async def turn(self, session: Session | None = None) -> None:
        """A prompt and the end of its turn; its checkpoint is what a restore brings back."""
        own = session or self.sessions[0]
        await self.review.turn_began(own, object(), "x")
        turn = self.review.disk.turns.get(own)
        assert turn is not None
        await turn.ready.wait()
        await self.review.turn_ended(own)
        if own in [it.session for it in self.review.disk.turns.ready()]:
            await self.review.disk.over(own)

    async def restore(self, n: int | None, session: Session | None = None) -> None:
        """Bring back the checkpoint `n`, or undo the last restore; the user agrees to all."""
        own = session or self.sessions[0]
        await self.review.rewind.restore(own, n, _agreed, every=True)

    def events(self, name: str) -> list[dict[str, Any]]:
        """The data of the events of that name, of all sessions."""
        found = [
            event for session in self.sessions for event in session.changes.take_events(1 << 40)
        ]
        return [event.data for event in found if event.name == name]


async def _yes(*_: Any) -> bool:
    return True


async def _agreed(question: str, answers: Sequence[str]) -> int:
    """The user says yes to all that is asked."""
    del question, answers
    return 0


@asynccontextmanager
async def fake_workspace(root: Path, agents: int = 1) -> AsyncIterator[FakeWorkspace]:
    """One for the length of a block; an error in one of its tasks is raised at the end."""
    failures: list[str] = []
    async with anyio.create_task_group() as group:
        tasks = Tasks(
            group, lambda _, error: failures.append("".join(traceback.format_exception(error)))
        )
        try:
            yield FakeWorkspace(root, tasks, agents)
        finally:
            group.cancel_scope.cancel()
    assert not failures, "\n".join(failures)
