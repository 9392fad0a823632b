"""Changes that a snapshot's scan found, in short: `changes_of(scan, work) == {"a.txt": "M"}`."""

from __future__ import annotations

import os
from pathlib import Path

from acp_nvim.files.checkpoints.store import Scan


def changes_of(scan: Scan, work: Path) -> dict[str, str]:
    """Return `M`, `A` or `D` of each change by path relative to the directory."""
    letters = {(True, True): "M", (False, True): "A", (True, False): "D"}
    return {
        os.path.relpath(c.path, work): letters[c.before is not None, c.after is not None]
        for c in scan.changes
    }
