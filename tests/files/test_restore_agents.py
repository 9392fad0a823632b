"""A restore undoes changes by agents. The user's changes stay, or need an answer.

`tests/features/review` tests commands, pickers, windows and several hosts.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from acp_nvim.edits.text import parse
from acp_nvim.files.review.review import Verdict
from tests.support.checkpoints import FIRST
from tests.support.fake_workspace import FakeWorkspace, fake_workspace
from tests.support.git import repository

BOTH = "Since prompt 1, you changed a.txt as well"
stores = pytest.mark.parametrize("store", ["git", "plain"])


class Project:
    """Two files, agents that run commands in turns, and a user."""

    def __init__(self, workspace: FakeWorkspace) -> None:
        self.workspace = workspace
        self.work = workspace.work

    async def run(self, command: str, session: int = 1) -> None:
        """Run a turn in which the agent runs a command."""
        own = self.workspace.sessions[session - 1]
        await self.workspace.begin(own)
        await anyio.run_process(["sh", "-c", command], cwd=self.work)
        await self.workspace.end(own)

    async def run_two_changes(self) -> None:
        """Run a turn in which the agent changes one file and creates one."""
        await self.run("sed -i 's/two/TWO/' a.txt; echo new > c.txt")
        assert len(self.workspace.pending()) == 2

    async def save(self, text: str) -> None:
        """Change `a.txt` in a window as the user, and save it."""
        neovim, path = self.workspace.neovim, str(self.work / "a.txt")
        neovim.open(path)
        neovim.refresh(path)
        neovim.type(path, parse(text))
        neovim.save(path)
        await self.workspace.settle(path)

    async def restore(self, n: int | None, *, every: bool = False) -> str:
        """Run `:Acp restore` with or without a number and a bang, and return the message."""
        (message,) = await self.workspace.restore(n, every=every)
        return message

    def contents(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(self.work.glob("*.txt"))}


@asynccontextmanager
async def project(root: Path, store: str, agents: int = 1) -> AsyncIterator[Project]:
    """Yield a project in a repository or outside."""
    async with fake_workspace(root, agents) as workspace:
        for name in ("a.txt", "b.txt"):
            (workspace.work / name).write_text(FIRST)
        if store == "git":
            repository(workspace.work)
        yield Project(workspace)


@stores
async def test_files_that_only_the_user_changed_stay(tmp_path: Path, store: str) -> None:
    async with project(tmp_path, store) as it:
        await it.run_two_changes()
        (it.work / "mine.txt").write_text("mine\n")
        (it.work / "b.txt").unlink()
        message = await it.restore(1)
        done = "Files restored to before prompt 1: 2 files changed"
        assert message == f"{done}; your own changes kept: 2"
        assert it.contents() == {"a.txt": FIRST, "mine.txt": "mine\n"}
        (it.work / "later.txt").write_text("later\n")
        assert await it.restore(None) == "The restore was undone: 2 files changed"
        assert it.contents() == {
            "a.txt": "one\nTWO\nthree\n",
            "c.txt": "new\n",
            "mine.txt": "mine\n",
            "later.txt": "later\n",
        }
        assert it.workspace.asked == []


@stores
async def test_a_bang_restores_all_files(tmp_path: Path, store: str) -> None:
    async with project(tmp_path, store) as it:
        await it.run_two_changes()
        (it.work / "mine.txt").write_text("mine\n")
        (it.work / "a.txt").write_text("both\n")
        (it.work / "b.txt").unlink()
        after = it.contents()
        message = await it.restore(1, every=True)
        assert message == "Files restored to before prompt 1: 4 files changed"
        assert it.contents() == {"a.txt": FIRST, "b.txt": FIRST}
        assert await it.restore(None) == "The restore was undone: 4 files changed"
        assert it.contents() == after
        assert it.workspace.asked == []


@stores
async def test_a_restore_from_a_broken_store_says_that_nothing_was_restored(
    tmp_path: Path, store: str
) -> None:
    async with project(tmp_path, store) as it:
        await it.run_two_changes()
        after = it.contents()
        data = tmp_path / "data/acp/checkpoints"
        data.rename(tmp_path / "away")
        data.write_text("no folder\n")
        assert (await it.restore(1)).startswith("Nothing was restored: ")
        assert it.contents() == after
        assert (await it.restore(None)).startswith("No restore to undo")


@stores
async def test_user_changes_before_those_of_the_agent_are_named(tmp_path: Path, store: str) -> None:
    async with project(tmp_path, store) as it:
        await it.workspace.turn()
        await it.save(FIRST + "mine\n")
        await it.run("sed -i 's/two/TWO/' a.txt")
        it.workspace.answer = None
        await it.restore(1)
        assert it.workspace.asked == [BOTH]
        assert await it.restore(2) == "Files restored to before prompt 2: 1 file changed"
        assert it.contents()["a.txt"] == FIRST + "mine\n"


@stores
async def test_user_changes_between_two_turns_are_named(tmp_path: Path, store: str) -> None:
    async with project(tmp_path, store) as it:
        await it.run("sed -i 's/two/TWO/' a.txt")
        await it.save("one\nTWO\nthree\nmine\n")
        await it.workspace.begin()
        await it.workspace.read(it.work / "a.txt")
        await it.workspace.write(it.work / "a.txt", "one\nTWO\nTHREE\nmine\n")
        await it.workspace.end()
        await it.restore(1)
        assert it.workspace.asked == [BOTH]


@stores
@pytest.mark.parametrize("verdict", ["accept", "reject"])
async def test_decisions_do_not_count_as_user_changes(
    tmp_path: Path, store: str, verdict: Verdict
) -> None:
    async with project(tmp_path, store) as it:
        await it.run("sed -i 's/two/TWO/' a.txt")
        assert len(it.workspace.pending()) == 1
        await it.workspace.decide(verdict)
        assert it.workspace.pending() == {}
        await it.run("sed -i 's/three/THREE/' a.txt")
        assert len(it.workspace.pending()) == 1
        assert await it.restore(1) == "Files restored to before prompt 1: 1 file changed"
        assert it.contents()["a.txt"] == FIRST
        assert it.workspace.asked == []


@stores
async def test_writes_through_the_editor_belong_to_the_agent(tmp_path: Path, store: str) -> None:
    async with project(tmp_path, store) as it:
        path = it.work / "a.txt"
        it.workspace.neovim.open(str(path))
        text = FIRST
        for word in ("two", "three"):
            await it.workspace.begin()
            await it.workspace.read(path)
            text = text.replace(word, word.upper())
            await it.workspace.write(path, text)
            await it.workspace.end()
        assert await it.restore(1) == "Files restored to before prompt 1: 1 file changed"
        assert it.contents()["a.txt"] == FIRST
        assert it.workspace.asked == []


@stores
async def test_several_restores_ask_nothing(tmp_path: Path, store: str) -> None:
    async with project(tmp_path, store) as it:
        for word in ("one", "two", "three"):
            await it.run(f"sed -i 's/{word}/{word.upper()}/' a.txt")
        for n in (3, 1, 2):
            assert await it.restore(n) == f"Files restored to before prompt {n}: 1 file changed"
        assert it.contents()["a.txt"] == "ONE\ntwo\nthree\n"
        assert it.workspace.asked == []


@stores
async def test_the_undo_of_a_restore_names_later_changes(tmp_path: Path, store: str) -> None:
    async with project(tmp_path, store) as it:
        await it.run_two_changes()
        assert (await it.restore(1)).startswith("Files restored to before prompt 1")
        (it.work / "a.txt").write_text(FIRST + "since\n")
        it.workspace.answer = None
        assert await it.restore(None) == "Nothing was restored"
        assert it.workspace.asked == ["Since the restore, you changed a.txt as well"]
        assert it.contents()["a.txt"] == FIRST + "since\n"
        it.workspace.answer = "Restore them too"
        assert await it.restore(None) == "The restore was undone: 2 files changed"
        assert it.contents()["a.txt"] == "one\nTWO\nthree\n"


@stores
async def test_agents_of_other_sessions_count_as_agents(tmp_path: Path, store: str) -> None:
    async with project(tmp_path, store, agents=2) as it:
        await it.workspace.turn()
        await it.run("sed -i 's/two/TWO/' a.txt", session=2)
        await it.workspace.turn(it.workspace.sessions[1])
        assert await it.restore(1) == "Files restored to before prompt 1: 1 file changed"
        assert it.contents()["a.txt"] == FIRST


@stores
async def test_modes_of_files_are_restored(tmp_path: Path, store: str) -> None:
    async with project(tmp_path, store) as it:
        await it.run("chmod 755 a.txt")
        (it.work / "b.txt").chmod(0o755)
        message = await it.restore(1)
        assert message.startswith("Files restored to before prompt 1: 1 file changed")
        assert [os.access(it.work / name, os.X_OK) for name in ("a.txt", "b.txt")] == [False, True]
        assert (await it.restore(None)).startswith("The restore was undone: 1 file changed")
        assert os.access(it.work / "a.txt", os.X_OK)
