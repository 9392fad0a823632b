"""A commit of the user's accepts what it contains; `tests/editor/review` has more of it."""

from __future__ import annotations

from pathlib import Path

from acp_nvim.edits.text import parse
from tests.support.fake_workspace import fake_workspace
from tests.support.git import git, repository


async def test_a_commit_is_compared_with_the_text_that_a_formatter_has_left(
    tmp_path: Path,
) -> None:
    async with fake_workspace(tmp_path) as workspace:
        neovim, path = workspace.neovim, workspace.work / "a.txt"
        path.write_text("one\ntwo\nthree\n")
        repository(workspace.work)
        neovim.open(str(path))
        await workspace.begin()
        await workspace.write(path, "one\nTWO\nthree\n")
        neovim.type(str(path), parse("one\nTWO\nthree   3\n"))
        neovim.save(str(path))
        path.write_text("one\nTWO\nthree 3\n")
        neovim.refresh(str(path))
        git(workspace.work, "commit", "-qam", "x")
        await workspace.review.refresh(workspace.sessions)
        assert workspace.pending() == {}
