"""What an agent writes stands, whatever became of its earlier text: rejected, restored, deleted.

A write that is answered with success is in buffer and file. `tests/features/files` has what only a
real Neovim can do to a text.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from acp_nvim.edits.text import parse
from acp_nvim.files.bytes.refusals import Refusal
from tests.support.fake_workspace import FakeWorkspace, fake_workspace

OLD = "".join(f"line {n}\n" for n in range(1, 13))
NEW = OLD.replace("line 3\n", "line 3\nagent\n")
MORE = NEW.replace("line 9\n", "nine\n")


class Project:
    """`a.txt`, agents that read and write, and a user."""

    def __init__(self, workspace: FakeWorkspace) -> None:
        self.workspace = workspace
        self.path = workspace.work / "a.txt"
        self.path.write_text(OLD)
        self.agent = workspace.sessions[0]

    async def write(self, text: str, path: Path | None = None) -> str:
        """The agent writes a text: `ok`, or why not."""
        try:
            await self.workspace.write(path or self.path, text, self.agent)
        except Refusal as error:
            return error.reason
        await self.workspace.settle(path or self.path)
        return "ok"

    async def read(self, path: Path | None = None) -> str:
        """The same of a read."""
        try:
            await self.workspace.read(path or self.path, self.agent)
        except Refusal as error:
            return error.reason
        return "ok"

    def open(self, path: Path | None = None) -> None:
        """A window shows the file."""
        self.workspace.neovim.open(str(path or self.path))

    async def type(self, text: str) -> None:
        """The user makes this of the shown file, and saves it."""
        neovim = self.workspace.neovim
        neovim.refresh(str(self.path))
        neovim.type(str(self.path), parse(text))
        neovim.save(str(self.path))
        await self.workspace.settle(self.path)

    async def unreject(self) -> None:
        await self.workspace.unreject()
        await self.workspace.settle(self.path)

    def shown(self, path: Path | None = None) -> str | None:
        """What a buffer of the file holds."""
        buffer = self.workspace.neovim.buffers.get(str(path or self.path))
        return None if buffer is None else str(buffer.text)

    def holds(self, text: str, path: Path | None = None) -> None:
        """Buffer and file have this text, and nothing is unsaved."""
        where = path or self.path
        assert where.read_text() == text
        assert self.shown(where) in (None, text)
        buffer = self.workspace.neovim.buffers.get(str(where))
        assert buffer is None or not buffer.modified


@asynccontextmanager
async def project(root: Path, *, is_open: bool = False, agents: int = 1) -> AsyncIterator[Project]:
    """A project in `root`, with `a.txt` in a window or not."""
    async with fake_workspace(root, agents) as workspace:
        found = Project(workspace)
        if is_open:
            found.open()
        yield found


@pytest.mark.parametrize("is_open", [False, True])
async def test_a_rejected_new_file_is_written_again_by_the_same_write(
    tmp_path: Path, is_open: bool
) -> None:
    async with project(tmp_path) as it:
        path = it.workspace.work / "deep" / "er" / "new.txt"
        assert await it.write("a\nb\nc\n", path) == "ok"
        if is_open:
            it.open(path)
        await it.workspace.decide("reject")
        assert not path.exists()
        for text in ("a\nb\nc\n", "a\nb\nc\nd\n"):
            assert await it.write(text, path) == "ok"
            it.holds(text, path)
        told = it.workspace.events("AcpEdit")
        assert [one["kind"] for one in told] == ["created", "created", "modified"]
        assert {one["source"] for one in told} == {"fs"}


async def test_what_was_restored_is_written_again_after_a_new_prompt(tmp_path: Path) -> None:
    async with project(tmp_path) as it:
        created = it.workspace.work / "new.txt"
        await it.workspace.turn()
        assert await it.write(NEW) == await it.write("a\nb\nc\n", created) == "ok"
        await it.workspace.restore(1)
        assert not created.exists()
        assert it.path.read_text() == OLD
        assert it.workspace.pending() == {}
        await it.workspace.turn()
        assert await it.write(NEW) == await it.write("a\nb\nc\n", created) == "ok"
        it.holds(NEW)
        it.holds("a\nb\nc\n", created)


async def test_a_restore_that_is_undone_is_what_the_agent_had_written(tmp_path: Path) -> None:
    async with project(tmp_path) as it:
        await it.workspace.turn()
        assert await it.write(NEW) == "ok"
        await it.workspace.restore(1)
        assert it.path.read_text() == OLD
        assert it.workspace.pending() == {}
        await it.workspace.restore(None)
        assert len(it.workspace.pending()) == 1
        await it.workspace.turn()
        another = NEW.replace("agent\n", "another\n")
        assert await it.write(another) == "ok"
        it.holds(another)


@pytest.mark.parametrize("again", [NEW, MORE], ids=["the same", "more"])
@pytest.mark.parametrize("scope", ["hunk", "all"])
async def test_a_rejected_hunk_is_written_again_beside_what_the_user_typed(
    tmp_path: Path, again: str, scope: str
) -> None:
    async with project(tmp_path, is_open=True) as it:
        user = OLD.replace("line 12", "user")
        await it.type(user)
        assert await it.write(user) == "ok"
        typed = user.replace("line 6", "typed")
        await it.type(typed)
        assert await it.write(NEW.replace("line 12", "user")) == "ok"
        if scope == "hunk":
            await it.workspace.decide_hunk("reject", it.path, 3)
        else:
            await it.workspace.decide("reject")
        assert it.path.read_text() == typed
        await it.type(typed.replace("line 1\n", "after\n"))
        assert await it.write(again.replace("line 12", "user")) == "ok"
        mine = again.replace("line 12", "user").replace("line 6\n", "typed\n")
        it.holds(mine.replace("line 1\n", "after\n"))


async def test_what_the_user_typed_after_a_reject_is_no_agents_to_change(tmp_path: Path) -> None:
    async with project(tmp_path, is_open=True) as it:
        assert await it.write(NEW) == "ok"
        await it.workspace.decide("reject")
        mine = OLD.replace("line 3\n", "mine\n")
        await it.type(mine)
        assert await it.write(NEW.replace("line 3\n", "three\n")) == "conflict"
        assert it.path.read_text() == mine


async def test_typing_is_no_reject(tmp_path: Path) -> None:
    """A line of the agent's that the user has deleted by hand stays away."""
    async with project(tmp_path, is_open=True) as it:
        assert await it.write(NEW) == "ok"
        await it.type(OLD)
        assert await it.write(MORE) == "ok"
        it.holds(OLD.replace("line 9\n", "nine\n"))


async def test_a_reject_that_was_taken_back_is_what_the_agent_had_written(tmp_path: Path) -> None:
    async with project(tmp_path, is_open=True) as it:
        assert await it.write(NEW) == "ok"
        await it.workspace.decide("reject")
        await it.unreject()
        assert it.path.read_text() == NEW
        another = NEW.replace("agent\n", "another\n")
        assert await it.write(another) == "ok"
        it.holds(another)


async def test_what_the_user_took_back_after_the_agent_read_stays(tmp_path: Path) -> None:
    async with project(tmp_path, is_open=True) as it:
        assert await it.write(NEW) == "ok"
        await it.workspace.decide("reject")
        assert await it.read() == "ok"
        await it.unreject()
        assert it.path.read_text() == NEW
        assert await it.write(OLD.replace("line 9\n", "nine\n")) == "ok"
        it.holds(MORE)


@pytest.mark.parametrize("is_open", [False, True])
async def test_a_file_that_was_deleted_is_missing_and_written_again(
    tmp_path: Path, is_open: bool
) -> None:
    async with project(tmp_path, is_open=is_open) as it:
        assert await it.read() == "ok"
        it.path.unlink()
        assert await it.read() == "missing"
        assert await it.write(OLD) == "ok"
        it.holds(OLD)
        it.path.unlink()
        assert await it.write(NEW) == "ok"
        it.holds(NEW)


@pytest.mark.parametrize("is_open", [False, True])
async def test_what_another_program_wrote_since_is_merged(tmp_path: Path, is_open: bool) -> None:
    async with project(tmp_path, is_open=is_open) as it:
        assert await it.read() == "ok"
        assert await it.write(NEW) == "ok"
        it.path.write_text(NEW.replace("line 12\n", "elsewhere\n"))
        assert await it.write(MORE) == "ok"
        it.holds(MORE.replace("line 12\n", "elsewhere\n"))
        it.path.write_text(MORE.replace("agent\n", "mine\n"))
        assert await it.write(MORE.replace("agent\n", "its\n")) == "conflict"


async def test_a_file_that_came_in_place_of_a_deleted_one_is_not_overwritten(
    tmp_path: Path,
) -> None:
    async with project(tmp_path) as it:
        assert await it.read() == "ok"
        it.path.unlink()
        assert await it.read() == "missing"
        it.path.write_text("precious\n")
        assert await it.write(NEW) == "conflict"
        assert it.path.read_text() == "precious\n"


async def test_two_agents_write_again_what_the_user_rejected_of_both(tmp_path: Path) -> None:
    async with project(tmp_path, is_open=True, agents=2) as it:
        first, second = it.workspace.sessions
        assert await it.write(NEW) == "ok"
        it.agent = second
        assert await it.read() == "ok"
        assert await it.write(MORE) == "ok"
        await it.workspace.decide("reject")
        assert it.path.read_text() == OLD
        assert await it.write(MORE) == "ok"
        it.holds(MORE)
        it.agent = first
        assert await it.write(NEW) == "ok"
        it.holds(MORE)


@pytest.mark.parametrize("left", ["", "\n", "mine\n"])
async def test_a_text_that_the_user_took_out_is_a_conflict_until_it_is_read(
    tmp_path: Path, left: str
) -> None:
    async with project(tmp_path) as at:
        assert await at.read() == "ok"
        assert await at.write(NEW) == "ok"
        at.open()
        await at.type(left)
        assert await at.write(NEW) == "conflict"
        assert at.path.read_text() == left
        assert await at.read() == "ok"
        assert await at.write(NEW) == "ok"
        assert at.path.read_text() == NEW


async def test_what_the_user_took_out_in_part_stays_out(tmp_path: Path) -> None:
    async with project(tmp_path) as at:
        assert await at.read() == "ok"
        assert await at.write(NEW) == "ok"
        at.open()
        await at.type(NEW.replace("line 5\n", ""))
        assert await at.write(NEW) == "ok"
        assert at.path.read_text() == NEW.replace("line 5\n", "")


async def test_an_agent_that_empties_an_empty_file_is_answered_with_success(tmp_path: Path) -> None:
    async with project(tmp_path) as at:
        assert await at.read() == "ok"
        at.open()
        await at.type("")
        assert await at.write("") == "ok"
        assert at.path.read_text() == ""
