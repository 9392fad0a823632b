"""Pending edits and checkpoints belong to the path of a workspace."""

from __future__ import annotations

import shutil
from pathlib import Path

from acp_nvim.wording import CHANGED_BY_BOTH
from tests.support.fake_workspace import FakeWorkspace
from tests.support.neovims import Neovims, pending_by_path

LINES = [f"line {n}" for n in range(1, 13)]
TEXT = "\n".join(LINES) + "\n"
TWO = TEXT.replace("line 2\n", "two\n").replace("line 10\n", "ten\n")
PENDING = {
    "a.txt": ("modified", False, [(("line 2",), ("two",)), (("line 10",), ("ten",))]),
}


async def worked(started: Neovims, name: str = "work") -> Path:
    """Make a directory in which an agent has changed a file and a prompt has a checkpoint, and kill
    its Neovim.
    """
    work = started.root / name
    work.mkdir(exist_ok=True)
    path = work / "a.txt"
    path.write_text(TEXT)
    first = await started.neovim(f"at {name}", work=work)
    await first.begin()
    await first.write(path, TWO)
    await first.end()
    await first.exchange()
    started.kill(first)
    return work


async def entered(started: Neovims, work: Path) -> FakeWorkspace:
    """Start another Neovim, whose user enters a buffer there."""
    return await started.neovim(f"{len(started.all)}", agents=0, work=work)


async def test_a_workspace_that_is_moved_has_no_pending_edits(started: Neovims) -> None:
    work = await worked(started)
    moved = work.rename(started.root / "moved")
    second = await entered(started, moved)
    assert pending_by_path(second) == {}
    assert len(second.core.files.checkpoints.of(1)) == 0
    assert second.notices == []
    assert (moved / "a.txt").read_text() == TWO


async def test_a_workspace_that_is_moved_back_has_its_pending_edits(started: Neovims) -> None:
    work = await worked(started)
    moved = work.rename(started.root / "moved")
    started.kill(await entered(started, moved))
    moved.rename(work)
    third = await entered(started, work)
    assert pending_by_path(third) == PENDING
    await third.restore(1)
    assert (work / "a.txt").read_text() == TEXT


async def test_another_workspace_at_the_old_path_keeps_its_files(started: Neovims) -> None:
    work = await worked(started)
    work.rename(started.root / "moved")
    work.mkdir()
    (work / "a.txt").write_text("other\n")
    second = await entered(started, work)
    assert pending_by_path(second) == {"a.txt": ("modified", True, [])}
    assert second.notices == [CHANGED_BY_BOTH.format(file="a.txt")]
    assert (work / "a.txt").read_text() == "other\n"


async def test_a_copy_of_a_workspace_has_no_pending_edits(started: Neovims) -> None:
    work = await worked(started)
    copy = started.root / "copy"
    shutil.copytree(work, copy)
    assert pending_by_path(await entered(started, copy)) == {}
    assert pending_by_path(await entered(started, work)) == PENDING


async def test_a_linked_workspace_has_the_same_pending_edits(started: Neovims) -> None:
    work = await worked(started)
    (started.root / "link").symlink_to(work)
    second = await started.neovim("second", agents=0, work=started.root / "link")
    assert [entry.path for entry in second.core.files.ledger.files()] == [str(work / "a.txt")]
