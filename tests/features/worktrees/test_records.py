"""Records of worktrees on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acp_nvim.features.worktrees.records import Records, Worktree


def test_a_record_keeps_paths_that_are_not_utf8(tmp_path: Path) -> None:
    records = Records(lambda: tmp_path)
    latin = os.fsdecode(b"/work/\xe9.txt")
    worktree = Worktree("x-1", str(tmp_path), "/work", "acp/new", "0" * 40, waiting=[latin])
    records.save(worktree)
    assert records.get("x-1") == worktree


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b'{"id": 1}', b"[" * 100_000])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, data: bytes) -> None:
    records = Records(lambda: tmp_path)
    assert records.reserve("x", tmp_path / "place") == "x-1"
    (tmp_path / "worktrees/x-1.json").write_bytes(data)
    assert records.get("x-1") is None
    assert records.all() == []
