"""Observers of an agent's change find its hunks, whatever else happens at the time."""

from __future__ import annotations

from pathlib import Path

import anyio

from tests.support.fake_workspace import FakeWorkspace, fake_workspace


def edit_events(workspace: FakeWorkspace) -> list[tuple[str, list[str]]]:
    """Return the `AcpEdit` events with the hunks that `state().edits` lists."""
    session = workspace.sessions[0]
    heard = session.changes.take_events(1 << 30)
    names = sorted(Path(edit["path"]).name for edit in session.edits)
    return [(Path(it.data["path"]).name, names) for it in heard if it.name == "AcpEdit"]


async def test_a_write_during_a_long_scan_is_listed_at_once(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace, anyio.create_task_group() as group:
        looking, done = anyio.Event(), anyio.Event()

        async def look() -> None:
            with workspace.core.files.pending_view.together():
                looking.set()
                await done.wait()

        group.start_soon(look)
        await looking.wait()
        await workspace.write(workspace.work / "a.txt", "one\n")
        assert edit_events(workspace) == [("a.txt", ["a.txt"])]
        done.set()


async def test_changes_in_one_frame_have_their_events_after_the_list(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        with workspace.core.files.pending_view.together():
            await workspace.write(workspace.work / "a.txt", "one\n")
            await workspace.write(workspace.work / "b.txt", "two\n")
            assert edit_events(workspace) == []
        assert edit_events(workspace) == [
            ("a.txt", ["a.txt", "b.txt"]),
            ("b.txt", ["a.txt", "b.txt"]),
        ]
