"""Files that a program truncates before it writes them, as Neovim and most editors may do.

No state between the two steps becomes a base or the user's text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio.from_thread
import pytest

from acp_nvim.edits.text import from_lines
from acp_nvim.files import workspace as workspace_module
from acp_nvim.files.bytes import disk
from acp_nvim.files.changes import disk_changes
from acp_nvim.files.checkpoints.git_store import GitStore
from tests.support.fake_workspace import FakeWorkspace, fake_workspace


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send no prompt before the scan, so that changes until then are the user's. Count a file as
    just truncated however long the machine has been busy.
    """
    monkeypatch.setattr(workspace_module, "SCAN_WAIT_S", 30.0)
    monkeypatch.setattr(disk, "EMPTIED_NS", 10**12)


def fill_when_asked(monkeypatch: pytest.MonkeyPatch, path: Path, text: str) -> None:
    """Let the program that has truncated a file write it once the host has noticed the state."""
    look = disk.is_just_emptied

    def filled_after(asked: str) -> bool:
        is_emptied = look(asked)
        if is_emptied and asked == str(path):
            path.write_text(text)
        return is_emptied

    monkeypatch.setattr(disk, "is_just_emptied", filled_after)


async def turn_that_writes(workspace: FakeWorkspace, path: Path, text: str) -> None:
    """Take a turn in which the agent writes a file on disk."""
    await workspace.begin()
    path.write_text(text)  # noqa: ASYNC240
    await workspace.end()


async def test_a_save_while_a_turn_reads_the_file_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn of another agent begins at the same time, and the file was saved before."""
    async with fake_workspace(tmp_path, agents=2) as workspace:
        path = workspace.work / "a.txt"
        path.write_text("one\n")
        await workspace.turn()
        workspace.core.on_idle_save(str(path))
        workspace.neovim.open(str(path))
        read = disk_changes._read_all

        def read_truncated(paths: Any) -> Any:
            monkeypatch.setattr(disk_changes, "_read_all", read)
            path.write_text("")
            contents = read(paths)
            workspace.neovim.type(str(path), from_lines(["one", "mine"]))
            anyio.from_thread.run_sync(workspace.neovim.save, str(path))
            anyio.from_thread.run(workspace.begin, second)
            return contents

        monkeypatch.setattr(disk_changes, "_read_all", read_truncated)
        first, second = workspace.sessions
        await workspace.begin(first)
        await workspace.end(second)
        assert workspace.pending() == {}


@pytest.mark.parametrize("text", ["", "on"])
async def test_text_that_a_scan_has_stored_in_part_is_not_the_text_before_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """The program has written the file by the time at which the scan compares it."""
    async with fake_workspace(tmp_path) as workspace:
        path, scan = workspace.work / "a.txt", GitStore.scan
        path.write_text("one\n")
        await workspace.turn()
        path.write_text(text)

        def written_after(self: GitStore, *args: Any) -> Any:
            found = scan(self, *args)
            if path.read_text() == text:
                path.write_text("one\ntwo\n")
            return found

        monkeypatch.setattr(GitStore, "scan", written_after)
        await turn_that_writes(workspace, path, "one\n2\n")
        await workspace.decide("reject")
        assert path.read_text() == "one\ntwo\n"


async def test_lines_of_a_file_that_is_truncated_stay_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's program writes the file while no turn runs and no buffer has it."""
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a.txt"
        path.write_text("one\n")
        await turn_that_writes(workspace, path, "one\nagent\n")
        fill_when_asked(monkeypatch, path, "mine\none\nagent\n")
        path.write_text("")
        await workspace.core.sync_all()
        await workspace.core.sync_all()
        await workspace.decide("reject")
        assert path.read_text() == "mine\none\n"


async def test_a_file_that_is_empty_while_it_is_saved_has_its_text_before_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a reject of the agent's change would empty it."""
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a.txt"
        path.write_text("one\ntwo\n")
        await workspace.turn()
        fill_when_asked(monkeypatch, path, "one\ntwo\n")
        path.write_text("")
        await turn_that_writes(workspace, path, "one\n2\n")
        await workspace.decide("reject")
        assert path.read_text() == "one\ntwo\n"


async def test_a_file_that_is_empty_during_the_very_first_scan_has_its_text_before_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a.txt"
        fill_when_asked(monkeypatch, path, "one\ntwo\n")
        path.write_text("")
        await turn_that_writes(workspace, path, "one\n2\n")
        await workspace.decide("reject")
        assert path.read_text() == "one\ntwo\n"


async def test_lines_stay_pending_if_neovim_reads_the_truncated_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The emptied buffer is not the user's deletion of all lines."""
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a.txt"
        path.write_text("one\n")
        workspace.neovim.open(str(path))
        await turn_that_writes(workspace, path, "one\nagent\n")
        fill_when_asked(monkeypatch, path, "mine\none\nagent\n")
        path.write_text("")
        workspace.neovim.refresh(str(path))
        await workspace.core.sync_all()
        await workspace.decide("reject")
        assert path.read_text() == "mine\none\n"


async def test_a_file_that_is_missing_while_it_is_saved_has_its_text_before_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor may rename the file before it writes the new one ('backupcopy')."""
    async with fake_workspace(tmp_path) as workspace:
        path, scan = workspace.work / "a.txt", GitStore.scan
        path.write_text("one\n")
        await workspace.turn()
        path.unlink()

        def written_after(self: GitStore, *args: Any) -> Any:
            found = scan(self, *args)
            if not path.exists():
                path.write_text("one\ntwo\n")
            return found

        monkeypatch.setattr(GitStore, "scan", written_after)
        await turn_that_writes(workspace, path, "one\n2\n")
        await workspace.decide("reject")
        assert path.read_text() == "one\ntwo\n"


@pytest.mark.parametrize("has_buffer", [True, False])
async def test_lines_of_a_file_that_is_missing_while_it_is_saved_stay_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_buffer: bool
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        path, text = workspace.work / "a.txt", "one\nagent\n"
        path.write_text("one\n")
        if has_buffer:
            workspace.neovim.open(str(path))
        await turn_that_writes(workspace, path, text)
        look = disk.is_just_removed

        def written_after(asked: str) -> bool:
            is_removed = look(asked)
            if is_removed:
                path.write_text(text)
            return is_removed

        monkeypatch.setattr(disk, "is_just_removed", written_after)
        path.unlink()
        await workspace.core.sync_all()
        await workspace.core.sync_all()
        await workspace.decide("reject")
        assert path.read_text() == "one\n"
