"""Folders, links and FIFOs that an agent has put in place of files, and how they give way.

An obstacle is removed when the file comes back, and comes back when the file goes: a reject that is
taken back leaves what the agent had made.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from acp_nvim import wording
from acp_nvim.edits.ledger import Ledger
from acp_nvim.edits.pending import Pending, Restoration
from acp_nvim.files.buffers.tracked_file import Displaced, Special, TrackedFile
from acp_nvim.files.bytes import nofollow
from acp_nvim.files.bytes.nofollow import spot
from acp_nvim.files.bytes.paths import is_below


class Blocked(Exception):
    """Something stands in the place of a file and cannot give way; the message names it."""


def is_file(path: str) -> bool:
    """Whether a regular file is there, links not followed."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def describe(path: str) -> str:
    """The obstacle in words; empty for a file, and where nothing is."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return ""
    if stat.S_ISLNK(mode):
        return f"a symbolic link to {Path(path).readlink()}"
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    return "" if stat.S_ISREG(mode) else "a socket or device"


def contents(folder: str) -> list[str]:
    """All files and links below a folder, absolute."""
    return [
        str(Path(at, name))
        for at, folders, files in os.walk(folder)
        for name in (*files, *(name for name in folders if Path(at, name).is_symlink()))
    ]


def make_way(path: str) -> None:
    """Remove the obstacle at a path: a link, a FIFO, or a folder without files. Blocked and
    OSError; then nothing has changed.
    """
    check_above(path)
    what = describe(path)
    if what == "a folder":
        inside = contents(path)
        if inside:
            raise Blocked(wording.WHY_FOLDER.format(file=os.path.relpath(inside[0], path)))
        for at, _, _ in os.walk(path, topdown=False):
            Path(at).rmdir()
    elif what.startswith(("a symbolic link", "a FIFO")):
        with spot(path) as place:
            place.unlink()
    elif what:
        raise Blocked(f"{what} is there now")


def put(path: str, mode: int, target: bytes) -> None:
    """Make a link to the target, or a FIFO, where nothing is. OSError."""
    if stat.S_ISLNK(mode):
        nofollow.symlink(path, target)
    else:
        with spot(path, create=True) as at:
            os.mkfifo(at.name, stat.S_IMODE(mode), dir_fd=at.folder)


def check_above(path: str) -> None:
    """Blocked unless all that is above a file is a folder."""
    for above in Path(path).parents:
        if os.path.lexists(above):
            what = describe(str(above)) or "a file"
            if what != "a folder":
                raise Blocked(f"{above.name} is {what} now")
            if os.path.realpath(above) != str(above):
                raise Blocked("a folder above it is a symbolic link now")
            return


# -- the obstacles of tracked files ---------------------------------------------------------------


def give_way(file: TrackedFile) -> None:
    """Remove the obstacle, and remember it in `FileState.displaced`. Raises as `make_way`."""
    special = _special(file.path)
    make_way(file.path)
    if special is not None:
        file.hear(Displaced(special))


def come_back(file: TrackedFile) -> None:
    """Put back the obstacle that gave way to the file, which is gone. OSError."""
    special = file.state.displaced
    if special is None:
        return
    file.hear(Displaced(None))
    if not os.path.lexists(file.path):
        put(file.path, *special)


def _special(path: str) -> Special | None:
    """The link or FIFO at a path."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return mode, os.fsencode(Path(path).readlink())
    except OSError:
        return None
    return (mode, b"") if stat.S_ISFIFO(mode) else None


def pending_inside(ledger: Ledger, entries: Sequence[Pending]) -> list[Pending]:
    """Further pending files in the folders that stand where these files were."""
    folders = [entry.path for entry in entries if entry.live is None and _is_folder(entry.path)]
    known = {entry.path for entry in entries}
    return [
        entry
        for entry in ledger.files()
        if entry.path not in known and any(is_below(entry.path, folder) for folder in folders)
    ]


def users_file_inside(ledger: Ledger, entry: Pending) -> str:
    """The first file in the folder at the place of a deleted file that is not an agent's new one,
    relative to the folder; empty where there is none, or no folder.
    """
    if entry.live is not None or not _is_folder(entry.path):
        return ""
    for path in contents(entry.path):
        found = ledger.get(path)
        if found is None or found.base is not None or found.touched:
            return os.path.relpath(path, entry.path)
    return ""


def in_order(steps: Sequence[Restoration]) -> list[Restoration]:
    """A file goes before another one comes above or below its path."""
    coming = [step.path for step in steps if step.after is not None]

    def is_first(step: Restoration) -> bool:
        return step.after is None and any(
            is_below(path, step.path) or is_below(step.path, path) for path in coming
        )

    return sorted(steps, key=lambda step: not is_first(step))


def _is_folder(path: str) -> bool:
    return describe(path) == "a folder"
