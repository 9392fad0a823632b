"""Records of worktrees in `stdpath('data')/acp/worktrees`, one file each, for all Neovims."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from acp_nvim.files.bytes import private_files
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.protocol.text import decode_exactly, encode_exactly


class Worktree(msgspec.Struct, frozen=True):
    """Worktree of a session. Paths are absolute, with links resolved."""

    id: str
    path: str
    tree: str
    """Top of the user's work tree, in which the changes land."""
    branch: str
    base: str
    """Commit from which the worktree was created."""
    agent: str = ""
    preset: str = ""
    """Preset of the session, or an empty string."""
    race: int = 0
    """Time at which the race began, in seconds since 1970, or 0 without a race."""
    title: str = ""
    waiting: list[str] = []
    """Files of the user's tree whose landed changes were pending when the record was written."""

    @property
    def racer(self) -> str:
        """Name with which the session was requested: its preset, or else its agent."""
        return self.preset or self.agent

    def contains(self, path: str) -> bool:
        """Return whether a path is the worktree or in it. Links are not resolved."""
        return path == self.path or is_below(path, self.path)


class Records:
    """Stored worktrees. Other Neovims may add and remove some at any time."""

    def __init__(self, data: Callable[[], Path | None]) -> None:
        """`data` returns `stdpath('data')/acp`, or None before it is known."""
        self._data = data

    def folder(self) -> Path | None:
        """Return the directory of the records, or None before it is known."""
        data = self._data()
        return data / "worktrees" if data is not None else None

    def all(self) -> list[Worktree]:
        """Return the worktrees whose directories exist, in the order of their ids."""
        folder = self.folder()
        files = sorted(folder.glob("*.json")) if folder is not None and folder.is_dir() else ()
        worktrees = [worktree for file in files if (worktree := _read(file)) is not None]
        return [worktree for worktree in worktrees if Path(worktree.path).is_dir()]

    def get(self, id: str) -> Worktree | None:
        folder = self.folder()
        return _read(folder / f"{id}.json") if folder is not None else None

    def of(self, directory: str) -> Worktree | None:
        """Return the worktree that contains a directory."""
        return next((record for record in self.all() if record.contains(directory)), None)

    def reserve(self, name: str, place: Path) -> str:
        """Return an unused id that begins with a name, reserved for this process. Raise OSError."""
        folder = self.folder()
        if folder is None:
            raise OSError("stdpath('data') is not known")
        private_files.directory(folder)
        for number in itertools.count(1):
            id = f"{name}-{number}"
            if not os.path.lexists(place / id):
                with suppress(FileExistsError):
                    private_files.write_new(folder / f"{id}.json", b"")
                    return id
        raise AssertionError

    def save(self, worktree: Worktree) -> None:
        """Replace the record of a worktree. Raise OSError."""
        folder = self.folder()
        if folder is not None:
            private_files.write(folder / f"{worktree.id}.json", encode_exactly(worktree))

    def forget(self, id: str) -> None:
        folder = self.folder()
        if folder is not None:
            for name in (f"{id}.json", f"{id}.lock"):
                (folder / name).unlink(missing_ok=True)


def _read(file: Path) -> Worktree | None:
    """Return a record, or None if it is missing, only reserved, or of a later release."""
    try:
        return decode_exactly(file.read_bytes(), Worktree)
    except (OSError, ValueError):
        return None
