"""Git branch of a folder, read from the files of its repository without starting a program."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HEAD: Final = "ref: refs/heads/"
_CHARACTERS: Final = 1000


def git_branch(folder: str) -> str | None:
    """Return the checked-out branch of a folder's repository, or None."""
    for parent in (Path(folder), *Path(folder).parents):
        try:
            if (parent / ".git").exists():
                return _branch(parent / ".git")
        except (OSError, UnicodeDecodeError):
            return None
    return None


def _branch(git: Path) -> str | None:
    """Return the branch in `HEAD`. In a worktree, `.git` is a file with the path of the git folder.

    Raise OSError, UnicodeDecodeError.
    """
    if git.is_file():
        git = git.parent / _beginning(git).removeprefix("gitdir:").strip()
    head = _beginning(git / "HEAD").strip() if (git / "HEAD").is_file() else ""
    return head.removeprefix(_HEAD) if head.startswith(_HEAD) else None


def _beginning(file: Path) -> str:
    with file.open(encoding="utf-8") as opened:
        return opened.read(_CHARACTERS)
