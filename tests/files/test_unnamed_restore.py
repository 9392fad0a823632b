"""A restore asks about files that changed during a turn and that the agent has not named."""

from __future__ import annotations

from pathlib import Path

from tests.support.fake_workspace import fake_workspace
from tests.support.git import repository


async def test_a_restore_asks_about_files_that_the_agent_has_not_named(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        files = [workspace.work / name for name in ("a.txt", "b.txt")]
        for file in files:
            file.write_text("one\n")
        repository(workspace.work)
        workspace.names_files = False
        await workspace.begin()
        turn = workspace.core.disk.turns.get(workspace.sessions[0])
        assert turn is not None
        turn.mentions.add_command("sed -i s/one/two/ a.txt", str(workspace.work))
        for file in files:
            file.write_text("two\n")
        await workspace.end()
        workspace.answer = "Leave them unchanged"
        await workspace.restore(1, every=False)
        assert workspace.asked == ["Since prompt 1, it is not known who changed b.txt"]
        assert [file.read_text() for file in files] == ["one\n", "two\n"]
