"""The uncommitted changes in a directory, for the variable `{diff}`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from anyio import to_thread

from acp_nvim.workspace.snapshots import private_git
from acp_nvim.workspace.snapshots.private_git import ANY, GitError, PrivateGit, Repository
from acp_nvim.workspace.snapshots.store import StoreError

TIMEOUT_S: Final = 10.0
_SAFE: Final = (
    *("--no-color", "--no-ext-diff", "--no-textconv"),
    # Changes within a submodule would be read from its own repository.
    *("--submodule=short", "--ignore-submodules=dirty"),
)
_NAMES: Final = ("--name-status", "--no-renames", "--ignore-submodules=dirty")
_CHANGED: Final = ("diff-files", "--name-only", "-z", "--ignore-submodules=all")


async def diff(cwd: str, env: Mapping[str, str]) -> str:
    """Return the difference of the working tree from the last commit, staged or not; empty where
    there is none, no repository or no git.

    No program that a repository configures is run: a changed file under a filter is named only.
    """
    return await to_thread.run_sync(_diff, cwd, env, abandon_on_cancel=True)


def _diff(cwd: str, env: Mapping[str, str]) -> str:
    try:
        repository = private_git.find(cwd, env, TIMEOUT_S)
        with tempfile.TemporaryDirectory(prefix="acp-") as home:
            index = Path(home, "index")
            git = PrivateGit(repository, Path(home), env, index, TIMEOUT_S)
            git.copy_index()
            return _told(git, repository, env)
    except (StoreError, OSError):
        return ""


def _told(git: PrivateGit, repository: Repository, env: Mapping[str, str]) -> str:
    changed = git.run(_CHANGED, converting=True).split(b"\0")
    filtered = sorted(git.filtered([os.fsdecode(name) for name in changed if name]))
    if filtered:  # a program makes the text that they would be compared with
        given = b"".join(os.fsencode(name) + b"\0" for name in filtered)
        git.run(["update-index", "--assume-unchanged", "-z", "--stdin"], given, converting=True)
    head = private_git.head(repository, env, TIMEOUT_S)
    parts = [_patch(git, head)]
    if filtered:
        names = ", ".join(os.fsencode(name).decode(errors="replace") for name in filtered)
        parts.append(f"changed, but not compared, as a filter of git's is set for them: {names}\n")
    return "".join(parts)


def _patch(git: PrivateGit, head: str) -> str:
    """The patch; where git lacks an object for it (a partial clone), names alone."""
    against = [head] if head else []
    try:
        found = git.run(["--no-pager", "diff", *_SAFE, *against], converting=True)
        return found.decode(errors="replace")
    except GitError as error:
        why = str(error)
    git.run(["update-index", "-q", "--refresh"], fine=ANY, converting=True)
    command = ["diff-index", *against] if head else ["diff-files"]
    names = git.run([*command, *_NAMES], converting=True)
    return f"{why}\n{names.decode(errors='replace')}"
