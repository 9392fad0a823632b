"""Changes of files since a checkpoint as one readable diff."""

from __future__ import annotations

import os
import stat
from typing import Final

from acp_nvim.edits.text import EMPTY, Text
from acp_nvim.edits.unified import unified_rows
from acp_nvim.files.bytes.file_format import BinaryError, decode
from acp_nvim.files.bytes.nofollow import spot
from acp_nvim.files.checkpoints.checkpoints import Checkpoint, Plan
from acp_nvim.render.text import display_path, visible

MOST: Final = 2 * 1024 * 1024
"""Maximum number of bytes for a comparison by lines."""

Side = bytes | Text | None
"""A file at one time; None if there was none. A text is that of its buffer."""


def rows(checkpoint: Checkpoint, present: Checkpoint, plan: Plan, cwd: str) -> list[str]:
    """Return the diff from ``checkpoint`` to ``present``; ``plan`` is that of a restore.

    This call blocks.
    """
    then: dict[str, Side] = {
        step.target.path: step.target.data for step in plan.steps if step.target.mode
    }
    then.update(plan.touched)
    then.update(checkpoint.unsaved)
    found: list[str] = []
    for path in sorted(then.keys() | present.unsaved.keys()):
        now = present.unsaved[path] if path in present.unsaved else _read(path)
        found += _file(display_path(path, cwd), then[path] if path in then else _read(path), now)
    lost = [f"{display_path(it.target.path, cwd)}: {it.why_not}" for it in plan.steps if it.why_not]
    return [*(f"# {visible(reason)}" for reason in (*plan.reasons, *lost)), *found]


def _read(path: str) -> Side:
    try:
        with spot(path) as at:
            info = at.info()
            if info is not None and stat.S_ISLNK(info.st_mode):
                return os.fsencode(os.readlink(at.name, dir_fd=at.folder))
            with at.open() as file:
                return file.read()
    except OSError:
        return None


def _file(name: str, old: Side, new: Side) -> list[str]:
    """Return the diff of one file; nothing if it is unchanged."""
    if old == new:
        return []
    try:
        lines = unified_rows(_text(old), _text(new))
    except BinaryError:
        lines = [f"Binary files differ: {_size(old)}, now {_size(new)}"]
    if not lines and (old is None) == (new is None):
        return []
    before = "/dev/null" if old is None else f"a/{name}"
    after = "/dev/null" if new is None else f"b/{name}"
    return [f"diff {name}", f"--- {before}", f"+++ {after}", *map(visible, lines), ""]


def _text(side: Side) -> Text:
    if side is None:
        return EMPTY
    if isinstance(side, Text):
        return side
    if len(side) > MOST:
        raise BinaryError("too large")
    return decode(side).text


def _size(side: Side) -> str:
    if side is None:
        return "none"
    return f"{len(side if isinstance(side, bytes) else str(side).encode())} bytes"
