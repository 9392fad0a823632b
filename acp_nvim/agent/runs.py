"""What each Neovim keeps on disk for itself, by a name that ends with the number of its process:
`20260131-235959-1234`. What nobody lives for any more can go.
"""

from __future__ import annotations

import os
from pathlib import Path


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


def remains(home: Path) -> list[Path]:
    """What lies in a directory and is of no process that lives."""
    return sorted(path for path in home.glob("*") if not lives(path.name.partition(".")[0]))
