"""What git knows of changes in a directory, for the variable `{diff}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import anyio

TIMEOUT_S: Final = 10.0
_DIFF: Final = ("--no-pager", "diff", "--no-color", "--no-ext-diff", "--no-textconv")


async def diff(cwd: str, env: Mapping[str, str]) -> str:
    """Return the difference of the working tree from the last commit, staged or not; empty where
    there is none, no repository or no git.

    No program that a repository configures is run.
    """
    head = await _git(cwd, env, *_DIFF, "HEAD")
    return head or await _git(cwd, env, *_DIFF)


async def _git(cwd: str, env: Mapping[str, str], *args: str) -> str:
    command = ["git", "-C", cwd, "-c", "core.fsmonitor=false", *args]
    quiet = {**env, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        with anyio.move_on_after(TIMEOUT_S):
            done = await anyio.run_process(command, check=False, env=quiet)
            return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
    except OSError:
        return ""
    return ""
