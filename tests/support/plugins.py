"""Clones of other plugins, for tests with their real code.

`ACP_PLUGINS` lists folders of clones, separated by `:`. `../shared/plugins` beside the repository
is another one. A test is skipped if its plugin is in none of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.editor import ROOT, Editor

_NAMED = [Path(name) for name in os.environ.get("ACP_PLUGINS", "").split(":") if name]
FOLDERS = [*_NAMED, ROOT.parent / "shared/plugins"]


def plugin(name: str) -> Path:
    """Return the folder of a plugin, such as `mini.nvim` for `mini.pick`, or skip the test."""
    stem = "mini.nvim" if name.startswith("mini.") else name
    for folder in FOLDERS:
        if (folder / stem).is_dir():
            return folder / stem
    places = ", ".join(map(str, FOLDERS))
    pytest.skip(f"no {stem} in {places}; name its folder with ACP_PLUGINS")


def add_plugins(editor: Editor, *names: str) -> None:
    """Load plugins, or skip the test."""
    for folder in [plugin(name) for name in names]:
        editor.lua("vim.opt.rtp:append(...)", str(folder))
        for file in sorted(folder.glob("plugin/**/*.*")):
            editor.cmd(f"source {file}")
