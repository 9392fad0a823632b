"""What the plugin keeps on disk is for the user alone, whatever the umask is."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_nvim.files.bytes import private_files
from tests.support.editor import Editor


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def kept(editor: Editor) -> list[Path]:
    """All files and folders of ours below Neovim's own folders."""
    tops = [
        top for kind in ("data", "state", "cache") for top in editor.home.glob(f"{kind}/*/acp*")
    ]
    return [path for top in tops for path in (top, *top.rglob("*"))]


def open_to_others(paths: list[Path]) -> list[str]:
    there = [path for path in paths if path.exists() and not path.is_symlink()]  # locks of git go
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in there}
    return [f"{mode:o} {path}" for path, mode in modes.items() if mode & 0o077]


@pytest.mark.parametrize("mask", [0o022, 0])
@pytest.mark.parametrize("git", [True, False])
def test_all_that_is_kept_is_for_the_user_alone(
    edit: Callable[..., Editor], git: bool, mask: int
) -> None:
    with umask(mask):
        editor = edit()
    editor.write("a.txt", "one\n")
    if git:
        subprocess.run(["git", "init", "-q"], cwd=editor.work, check=True)
    editor.agent("script")
    editor.turn(f"write {editor.work}/a.txt two")
    editor.turn(f'write_disk {editor.work}/b.txt "three"')
    editor.cmd(f"Acp log save {editor.home}/state/nvim/acp-saved.log")
    editor.wait_message("lines of traffic")
    editor.wait("#vim.fn.glob(vim.fn.stdpath('data') .. '/acp/workspaces/*/journal') > 0")
    paths = kept(editor)
    assert open_to_others(paths) == []
    names = {path.name for path in paths}
    assert {"checkpoints", "journal", "objects"} <= names
    assert len([path for path in paths if path.is_file()]) >= 4


def test_a_directory_that_an_earlier_version_made_is_closed(tmp_path: Path) -> None:
    (tmp_path / "acp").mkdir(mode=0o755)
    private_files.write(tmp_path / "acp/deep/file", b"text")
    private_files.directory(tmp_path / "acp")
    assert open_to_others([tmp_path / "acp", *(tmp_path / "acp").rglob("*")]) == []


def test_our_files_may_lie_behind_a_link_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    private_files.write(tmp_path / "link/file", b"text")
    assert (tmp_path / "real/file").read_bytes() == b"text"
