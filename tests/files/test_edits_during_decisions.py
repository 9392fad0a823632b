"""Text that the user types during a restore or a decision is never overwritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from acp_nvim.agent.observers import TurnStart
from acp_nvim.edits.text import Text, parse
from acp_nvim.features.prompts import TurnFiles
from acp_nvim.files.workspace import Workspace
from acp_nvim.nvim.buffers import NvimBuffers
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session
from tests.support.fake_workspace import FakeWorkspace, fake_workspace

OLD = "".join(f"line {n}\n" for n in range(1, 13))
AGENTS = OLD.replace("line 3\n", "three\n")
TYPED = "line 9\nmine\n"
NAMES = ("a", "b", "c", "d")


async def changed(workspace: FakeWorkspace) -> list[Path]:
    """Return files in buffers that an agent has changed in a turn."""
    paths = [workspace.work / name for name in NAMES]
    for path in paths:
        path.write_text(OLD)
    await workspace.begin()
    for path in paths:
        workspace.neovim.open(str(path))
        await workspace.write(path, AGENTS)
    await workspace.end()
    return paths


def add_line(workspace: FakeWorkspace, path: Path) -> None:
    """Type a line below the ninth as the user."""
    text = workspace.neovim.buffers[str(path)].text
    lines = list(text.lines)
    workspace.neovim.type(str(path), Text((*lines[:9], "mine", *lines[9:])))


def before_call(
    workspace: FakeWorkspace, name: str, act: Callable[[], object], path: Path | None = None
) -> None:
    """Run an act once, right before this call of Neovim, for this file if one is given."""
    ask: Callable[..., Any] = getattr(workspace.neovim, name)
    bufnr = workspace.neovim.buffers[str(path)].bufnr if path else None

    def first(*args: Any) -> Any:
        if bufnr is None or bufnr in args or str(path) in args:
            setattr(workspace.neovim, name, ask)
            act()
        return ask(*args)

    setattr(workspace.neovim, name, first)


async def test_a_line_typed_before_the_turn_of_its_file_stays(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        *others, last = await changed(workspace)
        before_call(workspace, "disk_changes_merge_change", lambda: add_line(workspace, last))
        first, left, *_ = await workspace.restore(1)
        assert first == "Files restored to before prompt 1: 3 files changed"
        assert left == "d was left unchanged: it has since changed"
        assert [path.read_text() for path in others] == [OLD, OLD, OLD]
        assert last.read_text() == AGENTS
        assert workspace.neovim.buffers[str(last)].text == parse(AGENTS.replace("line 9\n", TYPED))
        assert workspace.pending() == {"d": "modified"}


async def test_a_file_saved_before_its_turn_stays(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        *_, last = await changed(workspace)

        def save() -> None:
            add_line(workspace, last)
            workspace.neovim.save(str(last))

        before_call(workspace, "disk_changes_merge_change", save)
        told = await workspace.restore(1)
        assert "d was left unchanged: it has since changed" in told
        assert last.read_text() == AGENTS.replace("line 9\n", TYPED)


async def test_a_line_typed_between_the_file_and_its_buffer_is_merged(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        first, *_ = await changed(workspace)
        before_call(
            workspace, "disk_changes_merge_change", lambda: add_line(workspace, first), first
        )
        await workspace.restore(1)
        buffer = workspace.neovim.buffers[str(first)]
        assert buffer.text == parse(OLD.replace("line 9\n", TYPED))
        assert buffer.modified
        assert first.read_text() == OLD
        assert workspace.pending() == {}


async def test_the_buffer_keeps_the_users_line_in_a_conflict(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        first, *_ = await changed(workspace)
        typed = parse(AGENTS.replace("three\n", "mine\n"))

        def act() -> None:
            workspace.neovim.type(str(first), typed)

        before_call(workspace, "disk_changes_merge_change", act, first)
        told = await workspace.restore(1)
        assert "a was left unchanged: its buffer could not be updated" in told
        assert workspace.neovim.buffers[str(first)].text == typed


async def test_a_line_typed_during_the_restore_of_unsaved_text_stays(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a"
        path.write_text(OLD)
        workspace.neovim.open(str(path))
        workspace.neovim.type(str(path), parse(OLD.replace("line 12\n", "unsaved\n")))
        await workspace.begin()
        await workspace.write(path, AGENTS)
        await workspace.end()
        before_call(workspace, "disk_changes_merge_change", lambda: add_line(workspace, path), path)
        await workspace.restore(1)
        assert "mine" in workspace.neovim.buffers[str(path)].text.lines


@pytest.mark.parametrize("shown", [True, False])
async def test_a_line_typed_into_a_new_file_while_it_is_rejected_stays(
    tmp_path: Path, shown: bool
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "new"
        await workspace.write(path, OLD)
        workspace.neovim.buffers[str(path)].shown = shown
        before_call(workspace, "disk_changes_vacate", lambda: add_line(workspace, path), path)
        await workspace.decide("reject")
        buffer = workspace.neovim.buffers[str(path)]
        assert buffer.text == parse(OLD.replace("line 9\n", TYPED))
        assert buffer.modified


async def test_a_program_that_writes_a_closed_file_stops_its_reject(
    tmp_path: Path,
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        *_, last = await changed(workspace)
        workspace.neovim.wipe(str(last))
        await anyio.lowlevel.checkpoint()
        other = AGENTS.replace("line 9\n", TYPED)
        before_call(workspace, "live_write", lambda: last.write_text(other))
        await workspace.decide("reject")
        assert "mine\n" in last.read_text()


async def test_a_file_that_does_not_load_is_compared_before_it_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        *_, last = await changed(workspace)
        workspace.neovim.wipe(str(last))
        other = AGENTS.replace("line 9\n", TYPED)

        def load(*_: Any) -> list[Any]:
            last.write_text(other)
            return [0, "utf-8", "unix,dos", "the buffer does not load"]

        monkeypatch.setattr(workspace.neovim, "live_load", load)
        await workspace.decide("reject")
        assert last.read_text() == other


async def test_a_decision_in_a_turn_scans_only_a_changed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a"
        path.write_text(OLD)
        await workspace.begin()
        buffer = workspace.neovim.open(str(path))
        await workspace.write(path, AGENTS.replace("line 7\n", "seven\n"))
        scanned: list[Any] = []
        scan = workspace.core.files.snapshots.scan

        async def record(*args: Any) -> Any:
            scanned.append(args[1])
            return await scan(*args)

        monkeypatch.setattr(workspace.core.files.snapshots, "scan", record)
        review = workspace.core.review
        assert await review.hunk("accept", str(path), 2, buffer.tick) == []
        assert scanned == []
        path.write_text(path.read_text().replace("line 11\n", "eleven\n"))
        unseen = await review.hunk("reject", str(path), 10, buffer.tick)
        assert unseen == ["No pending hunk on line 11"]
        assert await review.hunk("reject", str(path), 6, buffer.tick) == []
        assert scanned == [[str(path)]]
        assert path.read_text() == AGENTS.replace("line 11\n", "eleven\n")
        assert [hunk.lines for hunk in workspace.core.files.ledger.files()[0].hunks] == [
            ("eleven",)
        ]
        monkeypatch.undo()
        await workspace.end()


async def test_a_prompt_waits_for_decisions_made_before_it(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace, anyio.create_task_group() as group:
        await changed(workspace)
        session = workspace.sessions[0]
        files = TurnFiles(workspace.core, NvimBuffers(cast("Any", workspace.neovim)))
        turn = TurnStart(session, Prompt("next"), texts={"a": parse(AGENTS)})
        async with workspace.core.deciding():
            group.start_soon(files.on_turn_starting, turn)
            await anyio.wait_all_tasks_blocked()
            assert workspace.core.disk.turns.get(session) is None
            await workspace.decide("reject")
    assert workspace.core.disk.turns.get(session) is not None
    assert turn.texts == {}, "read again after the decision"


async def test_decisions_are_carried_out_in_the_order_in_which_they_are_made(
    tmp_path: Path,
) -> None:
    """Otherwise a slow reject of everything takes what a later unreject brings back."""
    done: list[int] = []

    async def decide(core: Workspace[Session], n: int) -> None:
        async with core.deciding():
            done.append(n)

    async with fake_workspace(tmp_path) as workspace, anyio.create_task_group() as group:
        async with workspace.core.deciding():
            for n in (2, 3):
                group.start_soon(decide, workspace.core, n)
            await anyio.wait_all_tasks_blocked()
            assert done == []
        await anyio.wait_all_tasks_blocked()
        assert done == [2, 3]


async def test_a_change_by_the_agent_during_a_reject_is_pending(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a"
        path.write_text(OLD)
        await workspace.begin()
        workspace.neovim.open(str(path))
        await workspace.write(path, AGENTS)

        def change() -> None:
            path.write_text(AGENTS.replace("line 6\n", "six\n"))
            workspace.neovim.refresh(str(path))

        before_call(workspace, "live_write", change)
        await workspace.decide("reject")
        (entry,) = workspace.core.files.ledger.files()
        assert entry.base == parse(OLD)
        await workspace.end()
        (entry,) = workspace.core.files.ledger.files()
        assert [hunk.lines for hunk in entry.hunks] == [("three",), ("six",)]
