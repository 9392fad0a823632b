"""Writes of an agent are complete, even if its earlier text was rejected, restored or deleted.

After a successful write buffer and file have the text. `tests/features/files` tests changes that
need a real Neovim.
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
        """Write a text as the agent and return `ok` or the reason of a refusal."""
        try:
            await self.workspace.write(path or self.path, text, self.agent)
        except Refusal as error:
            return error.reason
        await self.workspace.settle(path or self.path)
        return "ok"

    async def read(self, path: Path | None = None) -> str:
        """Read the file as the agent and return its text or the reason of a refusal."""
        try:
            await self.workspace.read(path or self.path, self.agent)
        except Refusal as error:
            return error.reason
        return "ok"

    def open(self, path: Path | None = None) -> None:
        """Open the file in a window."""
        self.workspace.neovim.open(str(path or self.path))

    async def type(self, text: str) -> None:
        """Change the open file as the user, and save it."""
        neovim = self.workspace.neovim
        neovim.refresh(str(self.path))
        neovim.type(str(self.path), parse(text))
        neovim.save(str(self.path))
        await self.workspace.settle(self.path)

    async def unreject(self) -> None:
        await self.workspace.unreject()
        await self.workspace.settle(self.path)

    def shown(self, path: Path | None = None) -> str | None:
        """Return the text of the file's buffer."""
        buffer = self.workspace.neovim.buffers.get(str(path or self.path))
        return None if buffer is None else str(buffer.text)

    def check(self, text: str, path: Path | None = None) -> None:
        """Check that buffer and file have this text, and that nothing is unsaved."""
        where = path or self.path
        assert where.read_text() == text
        assert self.shown(where) in (None, text)
        buffer = self.workspace.neovim.buffers.get(str(where))
        assert buffer is None or not buffer.modified


@asynccontextmanager
async def project(root: Path, *, is_open: bool = False, agents: int = 1) -> AsyncIterator[Project]:
    """Yield a project in `root`, with `a.txt` in a window or not."""
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
            it.check(text, path)
        told = it.workspace.events("AcpEdit")
        assert [one["kind"] for one in told] == ["created", "created", "modified"]
        assert {one["source"] for one in told} == {"fs"}


async def test_a_restored_text_is_written_again_after_a_new_prompt(tmp_path: Path) -> None:
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
        it.check(NEW)
        it.check("a\nb\nc\n", created)


async def test_an_undone_restore_has_the_agents_text(tmp_path: Path) -> None:
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
        it.check(another)


@pytest.mark.parametrize("again", [NEW, MORE], ids=["the same", "more"])
@pytest.mark.parametrize("scope", ["hunk", "all"])
async def test_a_rejected_hunk_is_written_again_beside_user_text(
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
        it.check(mine.replace("line 1\n", "after\n"))


async def test_an_agent_does_not_overwrite_text_typed_after_a_reject(tmp_path: Path) -> None:
    async with project(tmp_path, is_open=True) as it:
        assert await it.write(NEW) == "ok"
        await it.workspace.decide("reject")
        mine = OLD.replace("line 3\n", "mine\n")
        await it.type(mine)
        assert await it.write(NEW.replace("line 3\n", "three\n")) == "conflict"
        assert it.path.read_text() == mine


async def test_typing_is_not_a_reject(tmp_path: Path) -> None:
    """A line of the agent that the user has deleted by hand stays away."""
    async with project(tmp_path, is_open=True) as it:
        assert await it.write(NEW) == "ok"
        await it.type(OLD)
        assert await it.write(MORE) == "ok"
        it.check(OLD.replace("line 9\n", "nine\n"))


async def test_an_undone_reject_has_the_agents_text(tmp_path: Path) -> None:
    async with project(tmp_path, is_open=True) as it:
        assert await it.write(NEW) == "ok"
        await it.workspace.decide("reject")
        await it.unreject()
        assert it.path.read_text() == NEW
        another = NEW.replace("agent\n", "another\n")
        assert await it.write(another) == "ok"
        it.check(another)


async def test_an_undo_by_the_user_after_the_agents_read_stays(tmp_path: Path) -> None:
    async with project(tmp_path, is_open=True) as it:
        assert await it.write(NEW) == "ok"
        await it.workspace.decide("reject")
        assert await it.read() == "ok"
        await it.unreject()
        assert it.path.read_text() == NEW
        assert await it.write(OLD.replace("line 9\n", "nine\n")) == "ok"
        it.check(MORE)


@pytest.mark.parametrize("is_open", [False, True])
async def test_a_file_that_was_deleted_is_missing_and_written_again(
    tmp_path: Path, is_open: bool
) -> None:
    async with project(tmp_path, is_open=is_open) as it:
        assert await it.read() == "ok"
        it.path.unlink()
        assert await it.read() == "missing"
        assert await it.write(OLD) == "ok"
        it.check(OLD)
        it.path.unlink()
        assert await it.write(NEW) == "ok"
        it.check(NEW)


@pytest.mark.parametrize("is_open", [False, True])
async def test_later_writes_of_another_program_are_merged(tmp_path: Path, is_open: bool) -> None:
    async with project(tmp_path, is_open=is_open) as it:
        assert await it.read() == "ok"
        assert await it.write(NEW) == "ok"
        it.path.write_text(NEW.replace("line 12\n", "elsewhere\n"))
        assert await it.write(MORE) == "ok"
        it.check(MORE.replace("line 12\n", "elsewhere\n"))
        it.path.write_text(MORE.replace("agent\n", "mine\n"))
        assert await it.write(MORE.replace("agent\n", "its\n")) == "conflict"


async def test_a_file_in_place_of_a_deleted_one_is_not_overwritten(
    tmp_path: Path,
) -> None:
    async with project(tmp_path) as it:
        assert await it.read() == "ok"
        it.path.unlink()
        assert await it.read() == "missing"
        it.path.write_text("precious\n")
        assert await it.write(NEW) == "conflict"
        assert it.path.read_text() == "precious\n"


async def test_two_agents_write_their_rejected_texts_again(tmp_path: Path) -> None:
    async with project(tmp_path, is_open=True, agents=2) as it:
        first, second = it.workspace.sessions
        assert await it.write(NEW) == "ok"
        it.agent = second
        assert await it.read() == "ok"
        assert await it.write(MORE) == "ok"
        await it.workspace.decide("reject")
        assert it.path.read_text() == OLD
        assert await it.write(MORE) == "ok"
        it.check(MORE)
        it.agent = first
        assert await it.write(NEW) == "ok"
        it.check(MORE)


@pytest.mark.parametrize("left", ["", "\n", "mine\n"])
async def test_a_text_that_the_user_removed_is_a_conflict_until_a_read(
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


async def test_text_that_the_user_removed_in_part_stays_removed(tmp_path: Path) -> None:
    async with project(tmp_path) as at:
        assert await at.read() == "ok"
        assert await at.write(NEW) == "ok"
        at.open()
        await at.type(NEW.replace("line 5\n", ""))
        assert await at.write(NEW) == "ok"
        assert at.path.read_text() == NEW.replace("line 5\n", "")


async def test_emptying_an_empty_file_succeeds(tmp_path: Path) -> None:
    async with project(tmp_path) as at:
        assert await at.read() == "ok"
        at.open()
        await at.type("")
        assert await at.write("") == "ok"
        assert at.path.read_text() == ""
