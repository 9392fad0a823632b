"""Saves, undos and reloads of a buffer with an agent's write that is only in the buffer."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec
import pytest

from acp_nvim.edits.text import parse
from acp_nvim.files.bytes.disk import signature_of
from acp_nvim.files.journal import persistence
from tests.support.fake_workspace import fake_workspace
from tests.support.git import git, repository
from tests.support.neovims import Neovims, pending_by_path

OLD = "".join(f"line {n}\n" for n in range(1, 13))
MINE = OLD.replace("line 12\n", "mine\n")
WRITTEN = "line 3\nx=1\ny=2\nz=3\n"


@pytest.mark.parametrize("before", [OLD, MINE])
async def test_unsaved_lines_that_a_formatter_changes_on_save_are_pending(
    tmp_path: Path, before: str
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        save = "never" if before == OLD else "auto"
        workspace.options = msgspec.structs.replace(workspace.options, save=save)
        neovim, file = workspace.neovim, workspace.work / "a.txt"
        path = str(file)
        file.write_text(OLD)
        neovim.open(path)
        await workspace.core.live.sync(path)
        await workspace.begin()
        if before != OLD:
            neovim.type(path, parse(before))
        await workspace.read(path)
        written = before.replace("line 3\n", WRITTEN)
        await workspace.write(path, written)
        await workspace.end()
        assert (file.read_text(), workspace.pending()) == (OLD, {"a.txt": "modified"})
        neovim.save_formatted(path, parse(written.replace("=", " = ")))
        await workspace.core.live.sync(path)
        assert "x = 1" in file.read_text()
        assert workspace.pending() == {"a.txt": "modified"}


@pytest.mark.parametrize("is_undone", [True, False])
async def test_nothing_is_pending_in_a_buffer_that_is_as_the_file_again(
    tmp_path: Path, is_undone: bool
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        neovim, file = workspace.neovim, workspace.work / "a.txt"
        path = str(file)
        file.write_text(OLD)
        neovim.open(path)
        await workspace.core.live.sync(path)
        await workspace.begin()
        neovim.type(path, parse(MINE))
        await workspace.read(path)
        await workspace.write(path, MINE.replace("mine\n", "agent\n"))
        await workspace.end()
        assert workspace.pending() == {"a.txt": "modified"}
        if is_undone:
            neovim.undo(path, 9)
        else:
            neovim.reload(path)
        await workspace.core.live.sync(path)
        assert neovim.buffers[path].text == parse(OLD)
        assert workspace.pending() == {}


async def test_unsaved_lines_stay_pending_if_a_formatter_reads_a_hidden_buffer_again(
    tmp_path: Path,
) -> None:
    """`:wall` saves the buffer, and `:edit` by a formatter unloads it before the report."""
    async with fake_workspace(tmp_path) as workspace:
        neovim, file = workspace.neovim, workspace.work / "a.txt"
        path = str(file)
        file.write_text(OLD)
        buffer = neovim.open(path, shown=False)
        await workspace.core.live.sync(path)
        await workspace.begin()
        typed = OLD + "".join(f"mine   {n}\n" for n in range(8))
        neovim.type(path, parse(typed))
        await workspace.read(path)
        written = typed.replace("line 3\n", WRITTEN)
        await workspace.write(path, written)
        file.write_text(OLD.replace("line 9\n", ""))
        await workspace.end()
        before = workspace.core.files.ledger.get(path)
        assert before is not None
        assert [hunk.lines for hunk in before.hunks] == [("x=1", "y=2", "z=3"), ()]
        buffer.modified = False
        file.write_text("\n".join([*buffer.text.lines, ""]).replace("   ", " "))
        neovim.reload(path)
        await workspace.core.live.sync(path)
        after = workspace.core.files.ledger.get(path)
        assert after is not None
        assert after.hunks == before.hunks


async def test_a_write_that_waited_follows_the_present_options(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace, anyio.create_task_group() as tasks:
        file = workspace.work / "a.txt"
        file.write_text(OLD)
        workspace.neovim.open(str(file))
        await workspace.begin()
        await workspace.read(str(file))
        lock = workspace.core.files.tracked[str(file)].lock
        async with lock:
            tasks.start_soon(workspace.write, str(file), MINE)
            while not lock.statistics().tasks_waiting:
                await anyio.lowlevel.checkpoint()
            workspace.options = msgspec.structs.replace(workspace.options, save="never")
    assert file.read_text() == OLD


async def test_neovim_asks_before_it_overwrites_a_change_by_git_after_one_of_the_agent(
    tmp_path: Path,
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        neovim, file = workspace.neovim, workspace.work / "a.txt"
        path = str(file)
        file.write_text(OLD)
        repository(workspace.work)
        file.write_text(OLD.replace("line 3\n", "theirs\n"))
        git(workspace.work, "commit", "-q", "-am", "theirs")
        buffer = neovim.open(path)
        await workspace.begin()
        await workspace.read(path)
        neovim.type(path, parse(OLD.replace("line 3\n", "typed\n")))
        git(workspace.work, "reset", "-q", "--hard", "HEAD~1")
        await workspace.core.disk.scan([str(workspace.work)])
        assert workspace.pending() == {}
        file.write_text(OLD.replace("line 9\n", "agents\n"))
        await workspace.core.disk.scan([str(workspace.work)])
        assert buffer.text.lines[8] == "agents"
        assert buffer.accepted != signature_of(path)


async def test_lines_that_another_neovim_finds_in_the_saved_file_first_stay_pending(
    started: Neovims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has removed them from its edits, because the file did not have them before the save."""
    monkeypatch.setattr(persistence, "DELAY_S", 60.0)
    first = await started.neovim("first")
    second = await started.neovim("second")
    file = first.work / "a.txt"
    path = str(file)
    file.write_text(OLD)
    first.neovim.open(path)
    first.neovim.type(path, parse(MINE))
    await first.write(path, MINE.replace("line 3\n", WRITTEN))
    for neovim in (first, second):
        await neovim.exchange()
    first.neovim.type(path, parse(f"{first.neovim.buffers[path].text}more\n"))
    first.neovim.save(path)
    await second.core.sync_all()
    await second.exchange()
    await first.exchange()
    await second.exchange()
    assert pending_by_path(first) == pending_by_path(second)
    assert pending_by_path(first) == {
        "a.txt": ("modified", False, [((), tuple(WRITTEN.splitlines()[1:]))])
    }
    await second.decide("reject")
    assert file.read_text() == f"{MINE}more\n"
