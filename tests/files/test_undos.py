"""Undo and redo by the user while an agent may change the same file on disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from acp_nvim.edits.text import parse
from acp_nvim.files.buffers.tracked_file import Unmerged
from acp_nvim.files.ports import BufferEdit
from tests.support.fake_workspace import FakeWorkspace, fake_workspace
from tests.support.neovims import Neovims

OLD = "".join(f"line {n}\n" for n in range(1, 13))
ACCEPTED = OLD.replace("line 3\n", "three\n")
WRITTEN = OLD.replace("line 3\n", "3\n")


@asynccontextmanager
async def rewritten(tmp_path: Path) -> AsyncIterator[tuple[FakeWorkspace, str]]:
    """Yield a workspace in which the agent has changed a line again that was accepted before."""
    async with fake_workspace(tmp_path) as workspace:
        file = workspace.work / "a.txt"
        file.write_text(OLD)
        workspace.neovim.open(str(file))
        await workspace.core.live.sync(str(file))
        await workspace.begin()
        for text in (ACCEPTED, WRITTEN):
            await workspace.read(file)
            await workspace.write(file, text)
            if text == ACCEPTED:
                await workspace.decide("accept")
        yield workspace, str(file)


def hunks(workspace: FakeWorkspace, path: str) -> list[tuple[str, ...]]:
    """Return the lines of the pending hunks."""
    entry = workspace.core.files.ledger.get(path)
    return [hunk.lines for hunk in entry.hunks] if entry else []


async def reload(workspace: FakeWorkspace, path: str, text: str) -> None:
    """Change the file on disk as the agent, and let Neovim read it before any scan."""
    file = workspace.work / "a.txt"
    file.write_text(text)
    workspace.neovim.refresh(path)
    await workspace.core.files.buffers.peek(path)
    assert workspace.core.files.tracked.state(path).is_author_unknown


async def test_an_undo_after_a_reload_by_an_unknown_author(tmp_path: Path) -> None:
    """The user's earlier line is not pending in place of the accepted one."""
    async with rewritten(tmp_path) as (workspace, path):
        await reload(workspace, path, WRITTEN.replace("line 9\n", "nine\n"))
        workspace.neovim.undo(path, 9)
        await workspace.core.disk.scan([str(workspace.work)])
        await workspace.core.live.sync(path)
        assert "line 3" in workspace.neovim.buffers[path].text.lines
        assert hunks(workspace, path) == [("nine",)]


async def test_a_write_after_an_undo_after_a_reload_by_an_unknown_author(tmp_path: Path) -> None:
    async with rewritten(tmp_path) as (workspace, path):
        await reload(workspace, path, WRITTEN.replace("line 9\n", "nine\n"))
        workspace.neovim.undo(path, 9)
        found = await workspace.read(path)
        await workspace.write(path, found + "more\n")
        assert "line 3" in workspace.neovim.buffers[path].text.lines
        assert hunks(workspace, path) == [("nine",), ("more",)]


async def test_an_undo_and_then_a_typed_line_after_a_reload_by_an_unknown_author(
    tmp_path: Path,
) -> None:
    async with rewritten(tmp_path) as (workspace, path):
        await reload(workspace, path, WRITTEN.replace("line 9\n", "nine\n"))
        workspace.neovim.undo(path, 9)
        workspace.neovim.type(path, parse(OLD + "mine\n"))
        await workspace.core.disk.scan([str(workspace.work)])
        await workspace.core.live.sync(path)
        assert "mine" in workspace.neovim.buffers[path].text.lines
        assert hunks(workspace, path) == [("nine",)]


@pytest.mark.parametrize("is_undo", [True, False])
async def test_neovim_asks_about_a_save_elsewhere_until_the_buffer_has_read_it(
    tmp_path: Path, is_undo: bool
) -> None:
    async with rewritten(tmp_path) as (workspace, path):
        files = workspace.core.files
        files.tracked[path].apply(Unmerged(True))
        edit = BufferEdit(path, workspace.neovim.buffers[path].bufnr, is_reload=True)
        workspace.neovim.buffers[path].text = parse(OLD)
        files.buffers.on_edit(msgspec.structs.replace(edit, is_undo=is_undo))
        await files.buffers.peek(path)
        assert files.tracked.state(path).is_unmerged is is_undo


@pytest.mark.parametrize("again", [True, False])
async def test_an_undone_reject_is_pending_if_no_host_has_seen_the_undo(
    started: Neovims, again: bool
) -> None:
    """The user has typed a line besides. The next host may be that of another Neovim."""
    first = await started.neovim("first")
    path = first.work / "a.txt"
    path.write_text(OLD)
    await first.read(path)
    await first.write(path, WRITTEN)
    await first.decide("reject")
    await first.exchange()
    started.kill(first)
    path.write_text(WRITTEN + "mine\n")
    second = await started.neovim("first" if again else "second", agents=0, enters=False)
    await second.open(again=again)
    assert hunks(second, str(path)) == [("3",)]
    await second.decide("reject")
    assert path.read_text() == OLD + "mine\n"
