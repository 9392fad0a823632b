"""Files below a directory in no repository, except generated ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from acp_nvim.files.checkpoints.store import MAX_FILES, SKIPPED, LimitError

FEW: Final = 32
"""Maximum number of entries whose signatures are compared, which takes tens of microseconds."""

Signature = tuple[int, int, int, int, int]


def special_files(root: str, own: str) -> list[str]:
    """Return the FIFOs, sockets and devices, which git does not list. `own` is left out.

    Raise `LimitError` if there are more than `MAX_FILES` files.
    """
    count, paths = 0, list[str]()
    for entry in _walk_below(root, own):
        if entry.is_dir(follow_symlinks=False):
            continue
        count += 1
        if count > MAX_FILES:
            raise LimitError(f"{root} has more than {MAX_FILES} files and no repository")
        if not (entry.is_file(follow_symlinks=False) or entry.is_symlink()):
            paths.append(entry.path)
    return paths


def signatures(root: str, own: str) -> dict[str, Signature] | None:
    """Return the signature of each file, or None if there are more than `FEW` or a read fails."""
    by_path: dict[str, Signature] = {}
    try:
        for count, entry in enumerate(_walk_below(root, own, strict=True), 1):
            if count > FEW:
                return None
            if not entry.is_dir(follow_symlinks=False):
                info = entry.stat(follow_symlinks=False)
                times = info.st_mtime_ns, info.st_ctime_ns
                by_path[entry.path] = (*times, info.st_size, info.st_ino, info.st_mode)
    except OSError:
        return None
    return by_path


def _walk_below(root: str, own: str, *, strict: bool = False) -> Iterator[os.DirEntry[str]]:
    """Yield all entries except those in `SKIPPED` directories and in `own`.

    Raise OSError if `strict`.
    """
    waiting = [root]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                below = list(entries)
        except OSError:
            if strict:
                raise
            continue
        yield from below
        waiting += [
            entry.path
            for entry in below
            if entry.is_dir(follow_symlinks=False)
            and entry.name not in SKIPPED
            and entry.path != own
        ]
