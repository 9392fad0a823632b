"""The rights of files that differ from those of a new file: a restore gives them back.

Stores keep as much of a mode as git does: whether a file can be executed. Files that only the owner
may read, or that belong to others, are remembered here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Final

from acp_nvim.files.bytes.nofollow import Rights

MAX_KNOWN: Final = 50_000
"""How many files are remembered; the first ones."""


class UnusualRights:
    """By absolute path."""

    def __init__(self) -> None:
        self._known: dict[str, Rights] = {}
        self._same: dict[Rights, Rights] = {}
        self._usual = {usual(executable) for executable in (False, True)}

    def learn(self, paths: Iterable[str]) -> None:
        """Look at files. The rights of files that are gone stay known."""
        for path in paths:
            try:
                info = os.lstat(path)
            except OSError:
                continue
            rights = Rights.of(info)
            if not stat.S_ISREG(info.st_mode) or rights in self._usual:
                self._known.pop(path, None)
            elif len(self._known) < MAX_KNOWN:
                self._known[path] = self._same.setdefault(rights, rights)

    def get(self, path: str) -> Rights | None:
        """The rights that a file had at the last look; None for those of a new file."""
        return self._known.get(path)


def usual(executable: bool) -> Rights:
    """The rights of a new file."""
    mode = 0o777 if executable else 0o666
    return Rights(mode & ~_UMASK, os.geteuid(), os.getegid())


def _umask() -> int:
    """The umask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


_UMASK: Final = _umask()
"""Read while there are no other threads: theirs would be the files that meet the wrong one."""
