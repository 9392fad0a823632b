"""Writes by agents that have not read the file: the user's saves during the turn are merged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from acp_nvim.edits.text import parse
from acp_nvim.files.bytes.refusals import Refusal
from acp_nvim.session.calls.tool_calls import ToolCall
from tests.support.fake_workspace import FakeWorkspace, fake_workspace
from tests.support.git import repository

OLD = "".join(f"line {n}\n" for n in range(1, 13))
AGENTS = OLD.replace("line 3\n", "three\n")
USERS = OLD.replace("line 9\n", "mine\n")
BOTH = AGENTS.replace("line 9\n", "mine\n")


def save(workspace: FakeWorkspace, path: Path, text: str) -> None:
    """Open the file as the user, and save it with this text."""
    workspace.neovim.open(str(path))
    workspace.neovim.type(str(path), parse(text))
    workspace.neovim.save(str(path))


@asynccontextmanager
async def begun(tmp_path: Path) -> AsyncIterator[tuple[FakeWorkspace, Path]]:
    """Yield a workspace in a turn that began with a file of the text OLD, which has not been
    read.
    """
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a.txt"
        path.write_text(OLD)
        await workspace.begin()
        yield workspace, path


@pytest.mark.parametrize("in_git", [True, False])
@pytest.mark.parametrize("checkpoints", [True, False])
async def test_a_text_saved_in_the_turn_is_merged(
    tmp_path: Path, in_git: bool, checkpoints: bool
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a.txt"
        path.write_text(OLD)
        if in_git:
            repository(workspace.work)
        workspace.options.checkpoints = checkpoints
        await workspace.begin()
        save(workspace, path, USERS)
        await workspace.write(path, AGENTS)
        assert path.read_text() == BOTH


async def test_a_text_saved_in_an_earlier_turn_is_the_base(tmp_path: Path) -> None:
    async with begun(tmp_path) as (workspace, path):
        save(workspace, path, USERS)
        await workspace.end()
        await workspace.begin()
        await workspace.write(path, AGENTS)
        assert path.read_text() == AGENTS


async def test_the_same_lines_are_a_conflict(tmp_path: Path) -> None:
    async with begun(tmp_path) as (workspace, path):
        save(workspace, path, OLD.replace("line 3\n", "mine\n"))
        with pytest.raises(Refusal, match="line 3 was changed") as refused:
            await workspace.write(path, AGENTS)
        assert refused.value.reason == "conflict"
        assert "mine\n" in path.read_text()


async def test_a_file_that_the_user_made_in_the_turn_is_not_overwritten(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "new.txt"
        await workspace.begin()
        save(workspace, path, "mine\n")
        with pytest.raises(Refusal) as refused:
            await workspace.write(path, "the agent's\n")
        assert refused.value.reason == "conflict"
        assert path.read_text() == "mine\n"


async def test_a_file_that_no_store_has_is_not_overwritten(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "ignored.txt"
        path.write_text(OLD)
        (workspace.work / ".gitignore").write_text("ignored.txt\n")
        repository(workspace.work)
        await workspace.begin()
        save(workspace, path, USERS)
        with pytest.raises(Refusal, match="the user has saved it") as refused:
            await workspace.write(path, AGENTS)
        assert refused.value.reason == "conflict"
        await workspace.read(path)
        await workspace.write(path, BOTH)
        assert path.read_text() == BOTH


async def test_the_agent_knows_its_own_changes_on_disk(tmp_path: Path) -> None:
    async with begun(tmp_path) as (workspace, path):
        path.write_text(OLD.replace("line 3\n", "by a command\n"))
        await workspace.core.disk.scan([str(workspace.work)])
        save(
            workspace, path, OLD.replace("line 3\n", "by a command\n").replace("line 9\n", "mine\n")
        )
        await workspace.write(path, AGENTS)
        assert path.read_text() == BOTH


async def test_the_agent_knows_its_changes_on_disk_after_the_save(tmp_path: Path) -> None:
    async with begun(tmp_path) as (workspace, path):
        save(workspace, path, USERS)
        path.write_text(USERS.replace("line 3\n", "by a command\n"))
        await workspace.core.disk.scan([str(workspace.work)])
        await workspace.write(path, AGENTS)
        assert path.read_text() == BOTH


async def test_a_read_call_that_names_the_file_makes_it_known(tmp_path: Path) -> None:
    async with begun(tmp_path) as (workspace, path):
        turn = workspace.core.disk.turns.get(workspace.sessions[0])
        assert turn is not None
        save(workspace, path, OLD.replace("line 3\n", "mine\n"))
        call = ToolCall("c1", "Read", kind="read")
        for done in (False, True):
            workspace.core.tool_calls.on_read(turn, call, [str(path)], is_completed=done)
        await workspace.write(path, AGENTS)
        assert path.read_text() == AGENTS
