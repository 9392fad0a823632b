"""Small files of ours: a reader sees the old content or the new one, and so does a crash."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Write it, all or nothing. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
