"""Workspace in which an agent has changed two lines of a file, and the next Neovim."""

from __future__ import annotations

from pathlib import Path

from acp_nvim.files.bytes import roots
from tests.support.fake_workspace import FakeWorkspace
from tests.support.neovims import Neovims

LINES = [f"line {n}" for n in range(1, 13)]
TEXT = "\n".join(LINES) + "\n"
TWO = TEXT.replace("line 2\n", "two\n").replace("line 10\n", "ten\n")
HUNKS = [(("line 2",), ("two",)), (("line 10",), ("ten",))]


def folder(neovim: FakeWorkspace) -> Path:
    root = roots.root_of(str(neovim.work))
    return roots.folder(neovim.root / "data", root)


async def write_two_lines(started: Neovims, name: str = "a.txt") -> FakeWorkspace:
    """Return a Neovim whose agent has changed two lines of a file, as the journal has it."""
    first = await started.neovim("first")
    path = first.work / name
    path.write_text(TEXT)
    await first.write(path, TWO)
    await first.exchange()
    return first


async def next_neovim(started: Neovims, killed: FakeWorkspace) -> FakeWorkspace:
    """Kill a Neovim and return the next one in its place."""
    started.kill(killed)
    return await started.neovim("second", agents=0)
