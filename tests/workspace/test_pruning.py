"""Checkpoints of runs that have ended: pruned by age and by size."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.workspace.snapshots import checkpoints


@pytest.fixture
def old_runs(tmp_path: Path) -> Callable[[str, int, float], Path]:
    """Make the directory of an old run: its name, how many bytes, how many seconds old."""

    def make(name: str, size: int, age: float) -> Path:
        run = tmp_path / name
        run.mkdir()
        (run / "blob").write_bytes(b"x" * size)
        at = time.time() - age
        os.utime(run, (at, at))
        return run

    return make


def test_old_runs_go_by_age(tmp_path: Path, old_runs: Callable[..., Path]) -> None:
    gone = old_runs("20200101-000000-999999999", 10, checkpoints.MAX_AGE_S + 60)
    kept = old_runs("20260101-000000-999999999", 10, 60)
    assert checkpoints.prune(tmp_path, tmp_path / "present") == [gone.name]
    assert kept.exists()
    assert not gone.exists()


def test_runs_go_by_size_the_oldest_first(
    tmp_path: Path, old_runs: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "MAX_KEPT_BYTES", 250)
    runs = [old_runs(f"run{n}-999999999", 100, 60.0 * n) for n in range(4)]
    assert checkpoints.prune(tmp_path, tmp_path / "present") == [runs[2].name, runs[3].name]


def test_a_run_that_lives_is_kept(tmp_path: Path, old_runs: Callable[..., Path]) -> None:
    living = old_runs(f"20200101-000000-{os.getpid()}", 10, checkpoints.MAX_AGE_S + 60)
    assert checkpoints.prune(tmp_path, tmp_path / "present") == []
    assert living.exists()


def test_what_another_run_removes_meanwhile_does_not_stop_the_pruning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store renames its parts while the sizes of all runs are added up."""
    (tmp_path / "present").mkdir()
    (tmp_path / "present" / "blob.part").write_bytes(b"x")
    walk = os.walk

    def walked(top: Any) -> Any:
        for found in walk(top):
            (tmp_path / "present" / "blob.part").unlink(missing_ok=True)
            yield found

    monkeypatch.setattr(os, "walk", walked)
    assert checkpoints.prune(tmp_path, tmp_path / "present") == []
