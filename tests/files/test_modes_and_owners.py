"""A restored file has its old mode and owner."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest

from acp_nvim.files.bytes.nofollow import Rights
from acp_nvim.files.checkpoints.rights import UnusualRights, usual_rights
from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.waiting import until

MODES = {"private": 0o600, "tool": 0o750, "shared": 0o666, "plain": 0o644}
OWNER = 4321


def rights(path: Path) -> tuple[int, int]:
    info = path.stat()
    return stat.S_IMODE(info.st_mode), info.st_uid


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """Make files of all modes, if possible with one of another user."""
    for name, mode in MODES.items():
        editor.write(name, f"{name}\n").chmod(mode)
    if request.param == "git":
        repository(editor.work)
    if os.geteuid() == 0:
        os.chown(editor.work / "private", OWNER, OWNER)
    editor.agent("script")
    return editor


def test_a_rejected_deletion_and_a_restored_file_have_their_mode_and_owner(project: Editor) -> None:
    paths = [project.work / name for name in MODES]
    before = {path: rights(path) for path in paths}
    project.turn("say hello")
    project.turn("runs " + json.dumps("rm " + " ".join(MODES)))
    project.wait("#require('acp').state().sessions[1].edits == 4")
    project.cmd("Acp reject all")
    until(lambda: all(path.exists() and path.read_text() for path in paths))
    assert {path: rights(path) for path in paths} == before
    project.cmd("Acp unreject")
    until(lambda: not any(path.exists() for path in paths))
    project.cmd("Acp restore 2")
    until(lambda: all(path.exists() and path.read_text() for path in paths))
    project.wait_message("Files restored to before prompt 2: 4 files")
    assert {path: rights(path) for path in paths} == before


@pytest.mark.parametrize("by_agent", [False, True])
def test_a_restored_file_has_its_last_mode(project: Editor, by_agent: bool) -> None:
    """The same holds after an earlier scan, if only the mode has changed since then."""
    path, other = project.work / "plain", project.work / "other"
    until(lambda: int(time.time()) > int(path.stat().st_ctime))  # git compares whole seconds
    project.turn("runs " + json.dumps("echo new > other"))
    project.wait("#require('acp').state().sessions[1].edits == 1")
    if by_agent:
        project.turn("runs " + json.dumps("chmod 600 plain other"))
    else:
        path.chmod(0o600)
        other.chmod(0o600)
    project.turn("runs " + json.dumps("rm plain"))
    project.wait("#require('acp').state().sessions[1].edits == 2")
    project.cmd("Acp reject all")
    until(lambda: path.exists() and path.read_text() and not other.exists())
    project.wait("#require('acp').state().sessions[1].edits == 0")
    project.turn("say hello")  # the scan finds that it is missing
    assert rights(path)[0] == 0o600
    project.cmd("Acp unreject")
    until(lambda: other.exists() and other.read_text() == "new\n")
    assert rights(other)[0] == 0o600


def test_an_unrejected_new_file_has_its_mode(project: Editor) -> None:
    path = project.work / "new"
    project.turn("runs " + json.dumps("echo new > new; chmod 600 new"))
    project.wait("#require('acp').state().sessions[1].edits == 1")
    for _ in range(2):
        project.cmd("Acp reject all")
        until(lambda: not path.exists())
        project.wait("#require('acp').state().sessions[1].edits == 0")
        project.cmd("Acp unreject")
        until(lambda: path.exists() and path.read_text() == "new\n")
        assert rights(path)[0] == 0o600
        project.wait("#require('acp').state().sessions[1].edits == 1")


def test_a_private_file_is_never_readable_by_others_during_its_restore(project: Editor) -> None:
    path = project.work / "private"
    project.turn("runs 'rm private'")
    project.wait("#require('acp').state().sessions[1].edits == 1")
    project.lua(
        "local path = ... vim.api.nvim_create_autocmd('BufWritePre', { callback = function() "
        "local stat = vim.uv.fs_stat(path) _G.mode = stat and stat.mode end })",
        str(path),
    )
    project.cmd("Acp reject all")
    until(lambda: path.exists() and path.read_text() == "private\n")
    assert project.lua("return _G.mode") & 0o777 == 0o600


def test_only_unusual_modes_and_owners_are_stored(tmp_path: Path) -> None:
    unusual = UnusualRights()
    plain, tool, private = (tmp_path / name for name in ("plain", "tool", "private"))
    for path, mode in ((plain, 0o666), (tool, 0o777)):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, mode))
    private.touch(0o600)
    paths = [str(path) for path in (plain, tool, private, tmp_path, tmp_path / "none")]
    unusual.learn(paths)
    found = [unusual.get(path) for path in paths]
    assert found == [None, None, Rights(0o600, os.geteuid(), os.getegid()), None, None]
    assert Rights.of(tool.stat()) == usual_rights(executable=True)
    private.unlink()
    unusual.learn(paths)
    assert unusual.get(str(private)) is not None, "it is remembered for when it comes back"
    private.touch(0o644)
    private.chmod(usual_rights(executable=False).mode)
    unusual.learn(paths)
    assert unusual.get(str(private)) is None
