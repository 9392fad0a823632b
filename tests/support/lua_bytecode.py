"""Bytecode of the plugin's Lua, compiled once for all Neovims of a test process.

Parsing takes a third of the time that Neovim needs for a short test.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.lua import lua_file


@cache
def bytecode(nvim: str, root: Path) -> TemporaryDirectory[str]:
    """Compile all modules of `root` to `MODULE.luac` in a directory that ends with this process."""
    folder = TemporaryDirectory(prefix="acp-test-lua-")
    script = lua_file(__file__, "compile_modules")
    command = [nvim, "-u", "NONE", "-i", "NONE", "-l", str(script), str(root / "lua"), folder.name]
    subprocess.run(command, check=True)
    return folder
