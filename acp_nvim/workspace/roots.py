"""The root of a workspace, and the folder of its journal. `lua/acp/base/workspaces.lua` finds the
same folder without Python.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from acp_nvim.workspace.git_tree import find_top

INDEX: Final = "by-inode"
"""Names the folders of workspaces by the inodes of their directories (`homes.py`)."""
_NAME: Final = re.compile(rb"[\w-]+")
_MASK: Final = 0xFFFFFFFF


def root_of(directory: str) -> str:
    """The work tree that a directory is in, else the directory itself; symlinks resolved."""
    real = os.path.realpath(directory)
    return find_top(real) or real


def folder(data: Path, root: str) -> Path:
    """The folder of the workspace with this root, below `stdpath('data')`."""
    return data / "acp" / "workspaces" / name(root)


def inode_of(path: str) -> int:
    """The number of a directory's inode; 0 where there is none."""
    try:
        return os.stat(path).st_ino  # noqa: PTH116
    except OSError:
        return 0


def indexed(data: Path, inode: int) -> list[str]:
    """The names of the folders of directories with this inode; what is none is damage. OSError."""
    try:
        text = (data / "acp" / "workspaces" / INDEX / str(inode)).read_bytes()
    except FileNotFoundError:
        return []
    return [word.decode() for word in text.split() if _NAME.fullmatch(word)]


def is_settled(data: Path, root: str) -> bool:
    """Whether a root has the folder that it had last, or never had one. OSError."""
    home = folder(data, root)
    return indexed(data, inode_of(root)) == ([home.name] if home.exists() else [])


def name(path: str) -> str:
    """A path in 16 hexadecimal digits."""
    first, second = 5381, 0
    for at, byte in enumerate(os.fsencode(path), 1):
        first = (first * 33 + byte) & _MASK
        second = ((second * 65599) & _MASK) ^ _rotated(byte, at % 24)
    return f"{first:08x}{second:08x}"


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK
