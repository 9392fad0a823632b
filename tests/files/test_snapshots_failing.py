"""Temporary failures of git: files that change during the scan, a tree that cannot be
stored now.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from acp_nvim.files.bytes import private_files, roots
from acp_nvim.files.checkpoints import private_git
from acp_nvim.files.checkpoints.git_store import GitStore
from acp_nvim.files.checkpoints.snapshots import Snapshots
from tests.support.git import repository
from tests.support.scan_changes import changes_of

Run = Callable[..., bytes]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Make a repository of five files."""
    directory = tmp_path / "work"
    directory.mkdir()
    for name in "abcde":
        (directory / name).write_text("one\n")
    repository(directory)
    return directory


class Vanishing:
    """A git that sees a file vanish or return between two reads."""

    def __init__(self, run: Run, path: Path, times: int) -> None:
        self.left = times
        self.calls = 0
        self._run = run
        self._path = path

    def __call__(self, args: Sequence[str], given: bytes = b"", **rest: object) -> bytes:
        if args[0] == "update-index":
            self.calls += 1
            if os.fsencode(self._path.name) in given.split(b"\0") and self.left:
                self.left -= 1
                if not self.left:
                    self._path.unlink()
                raise private_git.GitError(f"git update-index: Unable to process {self._path.name}")
        return self._run(args, given, **rest)


@pytest.mark.parametrize("times", [1, 3, 6])
def test_a_file_that_changes_during_the_read_is_read_again(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    store = GitStore(str(work), tmp_path / "home")
    store.scan()
    for name in "abcde":
        (work / name).write_text("two\n")
    git = Vanishing(store._run, work / "c", times)
    monkeypatch.setattr(store, "_run", git)
    assert changes_of(store.scan(), work) == dict.fromkeys("abde", "M") | {"c": "D"}
    assert git.calls <= 12


def test_a_file_that_keeps_changing_is_an_error(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = GitStore(str(work), tmp_path / "home")
    store.scan()
    (work / "c").write_text("two\n")
    monkeypatch.setattr(store, "_run", Vanishing(store._run, work / "c", 1000))
    with pytest.raises(private_git.GitError, match="Unable to process c"):
        store.scan()


async def test_a_tree_that_could_not_be_stored_is_tried_again(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    snapshots = Snapshots(lambda root: tmp_path / "own" / "all" / roots.name(root), notices.append)
    where = [str(work)]
    await snapshots.scan(where)
    (work / "a").write_text("two\n")

    def fails(*_: object, **__: object) -> bytes:
        raise private_git.GitError("git diff-files: no")

    with monkeypatch.context() as broken:
        broken.setattr(GitStore, "_run", fails)
        assert await snapshots.scan(where) == []
    assert snapshots.reasons(where) == ["git diff-files: no"]
    assert len(notices) == 1
    (work / "b").write_text("two\n")
    assert await snapshots.scan(where) == []
    snapshots.retry(where)
    assert await snapshots.scan(where) == []
    assert snapshots.reasons(where) == []
    (work / "b").write_text("three\n")
    assert [change.path for change in await snapshots.scan(where)] == [str(work / "b")]


async def test_a_tree_that_is_too_large_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    plain = tmp_path / "plain"
    plain.mkdir()
    for name in "abc":
        (plain / name).write_text("one\n")
    monkeypatch.setattr("acp_nvim.files.checkpoints.plain_tree.MAX_FILES", 2)
    snapshots = Snapshots(lambda root: tmp_path / "own" / "all" / roots.name(root), notices.append)
    await snapshots.scan([str(plain)])
    snapshots.retry([str(plain)])
    assert len(snapshots.reasons([str(plain)])) == len(notices) == 1


@pytest.mark.parametrize("git", [True, False])
async def test_an_unusable_store_is_reported_once(work: Path, tmp_path: Path, git: bool) -> None:
    notices: list[str] = []
    root = work if git else tmp_path / "plain"
    root.mkdir(exist_ok=True)
    (tmp_path / "file").touch()
    own = tmp_path / "file" / "own" / "run"
    snapshots = Snapshots(lambda root: own / roots.name(root), notices.append)
    assert await snapshots.scan([str(root)]) == []
    snapshots.retry([str(root)])
    assert await snapshots.scan([str(root)]) == []
    [notice] = notices
    assert notice.startswith("No checkpoints, and changes on disk are not noticed: Not a ")
    assert str(own) in notice
    assert snapshots.is_scanned([str(root)])
    assert len(snapshots.reasons([str(root)])) == 1


async def test_a_full_disk_is_reported_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    root = tmp_path / "plain"
    root.mkdir()
    (root / "a").write_text("one\n")
    snapshots = Snapshots(lambda root: tmp_path / "own" / "all" / roots.name(root), notices.append)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as broken:
        broken.setattr(private_files, "opener", full)
        assert await snapshots.scan([str(root)]) == []
    assert notices == [
        "No checkpoints, and changes on disk are not noticed: No space left on device"
    ]
    snapshots.retry([str(root)])
    assert await snapshots.scan([str(root)]) == []
    (root / "a").write_text("two\n")
    assert [change.path for change in await snapshots.scan([str(root)])] == [str(root / "a")]
