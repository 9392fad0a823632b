"""Two changes to a file within one tick of the clock, which leave its signature unchanged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.files.bytes import disk
from tests.support.fake_workspace import fake_workspace


def change_in_the_same_tick(path: Path, text: str) -> None:
    """Write a text of the same size without a new signature."""
    before, signature = path.stat(), disk.signature_of(str(path))
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert disk.signature_of(str(path)) == signature


async def test_a_second_change_within_one_tick_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "GRAIN_NS", 60_000_000_000)
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a.txt"
        path.write_text("one\n")
        await workspace.begin()
        await workspace.write(path, "two\n")
        look = workspace.core.disk.scan
        path.write_text("SIX\n")
        assert await look([], [str(path)]) == {str(path)}
        assert await look([], [str(path)]) == set()
        change_in_the_same_tick(path, "TEN\n")
        assert await look([], [str(path)]) == {str(path)}
        change_in_the_same_tick(path, "ELF\n")
        await workspace.decide("reject")
        assert path.read_text() == "one\n"
        await workspace.end()


async def test_a_file_is_scanned_before_a_write_only_if_its_signature_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "GRAIN_NS", 0)
    async with fake_workspace(tmp_path) as workspace:
        path = workspace.work / "a.txt"
        path.write_text("one\n")
        await workspace.begin()
        await workspace.write(path, "two\n")
        changes = workspace.core.disk
        await changes.scan([], [str(path)])
        scan, scanned = changes.scan, list[object]()

        async def record(roots: Any, paths: Any = None, **options: Any) -> set[str]:
            scanned.append(paths)
            return await scan(roots, paths, **options)

        monkeypatch.setattr(changes, "scan", record)
        await changes.before_write(str(path))
        assert scanned == []
        path.write_text("three\n")
        await changes.before_write(str(path))
        assert scanned == [[str(path)]]
        await workspace.decide("reject")
        assert path.read_text() == "one\n"
        await workspace.end()
