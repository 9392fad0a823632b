"""Files of one run of Neovim, by its name: start time, machine and process number, as in
`20260131-235959-machine-1234`. Files of runs that are over can go.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

MAX_AGE_S: Final = 14 * 24 * 3600
"""For files of another machine, whose processes cannot be asked."""


def lives(name: str) -> bool:
    """Whether the process of that name runs still; a name without a number is nobody's."""
    number = name.rpartition("-")[2]
    if not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def remains(home: Path, own: str) -> list[Path]:
    """Files in a directory whose runs are over; ``own`` is our name."""
    here = machine(own)
    now = time.time()
    found: list[Path] = []
    for path in sorted(home.glob("*")):
        run = path.name.partition(".")[0]
        known = machine(run) in (here, "")
        if (known and not lives(run)) or (not known and _age(path, now) > MAX_AGE_S):
            found.append(path)
    return found


def machine(name: str) -> str:
    """The machine in a name; empty where there is none."""
    return "-".join(name.split("-")[2:-1])


def _age(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except OSError:
        return 0.0
