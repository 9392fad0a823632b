"""Scans around the directory of a session that take longer than its turn."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_nvim.files.bytes.disk import GRAIN_NS, changed_at
from acp_nvim.files.checkpoints.snapshots import Snapshots
from tests.support.fake_workspace import fake_workspace
from tests.support.git import repository
from tests.support.waiting import eventually

SCAN = Snapshots.scan_around


async def test_a_file_of_the_user_that_a_late_scan_finds_is_not_the_next_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "a.txt").write_text("one\n")
    repository(tmp_path)
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
