"""Conflicts of a file with their base, from the three versions in git's index."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from acp_nvim.files.checkpoints import private_git
from acp_nvim.files.checkpoints.private_git import ANY, GitError, PrivateGit
from acp_nvim.files.checkpoints.store import StoreError

TIMEOUT_S: Final = 10.0
_NAMES: Final = {2: "ours", 1: "base", 3: "theirs"}
"""Stages of a conflict in the order of `git merge-file`, with their names."""


def conflicts(path: str, env: Mapping[str, str]) -> str:
    """Return the conflicts of a file in git's diff3 style.

    The text is empty without a repository, or if git has not recorded a conflict of the file. No
    program that a repository configures is run.
    """
    try:
        repository = private_git.find(str(Path(path).parent), env, TIMEOUT_S)
        with tempfile.TemporaryDirectory(prefix="acp-") as home:
            git = PrivateGit(repository, Path(home), env, Path(home, "index"), TIMEOUT_S)
            git.copy_index()
            name = os.path.relpath(os.path.realpath(path), repository.top)
            return _merge_file(git, name.replace(os.sep, "/"), Path(home))
    except (StoreError, OSError):
        return ""


def _merge_file(git: PrivateGit, name: str, home: Path) -> str:
    files: list[str] = []
    for stage, label in _NAMES.items():
        try:
            content = git.run(["cat-file", "blob", f":{stage}:{name}"])
        except GitError:
            if stage != 1:  # without a base, both sides have added the file
                return ""
            content = b""
        file = home / label
        file.write_bytes(content)
        files.append(str(file))
    labels = [part for label in _NAMES.values() for part in ("-L", label)]
    merged = git.run(["merge-file", "-p", "--diff3", *labels, *files], fine=ANY)
    return "".join(_blocks(merged.decode(errors="replace")))


def _blocks(text: str) -> Iterator[str]:
    """Yield the lines from the markers of each conflict."""
    is_inside = False
    for line in text.splitlines(keepends=True):
        is_inside = is_inside or line.startswith("<<<<<<< ours")
        if is_inside:
            yield line
        is_inside = is_inside and not line.startswith(">>>>>>> theirs")
