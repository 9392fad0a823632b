"""Checkpoints after the host is killed: the next host restores files from them."""

from __future__ import annotations

import json

import pytest

from tests.support.checkpoints import COMPLETED, FIRST, contents, run
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick
from tests.support.git import repository
from tests.support.killed_host import kill_host_once_written
from tests.support.waiting import until


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """Return an editor with two files, in a repository or not."""
    editor.write("a.txt", FIRST)
    editor.write("b.txt", FIRST)
    editor.write(".gitignore", "node_modules\n")
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    return editor


def test_files_without_a_buffer_are_restored(project: Editor) -> None:
    before = contents(project)
    run(project, "sed -i 's/two/TWO/' a.txt; rm b.txt; echo new > c.txt")
    between = contents(project)
    run(project, "sed -i 's/three/THREE/' a.txt")
    after = contents(project)
    kill_host_once_written(project)
    assert project.lua(COMPLETED, "") == ["2", "1"]
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1: 3 files changed")
    assert contents(project) == before
    project.wait("#require('acp').state().sessions[1].edits == 0")
    project.cmd("Acp restore")
    project.wait_message("The restore was undone: 3 files changed")
    assert contents(project) == after
    project.wait("#require('acp').state().sessions[1].edits == 3")
    project.cmd("Acp restore 2")
    project.wait_message("Files restored to before prompt 2: 1 file changed")
    assert contents(project) == between


def test_the_next_host_undoes_a_restore(project: Editor) -> None:
    run(project, "sed -i 's/two/TWO/' a.txt; rm b.txt")
    after = contents(project)
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1")
    project.wait("#require('acp').state().sessions[1].edits == 0")
    kill_host_once_written(project, restores=1)
    project.cmd("Acp restore")
    project.wait_message("The restore was undone: 2 files changed")
    assert contents(project) == after
    project.wait("#require('acp').state().sessions[1].edits == 2")


def test_the_list_and_its_numbers_continue(project: Editor) -> None:
    run(project, "sed -i 's/two/TWO/' a.txt")
    kill_host_once_written(project)
    project.cmd("Acp checkpoints")
    project.wait("vim.fn.bufnr('acp://checkpoints/1') > 0")
    assert "1 changed: a.txt" in "\n".join(project.lines("acp://checkpoints/1"))
    project.turn("hello")
    assert project.lua(COMPLETED, "") == ["2", "1"]
    run(project, "sed -i 's/three/THREE/' a.txt")
    kill_host_once_written(project)
    project.cmd("Acp restore 2")
    project.wait_message("Files restored to before prompt 2")
    assert contents(project)["a.txt"] == "one\nTWO\nthree\n"
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1")
    assert contents(project)["a.txt"] == FIRST


def test_ignored_files_and_unsaved_text_are_restored(project: Editor) -> None:
    ignored = project.write("node_modules/x.js", "one\n")
    project.open("a.txt")
    project.keys("Gounsaved<Esc>")
    project.turn(f'write {ignored} "two\\n"')
    project.keys("ggOlater<Esc>")
    kill_host_once_written(project)
    project.cmd("Acp restore! 1")
    project.wait_message("Files restored to before prompt 1")
    until(lambda: ignored.read_text() == "one\n")
    assert project.lines(str(project.work / "a.txt")) == ["one", "two", "three", "unsaved"]
    assert project.lua("return vim.bo.modified")
    assert contents(project)["a.txt"] == FIRST


def test_the_users_changes_without_a_host_stay_unless_all_files_are_restored(
    project: Editor,
) -> None:
    run(project, "sed -i 's/two/TWO/' a.txt")
    kill_host_once_written(project)
    project.write("b.txt", "mine\n")
    project.cmd("Acp restore 1")
    project.wait_message(
        "Files restored to before prompt 1: 1 file changed; your own changes kept: 1"
    )
    assert contents(project) == {"a.txt": FIRST, "b.txt": "mine\n"}
    project.cmd("Acp restore! 1")
    project.wait_message("Files restored to before prompt 1: 1 file changed")
    until(lambda: contents(project) == {"a.txt": FIRST, "b.txt": FIRST})
    project.cmd("Acp restore")
    project.wait_message("The restore was undone: 1 file changed")
    assert contents(project)["b.txt"] == "mine\n"


def test_a_prompt_that_was_cut_can_be_restored(project: Editor) -> None:
    """The agent changed files on disk, which have not been scanned since."""
    there = project.work / "there"
    command = f"sed -i s/two/TWO/ a.txt; touch {there}"
    project.prompt(f"silently {json.dumps(command)}\nuntil_there {project.work / 'never'}")
    until(there.exists)
    kill_host_once_written(project)
    install_picker(project)
    (question,) = pick(project, "Acp restore 1", "Restore them too")
    assert question["prompt"] == "Since prompt 1, it is not known who changed a.txt, there"
    project.wait_message("Files restored to before prompt 1")
    assert contents(project)["a.txt"] == FIRST
