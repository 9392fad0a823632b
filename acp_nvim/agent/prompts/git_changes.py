"""Uncommitted changes in a directory, for the variable `{diff}`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from anyio import to_thread

from acp_nvim.files.checkpoints import private_git
from acp_nvim.files.checkpoints.private_git import ANY_EXIT_CODE, GitError, PrivateGit, Repository
from acp_nvim.files.checkpoints.store import StoreError

TIMEOUT_S: Final = 10.0
_SAFE: Final = (
    *("--no-color", "--no-ext-diff", "--no-textconv"),
    # Git would read changes within a submodule from the submodule's own repository.
    *("--submodule=short", "--ignore-submodules=dirty"),
)
_STATUS: Final = ("--name-status", "--no-renames", "--ignore-submodules=dirty")
_CHANGED: Final = ("--name-only", "-z", "--ignore-submodules=all")

_T = TypeVar("_T")


async def diff(cwd: str, env: Mapping[str, str]) -> str:
    """Return the diff of the working tree against the last commit, or an empty string.

    No program that the repository configures is run, so a changed file with a filter is only named.
    """
    return await to_thread.run_sync(_ask, cwd, env, _describe_changes, abandon_on_cancel=True) or ""


async def changed_files(cwd: str, env: Mapping[str, str]) -> list[str]:
    """Return the absolute paths of the changed files.

    Some may have been touched without a change.
    """
    return await to_thread.run_sync(_ask, cwd, env, _names, abandon_on_cancel=True) or []


def _ask(
    cwd: str,
    env: Mapping[str, str],
    ask: Callable[[PrivateGit, Repository, Mapping[str, str]], _T],
) -> _T | None:
    try:
        repository = private_git.find(cwd, env, TIMEOUT_S)
        with tempfile.TemporaryDirectory(prefix="acp-") as home:
            index = Path(home, "index")
            git = PrivateGit(repository, Path(home), env, index, TIMEOUT_S)
            git.copy_index()
            return ask(git, repository, env)
    except (StoreError, OSError):
        return None


def _names(git: PrivateGit, repository: Repository, env: Mapping[str, str]) -> list[str]:
    head = private_git.head(repository, env, TIMEOUT_S)
    command = ["diff-index", head] if head else ["diff-files"]
    names = git.run([*command, *_CHANGED], converting=True).split(b"\0")
    return [str(Path(repository.top, os.fsdecode(name))) for name in names if name]


def _describe_changes(git: PrivateGit, repository: Repository, env: Mapping[str, str]) -> str:
    changed = git.run(["diff-files", *_CHANGED], converting=True).split(b"\0")
    filtered = sorted(git.filtered([os.fsdecode(name) for name in changed if name]))
    if filtered:  # the filter's program would produce the text to compare
        given = b"".join(os.fsencode(name) + b"\0" for name in filtered)
        git.run(["update-index", "--assume-unchanged", "-z", "--stdin"], given, converting=True)
    head = private_git.head(repository, env, TIMEOUT_S)
    parts = [_patch(git, head)]
    if filtered:
        names = ", ".join(os.fsencode(name).decode(errors="replace") for name in filtered)
        parts.append(f"changed, but not compared, because they have a git filter: {names}\n")
    return "".join(parts)


def _patch(git: PrivateGit, head: str) -> str:
    """Return the patch.

    If git lacks an object for it (a partial clone), return only the names of the files.
    """
    against = [head] if head else []
    try:
        patch = git.run(["--no-pager", "diff", *_SAFE, *against], converting=True)
        return patch.decode(errors="replace")
    except GitError as error:
        why = str(error)
    git.run(["update-index", "-q", "--refresh"], exit_codes=ANY_EXIT_CODE, converting=True)
    command = ["diff-index", *against] if head else ["diff-files"]
    names = git.run([*command, *_STATUS], converting=True)
    return f"{why}\n{names.decode(errors='replace')}"
