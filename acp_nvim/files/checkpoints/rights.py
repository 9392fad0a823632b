"""Unusual rights of files, for restores.

Stores keep only the executable bit of a mode, as git does. This module keeps the rights of files
that, for example, only the owner may read or that belong to others.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Final

from acp_nvim.files.bytes.nofollow import Rights

MAX_KNOWN: Final = 50_000
"""Maximum number of remembered files. The first ones are kept."""


class UnusualRights:
    """Unusual rights by absolute path."""

    def __init__(self) -> None:
        self._known: dict[str, Rights] = {}
        self._same: dict[Rights, Rights] = {}
        """Each of the rights once, to be shared by files."""
        self._usual = {usual_rights(executable) for executable in (False, True)}

    def learn(self, paths: Iterable[str]) -> None:
        """Record the rights of files. Keep those of deleted files."""
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
        """Return the rights of a file at the last scan, or None for a new file's default rights."""
        return self._known.get(path)


def usual_rights(executable: bool) -> Rights:
    """Return the rights of a new file."""
    mode = 0o777 if executable else 0o666
    return Rights(mode & ~_UMASK, os.geteuid(), os.getegid())


def _umask() -> int:
    """Return the umask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


_UMASK: Final = _umask()
"""Read on import, before there are other threads whose new files would get the wrong umask."""
