"""A folder, link or FIFO that an agent puts in place of a file: pending, rejected, restored."""

from __future__ import annotations

import os

import pytest

from tests.support.cases import case
from tests.support.checkpoints import run
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, picker_questions
from tests.support.git import repository
from tests.support.killed_host import kill_host_once_written
from tests.support.replaced_files import PLACES, TEXT, make, replaced, tree
from tests.support.waiting import until


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """Return an editor with a file to replace, and another one that stays."""
    make(editor.work)
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    install_picker(editor)
    return editor


def edits(editor: Editor) -> dict[str, str]:
    """Return the kinds of pending edits by path."""
    found = editor.session()["edits"]
    return {os.path.relpath(one["path"], editor.work): one["kind"] for one in found}


def wait_pending(editor: Editor, expected: dict[str, str]) -> None:
    until(lambda: edits(editor) == expected, what=f"{expected} pending")


def replace_opened(project: Editor, kind: str) -> dict[str, str]:
    """Let the agent replace the file in a window, and return the tree before."""
    project.open("f.txt")
    before = tree(project.work)
    run(project, f"rm f.txt; {PLACES[kind]}")
    wait_pending(project, replaced(kind))
    return before


def check_unblocked(project: Editor) -> None:
    project.cmd("checktime")
    assert not project.rpc.mode()["blocking"]


def test_a_reject_restores_the_file_and_can_be_undone(project: Editor) -> None:
    for kind in PLACES:
        with case(kind):
            before = replace_opened(project, kind)
            after = tree(project.work)
            project.cmd("Acp reject all")
            wait_pending(project, {})
            assert tree(project.work) == before
            project.cmd("Acp unreject")
            until(lambda: "f.txt" in edits(project))
            # An empty folder does not count as content: the file is only removed.
            removed = {name: value for name, value in before.items() if name != "f.txt"}
            wait_tree(project, removed if kind in ("folder", "deep folder") else after)
            check_unblocked(project)
            project.cmd("Acp reject all")
            wait_pending(project, {})
            wait_tree(project, before)


def wait_tree(project: Editor, wanted: dict[str, str]) -> None:
    until(lambda: tree(project.work) == wanted, what=repr(wanted))


def test_a_restore_restores_the_file_and_can_be_undone(project: Editor) -> None:
    for number, kind in enumerate(PLACES, 1):
        with case(kind):
            before = replace_opened(project, kind)
            after = tree(project.work)
            count = 3 if kind == "full folder" else 1
            files = f"{count} file{'s' if count > 1 else ''} changed"
            project.cmd("messages clear")
            project.cmd(f"Acp restore {number}")
            project.wait_message(f"Files restored to before prompt {number}: {files}")
            assert tree(project.work) == before
            wait_pending(project, {})
            project.cmd("Acp restore")
            project.wait_message(f"The restore was undone: {files}")
            if kind not in ("folder", "deep folder"):
                assert {k: v for k, v in tree(project.work).items() if v != "folder"} == {
                    k: v for k, v in after.items() if v != "folder"
                }
            assert picker_questions(project) == []
            check_unblocked(project)
            project.cmd("Acp reject all")
            wait_pending(project, {})
            wait_tree(project, before)


@pytest.mark.parametrize("command", ["reject all", "restore 1"])
def test_the_users_files_in_the_folder_stay(project: Editor, command: str) -> None:
    run(project, "rm f.txt; mkdir f.txt; echo x > f.txt/x.txt")
    wait_pending(project, {"f.txt": "deleted", "f.txt/x.txt": "created"})
    (project.work / "f.txt" / "mine.txt").write_text("mine\n")
    project.cmd(f"Acp {command}")
    why = "f.txt was left unchanged: a folder is there now that contains mine.txt"
    if command == "reject all":
        project.wait_message(why)
    else:
        until(lambda: any(why in line for line in project.chat()))
    assert (project.work / "f.txt" / "mine.txt").read_text() == "mine\n"
    if command == "reject all":
        wait_pending(project, {"f.txt": "deleted"})
    (project.work / "f.txt" / "mine.txt").unlink()
    project.cmd(f"Acp {command}")
    path = project.work / "f.txt"
    until(lambda: path.is_file() and path.read_text() == TEXT)


@pytest.mark.parametrize("scope", ["file", "hunk"])
def test_a_folder_with_only_the_agents_files_is_removed_with_them(
    project: Editor, scope: str
) -> None:
    project.open("f.txt")
    run(project, "rm f.txt; mkdir -p f.txt/a; echo x > f.txt/x.txt; echo y > f.txt/a/y.txt")
    wait_pending(
        project, {"f.txt": "deleted", "f.txt/x.txt": "created", "f.txt/a/y.txt": "created"}
    )
    project.cmd(f"Acp reject {scope}")
    wait_pending(project, {})
    assert (project.work / "f.txt").read_text() == TEXT


def test_a_new_file_in_the_folder_that_the_user_changed_stays(project: Editor) -> None:
    project.open("f.txt")
    run(project, "rm f.txt; mkdir f.txt; echo x > f.txt/x.txt")
    wait_pending(project, {"f.txt": "deleted", "f.txt/x.txt": "created"})
    (project.work / "f.txt" / "x.txt").write_text("x\nmine\n")
    project.cmd("Acp reject file")
    project.wait_message("f.txt was left unchanged: a folder is there now that contains x.txt")
    assert (project.work / "f.txt" / "x.txt").read_text() == "x\nmine\n"


@pytest.mark.parametrize("command", ["reject all", "restore 1"])
def test_a_file_in_place_of_a_folder_is_removed(project: Editor, command: str) -> None:
    before = tree(project.work)
    run(project, "rm -r kept; echo new > kept")
    wait_pending(project, {"kept/k.txt": "deleted", "kept": "created"})
    project.cmd(f"Acp {command}")
    wait_pending(project, {})
    assert tree(project.work) == before


def test_a_reject_of_a_single_file_below_a_replaced_folder_is_refused(project: Editor) -> None:
    project.open("kept/k.txt")
    run(project, "rm -r kept; echo new > kept")
    wait_pending(project, {"kept/k.txt": "deleted", "kept": "created"})
    project.cmd("Acp reject file")
    project.wait_message("k.txt was left unchanged: kept is a file now")
    wait_pending(project, {"kept/k.txt": "deleted", "kept": "created"})
    assert (project.work / "kept").read_text() == "new\n"


def test_a_folder_that_was_replaced_by_a_link_is_restored(project: Editor) -> None:
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


def test_the_replacement_is_named(project: Editor) -> None:
    run(project, "rm f.txt; ln -s other.txt f.txt")
    wait_pending(project, {"f.txt": "deleted"})
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 1")
    texts = project.lua("return vim.tbl_map(function(i) return i.text end, vim.fn.getqflist())")
    assert texts == ["deleted: a symbolic link to other.txt is there now"]


def test_the_next_host_restores_a_replaced_file(project: Editor) -> None:
    before = tree(project.work)
    run(project, "rm f.txt; mkfifo f.txt; rm other.txt; ln -s f.txt other.txt")
    wait_pending(project, {"f.txt": "deleted", "other.txt": "deleted"})
    after = tree(project.work)
    kill_host_once_written(project)
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1: 2 files changed")
    assert tree(project.work) == before
    kill_host_once_written(project, restores=1)
    project.cmd("Acp restore")
    project.wait_message("The restore was undone: 2 files changed")
    assert tree(project.work) == after
