"""Checkpoints of directories outside of repositories, in a git directory of the plugin."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.files.checkpoints.git_store import GitStore
from tests.support.fake_workspace import fake_workspace
from tests.support.git import git, repository
from tests.support.scan_changes import changes_of


@pytest.fixture
def work(tmp_path: Path) -> Path:
    directory = tmp_path / "work"
    directory.mkdir()
    (directory / "a.txt").write_text("a\n")
    return directory


def opened(work: Path) -> GitStore:
    return GitStore(str(work), work.parent / "home")


def test_a_first_scan_starts_few_programs(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them delays the first prompt in a directory."""
    started: list[str] = []

    class Counted(subprocess.Popen[bytes]):
        def __init__(self, args: list[str], **options: Any) -> None:
            started.append(next(it for it in args[1:] if not it.startswith("-") and "=" not in it))
            super().__init__(args, **options)

    monkeypatch.setattr(subprocess, "Popen", Counted)
    store = opened(work)
    assert store.scan().read == [str(work / "a.txt")]
    assert store.folders() == [str(work)]
    assert started == ["config", "ls-files", "update-index", "write-tree"]


def test_no_file_is_created_in_the_directory(work: Path) -> None:
    opened(work).scan()
    assert [path.name for path in work.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("name", ["git~1", "back\\slash", "-n", " ", "ü\n", "a:b"])
def test_a_file_of_any_name_is_stored(work: Path, name: str) -> None:
    store = opened(work)
    before = store.scan().tree
    (work / name).write_text("1\n")
    assert changes_of(store.scan(), work) == {name: "A"}
    (change,) = store.differences(before, store.scan().tree)
    assert change.after is not None
    assert store.contents([(change.path, change.after)]) == {str(work / name): b"1\n"}


def test_files_that_its_rules_ignore_are_left_out(work: Path) -> None:
    (work / ".gitignore").write_text("*.log\n")
    store = opened(work)
    store.scan()
    ignored = [work / "x.log", work / "node_modules" / "x.js", work / "sub" / "venv" / "x.py"]
    for path in ignored:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1\n")
    (work / "sub" / "b.txt").write_text("1\n")
    assert changes_of(store.scan(), work) == {"sub/b.txt": "A"}
    assert set(store.skipped([*map(str, ignored), str(work / "a.txt")])) == set(map(str, ignored))


def test_a_repository_that_git_cannot_read_counts_as_a_directory(work: Path) -> None:
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("[broken")
    store = opened(work)
    store.scan()
    (work / "a.txt").write_text("b\n")
    assert changes_of(store.scan(), work) == {"a.txt": "M"}


def test_checkpoints_stay_when_the_directory_becomes_a_repository(work: Path) -> None:
    before = opened(work).scan().tree
    repository(work)
    (work / "a.txt").write_text("b\n")
    git(work, "commit", "-qam", "second")
    store = opened(work)
    (change,) = store.differences(before, store.scan().tree)
    assert change.before is not None
    assert store.contents([(change.path, change.before)]) == {str(work / "a.txt"): b"a\n"}


async def test_a_repository_inside_is_scanned_as_one(tmp_path: Path) -> None:
    async with fake_workspace(tmp_path) as workspace:
        inner = workspace.work / "inner"
        inner.mkdir()
        (inner / "b.txt").write_text("one\n")
        repository(inner)
        await workspace.begin()
        (inner / "b.txt").write_text("two\n")
        (workspace.work / "a.txt").write_text("new\n")
        await workspace.end()
        assert workspace.pending() == {"a.txt": "created", "inner/b.txt": "modified"}
        await workspace.restore(1)
        assert (inner / "b.txt").read_text() == "one\n"
        assert not (workspace.work / "a.txt").exists()


async def test_without_git_only_writes_of_the_editor_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with fake_workspace(tmp_path) as workspace:
        path, other = workspace.work / "a.txt", workspace.work / "b.txt"
        path.write_text("one\n")
        for text in ("two\n", "three\n"):
            await workspace.begin()
            await workspace.write(path, text)
            other.write_text(text)
            await workspace.end()
        assert workspace.notices == [
            "No checkpoints, and changes on disk are not noticed: git is not installed"
        ]
        assert workspace.pending() == {"a.txt": "modified"}
        await workspace.decide("reject")
        assert path.read_text() == "one\n"
        assert "Nothing was restored: git is not installed" in await workspace.restore(1)
        assert (path.read_text(), other.read_text()) == ("one\n", "three\n")
