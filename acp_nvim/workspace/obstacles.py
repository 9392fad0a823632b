"""What stands at the path of a file that is none any more, and how it gives way to the file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from acp_nvim.workspace import nofollow
from acp_nvim.workspace.nofollow import spot


class Blocked(Exception):
    """The place of a file is taken; the message says by what, in one line."""


def is_file(path: str) -> bool:
    """Whether a regular file is there, links not followed."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def words(path: str) -> str:
    """What is there that is no file; empty for a file, and where nothing is."""
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


def held(folder: str) -> list[str]:
    """All below a folder but folders, absolute."""
    return [
        str(Path(at, name)) for at, dirs, files in os.walk(folder) for name in _all(at, dirs, files)
    ]


def make_way(path: str) -> None:
    """Have nothing stand where a file is to be written: links and FIFOs go, and folders in which
    no file is. Blocked and OSError; then nothing has changed.
    """
    check_above(path)
    what = words(path)
    if what == "a folder":
        inside = held(path)
        if inside:
            raise Blocked(f"a folder is there now that holds {os.path.relpath(inside[0], path)}")
        for at, _, _ in os.walk(path, topdown=False):
            Path(at).rmdir()
    elif what.startswith(("a symbolic link", "a FIFO")):
        with spot(path) as place:
            place.unlink()
    elif what:
        raise Blocked(f"{what} is there now")


def put(path: str, mode: int, target: bytes) -> None:
    """Make a link that points there, or a FIFO, where nothing is. OSError."""
    if stat.S_ISLNK(mode):
        nofollow.symlink(path, target)
    else:
        with spot(path, create=True) as at:
            os.mkfifo(at.name, stat.S_IMODE(mode), dir_fd=at.folder)


def check_above(path: str) -> None:
    """Blocked unless all that is above a file is a folder."""
    for above in Path(path).parents:
        if os.path.lexists(above):
            what = words(str(above)) or "a file"
            if what != "a folder":
                raise Blocked(f"{above.name} is {what} now")
            if os.path.realpath(above) != str(above):
                raise Blocked("a folder above it is a symbolic link now")
            return


def _all(at: str, dirs: list[str], files: list[str]) -> list[str]:
    return [*files, *(name for name in dirs if Path(at, name).is_symlink())]
