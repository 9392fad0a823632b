"""Mounted file system of a small size.

Example:

    with small_disk(tmp_path / "data", 256) as disk:
        disk.fill()
        ...  # nothing can be written below `tmp_path / "data"`
        disk.free()
"""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """Mounted file system."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        """Fill the free space."""
        with self._filler.open("ab", buffering=0) as file:
            while True:
                try:
                    file.write(bytes(4096))
                except OSError as error:
                    if error.errno == errno.ENOSPC:
                        return
                    raise

    def free(self) -> None:
        """Free the space again."""
        self._filler.unlink()

    def remount(self, mode: str) -> None:
        """Mount it again, `ro` or `rw`."""
        subprocess.run(["mount", "-o", f"remount,{mode}", str(self.path)], check=True)


@contextmanager
def small_disk(path: Path, kilobytes: int) -> Iterator[SmallDisk]:
    """Mount one of this size; the test is skipped if that is not permitted."""
    path.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no `mount`")
    if done.returncode != 0:
        pytest.skip(f"mounting is not permitted: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
