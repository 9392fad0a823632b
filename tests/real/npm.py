"""Programs from npm for tests with other implementations."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


def install(place: Path, packages: Sequence[str], *wanted: Path) -> None:
    """Install packages below a folder unless it has the ``wanted`` files. Skip without npm."""
    if all(path.exists() for path in wanted):
        return
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on PATH")
    place.mkdir(parents=True, exist_ok=True)
    quiet = ["--no-audit", "--no-fund", "--silent", "--prefix", str(place)]
    subprocess.run([npm, "install", *quiet, *packages], check=True, timeout=280)
