"""A copy of the plugin in which a test changes features."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.support.editor import ROOT

PARTS = (".ci", "CHANGELOG.md", "acp_nvim", "doc", "lua", "plugin", "pyproject.toml", "tests")
PYTHON_LIST = "acp_nvim/features/__init__.py"
LUA_LIST = "lua/acp/features/init.lua"
"""The list of the features of each language."""
BEHIND = {".py": '    "terminals",', ".lua": "  'terminals',"}
"""The line of each list above which a feature is added."""


def copy_tree(to: Path) -> Path:
    """Copy sources and tests, with the environment of this clone. Return its root."""
    to.mkdir()
    for name in PARTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, to / name)
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
            _replace(root / path, line, "")


def add_blocks(root: Path, page: str) -> None:
    """Put the code blocks of a page into the files named in the text before each block.

    A block is a whole file, or is added to an existing file: above the line that the text names, or
    to the list of features.
    """
    parts = page.split("```")
    for text, block in zip(parts[::2], parts[1::2], strict=False):
        names = re.findall(r"`([^`]+)`", text.strip().rpartition("\n\n")[2])
        path = next(root / name for name in names if "/" in name or name.endswith(".md"))
        code = block.partition("\n")[2]
        if path.exists():
            _insert(
                path, names[-1] if path.suffix in (".md", ".txt") else BEHIND[path.suffix], code
            )
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code, encoding="utf-8")


def _insert(path: Path, anchor: str, code: str) -> None:
    """Insert lines above the only line with `anchor`."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    (at,) = (n for n, line in enumerate(lines) if anchor in line)
    path.write_text("".join([*lines[:at], code, *lines[at:]]), encoding="utf-8")


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path} has no line {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")
