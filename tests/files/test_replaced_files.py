"""An agent puts a folder, a link or a FIFO in place of a file without a window."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.support.fake_workspace import FakeWorkspace, fake_workspace
from tests.support.git import repository
from tests.support.replaced_files import PLACES, TEXT, make, replaced, tree

BEFORE = {"f.txt": TEXT, "other.txt": "other\n", "kept": "folder", "kept/k.txt": "kept\n"}
places = pytest.mark.parametrize("what", PLACES)
stores = pytest.mark.parametrize("store", ["git", "plain"])


@asynccontextmanager
async def after(root: Path, store: str, what: str) -> AsyncIterator[FakeWorkspace]:
    """Yield the workspace after the turn in which the agent has replaced the file."""
    async with fake_workspace(root) as workspace:
        make(workspace.work)
        if store == "git":
            repository(workspace.work)
        await workspace.begin()
        command = f"rm f.txt; {PLACES[what]}"
        await anyio.run_process(["sh", "-c", command], cwd=workspace.work)
        await workspace.end()
        assert workspace.pending() == replaced(what)
        yield workspace


@stores
@places
async def test_a_reject_restores_the_file_and_can_be_undone(
    tmp_path: Path, store: str, what: str
) -> None:
    async with after(tmp_path, store, what) as workspace:
        changed = tree(workspace.work)
        await workspace.decide("reject")
        assert workspace.pending() == {}
        assert tree(workspace.work) == BEFORE
        await workspace.unreject()
        assert "f.txt" in workspace.pending()
        if what in ("folder", "deep folder"):
            assert not (workspace.work / "f.txt").exists()
        else:
            assert tree(workspace.work) == changed


@stores
@places
async def test_a_checkpoint_restores_the_file_and_can_be_undone(
    tmp_path: Path, store: str, what: str
) -> None:
    async with after(tmp_path, store, what) as workspace:
        changed = tree(workspace.work)
        count = 3 if what == "full folder" else 1
        files = f"{count} file{'s' if count > 1 else ''} changed"
        told = await workspace.restore(1, every=False)
        assert told == [f"Files restored to before prompt 1: {files}"]
        assert tree(workspace.work) == BEFORE
        assert workspace.pending() == {}
        told = await workspace.restore(None, every=False)
        assert told == [f"The restore was undone: {files}"]
        if what not in ("folder", "deep folder"):
            assert {k: v for k, v in tree(workspace.work).items() if v != "folder"} == {
                k: v for k, v in changed.items() if v != "folder"
            }
        assert workspace.asked == []
