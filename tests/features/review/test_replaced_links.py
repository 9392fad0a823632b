"""A file that an agent puts in place of a symbolic link: pending, rejected, and restored later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.pending_edits import edits_by_name, wait_edits
from tests.support.script_lines import shell
from tests.support.waiting import until

REPLACE = "rm link.txt; echo agents > link.txt"


def prepare(work: Path, store: str) -> Path:
    """Make a link to a file, in a repository or not."""
    (work / "f.txt").write_text("users\n")
    link = work / "link.txt"
    link.symlink_to("f.txt")
    if store == "git":
        repository(work)
    return link


def is_link(link: Path) -> bool:
    return link.is_symlink() and str(link.readlink()) == "f.txt"


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    prepare(editor.work, request.param)
    editor.agent("script")
    return editor


def test_a_reject_restores_the_link_and_can_be_undone(project: Editor) -> None:
    link = project.work / "link.txt"
    project.turn(shell(REPLACE))
    wait_edits(project, link="created")
    assert edits_by_name(project)["link.txt"]["note"] == "replaces a symbolic link to f.txt"
    project.cmd("Acp reject all")
    wait_edits(project)
    until(lambda: is_link(link))
    project.cmd("Acp unreject")
    wait_edits(project, link="created")
    until(lambda: not link.is_symlink())
    assert link.read_text() == "agents\n"
    project.cmd("Acp reject all")
    wait_edits(project)
    until(lambda: is_link(link))
    assert (project.work / "f.txt").read_text() == "users\n"


def test_an_accepted_file_stays(project: Editor) -> None:
    link = project.work / "link.txt"
    project.turn(shell(REPLACE))
    wait_edits(project, link="created")
    project.cmd("Acp accept all")
    wait_edits(project)
    assert link.read_text() == "agents\n"
    assert not link.is_symlink()


def test_a_restore_restores_the_link(project: Editor) -> None:
    link = project.work / "link.txt"
    project.turn(shell(REPLACE))
    wait_edits(project, link="created")
    project.cmd("Acp restore 1")
    until(lambda: is_link(link))
    wait_edits(project)


def test_the_next_neovim_restores_the_link(edit: Callable[..., Editor], tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    link = prepare(work, "git")
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    first = edit(work=work, env=env)
    first.agent("script")
    first.turn(shell(REPLACE))
    wait_edits(first, link="created")
    first.close()
    second = edit(work=work, env=env)
    second.open("f.txt")
    second.wait("#((require('acp').state().sessions[1] or {}).edits or {}) == 1")
    second.cmd("Acp reject all")
    until(lambda: is_link(link))
