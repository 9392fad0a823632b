"""A copy of the plugin in which a test changes features."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.editor import ROOT

FOLDERS = ("acp_nvim", "lua", "plugin", "doc")
PYTHON_LIST = "acp_nvim/app.py"
LUA_LIST = "lua/acp/features/init.lua"
"""The list of the features of each language."""


def copy_tree(to: Path) -> Path:
    """Copy what runs, with the environment of this clone. Return its root."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, to / name)
    (to / ".venv").symlink_to(ROOT / ".venv")
    return to


def delete_feature(root: Path, name: str) -> None:
    """Delete a feature as a maintainer does: its folders and its line in each list."""
    for folder, path, line in (
        ("acp_nvim/features", PYTHON_LIST, f'    "{name}",\n'),
        ("lua/acp/features", LUA_LIST, f"  '{name}',\n"),
    ):
        if (root / folder / name).exists():
            shutil.rmtree(root / folder / name)
            if (root / path).exists():
                _replace(root / path, line, "")


def list_feature(root: Path, path: str, name: str) -> None:
    """Add the line of a feature behind that of another one."""
    line = '    "{}",\n' if path == PYTHON_LIST else "  '{}',\n"
    _replace(root / path, line.format("chat"), line.format("chat") + line.format(name))


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path} has no line {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")
