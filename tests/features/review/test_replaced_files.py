"""An agent puts a folder, a link or a FIFO in place of a file: seen, taken back, restored."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.support.checkpoints import run
from tests.support.editor import Editor
from tests.support.fake_picker import asked, install_picker
from tests.support.git import repository
from tests.support.killed_host import kill_host_once_written
from tests.support.replaced_files import PLACES, TEXT, make, replaced, tree
from tests.support.waiting import until

Replaced = Callable[[str], dict[str, str]]


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """A file, and another one that stays."""
    make(editor.work)
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    install_picker(editor)
    return editor


def edits(editor: Editor) -> dict[str, str]:
    """The kinds of pending edits by path."""
    found = editor.session()["edits"]
    return {os.path.relpath(one["path"], editor.work): one["kind"] for one in found}


def pending(editor: Editor, expected: dict[str, str]) -> None:
    until(lambda: edits(editor) == expected, what=f"{expected} pending")


@pytest.fixture
def opened(project: Editor) -> Replaced:
    """Have the agent replace the file that a window shows; returns what was there."""

    def replace(what: str) -> dict[str, str]:
        project.open("f.txt")
        before = tree(project.work)
        run(project, f"rm f.txt; {PLACES[what]}")
        pending(project, replaced(what))
        return before

    return replace


@pytest.mark.parametrize("what", PLACES)
def test_a_reject_restores_the_file_and_can_be_undone(
    project: Editor, opened: Replaced, what: str
) -> None:
    before = opened(what)
    after = tree(project.work)
    project.cmd("Acp reject all")
    pending(project, {})
    assert tree(project.work) == before
    project.cmd("Acp unreject")
    until(lambda: "f.txt" in edits(project))
    if what in ("folder", "deep folder"):
        assert not (project.work / "f.txt").exists()
    else:
        until(lambda: tree(project.work) == after)
    project.cmd("checktime")
    assert not project.rpc.mode()["blocking"]


@pytest.mark.parametrize("what", PLACES)
def test_a_checkpoint_restores_the_file_and_can_be_undone(
    project: Editor, opened: Replaced, what: str
) -> None:
    before = opened(what)
    after = tree(project.work)
    count = 3 if what == "full folder" else 1
    files = f"{count} file{'s' if count > 1 else ''} changed"
    project.cmd("Acp restore 1")
    project.wait_message(f"Files restored to before prompt 1: {files}")
    assert tree(project.work) == before
    pending(project, {})
    project.cmd("Acp restore")
    project.wait_message(f"The restore was undone: {files}")
    if what not in ("folder", "deep folder"):
        assert {k: v for k, v in tree(project.work).items() if v != "folder"} == {
            k: v for k, v in after.items() if v != "folder"
        }
    assert asked(project) == []
    project.cmd("checktime")
    assert not project.rpc.mode()["blocking"]


@pytest.mark.parametrize("command", ["reject all", "restore 1"])
def test_what_is_the_users_in_the_folder_stays(project: Editor, command: str) -> None:
    run(project, "rm f.txt; mkdir f.txt; echo x > f.txt/x.txt")
    pending(project, {"f.txt": "deleted", "f.txt/x.txt": "created"})
    (project.work / "f.txt" / "mine.txt").write_text("mine\n")
    project.cmd(f"Acp {command}")
    why = "f.txt was left unchanged: a folder is there now that holds mine.txt"
    if command == "reject all":
        project.wait_message(why)
    else:
        until(lambda: any(why in line for line in project.chat()))
    assert (project.work / "f.txt" / "mine.txt").read_text() == "mine\n"
    if command == "reject all":
        pending(project, {"f.txt": "deleted"})
    (project.work / "f.txt" / "mine.txt").unlink()
    project.cmd(f"Acp {command}")
    path = project.work / "f.txt"
    until(lambda: path.is_file() and path.read_text() == TEXT)


@pytest.mark.parametrize("scope", ["file", "hunk"])
def test_the_folder_goes_with_its_file_where_all_in_it_is_the_agents(
    project: Editor, scope: str
) -> None:
    project.open("f.txt")
    run(project, "rm f.txt; mkdir -p f.txt/a; echo x > f.txt/x.txt; echo y > f.txt/a/y.txt")
    pending(project, {"f.txt": "deleted", "f.txt/x.txt": "created", "f.txt/a/y.txt": "created"})
    project.cmd(f"Acp reject {scope}")
    pending(project, {})
    assert (project.work / "f.txt").read_text() == TEXT


def test_a_new_file_in_the_folder_that_the_user_worked_on_stays(project: Editor) -> None:
    project.open("f.txt")
    run(project, "rm f.txt; mkdir f.txt; echo x > f.txt/x.txt")
    pending(project, {"f.txt": "deleted", "f.txt/x.txt": "created"})
    (project.work / "f.txt" / "x.txt").write_text("x\nmine\n")
    project.cmd("Acp reject file")
    project.wait_message("f.txt was left unchanged: a folder is there now that holds x.txt")
    assert (project.work / "f.txt" / "x.txt").read_text() == "x\nmine\n"


@pytest.mark.parametrize("command", ["reject all", "restore 1"])
def test_a_file_in_place_of_a_folder_gives_way_to_it(project: Editor, command: str) -> None:
    before = tree(project.work)
    run(project, "rm -r kept; echo new > kept")
    pending(project, {"kept/k.txt": "deleted", "kept": "created"})
    project.cmd(f"Acp {command}")
    pending(project, {})
    assert tree(project.work) == before


def test_one_file_of_a_folder_that_is_a_file_now_is_refused(project: Editor) -> None:
    project.open("kept/k.txt")
    run(project, "rm -r kept; echo new > kept")
    pending(project, {"kept/k.txt": "deleted", "kept": "created"})
    project.cmd("Acp reject file")
    project.wait_message("k.txt was left unchanged: kept is a file now")
    pending(project, {"kept/k.txt": "deleted", "kept": "created"})
    assert (project.work / "kept").read_text() == "new\n"


def test_a_folder_that_is_a_link_now_comes_back(project: Editor) -> None:
    before = tree(project.work)
    outside = project.home / "outside"
    outside.mkdir()
    (outside / "k.txt").write_text("not to be touched\n")
    run(project, f"mv kept moved; ln -s {outside} kept")
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1: 3 files changed")
    now = tree(project.work)
    assert {name: now.get(name) for name in before} == before
    assert (outside / "k.txt").read_text() == "not to be touched\n"


def test_what_stands_there_is_said(project: Editor) -> None:
    run(project, "rm f.txt; ln -s other.txt f.txt")
    pending(project, {"f.txt": "deleted"})
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 1")
    texts = project.lua("return vim.tbl_map(function(i) return i.text end, vim.fn.getqflist())")
    assert texts == ["deleted: a symbolic link to other.txt is there now"]


def test_a_replaced_file_comes_back_under_the_next_host(project: Editor) -> None:
    before = tree(project.work)
    run(project, "rm f.txt; mkfifo f.txt; rm other.txt; ln -s f.txt other.txt")
    pending(project, {"f.txt": "deleted", "other.txt": "deleted"})
    after = tree(project.work)
    kill_host_once_written(project)
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1: 2 files changed")
    assert tree(project.work) == before
    kill_host_once_written(project, restores=1)
    project.cmd("Acp restore")
    project.wait_message("The restore was undone: 2 files changed")
    assert tree(project.work) == after
