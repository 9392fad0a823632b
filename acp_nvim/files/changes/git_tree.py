"""Detection of changes to a work tree by git commands such as `switch`, `reset` and `rebase`.

Each of these appends a line to the log of HEAD, so git need not be run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from acp_nvim.patterns import late

MOVES: Final = 64 << 10
"""Number of bytes that are read from the end of a log of HEAD."""
SECOND_NS: Final = 1_000_000_000
_LINE: Final = late(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*> (\d+) [-+]\d+(?:\t(.*))?$")
SHORT: Final = 10
"""Length of an abbreviated commit, the name of a detached HEAD."""


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """State of a work tree that git commands change."""

    branch: str
    """Name of the branch, or an abbreviated commit for a detached HEAD."""
    log: str
    """Signature of the log of HEAD."""


class HeadMove(msgspec.Struct, frozen=True):
    """One line of the log of HEAD."""

    old: str
    new: str
    first: int
    last: int
    """The line was written between `first` and `last`, times in nanoseconds."""
    is_commit: bool
    """Whether the command creates commits, unlike checkouts and resets."""


class TreeChange(NamedTuple):
    """Change to a work tree by git commands."""

    has_moved: bool
    """Whether git has moved the work tree. False without an earlier mark."""
    branch: str
    """Earlier branch, or the current one if there is no earlier mark."""


class GitTrees:
    """Marks of all work trees with pending edits, by top directory."""

    def __init__(self) -> None:
        self.known: dict[str, Mark] = {}
        """Marks when all pending edits were last compared with their files."""
        self._tops: dict[str, str] = {}
        """Top directory by directory of a file."""

    def top(self, path: str) -> str:
        """Return the work tree of a file, or an empty string if there is none."""
        return self._top_of(os.path.dirname(path))  # noqa: PTH120

    def _top_of(self, folder: str) -> str:
        top = self._tops.get(folder) or find_top(folder)
        if top:
            self._tops[folder] = top
        return top

    def change(self, path: str) -> TreeChange:
        """Return the change to a file's work tree since its earlier mark."""
        top = self.top(path)
        if not top:
            return TreeChange(False, "")
        now, before = mark(top), self.known.get(top)
        if now is None or before is None:
            return TreeChange(False, now.branch if now else "")
        return TreeChange(now != before, before.branch)

    def record_mark(self, path: str) -> None:
        """Record the mark of a file's tree, unless there is an earlier one."""
        top = self.top(path)
        if top and top not in self.known:
            self.known |= _marks([top])

    def read(self, paths: Iterable[str]) -> dict[str, Mark]:
        """Return the current marks of these files' trees."""
        folders = {os.path.dirname(path) for path in paths}  # noqa: PTH120
        return _marks({self._top_of(folder) for folder in folders} - {""})


def _marks(tops: Iterable[str]) -> dict[str, Mark]:
    marks = {top: mark(top) for top in tops}
    return {top: mark for top, mark in marks.items() if mark is not None}


def find_top(folder: str) -> str:
    """Return the nearest directory with a `.git`, from this one upwards, or an empty string."""
    while True:
        if os.path.lexists(folder + "/.git"):
            return folder
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return ""
        folder = above


def mark(top: str) -> Mark | None:
    """Return the current mark of a work tree, or None if git's files cannot be read."""
    folder = _git_folder(top)
    try:
        head = (folder / "HEAD").read_text(errors="replace").strip()
    except OSError:
        return None
    try:
        info = (folder / "logs" / "HEAD").stat()
        log = f"{info.st_size}-{info.st_mtime_ns}"
    except OSError:
        log = ""
    prefix = "ref: refs/heads/"
    return Mark(head.removeprefix(prefix) if head.startswith(prefix) else head[:SHORT], log)


def moves_of(top: str, since: int) -> list[HeadMove]:
    """Return the moves of a work tree's HEAD since a time in nanoseconds, oldest first.

    This call blocks.
    """
    return read_moves(_git_folder(top) / "logs" / "HEAD", since)


def read_moves(log: Path, since: int) -> list[HeadMove]:
    """Return the moves in a log of HEAD since a time in nanoseconds, oldest first.

    This call blocks.
    """
    try:
        written = log.stat().st_mtime_ns
        if written < since:
            return []
        with log.open("rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - MOVES, 0))
            lines = file.read().splitlines()
    except OSError:
        return []
    moves: list[HeadMove] = []
    for line in reversed(lines):
        parsed = _LINE.match(line)
        if parsed is None:
            break
        first = last = written
        if moves:  # the log has only seconds; for its last line, the file's time is more precise
            first = int(parsed[3]) * SECOND_NS
            last = first + SECOND_NS
        if last < since:
            break
        is_commit = not (parsed[4] or b"").startswith((b"checkout:", b"reset:"))
        moves.append(HeadMove(_commit(parsed[1]), _commit(parsed[2]), first, last, is_commit))
    return moves[::-1]


def moves_after(log: Path, commit: str) -> list[HeadMove] | None:
    """Return the moves of HEAD since it was last at a commit, oldest first. This call blocks.

    The commit is empty before the first one. Return None if the log does not contain it.
    """
    moves = read_moves(log, 0)
    for at in range(len(moves), 0, -1):
        if moves[at - 1].new == commit:
            return moves[at:]
    return moves if moves and moves[0].old == commit else None


def _commit(name: bytes) -> str:
    """Return the name of a commit. It is empty for the one before the first."""
    return name.decode() if name.strip(b"0") else ""


def _git_folder(top: str) -> Path:
    """Return the git directory of a work tree, which may be a linked one or a submodule."""
    folder = Path(top) / ".git"
    try:
        text = folder.read_text(errors="surrogateescape")
    except OSError:
        return folder
    named = text.partition("gitdir:")[2].strip()
    return Path(top, named) if named else folder
