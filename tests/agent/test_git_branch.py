"""The branch of a folder equals the answer of git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from acp_nvim.agent.git_branch import git_branch


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", "-C", folder, *args], check=True, capture_output=True)


def test_the_branch_of_a_repository_a_folder_in_it_and_a_worktree(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    git(work, "init", "-b", "feature/new")
    git(work, "-c", "user.name=u", "-c", "user.email=u@x", "commit", "--allow-empty", "-m", "1")
    git(work, "worktree", "add", "-b", "other", str(tmp_path / "beside"))
    assert git_branch(str(work)) == "feature/new"
    assert git_branch(str(work / "src")) == "feature/new"
    assert git_branch(str(tmp_path / "beside")) == "other"
    git(work, "checkout", "--detach")
    assert git_branch(str(work)) is None


def test_no_repository_and_a_broken_one_have_none(tmp_path: Path) -> None:
    assert git_branch(str(tmp_path / "nowhere")) is None
    (tmp_path / ".git").mkdir()
    assert git_branch(str(tmp_path)) is None
    os.mkfifo(tmp_path / ".git/HEAD")
    assert git_branch(str(tmp_path)) is None, "a pipe is not waited for"
