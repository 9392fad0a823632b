"""Prompts of one session that overlap, and looks at the files that take long: whose the changes
are, and which checkpoint has them.

An agent that begins a turn by itself works beside the user's prompt, and a prompt joins the turn
before it while the last look of that is under way.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from acp_nvim.edits.text import parse
from acp_nvim.files import workspace as subject
from acp_nvim.files.bytes.disk import GRAIN_NS
from acp_nvim.files.changes.turn_start import keep
from acp_nvim.files.checkpoints.snapshots import Snapshots
from tests.support.fake_workspace import FakeWorkspace, fake_workspace
from tests.support.waiting import eventually

FILES = 16
JIFFY_NS = 10_000_000
"""The clock of files is so much behind at most."""
LOOK = Snapshots.look


class Gate:
    """Holds looks, before they read the files or after."""

    def __init__(self) -> None:
        self.before, self.after = anyio.Event(), anyio.Event()
        self.open()

    def open(self) -> None:
        """All go on, and none waits."""
        self.before.set()
        self.after.set()

    def shut(self, which: str) -> None:
        """Looks wait from now on."""
        if getattr(self, which).is_set():
            setattr(self, which, anyio.Event())


class History:
    """What happens in one session, and whose it is. Each file is changed once, so that the only
    thing to find out is by whom and when.
    """

    def __init__(self, workspace: FakeWorkspace, gate: Gate, chance: random.Random) -> None:
        self.workspace, self.gate, self.chance = workspace, gate, chance
        self.session = workspace.sessions[0]
        self.fresh = [workspace.work / f"{n}.txt" for n in range(FILES)]
        self.user: set[str] = set()
        self.agent: dict[str, int] = {}
        """The agent's files, each with the number of the newest prompt at that time."""
        self.prompted = self.owned = False
        self.n = 0
        self.steps: list[str] = []

    async def start(self) -> None:
        for path in self.fresh:
            path.write_text("one\n", encoding="utf-8")
        await self.pause()
        await self.prompt()
        await self.finish()

    async def pause(self) -> None:
        """What changed until now is older than the clock's grain for what comes."""
        then = time.time_ns()
        await eventually(lambda: time.time_ns() - then > GRAIN_NS + JIFFY_NS)

    async def prompt(self) -> None:
        await self.pause()
        self.n += 1
        await self.workspace.review.turn_began(self.session, object(), "x")
        self.prompted = True

    async def own(self) -> None:
        """The agent is at work before that is heard."""
        self.owned = True
        if self.fresh and self.chance.random() < 0.5:
            await self.edit()
        await self.workspace.review.turn_began(self.session, None, "")

    async def answer(self) -> None:
        self.prompted = False
        await self.workspace.review.turn_ended(self.session)

    async def rest(self) -> None:
        self.owned = False
        await self.workspace.review.turn_ended(self.session, own=True)

    async def edit(self) -> None:
        path = self.fresh.pop()
        self.steps.append(path.name)
        if self.prompted or self.owned:
            self.agent[path.name] = self.n
        else:
            await self.pause()
            self.user.add(path.name)
        path.write_text("two\n", encoding="utf-8")
        if path.name in self.user:
            await self.pause()

    async def finish(self) -> None:
        """All is answered, and each look is done."""
        self.gate.open()
        if self.prompted:
            await self.answer()
        if self.owned:
            await self.rest()
        await self.workspace.review.disk.over(self.session)

    async def step(self) -> None:
        ways = ["edit", "edit", "open", "before", "after"]
        ways += ["answer"] if self.prompted else ["prompt"]
        ways += ["rest"] if self.owned else ["own"]
        way = self.chance.choice(ways if self.fresh else ways[2:])
        self.steps.append(way)
        if way == "open":
            self.gate.open()
        elif way in ("before", "after"):
            self.gate.shut(way)
        else:
            await getattr(self, way)()
        for _ in range(self.chance.choice([0, 0, 3, 30, 300])):
            await checkpoint()


@asynccontextmanager
async def histories(
    root: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> AsyncIterator[History]:
    gate = Gate()

    async def look(self: Snapshots, *args: Any) -> Any:
        await gate.before.wait()
        found = await LOOK(self, *args)
        await gate.after.wait()
        return found

    monkeypatch.setattr(subject, "PATIENCE_S", 0.0)
    monkeypatch.setattr(subject, "HEARD_NS", GRAIN_NS)
    monkeypatch.setattr(Snapshots, "look", look)
    async with fake_workspace(root) as workspace:
        history = History(workspace, gate, random.Random(seed))
        await history.start()
        yield history


def changed(work: Path) -> set[str]:
    return {path.name for path in work.iterdir() if path.read_text(encoding="utf-8") == "two\n"}


@pytest.mark.parametrize("seed", [3, 4, 8, 21])
async def test_each_change_is_its_makers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    async with histories(tmp_path, monkeypatch, seed) as history:
        for _ in range(20):
            await history.step()
        await history.finish()
        workspace = history.workspace
        assert set(workspace.pending()) == history.agent.keys(), " ".join(history.steps)
        for n in range(history.n, 0, -1):
            told = await workspace.restore(n, every=False)
            kept = {name for name, then in history.agent.items() if then < n}
            assert changed(workspace.work) == history.user | kept, (
                n,
                " ".join(history.steps),
                told,
            )


async def test_a_file_that_a_call_named_early_belongs_to_the_prompt_of_that_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the next prompt joins the turn: files restored to it have the first one's edit."""
    async with histories(tmp_path, monkeypatch, 0) as history:
        workspace, path = history.workspace, history.fresh[0]
        await history.edit()  # there is something to look at
        history.gate.shut("before")
        await history.prompt()
        turn = workspace.review.disk.turns.get(history.session)
        assert turn is not None
        keep(turn.early, [str(path)])  # as when a call announces it
        path.write_text("two\n", encoding="utf-8")
        await history.answer()
        await history.prompt()
        await history.finish()
        await workspace.restore(history.n, every=False)
        assert changed(workspace.work) == history.user | {path.name}
        await workspace.restore(history.n - 1, every=False)
        assert changed(workspace.work) == history.user


@pytest.mark.parametrize("during", ["rest", "turn"])
async def test_a_save_whose_text_is_not_known_yet_is_in_the_next_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, during: str
) -> None:
    """Neovim has told of it before the buffer was read, as it may right after `:edit`: what an
    agent makes of the file then is found together with it.
    """
    async with histories(tmp_path, monkeypatch, 0) as history:
        workspace, path = history.workspace, history.fresh[0]
        buffer = workspace.neovim.open(str(path))
        if during == "turn":
            await history.prompt()
        buffer.watched = buffer.tick, 1  # the answer to that is under way
        workspace.neovim.type(str(path), parse("mine\n"))
        workspace.neovim.save(str(path))
        assert workspace.review.edits.buffers.get(str(path)) is None
        await history.finish()
        history.gate.shut("before")
        await history.prompt()
        path.write_text("mine\nand more\n", encoding="utf-8")
        await history.finish()
        await workspace.restore(history.n, every=False)
        assert path.read_text(encoding="utf-8") == "mine\n"


async def test_a_turn_of_the_agents_own_ends_no_checkpoint_of_a_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with histories(tmp_path, monkeypatch, 0) as history:
        checkpoints = history.workspace.review.rewind.checkpoints
        await history.own()
        await history.prompt()
        await history.rest()
        last = checkpoints.of(history.session.n)[-1]
        assert not last.ends
        await history.finish()
        assert last.ends


async def test_an_agent_that_begins_by_itself_has_made_what_changes_during_the_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is at work when that is heard, before the look, and not from the end of the look on."""
    async with histories(tmp_path, monkeypatch, 0) as history:
        monkeypatch.setattr(subject, "PATIENCE_S", 0.05)
        await history.edit()  # by the user: there is something to look at
        history.gate.shut("before")
        history.owned = True
        await history.edit()
        await history.workspace.review.turn_began(history.session, None, "")
        await history.edit()
        await history.finish()
        assert len(history.agent) == 2
        assert set(history.workspace.pending()) == history.agent.keys()
