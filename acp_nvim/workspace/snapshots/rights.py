"""Which files have other rights than a new one would get, so that they get them back.

Stores keep what git keeps of a mode: whether a file can be executed. A file that only its owner may
read, or that is another's, is remembered here while it is there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Final

from acp_nvim.workspace.nofollow import Rights

MAX_KNOWN: Final = 50_000
"""Files with such rights; of more, the first are known."""


class UnusualRights:
    """By absolute path."""

    def __init__(self) -> None:
        self._known: dict[str, Rights] = {}
        self._same: dict[Rights, Rights] = {}
        self._usual = {usual(executable) for executable in (False, True)}

    def learn(self, paths: Iterable[str]) -> None:
        """Look at files; of those that are gone what was known stays."""
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
        """What a file had when it was looked at; None for what any new file gets."""
        return self._known.get(path)


def usual(executable: bool) -> Rights:
    """What a new file gets."""
    mode = 0o777 if executable else 0o666
    return Rights(mode & ~_UMASK, os.geteuid(), os.getegid())


def _umask() -> int:
    """The umask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


_UMASK: Final = _umask()
"""Read while there are no other threads: theirs would be the files that meet the wrong one."""
