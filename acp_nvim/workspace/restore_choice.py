"""Which files a restore brings back: those that agents changed, unless all are asked for."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from pathlib import Path

import msgspec

from acp_nvim.edits.text import Text
from acp_nvim.workspace.snapshots.agent_changes import Content, Doing, follows, mark
from acp_nvim.workspace.snapshots.checkpoints import Checkpoint, Plan, Step
from acp_nvim.workspace.snapshots.snapshots import present
from acp_nvim.workspace.snapshots.store import UNKNOWN


class Choice(msgspec.Struct, frozen=True):
    """What a restore does. ``both`` are those of its files that the user has changed as well."""

    steps: list[Step]
    touched: dict[str, Text | None]
    unsaved: list[str]
    """Buffers, by their files."""
    both: list[str]
    stay: list[str]
    """Files that only the user has changed."""
    notes: list[str]
    """What cannot be brought back, and why."""
    found: dict[str, Content]
    """What the files of the restore hold now, unsaved text in place of its file."""
    unknown: frozenset[str]
    """Those of ``both`` of which it is not known who has changed them."""

    def without(self, paths: Iterable[str]) -> Choice:
        """A restore that leaves these files as they are."""
        left = set(paths)
        return msgspec.structs.replace(
            self,
            steps=[step for step in self.steps if step.target.path not in left],
            touched={path: text for path, text in self.touched.items() if path not in left},
            unsaved=[path for path in self.unsaved if path not in left],
            stay=sorted({*self.stay, *left}),
        )


def choose(plan: Plan, then: Checkpoint, now: Checkpoint, *, every: bool, undo: bool) -> Choice:
    """Reads the files; blocks. ``undo``: of a restore, all that this has changed."""
    doings = plan.doings

    def wanted(path: str) -> bool:
        return every or (path in doings and (undo or doings[path].agent))

    meant = [step for step in plan.steps if wanted(step.target.path)]
    steps = [step for step in meant if not step.why_not]
    buffers = sorted(then.unsaved.keys() | now.unsaved.keys())
    unsaved = [path for path in buffers if wanted(path)]
    touched = plan.touched
    held = dict.fromkeys((*(step.target.path for step in steps), *touched, *unsaved))
    found = {path: now.unsaved.get(path) or present(path) for path in held}
    by_path = {step.target.path: step for step in steps}
    both = [
        path
        for path in held
        if path in doings
        and not every
        and _others(doings[path], by_path.get(path), then, plan, path, found[path])
    ]
    candidates = (*(step.target.path for step in plan.steps), *buffers)
    stay = sorted({path for path in candidates if not wanted(path)})
    notes = [
        f"{Path(it.target.path).name} was left as it is: {it.why_not}" for it in meant if it.why_not
    ]
    unknown = frozenset(
        path for path in both if UNKNOWN in (doings[path].before, doings[path].after)
    )
    return Choice(steps, touched, unsaved, sorted(both), stay, notes, found, unknown)


def _others(
    doing: Doing, step: Step | None, then: Checkpoint, plan: Plan, path: str, now: Content
) -> bool:
    """Whether a file has been changed by somebody else than agents."""
    was, is_now = step.marks() if step else (set[str](), set[str]())
    if step is not None:
        was.add(mark(step.target.data))
    elif path in plan.touched:
        was.add(mark(plan.touched[path]))
    else:
        was.add(mark(present(path)))
    if path in then.unsaved:
        was.add(mark(then.unsaved[path]))
    is_now.add(mark(now))
    if is_now & was:
        return False  # it is so again: there is nothing to lose
    return doing.gap or not follows(doing.before, *was) or not follows(doing.after, *is_now)


def in_order(steps: Iterable[Step]) -> list[Step]:
    """Such that what has to go is gone before something else comes to its place."""
    going = [step for step in steps if step.target.data is None]
    coming = [step for step in steps if step.target.data is not None]
    going.sort(key=lambda step: step.target.path.count(os.sep), reverse=True)
    return [*going, *coming]


def question(paths: list[str], unknown: Container[str], cwd: str, since: str) -> str:
    """Names the files that the user has changed as well as an agent, or may have."""
    parts = [
        ("you changed {} as well", [path for path in paths if path not in unknown]),
        ("who changed {} is not known", [path for path in paths if path in unknown]),
    ]
    said = [
        text.format(", ".join(os.path.relpath(path, cwd) for path in named))
        for text, named in parts
        if named
    ]
    return f"Since {since} {', and '.join(said)}"
