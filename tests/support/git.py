"""Git repositories: `repository(work)` commits all files, `git(work, "commit", …)` runs other
commands.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def git(work: Path, *args: str) -> str:
    """Run git with a user name."""
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *who, *args], cwd=work, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def repository(work: Path) -> None:
    """Make a repository with a first commit of all files."""
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "first")
