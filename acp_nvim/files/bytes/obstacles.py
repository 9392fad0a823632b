"""Folders, links and FIFOs that an agent has put in place of files.

An obstacle is removed when the file is restored. It is restored when the file is removed again, so
undoing a reject restores the state that the agent left.
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
    """Obstacle that cannot be removed. The message names it."""


def is_file(path: str) -> bool:
    """Return whether the path is a regular file, not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def describe(path: str) -> str:
    """Describe the obstacle. Return an empty string if there is a file or nothing."""
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
    """Return the absolute paths of all files and links below a folder."""
    return [
        str(Path(at, name))
        for at, folders, files in os.walk(folder)
        for name in (*files, *(name for name in folders if Path(at, name).is_symlink()))
    ]


def clear(path: str) -> None:
    """Remove the obstacle at a path: a link, a FIFO, or a folder without files.

    Raise Blocked or OSError, with nothing changed.
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


def create(path: str, mode: int, target: bytes) -> None:
    """Create a link to the target, or a FIFO, at an unused path. Raise OSError."""
    if stat.S_ISLNK(mode):
        nofollow.symlink(path, target)
    else:
        with spot(path, create=True) as at:
            os.mkfifo(at.name, stat.S_IMODE(mode), dir_fd=at.folder)


def check_above(path: str) -> None:
    """Raise Blocked unless the nearest existing parent is a folder that is not behind a link."""
    for above in Path(path).parents:
        if os.path.lexists(above):
            what = describe(str(above)) or "a file"
            if what != "a folder":
                raise Blocked(f"{above.name} is {what} now")
            if os.path.realpath(above) != str(above):
                raise Blocked("a folder above it is a symbolic link now")
            return


# -- obstacles of tracked files -------------------------------------------------------------------


def displace(file: TrackedFile) -> None:
    """Remove the obstacle and record it in `FileState.displaced`. Raise the errors of `clear`."""
    special = _special(file.path)
    clear(file.path)
    if special != file.state.displaced:  # from an earlier reject
        file.apply(Displaced(special))


def restore(file: TrackedFile) -> None:
    """Restore the obstacle that was removed for the file, which is gone now. Raise OSError."""
    special = file.state.displaced
    if special is None:
        return
    file.apply(Displaced(None))
    if not os.path.lexists(file.path):
        create(file.path, *special)


def _special(path: str) -> Special | None:
    """Return the link or FIFO at a path."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return mode, os.fsencode(Path(path).readlink())
    except OSError:
        return None
    return (mode, b"") if stat.S_ISFIFO(mode) else None


def pending_inside(ledger: Ledger, entries: Sequence[Pending]) -> list[Pending]:
    """Return other pending files in the folders that now replace these files."""
    folders = [entry.path for entry in entries if entry.live is None and _is_folder(entry.path)]
    known = {entry.path for entry in entries}
    return [
        entry
        for entry in ledger.files()
        if entry.path not in known and any(is_below(entry.path, folder) for folder in folders)
    ]


def users_file_inside(ledger: Ledger, entry: Pending) -> str:
    """Return the first file that agents did not create in a folder that replaced a deleted file.

    The path is relative to the folder. It is empty if there is no such file or no folder.
    """
    if entry.live is not None or not _is_folder(entry.path):
        return ""
    for path in contents(entry.path):
        pending = ledger.get(path)
        if pending is None or pending.base is not None or pending.is_user_edited:
            return os.path.relpath(path, entry.path)
    return ""


def in_order(steps: Sequence[Restoration]) -> list[Restoration]:
    """Sort the steps: remove files before others are created above or below their paths."""
    coming = [step.path for step in steps if step.after is not None]

    def is_first(step: Restoration) -> bool:
        return step.after is None and any(
            is_below(path, step.path) or is_below(step.path, path) for path in coming
        )

    return sorted(steps, key=lambda step: not is_first(step))


def _is_folder(path: str) -> bool:
    return describe(path) == "a folder"
