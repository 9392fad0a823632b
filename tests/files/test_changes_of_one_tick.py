"""Two changes of a file within one tick of the clock, which leave its signature unchanged."""

from __future__ import annotations

import os
from pathlib import Path

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
