"""Scans around the directory of a session: slow, late, and several at once."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim.files.bytes.disk import GRAIN_NS, changed_at
from acp_nvim.files.changes.outer_trees import OuterTrees
from acp_nvim.files.checkpoints.snapshots import Snapshots
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Line
from tests.support.fake_workspace import fake_workspace
from tests.support.git import repository
from tests.support.waiting import eventually

SCAN = Snapshots.scan_around


def prepare_tree(top: Path) -> Path:
    """Make a repository around the directory of the session; return a file beside it."""
    (top / "beside").mkdir()
    (top / "beside" / "a.txt").write_text("one\n")
    repository(top)
    return top / "beside" / "a.txt"


def is_waiting(outer: OuterTrees) -> bool:
    """Return whether a scan waits for another one of the same tree."""
    return any(lock.statistics().tasks_waiting for lock in outer._locks.values())


async def test_a_file_of_the_user_that_a_late_scan_finds_is_not_the_next_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_tree(tmp_path)
    waits, gate = False, anyio.Event()

    async def scan(self: Snapshots, outer: str) -> Any:
        if waits:
            await gate.wait()
        return await SCAN(self, outer)

    monkeypatch.setattr(Snapshots, "scan_around", scan)
    async with fake_workspace(tmp_path) as workspace:
        core, session = workspace.core, workspace.sessions[0]
        await workspace.turn()
        await workspace.begin()
        turn = core.disk.turns.get(session)
        assert turn is not None
        await workspace.end()
        mine = tmp_path / "beside" / "mine.txt"
        mine.write_text("mine\n")
        await eventually(lambda: changed_at(str(mine)) + 2 * GRAIN_NS < time.time_ns())
        waits = True
        async with anyio.create_task_group() as group:
            group.start_soon(partial(core.disk.outer.scan, turn, is_over=False))
            await workspace.begin()
            gate.set()
        await workspace.end()
        assert not workspace.pending()


async def test_a_turn_ends_after_the_changes_that_an_earlier_scan_has_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = prepare_tree(tmp_path)
    is_held, found, gate = False, anyio.Event(), anyio.Event()

    async def scan(self: Snapshots, outer: str) -> Any:
        changes = await SCAN(self, outer)
        if is_held and not found.is_set():
            found.set()
            await gate.wait()
        return changes

    monkeypatch.setattr(Snapshots, "scan_around", scan)
    async with fake_workspace(tmp_path) as workspace:
        core, session = workspace.core, workspace.sessions[0]
        await workspace.turn()
        await workspace.begin()
        turn = core.disk.turns.get(session)
        assert turn is not None
        outer.write_text("two\n")
        is_held = True
        async with anyio.create_task_group() as group:
            group.start_soon(partial(core.disk.outer.scan, turn, is_over=False))
            await found.wait()
            group.start_soon(core.end_turn, session)
            await eventually(lambda: turn.over.is_set() or is_waiting(core.disk.outer))
            gate.set()
        await turn.over.wait()
        assert workspace.pending() == {"../beside/a.txt": "modified"}


async def test_a_scan_for_another_session_finds_changes_by_the_first(tmp_path: Path) -> None:
    outer = prepare_tree(tmp_path)
    async with fake_workspace(tmp_path, agents=2) as workspace:
        first, second = workspace.sessions

        async def begin(session: Session) -> None:
            await workspace.begin(session)
            turn = workspace.core.disk.turns.get(session)
            assert turn is not None
            await workspace.core.disk.outer.scan(turn, is_over=False)

        await workspace.turn()
        await begin(first)
        outer.write_text("two\n")
        await eventually(lambda: changed_at(str(outer)) + 2 * GRAIN_NS < time.time_ns())
        await begin(second)
        await workspace.end(second)
        await workspace.end(first)
        assert workspace.pending() == {"../beside/a.txt": "modified"}


async def test_changes_before_the_end_of_the_first_scan_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = prepare_tree(tmp_path)
    gate = anyio.Event()

    async def scan(self: Snapshots, outer: str) -> Any:
        await gate.wait()
        return await SCAN(self, outer)

    monkeypatch.setattr(Snapshots, "scan_around", scan)
    async with fake_workspace(tmp_path) as workspace:
        session = workspace.sessions[0]
        await workspace.begin()
        outer.write_text("two\n")
        gate.set()
        await workspace.end()
        lines = [it.title for it in session.transcript.entries if isinstance(it, Line)]
        (line,) = lines
        assert line.endswith("were changed and cannot be reviewed: ../beside/a.txt")
        assert not workspace.pending()
        await workspace.begin()
        (outer.parent / "b.txt").write_text("two\n")
        await workspace.end()
        assert workspace.pending() == {"../beside/b.txt": "created"}


async def test_a_file_of_the_user_beside_an_idle_session_is_not_its_next_turns(
    tmp_path: Path,
) -> None:
    top, elsewhere = tmp_path / "top", tmp_path / "elsewhere"
    top.mkdir()
    elsewhere.mkdir()
    beside = prepare_tree(top)
    async with fake_workspace(top, agents=2) as workspace:
        idle, outer = workspace.sessions[1], workspace.core.disk.outer
        busy = workspace.sessions[0] = Session(1, "agent", str(elsewhere))
        busy.id, busy.status = "s1", "idle"
        await workspace.turn(idle)
        await workspace.begin(busy)
        beside.write_text("mine\n")
        await eventually(lambda: changed_at(str(beside)) + 2 * GRAIN_NS < time.time_ns())
        await workspace.begin(idle)
        turn = workspace.core.disk.turns.get(idle)
        assert turn is not None
        await outer.scan(turn, is_over=False)
        await workspace.end(idle)
        await workspace.end(busy)
        assert workspace.pending() == {}
