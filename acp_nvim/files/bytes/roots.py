"""The root of a workspace and the folder of its journal.

`lua/acp/base/workspaces.lua` computes the same folder without Python.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from acp_nvim.files.changes.git_tree import find_top

_MASK: Final = 0xFFFFFFFF


def root_of(directory: str) -> str:
    """Return the git work tree of a directory, otherwise the directory, with links resolved."""
    real = os.path.realpath(directory)
    return find_top(real) or real


def folder(data: Path, root: str) -> Path:
    """Return the folder of the workspace with this root, below `stdpath('data')`."""
    return data / "acp" / "workspaces" / name(root)


def name(path: str) -> str:
    """Hash a path to 16 hexadecimal digits."""
    first, second = 5381, 0
    for at, byte in enumerate(os.fsencode(path), 1):
        first = (first * 33 + byte) & _MASK
        second = ((second * 65599) & _MASK) ^ _rotate_left(byte, at % 24)
    return f"{first:08x}{second:08x}"


def _rotate_left(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK
