"""Repositories inside a work tree: submodules, and others that git does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_nvim.files.bytes import roots
from acp_nvim.files.checkpoints import snapshots as limits
from acp_nvim.files.checkpoints.snapshots import FileChange, Snapshots
from tests.support.git import git, repository

NAMED = [False, True]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Make a work tree with a submodule, a repository inside it, and one more below that."""
    origin, work = tmp_path / "origin", tmp_path / "work"
    for directory in (origin, work, work / "own", work / "own" / "deep"):
        directory.mkdir()
        (directory / "a.txt").write_text("a\n")
    repository(origin)
    repository(work / "own" / "deep")
    repository(work / "own")
    git(work, "init", "-q", "-b", "main")
    git(work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(origin), "sm")
    git(work, "add", "a.txt")
    git(work, "commit", "-q", "-m", "first")
    return work


@pytest.fixture
def snapshots(tmp_path: Path) -> Snapshots:
    notices: list[str] = []
    return Snapshots(
        lambda root: tmp_path / "data" / "checkpoints" / roots.name(root), notices.append
    )


@pytest.mark.parametrize("named", NAMED)
async def test_changes_in_nested_repositories_are_found(
    snapshots: Snapshots, work: Path, named: bool
) -> None:
    files = [work / name / "a.txt" for name in ("sm", "own", "own/deep", "")]
    paths = list(map(str, files))
    assert await snapshots.scan([str(work)]) == []
    for file in files:
        file.write_text("A\n")
    found = await snapshots.scan([str(work)], paths if named else None)
    assert sorted(found, key=lambda one: one.path) == [
        FileChange(path, b"a\n", b"A\n") for path in sorted(paths)
    ]
    assert await snapshots.outside_stores([str(work)], paths) == []
    assert len(snapshots.trees([str(work)])) == 4
    assert git(work / "sm", "status", "--porcelain").split() == ["M", "a.txt"]


async def test_a_file_belongs_to_the_innermost_repository(snapshots: Snapshots, work: Path) -> None:
    await snapshots.scan([str(work)])
    inner, outer = str(work / "own" / "deep" / "a.txt"), str(work / "a.txt")
    by, rest = snapshots.group_by_root([str(work)], [inner, outer, "/elsewhere"])
    assert by == {str(work / "own" / "deep"): [inner], str(work): [outer]}
    assert rest == ["/elsewhere"]


async def test_repositories_beyond_the_limit_are_reported(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    monkeypatch.setattr(limits, "MAX_NESTED", 1)
    snapshots = Snapshots(
        lambda root: tmp_path / "data" / "checkpoints" / roots.name(root), notices.append
    )
    await snapshots.scan([str(work)])
    assert notices == ["Changes on disk are noticed in at most 1 nested repositories, not in sm"]
