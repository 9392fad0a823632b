"""The end of a turn for the attribution of changes: immediate, whatever work follows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from acp_nvim.files import workspace as module
from acp_nvim.files.changes.disk_changes import DiskChanges
from acp_nvim.files.changes.save_notes import SaveNotes
from acp_nvim.files.changes.turns import Turns
from acp_nvim.files.checkpoints.snapshots import Snapshots
from acp_nvim.files.workspace import Workspace
from acp_nvim.session.session import Session
from tests.support.fake_workspace import fake_workspace


async def ignore_roots(_: Any) -> None:
    """Ignore the roots of running turns."""


async def test_changes_after_the_answer_belong_to_the_user_at_once() -> None:
    session, closed = Session(1, "agent", "/"), []
    turns = Turns(ignore_roots)
    turn = turns.enter(session)

    async def later(*_: Any) -> None:
        closed.append(turn.idle_since)

    workspace = SimpleNamespace(
        disk=SimpleNamespace(turns=turns, before_use=None),
        files=SimpleNamespace(
            ledger=SimpleNamespace(files=list),
            trees=SimpleNamespace(known={}, read=lambda _: {}),
        ),
        _learn_trees=lambda _: None,
        _amendments=SimpleNamespace(on_turn_end=later),
        _run_with_timeout=later,
        _end=None,
        _open_checkpoints={},
    )
    await Workspace.end_turn(cast(Any, workspace), session)
    assert closed[0] > turn.began
    assert closed == [turn.idle_since] * 2


async def test_a_turn_that_continues_with_another_prompt_is_not_closed() -> None:
    turns = Turns(ignore_roots)
    session = Session(1, "agent", "/")
    turn = turns.enter(session)
    turn.on_sent(1, is_scanned=True)
    assert turns.enter(session) is turn
    turn.on_sent(2, is_scanned=False)
    turn.on_finished()
    assert not turn.idle_since
    assert turn.had_prompt(1), "the first prompt was at work when the second one went"
    turn.on_finished()
    assert turn.idle_since


async def test_the_answer_ends_the_agents_time_before_the_end_of_the_turn() -> None:
    """Other observers of the end of a turn may take a while."""
    turns = Turns(ignore_roots)
    turn = turns.enter(Session(1, "agent", "/"))
    turn.on_sent(1, is_scanned=True)
    turn.on_answer()
    answered = turn.idle_since
    turn.on_finished()
    assert turn.idle_since == answered
    assert not turn.had_prompt(answered)


async def test_changes_between_two_prompts_belong_to_the_user() -> None:
    """The same holds if the second prompt is about to be sent when the first one is answered."""
    turns = Turns(ignore_roots)
    session = Session(1, "agent", "/")
    turn = turns.enter(session)
    turn.on_sent(1, is_scanned=True)
    turns.enter(session)
    turn.on_finished()
    between = turn.idle_since
    turn.on_sent(between + 2, is_scanned=True)
    assert [turn.had_prompt(between + n) for n in (-1, 0, 1, 2)] == [True, False, False, True]


async def test_a_failed_prompt_leaves_no_turn_behind(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        core, session = workspace.core, workspace.sessions[0]

        async def broken(*_: Any) -> None:
            raise OSError("a full disk")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(core.disk, "remember", broken)
            with pytest.raises(OSError, match="a full disk"):
                await core.begin_turn(session, object(), "x")
        assert core.disk.turns.get(session) is None


async def test_a_turn_ends_after_the_scan_that_follows_its_last_prompt() -> None:
    """The same holds if the scan after its first prompt takes longer than the second prompt."""
    turns = Turns(ignore_roots)
    files, tasks = SimpleNamespace(save_notes=SaveNotes()), SimpleNamespace(start_soon=id)
    disk = cast(Any, SimpleNamespace(turns=turns, _tasks=tasks, _files=files))
    session = Session(1, "agent", "/")
    turn = turns.enter(session)
    turn.on_finished()
    turns.enter(session)
    turn.on_finished()
    DiskChanges.leave(disk, session)
    assert turns.get(session) is turn
    DiskChanges.leave(disk, session)
    assert turns.get(session) is None


async def test_a_prompt_waits_only_for_the_very_first_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes by its agent before the end of that scan would count as original contents."""
    look, gate = Snapshots.scan, anyio.Event()

    async def stopped(self: Snapshots, *args: Any) -> Any:
        await gate.wait()
        return await look(self, *args)

    monkeypatch.setattr(Snapshots, "scan", stopped)
    monkeypatch.setattr(module, "SCAN_WAIT_S", 0.0)
    monkeypatch.setattr(module, "FIRST_SCAN_WAIT_S", 10.0)
    async with fake_workspace(tmp_path) as workspace, anyio.create_task_group() as group:
        core, session = workspace.core, workspace.sessions[0]
        sent = anyio.Event()

        async def begin() -> None:
            await core.begin_turn(session, object(), "x")
            sent.set()

        group.start_soon(begin)
        await anyio.wait_all_tasks_blocked()
        assert not sent.is_set()
        gate.set()
        await sent.wait()
        await workspace.end()
        (workspace.work / "a.txt").write_text("the user's\n")
        gate = anyio.Event()
        await core.begin_turn(session, object(), "y")
        gate.set()
        await workspace.end()
