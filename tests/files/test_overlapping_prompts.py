"""Overlapping prompts of one session, and long scans: attribution of changes, and their
checkpoints.

An agent that begins a turn itself works beside the user's prompt. A prompt joins the turn before it
during the last scan of that turn.
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
from acp_nvim.files.changes.turn_start import read_contents
from acp_nvim.files.checkpoints.snapshots import Snapshots
from tests.support.fake_workspace import FakeWorkspace, fake_workspace
from tests.support.waiting import eventually

FILES = 16
JIFFY_NS = 10_000_000
"""The most that the clock of files may be behind."""
LOOK = Snapshots.scan


class HeardSince(int):
    """`MAX_DELAY_NS` of an agent that is at work since this time, however long its report takes."""

    def __rsub__(self, now: int) -> int:
        return int(self)


class Gate:
    """Gate that stops scans before or after they read the files."""

    def __init__(self) -> None:
        self.before, self.after = anyio.Event(), anyio.Event()
        self.open()

    def open(self) -> None:
        """Let all scans continue."""
        self.before.set()
        self.after.set()

    def shut(self, which: str) -> None:
        """Let scans wait from now on."""
        if getattr(self, which).is_set():
            setattr(self, which, anyio.Event())


class History:
    """Events of one session with their authors.

    Each file is changed once, so that only the author and the time of its change are in question.
    """

    def __init__(
        self,
        workspace: FakeWorkspace,
        gate: Gate,
        chance: random.Random,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.workspace, self.gate, self.chance = workspace, gate, chance
        self.monkeypatch = monkeypatch
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
        """Wait until earlier changes are older than the grain of the clock."""
        then = time.time_ns()
        await eventually(lambda: time.time_ns() - then > GRAIN_NS + JIFFY_NS)

    async def prompt(self) -> None:
        await self.pause()
        self.n += 1
        await self.workspace.core.begin_turn(self.session, object(), "x")
        self.prompted = True

    async def own(self) -> None:
        """Let the agent work before its turn is reported."""
        self.set_at_work()
        if self.fresh and self.chance.random() < 0.5:
            await self.edit()
        await self.workspace.core.begin_turn(self.session, None, "")

    def set_at_work(self) -> None:
        """Begin the agent's own work."""
        self.owned = True
        since = HeardSince(time.time_ns() - GRAIN_NS)
        self.monkeypatch.setattr(subject, "MAX_DELAY_NS", since)

    async def answer(self) -> None:
        self.prompted = False
        await self.workspace.core.end_turn(self.session)

    async def end_own_turn(self) -> None:
        self.owned = False
        await self.workspace.core.end_turn(self.session, own=True)

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
        """Answer everything and finish all scans."""
        self.gate.open()
        if self.prompted:
            await self.answer()
        if self.owned:
            await self.end_own_turn()
        await self.workspace.core.disk.wait_over(self.session)

    async def step(self) -> None:
        ways = ["edit", "edit", "open", "before", "after"]
        ways += ["answer"] if self.prompted else ["prompt"]
        ways += ["end_own_turn"] if self.owned else ["own"]
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

    monkeypatch.setattr(subject, "SCAN_WAIT_S", 0.0)
    monkeypatch.setattr(Snapshots, "scan", look)
    async with fake_workspace(root) as workspace:
        history = History(workspace, gate, random.Random(seed), monkeypatch)
        await history.start()
        yield history


def changed(work: Path) -> set[str]:
    return {path.name for path in work.iterdir() if path.read_text(encoding="utf-8") == "two\n"}


@pytest.mark.parametrize("seed", [3, 4, 8, 21])
async def test_each_change_has_the_right_author(
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
    """If the next prompt joins the turn, its checkpoint has the edit of the first prompt."""
    async with histories(tmp_path, monkeypatch, 0) as history:
        workspace, path = history.workspace, history.fresh[0]
        await history.edit()  # the scan needs a change
        history.gate.shut("before")
        await history.prompt()
        turn = workspace.core.disk.turns.get(history.session)
        assert turn is not None
        read_contents(turn.early_contents, [str(path)])  # as when a call announces it
        path.write_text("two\n", encoding="utf-8")
        await history.answer()
        await history.prompt()
        await history.finish()
        await workspace.restore(history.n, every=False)
        assert changed(workspace.work) == history.user | {path.name}
        await workspace.restore(history.n - 1, every=False)
        assert changed(workspace.work) == history.user


@pytest.mark.parametrize("during", ["rest", "turn"])
async def test_a_save_of_an_unknown_text_is_in_the_next_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, during: str
) -> None:
    """Neovim can report a save before the buffer was read, for example right after `:edit`.

    An agent's change to the file is then found together with it.
    """
    async with histories(tmp_path, monkeypatch, 0) as history:
        workspace, path = history.workspace, history.fresh[0]
        buffer = workspace.neovim.open(str(path))
        if during == "turn":
            await history.prompt()
        buffer.watched = buffer.tick, 1  # the answer to that is under way
        workspace.neovim.type(str(path), parse("mine\n"))
        workspace.neovim.save(str(path))
        assert workspace.core.files.buffers.get(str(path)) is None
        await history.finish()
        history.gate.shut("before")
        await history.prompt()
        path.write_text("mine\nand more\n", encoding="utf-8")
        await history.finish()
        await workspace.restore(history.n, every=False)
        assert path.read_text(encoding="utf-8") == "mine\n"


async def test_a_turn_without_a_prompt_ends_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with histories(tmp_path, monkeypatch, 0) as history:
        checkpoints = history.workspace.core.files.checkpoints
        await history.own()
        await history.prompt()
        await history.end_own_turn()
        last = checkpoints.of(history.session.n)[-1]
        assert not last.ends
        await history.finish()
        assert last.ends


async def test_a_turn_without_a_prompt_is_the_author_of_changes_during_the_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is at work before the scan, when the turn is reported, and not only after it."""
    async with histories(tmp_path, monkeypatch, 0) as history:
        monkeypatch.setattr(subject, "SCAN_WAIT_S", 0.05)
        await history.edit()  # a change by the user, for the scan
        history.gate.shut("before")
        history.set_at_work()
        await history.edit()
        await history.workspace.core.begin_turn(history.session, None, "")
        await history.edit()
        await history.finish()
        assert len(history.agent) == 2
        assert set(history.workspace.pending()) == history.agent.keys()
