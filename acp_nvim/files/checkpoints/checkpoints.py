"""Checkpoints: the files of a session before each of its prompts.

A checkpoint has the trees of the session's directories (`Snapshots`), the texts of unsaved buffers
and the pending edits. Files that are in no tree are recorded when an agent first changes them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from acp_nvim import wording
from acp_nvim.edits.pending import Pending
from acp_nvim.edits.text import Text
from acp_nvim.files.bytes.file_format import Format
from acp_nvim.files.bytes.paths import is_below
from acp_nvim.files.checkpoints.agent_changes import (
    Content,
    ContentChange,
    add,
    combine_changes,
    mark,
)
from acp_nvim.files.checkpoints.left_out import was_left_out
from acp_nvim.files.checkpoints.snapshots import FileChange, Snapshots
from acp_nvim.files.checkpoints.store import (
    UNKNOWN,
    Blob,
    Change,
    StoreError,
    Unstored,
    blob_mark,
)

MAX_CHECKPOINTS: Final = 500
"""Maximum number of checkpoints per session. The oldest are dropped."""


Formats = tuple[Format | None, Format | None]
"""Format of a file before agents changed it, and format set by an agent. None means unknown."""


class Target(msgspec.Struct, frozen=True):
    """Content to restore to a file. `data` is None to delete the file.

    `mode` is git's. It is 0 if the old content is unknown, and the file is then left alone.
    """

    path: str
    data: bytes | None
    mode: int = 0o100644


class Checkpoint(msgspec.Struct, frozen=True):
    """Files before prompt `n`, counted from 1. `label` is the beginning of the prompt."""

    n: int
    label: str
    time: float
    trees: dict[str, str]
    """Trees by real path of the directory."""
    unsaved: dict[str, Text]
    """Texts of buffers with unsaved edits, by real path."""
    pending: dict[str, Pending]
    reasons: list[str]
    """Reasons why directories are not stored."""
    touched: dict[str, Text | None] = msgspec.field(default_factory=dict)
    """Files in no tree, as they were when an agent first changed them after the checkpoint."""
    late: dict[str, Target] = msgspec.field(default_factory=dict)
    """Files that the agent had already changed when the directories were scanned.

    The prompt does not wait for the scan, so the trees have the agent's contents of these files.
    """
    agent_changes: dict[str, ContentChange] = msgspec.field(default_factory=dict)
    """Changes by agents until the next checkpoint or, for a restore, by the restore itself."""
    ends: list[float] = msgspec.field(default_factory=list)
    """Times at which turns of the prompt ended and all their changes were recorded.

    The list is empty until then, and stays empty if the host is killed first.
    """
    formats: dict[str, Formats] = msgspec.field(default_factory=dict)
    """Formats of files with pending edits."""
    unnamed: set[str] = msgspec.field(default_factory=set)
    """Files that changed on disk during the turn although the agent did not name them."""
    disk_entries: dict[str, Pending | None] = msgspec.field(default_factory=dict)
    """Pending edits on disk of files whose buffers had others. None means no pending edits."""

    def complete(self, trees: Mapping[str, str], reasons: Sequence[str]) -> None:
        """Set the trees, and the reasons for missing ones, from the scan before the prompt."""
        self.trees.clear()
        self.trees.update(trees)
        self.reasons[:] = reasons


class RestoreStep(msgspec.Struct, frozen=True):
    """Restore of one file, with its blobs in the checkpoint's tree and in the current one."""

    target: Target
    then: Blob | None = None
    now: Blob | None = None
    in_trees: bool = True
    """Whether `then` and `now` are known."""

    @property
    def why_not(self) -> str:
        """Return the reason to leave the file alone, or an empty string if there is none."""
        if self.target.mode == 0:
            why = self.then.why if self.then else ""
            return (
                wording.WHY_NOT_STORED.format(reason=why)
                if why
                else wording.WHY_OLD_CONTENT_UNKNOWN
            )
        if self.now is not None and self.now.why and not self.is_hidden:
            return wording.WHY_WOULD_BE_LOST.format(reason=self.now.why)
        return ""

    @property
    def is_hidden(self) -> bool:
        """Return whether the current trees do not show whether the file exists."""
        return self.now is not None and not self.now.is_stored and not self.now.id

    def marks(self) -> tuple[set[str], set[str]]:
        """Return the marks of the old and of the current blob, or none if they are unknown."""
        return ({blob_mark(self.then)}, {blob_mark(self.now)}) if self.in_trees else (set(), set())


class Plan(msgspec.Struct, frozen=True):
    """Steps that restore all files, and reasons why some cannot be restored."""

    steps: list[RestoreStep]
    touched: dict[str, Text | None]
    reasons: list[str]
    agent_changes: dict[str, ContentChange]
    """Changes by agents since the checkpoint."""


class Checkpoints:
    """Checkpoints by session number."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots
        self._made: dict[int, list[Checkpoint]] = {}
        """Checkpoints before prompts."""
        self._undo: dict[int, list[Checkpoint]] = {}
        """Checkpoints before restores, for their undo."""

    def add(self, session: int, checkpoint: Checkpoint) -> None:
        made = self._made.setdefault(session, [])
        made.append(checkpoint)
        del made[:-MAX_CHECKPOINTS]

    def branch(self, session: int, other: int, prompts: Container[int]) -> None:
        """Copy the checkpoints before these prompts to another session.

        After that, each of the two sessions records changes by agents in its own copies.
        """
        self._made[other] = [
            msgspec.structs.replace(
                checkpoint,
                touched=dict(checkpoint.touched),
                late=dict(checkpoint.late),
                agent_changes=dict(checkpoint.agent_changes),
                ends=list(checkpoint.ends),
            )
            for checkpoint in self.of(session)
            if checkpoint.n in prompts
        ]

    def copy_to(self, session: int, other: int, prompts: Container[int]) -> None:
        """Copy checkpoints and undo steps to a session that continues this one."""
        self.branch(session, other, prompts)
        self._undo[other] = list(self._undo.get(session, []))

    def on_touch(self, path: str, before: Text | None) -> None:
        """Record the text of a file before an agent's change, unless one is recorded."""
        for made in self._made.values():
            if made:
                made[-1].touched.setdefault(path, before)

    def record_write(self, path: str, before: Text | None, after: Text | None) -> None:
        """Record a change to a file by an agent through the editor."""
        self.on_touch(path, before)
        self.record(path, before, after)

    def record(self, path: str, before: Content, after: Content, agent: bool = True) -> None:
        """Record a change to a file by an agent, or by the user's decision or restore."""
        if any(self._made.values()):
            self.record_change(path, ContentChange(mark(before), mark(after), agent))

    def record_change(self, path: str, change: ContentChange) -> None:
        """Record a change that is known by its marks."""
        for made in self._made.values():
            if made:
                add(made[-1].agent_changes, path, change)

    def set_named(self, path: str, is_named: bool) -> None:
        """Record whether an agent has named a file that changed on disk."""
        for made in self._made.values():
            if made and is_named:
                made[-1].unnamed.discard(path)
            elif made:
                made[-1].unnamed.add(path)

    def lists(self) -> tuple[dict[int, list[Checkpoint]], dict[int, list[Checkpoint]]]:
        """Return the checkpoints and the states before restores, by session, oldest first."""
        return self._made, self._undo

    def of(self, session: int) -> Sequence[Checkpoint]:
        """Return the checkpoints of a session, oldest first."""
        return self._made.get(session, [])

    def get(self, session: int, n: int) -> Checkpoint | None:
        """Return the checkpoint before prompt `n`."""
        return next((c for c in self._made.get(session, []) if c.n == n), None)

    def on_restore(self, session: int, present: Checkpoint) -> None:
        """Record the state before a restore."""
        self._undo.setdefault(session, []).append(present)
        del self._undo[session][:-MAX_CHECKPOINTS]

    def last_undo(self, session: int) -> Checkpoint | None:
        """Return the state before the last restore, if any."""
        return next(reversed(self._undo.get(session, [])), None)

    def on_undo(self, session: int) -> None:
        """Remove the state before the last restore, which has been undone."""
        self._undo[session].pop()

    async def since(self, checkpoint: Checkpoint, now: Mapping[str, str]) -> list[str]:
        """Return files that differ between a checkpoint and the current trees. Raise StoreError."""
        paths: dict[str, None] = dict.fromkeys(checkpoint.late)
        for root, tree in checkpoint.trees.items():
            changes = await self._changes(checkpoint, root, now.get(root, tree), tree)
            paths |= dict.fromkeys(change.path for change in changes)
        return list(paths)

    async def plan(
        self, session: int, checkpoint: Checkpoint, now: Mapping[str, str], undo: bool = False
    ) -> Plan:
        """Plan a restore to a checkpoint, or with `undo` to the state before a restore."""
        steps: list[RestoreStep] = []
        reasons = list(checkpoint.reasons)
        if not checkpoint.trees and not reasons:
            reasons.append("the files had not been scanned before that prompt")
        for root in checkpoint.trees:
            if root not in now:
                reasons += self._snapshots.reasons([root]) or [f"{root} is no longer scanned"]
                continue
            try:
                steps += await self._steps(checkpoint, root, now[root], reasons)
            except StoreError as error:
                reasons.append(str(error))
        current = {step.target.path: step.now for step in steps}
        steps = [step for step in steps if step.target.path not in checkpoint.late]
        steps += [
            RestoreStep(late, None, current.get(late.path), in_trees=False)
            for late in checkpoint.late.values()
        ]
        later = [made for made in self._made.get(session, []) if made.time >= checkpoint.time]
        if undo:
            return Plan(steps, dict(checkpoint.touched), reasons, checkpoint.agent_changes)
        touched = await self._first_texts(checkpoint, later, {step.target.path for step in steps})
        agent_changes = combine_changes(checkpoint.agent_changes for checkpoint in later)
        unnamed = {path for checkpoint in later for path in checkpoint.unnamed}
        for path in (*unnamed, *await self._unattributed_files(later, now)):
            add(agent_changes, path, ContentChange(UNKNOWN, UNKNOWN))
        return Plan(steps, touched, reasons, agent_changes)

    async def _unattributed_files(
        self, checkpoints: Sequence[Checkpoint], now: Mapping[str, str]
    ) -> list[str]:
        """Return files that changed in turns that were cut off, so their author is unknown."""
        files: list[str] = []
        ends: list[Mapping[str, str]] = [*(checkpoint.trees for checkpoint in checkpoints[1:]), now]
        for checkpoint, trees in zip(checkpoints, ends, strict=False):
            for root, tree in checkpoint.trees.items() if not checkpoint.ends else ():
                with suppress(StoreError):
                    changes = await self._changes(checkpoint, root, trees.get(root, tree), tree)
                    files += [c.path for c in changes if c.path not in checkpoint.agent_changes]
        return files

    async def _first_texts(
        self, checkpoint: Checkpoint, later: Sequence[Checkpoint], stored: Container[str]
    ) -> dict[str, Text | None]:
        """Return files in no tree, as they were when an agent first changed them."""
        touched: dict[str, Text | None] = {}
        for following in later:
            for path, text in following.touched.items():
                touched.setdefault(path, text)
        rest = [path for path in touched if path not in stored]
        loose = await self._snapshots.outside_stores(list(checkpoint.trees), rest)
        return {path: touched[path] for path in loose}

    async def _changes(
        self, checkpoint: Checkpoint, root: str, now: str, then: str
    ) -> list[Change]:
        """Return the differences of a directory, from the current tree to the old one.

        Nested directories with their own trees are left out. So are unchanged files that the
        current tree has and the old tree left out.
        """
        inner = [other for other in checkpoint.trees if is_below(other, root)]
        return [
            change
            for change in await self._snapshots.differences(root, now, then)
            if not was_left_out(change.path, change.after, change.before)
            and not any(is_below(change.path, other) for other in inner)
        ]

    async def _steps(
        self, checkpoint: Checkpoint, root: str, now: str, reasons: list[str]
    ) -> list[RestoreStep]:
        """Return the steps that restore a directory.

        Add the reasons why others are impossible to `reasons`.
        """
        changes = await self._changes(checkpoint, root, now, checkpoint.trees[root])
        wanted = [
            (change.path, change.after)
            for change in changes
            if change.after and change.after.is_stored
        ]
        contents = await self._snapshots.contents(root, wanted)
        steps: list[RestoreStep] = []
        for change in changes:
            blob: Blob | None = change.after
            if blob is None:
                target = Target(change.path, None)
            elif not blob.is_stored:
                target = Target(change.path, None, 0)
            elif change.path in contents:
                target = Target(change.path, contents[change.path], blob.mode)
            else:
                reasons.append(f"{Path(change.path).name}: its content is no longer kept")
                continue
            steps.append(RestoreStep(target, blob, change.before))
        return steps


def targets(changes: Iterable[FileChange]) -> dict[str, Target]:
    """Return the targets that undo these changes, by path."""
    by_path: dict[str, Target] = {}
    for change in changes:
        if isinstance(change.before, Unstored):
            by_path[change.path] = Target(change.path, None, 0)
        else:
            mode = 0o100755 if change.executable else 0o100644
            by_path[change.path] = Target(change.path, change.before, mode)
    return by_path
