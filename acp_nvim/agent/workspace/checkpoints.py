"""The files of a session as they were before each of its prompts.

A checkpoint is the trees of the session's directories (`Snapshots`), the texts of buffers that were
not saved, and what was pending then. Files that no tree holds are kept from when an agent first
touched them. Contents lie under the user's data directory, a directory for each run of Neovim.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim.agent import runs
from acp_nvim.agent.workspace.snapshots import FileChange, Snapshots
from acp_nvim.agent.workspace.store import Blob, StoreError
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text

MAX_CHECKPOINTS: Final = 500
"""Of one session; the oldest go first."""
MAX_AGE_S: Final = 14 * 24 * 3600
"""Runs of Neovim longer ago are forgotten."""
MAX_KEPT_BYTES: Final = 2 * 1024 * 1024 * 1024
"""Of all runs together; the oldest go first."""


class Target(msgspec.Struct, frozen=True):
    """What a file is to be again; no ``data``: not there. ``mode`` is git's."""

    path: str
    data: bytes | None
    mode: int = 0o100644


class Checkpoint(msgspec.Struct, frozen=True):
    """The files before prompt ``n`` (1: the session's first); ``label`` is how that begins."""

    n: int
    label: str
    time: float
    trees: dict[str, str]
    """By real path of the directory."""
    unsaved: dict[str, Text]
    """Buffers with unsaved edits, by real path."""
    pending: dict[str, Pending]
    reasons: list[str]
    """Why directories are not kept."""
    touched: dict[str, Text | None] = msgspec.field(default_factory=dict)
    """Files that no tree holds, as they were when an agent first touched them afterwards."""
    late: dict[str, Target] = msgspec.field(default_factory=dict)
    """Files that the agent had changed when the directories were looked at: the prompt did not wait
    for that, and the trees have what the agent made of them.
    """


class Plan(msgspec.Struct, frozen=True):
    """What a restore does, and why it cannot do more."""

    targets: list[Target]
    touched: dict[str, Text | None]
    reasons: list[str]


class Checkpoints:
    """By our number of the session."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots
        self._kept: dict[int, list[Checkpoint]] = {}
        self._undo: dict[int, list[Checkpoint]] = {}

    def make(
        self,
        n: int,
        label: str,
        roots: Sequence[str],
        unsaved: Mapping[str, Text],
        pending: Sequence[Pending],
    ) -> Checkpoint:
        """The present state, as the last look at the directories found it; not kept yet."""
        snapshots = self._snapshots
        return Checkpoint(
            n,
            label,
            time.time(),
            snapshots.trees(roots),
            dict(unsaved),
            {entry.path: entry for entry in pending},
            snapshots.reasons(roots),
        )

    def add(self, session: int, checkpoint: Checkpoint) -> None:
        """Keep it."""
        kept = self._kept.setdefault(session, [])
        kept.append(checkpoint)
        del kept[:-MAX_CHECKPOINTS]

    def touched(self, session: int, path: str, before: Text | None) -> None:
        """An agent is about to change a file, or has; it had this text."""
        kept = self._kept.get(session)
        if kept:
            kept[-1].touched.setdefault(path, before)

    def lists(self) -> tuple[dict[int, list[Checkpoint]], dict[int, list[Checkpoint]]]:
        """All that are kept, and what restores replaced, by session; both oldest first."""
        return self._kept, self._undo

    def take_over(
        self, kept: dict[int, list[Checkpoint]], undo: dict[int, list[Checkpoint]]
    ) -> None:
        """Go on with those of the process before this one."""
        self._kept, self._undo = kept, undo

    def kept(self, session: int) -> Sequence[Checkpoint]:
        """All that are kept of a session, oldest first."""
        return self._kept.get(session, [])

    def get(self, session: int, n: int) -> Checkpoint | None:
        """The one before prompt ``n``."""
        return next((c for c in self._kept.get(session, []) if c.n == n), None)

    def restored(self, session: int, present: Checkpoint) -> None:
        """A restore was made; this is what was there before it."""
        self._undo.setdefault(session, []).append(present)
        del self._undo[session][:-MAX_CHECKPOINTS]

    def take_undo(self, session: int) -> Checkpoint | None:
        """What the last restore replaced; None when there is none to undo."""
        undo = self._undo.get(session)
        return undo.pop() if undo else None

    async def since(self, checkpoint: Checkpoint, now: Mapping[str, str]) -> list[str]:
        """The files that changed since, by the trees of now. StoreError."""
        paths: dict[str, None] = dict.fromkeys(checkpoint.late)
        for root, tree in checkpoint.trees.items():
            found = await self._snapshots.differences(root, tree, now.get(root, tree))
            paths |= dict.fromkeys(change.path for change in found)
        return list(paths)

    async def plan(self, session: int, checkpoint: Checkpoint, now: Mapping[str, str]) -> Plan:
        """What brings the files back to a checkpoint."""
        targets: list[Target] = []
        reasons = list(checkpoint.reasons)
        for root, tree in checkpoint.trees.items():
            try:
                targets += await self._targets(root, now.get(root, tree), tree, reasons)
            except StoreError as error:
                reasons.append(str(error))
        targets = [it for it in targets if it.path not in checkpoint.late]
        targets += checkpoint.late.values()
        held = {target.path for target in targets}
        touched: dict[str, Text | None] = {}
        for later in self._kept.get(session, []):
            if later.time >= checkpoint.time:
                for path, text in later.touched.items():
                    touched.setdefault(path, text)
        rest = [path for path in touched if path not in held]
        loose = await self._snapshots.loose(list(checkpoint.trees), rest)
        return Plan(targets, {path: touched[path] for path in loose}, reasons)

    async def _targets(self, root: str, now: str, then: str, reasons: list[str]) -> list[Target]:
        changes = await self._snapshots.differences(root, now, then)
        wanted = [(change.path, change.after) for change in changes if change.after]
        contents = await self._snapshots.contents(root, wanted)
        targets: list[Target] = []
        for change in changes:
            blob: Blob | None = change.after
            if blob is None:
                targets.append(Target(change.path, None))
            elif change.path in contents:
                targets.append(Target(change.path, contents[change.path], blob.mode))
            else:
                reasons.append(f"{Path(change.path).name}: its content is no longer kept")
        return targets


def targets(changes: Iterable[FileChange]) -> dict[str, Target]:
    """The files as they were before they changed, by path."""
    return {
        it.path: Target(it.path, it.before, 0o100755 if it.executable else 0o100644)
        for it in changes
    }


def prune(home: Path, keep: Path) -> list[str]:
    """Remove the directories of old runs by age and size, but ``keep``; returns their names."""
    others = [path for path in home.glob("*") if path.is_dir() and path != keep]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    removed: list[str] = []
    total = _size(keep) if keep.exists() else 0
    for run in others:
        total += _size(run)
        old = time.time() - run.stat().st_mtime > MAX_AGE_S
        if (old or total > MAX_KEPT_BYTES) and not runs.lives(run.name):
            shutil.rmtree(run, ignore_errors=True)
            removed.append(run.name)
    return removed


def _size(directory: Path) -> int:
    """Bytes of all files below."""
    return sum(
        (Path(folder) / name).lstat().st_size
        for folder, _, files in os.walk(directory)
        for name in files
    )
