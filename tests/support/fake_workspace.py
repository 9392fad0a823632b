r"""Files that a user and agents share, over a fake Neovim and without any process.

Example:

    async with fake_workspace(tmp_path) as workspace:
        await workspace.write(path, "one\n")  # as an agent writes
        await workspace.decide("reject")
        workspace.neovim.open(path)  # as the user
"""

from __future__ import annotations

import os
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from acp_nvim.edits.text import Text
from acp_nvim.files.checkpoints.rewind import Rewind
from acp_nvim.files.files import Files
from acp_nvim.files.ports import AgentSession, FileOptions, PromptName, SessionInfo
from acp_nvim.files.review.live_texts import LiveTexts
from acp_nvim.files.review.review import Verdict
from acp_nvim.files.workspace import Workspace
from acp_nvim.host import review_view
from acp_nvim.host.review_view import ReviewView
from acp_nvim.nvim.buffer_events import on_buffer_event
from acp_nvim.nvim.buffers import NvimBuffers
from acp_nvim.session.session import Session
from acp_nvim.tasks import Tasks
from tests.support.fake_neovim import FakeNeovim
from tests.support.file_requests import Recorder


class FakeWorkspace:
    """Workspace of the core in `root`, with its files in `root/work` and `agents` sessions."""

    def __init__(
        self,
        root: Path,
        tasks: Tasks,
        agents: int = 1,
        instance: str = "",
        work: Path | None = None,
    ) -> None:
        self.root = root
        self.work = work or root / "work"
        self.work.mkdir(exist_ok=True)
        self.neovim = FakeNeovim()
        bridge: Any = self.neovim
        self.sessions = [Session(n, "agent", str(self.work)) for n in range(1, agents + 1)]
        for session in self.sessions:
            session.id, session.status = f"s{session.n}", "idle"
        self.names_files = True
        """Whether agents name all files that they change."""
        self.asked: list[str] = []
        """Questions to the user before a restore."""
        self.answer: str | None = "Restore them too"
        """Answers of the user; None dismisses the question."""
        self.options = FileOptions(outside="deny")
        self.written: list[tuple[str, Text | None, Text, Text]] = []
        """Reported writes if the option `blame` is set: path, text before, the agent's text, text
        after.
        """
        self.adoptions: list[tuple[PromptName, str, Text | None, Text]] = []
        """Writes of processes that were killed: prompt, path, text before and after."""
        self.moves: list[tuple[str, str]] = []
        """Moves: old path and new path."""
        self.notices: list[str] = []
        """Notices and lines for the user."""
        recorder = Recorder()
        view = ReviewView(
            self._pushed, self.notices.append, lambda n: self.sessions[n - 1], lambda _: ()
        )
        files = Files(NvimBuffers(bridge), view, lambda: self.options, lambda: self.sessions)
        files.authors.recorders.append(self)
        self.core: Workspace[Session] = Workspace(
            files, LiveTexts(files), tasks, recorder, _yes, lambda *_: None, self
        )
        core = self.core
        claim = core.persistence.claim_workspaces
        self.rewind = Rewind(files, core.live, core.disk, core.prompts, claim)
        self.core.files.home.set_data(root / "data" / "acp")
        if instance:
            self.core.persistence.begin(root / "data", instance)
        self.neovim.send_verb = partial(on_buffer_event, self.core)

    def _pushed(self, name: str, *args: Any) -> None:
        if name == "echo":
            self.notices.append(str(args[1]))

    def number_of(self, key: str, info: SessionInfo) -> int:
        """Adopt a session of another Neovim."""
        session = Session(len(self.sessions) + 1, info.agent, info.cwd)
        session.title, session.status = info.title, "closed"
        self.sessions.append(session)
        return session.n

    def on_write(
        self,
        session: AgentSession,
        path: str,
        before: Text | None,
        agents_text: Text,
        after: Text,
    ) -> None:
        """Record that an agent has written lines."""
        self.written.append((path, before, agents_text, after))

    def on_move(self, session: AgentSession, old: str, new: str) -> None:
        """Record that an agent has moved a file."""
        self.moves.append((old, new))

    def prompt(self, session: AgentSession) -> PromptName:
        """Return the prompt that the agent of a session works on."""
        key = self.core.persistence.keys.key(session.n)
        return PromptName(key, session.agent, session.id, 1.0, 1, "Do it")

    def on_adopt(self, prompt: PromptName, path: str, before: Text | None, after: Text) -> None:
        """Record lines that an agent had written when its process was killed."""
        self.adoptions.append((prompt, path, before, after))

    def follow(self, root: str, folder: str) -> None:
        """Do nothing, because `exchange` finds the changes and no watch reports them."""

    def add_session(self, agent: str) -> Session:
        """Add a session of this Neovim."""
        session = Session(len(self.sessions) + 1, agent, str(self.work))
        session.id, session.status = f"s{session.n}", "idle"
        self.sessions.append(session)
        return session

    @property
    def own_session(self) -> Session:
        """Return the first session that belongs to this Neovim."""
        return next(session for session in self.sessions if session.status != "closed")

    async def open(self, *, again: bool = False) -> None:
        """Enter a buffer of the workspace, which shows the edits that others have left.

        With ``again``, this is the next host of a Neovim.
        """
        paths = self.core.persistence.open(str(self.work), again=again)
        await self.core.persistence.catch_up(paths)

    async def exchange(self) -> None:
        """Read the state of other Neovims, and publish the state of this one."""
        await self.core.persistence.exchange()

    async def read(self, path: str | Path, session: Session | None = None) -> str:
        """Read a file as an agent. Raise Refusal."""
        return await self.core.agent_files.read(session or self.sessions[0], str(path))

    async def write(self, path: str | Path, text: str, session: Session | None = None) -> None:
        """Write a file as an agent. Raise Refusal."""
        await self.core.agent_files.write(session or self.sessions[0], str(path), text)

    async def settle(self, *paths: str | Path) -> None:
        """Wait until the workspace has processed all reports about these files."""
        for path in paths:
            await self.core.live._record_replacement(str(path))

    async def decide(self, verdict: Verdict) -> None:
        """Decide all pending edits as the user."""
        await self.core.review.files(verdict, self.core.files.ledger.files())

    async def decide_hunk(self, verdict: Verdict, path: str | Path, row: int) -> None:
        """Decide the hunk at a 0-based row of the live text as the user."""
        await self.core.review.hunk(verdict, str(path), row)

    async def unreject(self) -> None:
        """Undo the last reject as the user."""
        assert await self.core.review.unreject() == []

    def pending(self) -> dict[str, str]:
        """Return the kinds of pending edits by path, relative to the directory."""
        found = map(review_view.summary, self.core.files.ledger.files())
        return {os.path.relpath(one["path"], self.work): one["kind"] for one in found}

    async def begin(self, session: Session | None = None) -> None:
        """Send a prompt, with the scan of the files before its turn; a restore goes back to this
        state.
        """
        own = session or self.sessions[0]
        await self.core.begin_turn(own, object(), "x")
        turn = self.core.disk.turns.get(own)
        assert turn is not None
        if self.names_files:
            turn.mentions.add_command("write **", str(self.work))
        await turn.ready.wait()

    async def end(self, session: Session | None = None) -> None:
        """End its turn, with a scan of the files on disk."""
        own = session or self.sessions[0]
        await self.core.end_turn(own)
        if own in [it.session for it in self.core.disk.turns.ready_turns()]:
            await self.core.disk.wait_over(own)

    async def turn(self, session: Session | None = None) -> None:
        """Run an empty turn."""
        await self.begin(session)
        await self.end(session)

    async def restore(
        self, n: int | None, session: Session | None = None, *, every: bool = True
    ) -> list[str]:
        """Restore the checkpoint `n`, or undo the last restore; return the messages for the user.

        Without `every` the user's own changes stay.
        """
        own = session or self.sessions[0]
        return await self.rewind.restore(own, n, self._answer, every=every)

    async def _answer(self, question: str, answers: Sequence[str]) -> int | None:
        self.asked.append(question)
        return None if self.answer is None else answers.index(self.answer)

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the data of the events of that name, of all sessions."""
        found = [
            event for session in self.sessions for event in session.changes.take_events(1 << 40)
        ]
        return [event.data for event in found if event.name == name]


async def _yes(*_: Any) -> bool:
    return True


@asynccontextmanager
async def fake_workspace(root: Path, agents: int = 1) -> AsyncIterator[FakeWorkspace]:
    """Yield a workspace; an error in one of its tasks is raised at the end of the block."""
    failures: list[str] = []
    async with anyio.create_task_group() as group:
        tasks = Tasks(
            group, lambda _, error: failures.append("".join(traceback.format_exception(error)))
        )
        workspace = FakeWorkspace(root, tasks, agents)
        try:
            yield workspace
        finally:
            workspace.core.disk.close()
            group.cancel_scope.cancel()
    assert not failures, "\n".join(failures)
