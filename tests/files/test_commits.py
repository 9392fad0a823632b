"""Commits of the user accept the hunks that they contain; see also `tests/features/review`."""

from __future__ import annotations

import os
import time
from pathlib import Path

import anyio
import pytest

from acp_nvim.edits.text import parse
from acp_nvim.files.changes.git_tree import HeadMove, moves_after
from acp_nvim.session.calls.tool_calls import ToolCall
from tests.support.fake_workspace import fake_workspace
from tests.support.git import git, repository


async def test_a_commit_is_compared_with_the_formatted_text(
    tmp_path: Path,
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        neovim, path = workspace.neovim, workspace.work / "a.txt"
        path.write_text("one\ntwo\nthree\n")
        repository(workspace.work)
        neovim.open(str(path))
        await workspace.begin()
        await workspace.write(path, "one\nTWO\nthree\n")
        neovim.type(str(path), parse("one\nTWO\nthree   3\n"))
        neovim.save(str(path))
        path.write_text("one\nTWO\nthree 3\n")
        neovim.refresh(str(path))
        git(workspace.work, "commit", "-qam", "x")
        await workspace.core.refresh(workspace.sessions)
        assert workspace.pending() == {}


async def test_a_checkout_of_the_agents_commit_accepts_nothing(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        work, path = workspace.work, workspace.work / "a.txt"
        path.write_text("one\ntwo\n")
        repository(work)

        async def looked() -> dict[str, str]:
            await workspace.core.refresh(workspace.sessions)
            return workspace.pending()

        git(work, "switch", "-qc", "side")
        await workspace.begin()
        await workspace.write(path, "one\nTWO\n")
        turn, call = workspace.core.tool_calls.turn(workspace.sessions[0]), ToolCall("c1")
        assert turn is not None
        workspace.core.tool_calls.on_unnamed(turn, [call])
        git(work, "commit", "-qam", "the agent's")
        await workspace.end()
        assert await looked() == {"a.txt": "modified"}
        for _ in range(2):
            git(work, "switch", "-q", "main")
            assert await looked() == {}
            git(work, "switch", "-q", "side")
            assert await looked() == {"a.txt": "modified"}
            assert await looked() == {"a.txt": "modified"}


async def test_commits_of_agent_and_user_are_told_apart(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        work = workspace.work
        for name in ("a.txt", "b.txt"):
            (work / name).write_text("one\ntwo\n")
        repository(work)
        await workspace.begin()
        for name in ("a.txt", "b.txt"):
            await workspace.write(work / name, "one\nTWO\n")
        turn, call = workspace.core.tool_calls.turn(workspace.sessions[0]), ToolCall("c1")
        assert turn is not None
        workspace.core.tool_calls.on_unnamed(turn, [call])
        git(work, "commit", "-qm", "the agent's", "a.txt")
        call.status = "completed"
        workspace.core.tool_calls.on_unnamed(turn, [call])
        git(work, "commit", "-qm", "the user's", "b.txt")
        await workspace.core.refresh(workspace.sessions)
        assert workspace.pending() == {"a.txt": "modified"}


async def test_neovim_saves_without_a_question_after_the_undo_of_a_committed_write(
    tmp_path: Path,
) -> None:
    """The unsaved text lacks only the agent's write, which git has not changed."""
    async with fake_workspace(tmp_path) as workspace:
        neovim, path = workspace.neovim, workspace.work / "a.txt"
        path.write_text("one\ntwo\n")
        repository(workspace.work)
        neovim.open(str(path))
        await workspace.begin()
        await workspace.write(path, "one\nTWO\n")
        git(workspace.work, "commit", "-qam", "the user's")
        neovim.type(str(path), parse("one\ntwo\n"))
        await workspace.end()
        assert not neovim.buffers[str(path)].lacks_save


async def test_only_one_check_for_commits_runs_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        (workspace.work / "a.txt").write_text("one\n")
        repository(workspace.work)
        snapshots = workspace.core.files.snapshots
        running, most, ask = 0, 0, snapshots.head_moves

        async def head_moves(root: str, known: str | None) -> tuple[str, list[HeadMove]]:
            nonlocal running, most
            running += 1
            most = max(most, running)
            found = await ask(root, known)
            running -= 1
            return found

        await workspace.turn()
        monkeypatch.setattr(snapshots, "head_moves", head_moves)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(workspace.core.refresh, workspace.sessions)
        assert most == 1


async def test_a_commit_during_a_check_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        work, path = workspace.work, workspace.work / "a.txt"
        path.write_text("one\ntwo\n")
        repository(work)
        await workspace.begin()
        await workspace.write(path, "one\nTWO\n")
        await workspace.end()
        name = "acp_nvim.files.checkpoints.git_history.moves_after"

        def read(log: Path, commit: str) -> list[HeadMove] | None:
            found = moves_after(log, commit)
            monkeypatch.setattr(name, moves_after)
            git(work, "commit", "-qam", "the user's")
            return found

        monkeypatch.setattr(name, read)
        await workspace.core.refresh(workspace.sessions)
        await workspace.core.refresh(workspace.sessions)
        assert workspace.pending() == {}


async def test_a_commit_counts_also_before_a_checkout(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        work, path = workspace.work, workspace.work / "a.txt"
        path.write_text("one\ntwo\n")
        repository(work)
        await workspace.begin()
        await workspace.write(path, "one\nTWO\n")
        await workspace.end()
        git(work, "commit", "-qam", "the user's")
        git(work, "switch", "-qc", "side")
        await workspace.core.refresh(workspace.sessions)
        assert workspace.pending() == {}


@pytest.mark.parametrize(
    ("command", "seconds", "left"),
    [
        ("git commit -qam x", 1.0, {"a.txt": "modified"}),
        ("git commit -qam x", 5.0, {}),
        ("make test", 1.0, {}),
    ],
)
async def test_a_commit_is_the_agents_although_its_call_is_received_late(
    tmp_path: Path, command: str, seconds: float, left: dict[str, str]
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        work, path = workspace.work, workspace.work / "a.txt"
        path.write_text("one\ntwo\n")
        repository(work)
        await workspace.begin()
        await workspace.write(path, "one\nTWO\n")
        await workspace.core.refresh(workspace.sessions)  # nothing else looks at HEAD below
        git(work, "commit", "-qam", "x")
        then = time.time() - seconds
        os.utime(work / ".git/logs/HEAD", (then, then))
        turn, call = workspace.core.tool_calls.turn(workspace.sessions[0]), ToolCall("c1")
        assert turn is not None
        turn.git.examine_call(call, [command], is_harmless=True)
        workspace.core.tool_calls.on_unnamed(turn, [call])
        await workspace.end()
        assert workspace.pending() == left
