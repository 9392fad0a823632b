"""The process that `killed.py` kills: journal and history on real files, one step at a time."""

from __future__ import annotations

import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from msgspec import Struct

from acp_nvim.files.bytes.refusals import Refusal
from tests.support.fake_workspace import FakeWorkspace
from tests.support.neovims import Neovims
from tests.torture import reborn, remembered

MEET, END = "meet", "end"


class State(Struct):
    """State of a process at the end of a step or during it."""

    step: str
    words: int
    """Number of the last line that it made."""
    pending: set[tuple[str, str]]
    full: Any
    transcripts: dict[str, list[Any]]
    prompts: list[str]
    """All prompts that were handed to the history, the oldest first."""
    decided: set[tuple[str, str]]
    log: list[str]
    """The events of the step."""


class Started(Struct):
    """A step begins."""

    step: str


class Acted(State):
    """A step is done but not yet written."""


class Done(State):
    """A step is written."""


class Failed(Struct):
    """The code under test failed."""

    why: str


class Life:
    """One process from its start to its death."""

    def __init__(self, root: Path, number: int, seed: int, pipe: Connection, *, both: bool) -> None:
        self.started = Neovims(root)
        self.world = reborn.History(self.started, seed, both)
        self.world.leaves_unsaved = False  # files are compared with pending lines
        self.world.words = 1000 * number
        self.world.names = number - 1
        past = remembered.History(root / "history.db", seed, both=False, process=number)
        self.host = past.alive[0]
        self.prompts: list[str] = []
        self.pipe = pipe
        self.step = ""

    def send(self, kind: type[State], neovim: FakeWorkspace) -> None:
        """Send the state."""
        world, host = self.world, self.host
        pending, full = reborn.pending_lines(neovim), reborn.full_state(neovim)
        said, prompts = host.now(), [*self.prompts, *host.sent]
        rest = pending, full, said, prompts, set(world.decided), list(world.log)
        if kind is Done:
            world.log.clear()
        self.pipe.send(kind(self.step, world.words, *rest))

    async def run(self) -> None:
        """Take a step for each request, until the process is killed or told to end.

        A request has the files that the process may write.
        """
        neovim = await self.world.start()
        self.send(Done, neovim)
        while (told := await to_thread.run_sync(self.pipe.recv)) != END:
            if told == MEET:
                await neovim.exchange()
                await neovim.core.sync_all()
            else:
                self.world.files = told
                await self._take_step(neovim)
            assert not self.started.failures, "\n".join(self.started.failures)
            self.send(Done, neovim)
        self.started.kill_all()

    async def _take_step(self, neovim: FakeWorkspace) -> None:
        world = self.world
        step = world.rng.choice(world.steps_of_two() if world.both else world.steps())
        self.step = step.__name__
        self.pipe.send(Started(self.step))
        for _ in range(self.world.rng.randrange(4)):
            self.host.act()
        try:
            await step(neovim)
        except Refusal as refusal:  # the other process has changed the same lines
            self.world.note("   ", refusal)
        self.send(Acted, neovim)
        await neovim.exchange()
        self.prompts += self.host.sent
        self.host.flush()


def live(root: str, number: int, seed: int, pipe: Connection, both: bool) -> None:
    """Run the process with that number."""
    try:
        anyio.run(Life(Path(root), number, seed, pipe, both=both).run)
    except BaseException:
        pipe.send(Failed(traceback.format_exc()))
