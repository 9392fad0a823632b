"""Reports of agents' writes for the blame of lines."""

from __future__ import annotations

from pathlib import Path

import msgspec

from acp_nvim.edits.text import parse
from tests.support.fake_workspace import FakeWorkspace, fake_workspace


def wanted(workspace: FakeWorkspace) -> None:
    workspace.options = msgspec.structs.replace(workspace.options, blame=True)


async def test_no_write_is_reported_while_the_option_is_off(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        await workspace.write(workspace.work / "a.txt", "one\n")
        assert workspace.written == []


async def test_a_write_over_unsaved_text_begins_with_that_text(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        wanted(workspace)
        path = workspace.work / "a.txt"
        path.write_text("one\ntwo\n")
        await workspace.read(path)
        workspace.neovim.open(str(path))
        workspace.neovim.type(str(path), parse("one\ntwo\nmine\n"))
        await workspace.write(path, "ONE\ntwo\n")
        before, after = parse("one\ntwo\nmine\n"), parse("ONE\ntwo\nmine\n")
        assert workspace.written == [(str(path), before, after, after)]


async def test_a_reject_is_not_attributed_to_the_agent(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        wanted(workspace)
        path = workspace.work / "a.txt"
        path.write_text("one\n")
        await workspace.read(path)
        await workspace.write(path, "ONE\n")
        await workspace.decide("reject")
        assert path.read_text() == "one\n"
        assert len(workspace.written) == 1
