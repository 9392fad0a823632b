"""`:Acp restore` reverts the agents' changes; the user's changes stay, or need a confirmation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.checkpoints import FIRST, LIST, contents, run
from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick
from tests.support.git import repository
from tests.support.killed_host import kill_host_once_written
from tests.support.rpc import EditorError
from tests.support.waiting import until

BOTH = "Since prompt 1, you changed a.txt as well"


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """Return an editor with two files, in a repository or not, and a picker that answers."""
    editor.write("a.txt", FIRST)
    editor.write("b.txt", FIRST)
    editor.write(".gitignore", "ignored\n")
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    install_picker(editor)
    return editor


def saved(editor: Editor, name: str, keys: str) -> None:
    """Type into a file and save it, as the user."""
    editor.cmd(f"edit {editor.work / name}")
    editor.keys(keys)
    editor.cmd("silent write")


def changes(editor: Editor) -> None:
    """Run a turn in which the agent changes one file, makes one, and removes none of the user's."""
    run(editor, "sed -i 's/two/TWO/' a.txt; echo new > c.txt")
    editor.wait("#require('acp').state().sessions[1].edits == 2")


@pytest.mark.parametrize("by", ["a save in the editor", "another program", "unsaved text"])
def test_a_file_that_both_changed_is_named_before_the_restore(project: Editor, by: str) -> None:
    changes(project)
    path = str(project.work / "a.txt")
    if by == "another program":
        with (project.work / "a.txt").open("a") as file:
            file.write("mine\n")
    elif by == "unsaved text":
        project.open("a.txt")
        project.keys("Gomine<Esc>")
    else:
        saved(project, "a.txt", "Gomine<Esc>")
    before = contents(project)
    (question,) = pick(project, "Acp restore 1")
    assert question["prompt"] == BOTH
    assert question["items"] == ["Restore them too", "Leave them unchanged"]
    project.wait_message("Nothing was restored")
    assert contents(project) == before
    pick(project, "Acp restore 1", "Leave them unchanged")
    project.wait_message(
        "Files restored to before prompt 1: 1 file changed; your own changes kept: 1"
    )
    assert contents(project) == {name: before[name] for name in ("a.txt", "b.txt")}
    pick(project, "Acp restore 1", "Restore them too")
    until(lambda: contents(project) == {"a.txt": FIRST, "b.txt": FIRST})
    if by != "another program":
        until(lambda: project.lines(path) == FIRST.split("\n")[:-1])


def test_an_ignored_file_that_an_agent_edited_on_disk_is_restored(project: Editor) -> None:
    folder = "ignored" if (project.work / ".git").exists() else "node_modules"
    path = project.write(f"{folder}/x.js", "one\n")
    project.turn(f'edits_disk {path} "two\\n"')
    project.wait("#require('acp').state().sessions[1].edits == 1")
    project.cmd("Acp restore 1")
    project.wait_message("Files restored to before prompt 1: 1 file changed")
    until(lambda: path.read_text() == "one\n")
    project.cmd("Acp restore")
    project.wait_message("The restore was undone: 1 file changed")
    until(lambda: path.read_text() == "two\n")


def test_more_files_than_can_be_reviewed_are_restored(edit: Callable[..., Editor]) -> None:
    project = edit(env={"ACP_TEST_LIMITS": json.dumps({"MAX_CHANGES": 5})})
    project.agent("script")
    paths = [project.write(f"{number}.txt", "one\n") for number in range(12)]
    mine = project.write("mine.txt", "one\n")
    run(project, "for f in [0-9]*; do echo two > $f; done")
    project.wait("#require('acp').state().sessions[1].edits == 5")
    mine.write_text("mine\n")
    project.cmd("Acp restore 1")
    project.wait_message(
        "Files restored to before prompt 1: 12 files changed; your own changes kept: 1"
    )
    assert {path.read_text() for path in paths} == {"one\n"}
    assert mine.read_text() == "mine\n"


def test_the_next_host_knows_the_author_of_each_change(project: Editor) -> None:
    changes(project)
    project.write("mine.txt", "mine\n")
    project.write("a.txt", "both\n")
    kill_host_once_written(project)
    (question,) = pick(project, "Acp restore 1", "Restore them too")
    assert question["prompt"] == BOTH
    project.wait_message(
        "Files restored to before prompt 1: 2 files changed; your own changes kept: 1"
    )
    assert contents(project) == {"a.txt": FIRST, "b.txt": FIRST, "mine.txt": "mine\n"}


def test_the_list_offers_both_kinds(project: Editor) -> None:
    changes(project)
    project.write("mine.txt", "mine\n")
    project.cmd("Acp checkpoints")
    project.wait("vim.fn.bufname() == ...", LIST)
    project.keys("r")
    project.wait_message(
        "Files restored to before prompt 1: 2 files changed; your own changes kept: 1"
    )
    project.keys("!")
    project.wait_message("Files restored to before prompt 1: 1 file changed")
    assert contents(project) == {"a.txt": FIRST, "b.txt": FIRST}
    project.keys("u")
    project.wait_message("The restore was undone: 1 file changed")
    assert contents(project)["mine.txt"] == "mine\n"
    project.keys("g?")
    project.wait_screen("restore all files, yours too")


def test_the_bang_is_part_of_the_command(project: Editor) -> None:
    project.turn("hello")
    completed = "return vim.fn.getcompletion(..., 'cmdline')"
    assert project.lua(completed, "Acp restore! ") == ["1"]
    project.errors_expected = True
    with pytest.raises(EditorError, match="acp: :Acp accept takes no !"):
        project.cmd("Acp accept! all")
    with pytest.raises(EditorError, match="acp: :Acp chat takes no !"):
        project.cmd("Acp! chat")
    with pytest.raises(EditorError, match="Restore takes the number of a prompt, not 'x'"):
        project.cmd("Acp restore! x")


def test_nothing_is_restored_once_a_turn_runs_again(project: Editor) -> None:
    changes(project)
    project.write("a.txt", "both\n")
    project.lua("vim.ui.select = function(_, _, answer) _G.answer = answer end")
    project.cmd("Acp restore 1")
    project.wait("_G.answer ~= nil")
    stop = Path(project.home / "stop")
    project.prompt(f"until_there {stop}")
    project.wait("require('acp').state().sessions[1].status == 'running'")
    project.lua("_G.answer('Restore them too', 1)")
    project.wait_message("The agent is still working")
    assert contents(project)["a.txt"] == "both\n"
    stop.touch()
    project.wait_event("AcpTurnEnd", 2)
