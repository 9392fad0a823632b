"""Files in whose place an agent has put something else: it gives way when they come back."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.pending import Pending, Restoration
from acp_nvim.workspace import obstacles
from acp_nvim.workspace.snapshots.snapshots import below
from acp_nvim.workspace.tracked_file import GaveWay, Special, TrackedFiles


class Replaced:
    """What gave way to a file (`FileState.gave_way`) comes back when a reject is taken back."""

    def __init__(self, files: TrackedFiles) -> None:
        self._files = files

    def give_way(self, path: str) -> None:
        """Make room for a file. `standing.Blocked` and OSError; then nothing has changed."""
        thing = _thing(path)
        obstacles.make_way(path)
        if thing is not None:
            self._files[path].hear(GaveWay(thing))

    def come_back(self, path: str) -> None:
        """The file is not there (any more): what gave way to it is. OSError."""
        thing = self._files.state(path).gave_way
        if thing is None:
            return
        self._files[path].hear(GaveWay(None))
        if os.path.lexists(path):
            return
        obstacles.put(path, *thing)


def _thing(path: str) -> Special | None:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return mode, os.fsencode(Path(path).readlink())
    except OSError:
        return None
    return (mode, b"") if stat.S_ISFIFO(mode) else None


def inside(ledger: Ledger, entries: Sequence[Pending]) -> list[Pending]:
    """What else is pending in the folders that stand where these files were."""
    folders = [entry.path for entry in entries if entry.live is None and _is_folder(entry.path)]
    known = {entry.path for entry in entries}
    return [
        entry
        for entry in ledger.files()
        if entry.path not in known and any(below(entry.path, folder) for folder in folders)
    ]


def not_the_agents(ledger: Ledger, entry: Pending) -> str:
    """What is in the folder at the place of a deleted file and is not an agent's new file; empty
    where there is nothing of that kind, or no folder.
    """
    if entry.live is not None or not _is_folder(entry.path):
        return ""
    for path in obstacles.held(entry.path):
        found = ledger.get(path)
        if found is None or found.base is not None or found.touched:
            return os.path.relpath(path, entry.path)
    return ""


def in_order(steps: Sequence[Restoration]) -> list[Restoration]:
    """Such that a file goes before something comes above or below its path."""
    coming = [step.path for step in steps if step.after is not None]

    def is_first(step: Restoration) -> bool:
        return step.after is None and any(
            below(path, step.path) or below(step.path, path) for path in coming
        )

    return sorted(steps, key=lambda step: not is_first(step))


def _is_folder(path: str) -> bool:
    return obstacles.words(path) == "a folder"
