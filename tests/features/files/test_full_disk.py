"""A full disk under a real Neovim: a write that fails leaves the old content."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

OLD, NEW = "old\n" * 100, "new\n" * 50_000

LIMIT = lua_chunk(__file__, "limit_file_size")
"""Limits the size of files that Neovim writes; as on a full disk, the first bytes are written."""

MANNERS = {
    "as by default": "set backupcopy=auto backupskip= writebackup",
    "without 'writebackup'": "set nowritebackup backupskip=",
    "where no backups are made": "set backupskip=* backupcopy=auto",
    "overwritten": "set backupcopy=yes backupskip= writebackup",
    "overwritten without a backup": "set backupcopy=yes backupskip=* nowritebackup",
    "renamed": "set backupcopy=no backupskip= writebackup",
}


@pytest.fixture(params=["limit", "tmpfs"])
def full(
    request: pytest.FixtureRequest, tmp_path: Path, edit: Callable[..., Editor]
) -> Iterator[Editor]:
    """Return an editor in a project in which no file of 200 KB has room."""
    if request.param == "limit":
        editor = edit()
        editor.agent("script")
        editor.turn("say hello")
        editor.lua(LIMIT, 20_000)
        yield editor
        editor.lua(LIMIT)
        return
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("nothing can be mounted here; the limit shows the same")
    try:
        editor = edit(work=disk)
        editor.agent("script")
        yield editor
        editor.close()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def refused(editor: Editor, path: Path, turn: int) -> None:
    editor.turn(f"write {path} {json.dumps(NEW)}")
    answer = editor.traffic[-1].answers("fs/write_text_file")[turn]
    assert answer["error"]["data"] == {"path": str(path), "reason": "failed"}
    assert "\n" not in answer["error"]["message"]


def test_a_failed_write_leaves_file_buffer_and_directory_as_they_were(
    full: Editor,
) -> None:
    path, other = full.work / "a.txt", full.work / "b.txt"
    turn = 0
    for manner, command in MANNERS.items():
        full.cmd(command)
        for linked in (False, True):
            path.write_text(OLD)
            if linked:
                os.link(path, other)
            before = {found.name for found in full.work.iterdir()}
            refused(full, path, turn)
            turn += 1
            assert path.read_text() == OLD, (manner, linked)
            assert not linked or other.samefile(path) or "renamed" in manner
            assert {found.name for found in full.work.iterdir()} == before, (manner, linked)
            full.open(path)
            assert full.lines(str(path)) == OLD.splitlines()
            assert not full.lua("return vim.bo.modified")
            full.cmd("enew")
            full.cmd("%bwipeout!")
            path.unlink()
            other.unlink(missing_ok=True)
    assert full.lua("return vim.o.writebackup")


def test_a_failed_new_file_does_not_exist(full: Editor) -> None:
    refused(full, full.work / "new.txt", 0)
    refused(full, full.work / "a" / "b" / "new.txt", 1)
    assert [path.name for path in full.work.iterdir()] == []
