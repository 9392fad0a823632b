"""A store that an earlier process has begun: its contents are known."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_nvim.files.checkpoints.git_store import GitStore
from acp_nvim.files.checkpoints.store import StoreError
from tests.support.git import repository

Open = Callable[[], GitStore]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    directory = tmp_path / "work"
    directory.mkdir()
    for name in ("a.txt", "b.txt"):
        (directory / name).write_text(f"{name}\n")
    return directory


@pytest.fixture(params=["git", "plain"])
def opened(request: pytest.FixtureRequest, work: Path, tmp_path: Path) -> Open:
    if request.param == "git":
        repository(work)
    return lambda: GitStore(str(work), tmp_path / "home")


def test_trees_of_an_earlier_process_can_be_restored(
    opened: Open, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened()
    trees = [first.scan().tree]
    for content in ("two\n", "three\n"):
        (work / "a.txt").write_text(content)
        (work / "new.txt").write_text(content)
        trees.append(first.scan().tree)
    (work / "b.txt").unlink()
    monkeypatch.setattr(os, "getpid", lambda: 4_000_000)
    again = opened()
    scan = again.scan()
    assert scan.changes == []
    found = again.differences(scan.tree, trees[0])
    wanted = [(change.path, change.after) for change in found if change.after]
    contents = again.contents(wanted)
    assert {Path(path).name: data for path, data in contents.items()} == {
        "a.txt": b"a.txt\n",
        "b.txt": b"b.txt\n",
    }
    assert [Path(c.path).name for c in found if c.after is None] == ["new.txt"]
    middle = again.differences(trees[1], trees[2])
    assert [Path(change.path).name for change in middle] == ["a.txt", "new.txt"]


def test_a_killed_git_delays_nothing(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(work)
    home = tmp_path / "home"
    GitStore(str(work), home).scan()
    for index in home.glob("index*"):
        index.with_name(f"{index.name}.lock").write_bytes(b"")
    (work / "a.txt").write_text("two\n")
    monkeypatch.setattr(os, "getpid", lambda: 4_000_000)
    assert GitStore(str(work), home).scan().tree


def test_a_torn_content_is_lost(work: Path, tmp_path: Path) -> None:
    store = GitStore(str(work), tmp_path / "home")
    before = store.scan().tree
    (work / "a.txt").write_text("two\n")
    after = store.scan().tree
    change = store.differences(before, after)[0]
    assert change.before is not None
    name = change.before.id
    blob = tmp_path / "home" / "objects" / name[:2] / name[2:]
    blob.chmod(0o600)
    blob.write_bytes(b"\x78")
    assert store.contents([(change.path, change.before)]) == {}


def test_a_missing_tree_is_an_error(work: Path, tmp_path: Path) -> None:
    store = GitStore(str(work), tmp_path / "home")
    trees = [store.scan().tree]
    (work / "a.txt").write_text("two\n")
    trees.append(store.scan().tree)
    (tmp_path / "home" / "objects" / trees[0][:2] / trees[0][2:]).unlink()
    with pytest.raises(StoreError):
        GitStore(str(work), tmp_path / "home").differences(*trees)
