"""Stores of checkpoints: pruned by age and size, never while they are in use."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.files.checkpoints import pruning
from acp_nvim.files.checkpoints.git_store import GitStore
from acp_nvim.files.checkpoints.pruning import LOCK, StoreLock
from acp_nvim.files.checkpoints.store import MAX_AGE_S, OLDER
from tests.support.git import repository


@pytest.fixture
def old_stores(tmp_path: Path) -> Callable[[str, int, float], Path]:
    """Return a function that makes an old store: name, bytes, age in seconds."""

    def make(name: str, size: int, age: float) -> Path:
        store = tmp_path / name
        store.mkdir()
        (store / "blob").write_bytes(b"x" * size)
        at = time.time() - age
        os.utime(store, (at, at))
        return store

    return make


def test_old_stores_are_removed_by_age(tmp_path: Path, old_stores: Callable[..., Path]) -> None:
    gone = old_stores("old", 10, MAX_AGE_S + 60)
    kept = old_stores("young", 10, 60)
    assert pruning.prune(tmp_path) == [gone.name]
    assert kept.exists()
    assert not gone.exists()


def test_stores_are_removed_by_size_the_oldest_first(
    tmp_path: Path, old_stores: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "MAX_KEPT_BYTES", 250)
    stores = [old_stores(f"store{n}", 100, 60.0 * n) for n in range(4)]
    assert pruning.prune(tmp_path) == [stores[2].name, stores[3].name]


def test_a_store_in_use_is_kept_whatever_its_age(
    tmp_path: Path, old_stores: Callable[..., Path]
) -> None:
    used = old_stores("used", 10, 60)
    lock = StoreLock(used)
    at = time.time() - MAX_AGE_S - 60
    os.utime(used, (at, at))
    assert pruning.prune(tmp_path) == []
    assert used.exists()
    lock.close()
    assert pruning.prune(tmp_path) == [used.name]


def test_a_lock_waits_for_another_process_that_tidies_or_removes_the_store(
    tmp_path: Path,
) -> None:
    home = tmp_path / "store"
    home.mkdir()
    handle = os.open(home / LOCK, os.O_RDWR | os.O_CREAT)
    assert pruning._try_lock(handle)
    waited: list[float] = []

    def other(seconds: float) -> None:
        """Tidy, then remove the store."""
        waited.append(seconds)
        if len(waited) == 2:
            shutil.rmtree(home)

    lock = StoreLock(home, other)
    assert len(waited) == 2  # a removed store is not an obstacle
    assert not pruning._remove(home)
    lock.close()
    assert pruning._remove(home)
    os.close(handle)


def test_a_store_that_stays_locked_is_an_error(tmp_path: Path) -> None:
    handle = os.open(tmp_path / LOCK, os.O_RDWR | os.O_CREAT)
    assert pruning._try_lock(handle)
    with pytest.raises(BlockingIOError, match="another process"):
        StoreLock(tmp_path, lambda _: None)
    os.close(handle)


def test_a_store_that_is_removed_meanwhile_does_not_stop_the_pruning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store renames its parts while the sizes are added up."""
    (tmp_path / "present").mkdir()
    (tmp_path / "present" / "blob.part").write_bytes(b"x")
    walk = os.walk

    def walked(top: Any) -> Any:
        for found in walk(top):
            (tmp_path / "present" / "blob.part").unlink(missing_ok=True)
            yield found

    monkeypatch.setattr(os, "walk", walked)
    assert pruning.prune(tmp_path) == []


@pytest.mark.parametrize("kind", ["git", "copy"])
def test_a_large_store_starts_again_and_its_old_contents_are_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    work, home = tmp_path / "work", tmp_path / "store"
    work.mkdir()
    if kind == "git":
        (work / "a.txt").write_text("one\n")
        repository(work)

    def opened() -> GitStore:
        return GitStore(str(work), home)

    lock = StoreLock(home)
    (work / "a.txt").write_text("two\n")
    tree = opened().scan().tree
    lock.close()
    monkeypatch.setattr(pruning, "MAX_STORE_BYTES", 1)
    lock = StoreLock(home)
    assert (home / OLDER).is_dir()
    store = opened()
    (work / "a.txt").write_text("three\n")
    (change,) = store.differences(store.scan().tree, tree)
    assert change.after is not None
    assert store.contents([(change.path, change.after)]) == {change.path: b"two\n"}
    lock.close()
