"""Two sessions at work in one directory: attribution of changes on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.pending_edits import LINES, edits, edits_by_name
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """Return an editor with two sessions of two agents."""
    for name in ("a.txt", "b.txt", "c.txt"):
        editor.write(name, LINES)
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    editor.turn("say one")
    editor.agent("script", name="other")
    editor.cmd("Acp new")
    editor.wait("#require('acp').state().sessions == 2 and require('acp').state().current == 2")
    return editor


def prompt(editor: Editor, n: int, *lines: str) -> None:
    """Send a prompt whose turn ends with the file `end`, and wait until its agent has it."""
    text = "\n".join([*lines, f"until_there {editor.home}/end"])
    editor.lua("require('acp').prompt(...)", text, {"session": n})
    editor.wait(f"require('acp').state().sessions[{n}].status == 'running'")


def sed(line: int, name: str) -> str:
    return f"sed -i '{line}s/.*/changed/' {name}"


def end(editor: Editor, *wanted: list[str]) -> None:
    """End both turns, and wait for the files with pending edits of the first and of the second
    session. The last scan may be over before Neovim has its result.
    """
    (editor.home / "end").touch()
    editor.wait_event("AcpTurnEnd", 3)
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "a.txt"))
    until(lambda: [pending(editor, n) for n in (1, 2)] == [*wanted])


def pending(editor: Editor, n: int) -> list[str]:
    """Return the names of files with pending edits of a session."""
    return sorted(Path(edit["path"]).name for edit in edits(editor, n))


def test_a_change_belongs_to_the_session_whose_tool_call_names_the_file(project: Editor) -> None:
    home, work = project.home, project.work
    prompt(project, 1, f"runs {work}/a.txt " + json.dumps(f"touch {home}/1"))
    until((home / "1").exists)
    prompt(
        project,
        2,
        f'edits_disk {work}/b.txt "changed\\n"',
        f"runs {work}/c.txt " + json.dumps(f"{sed(3, 'c.txt')}; {sed(5, 'a.txt')}"),
    )
    until(lambda: "changed" in (work / "a.txt").read_text())  # sed's own files come and go before
    end(project, ["a.txt"], ["b.txt", "c.txt"])


def test_a_change_belongs_to_the_only_session_that_runs_a_tool_call(project: Editor) -> None:
    prompt(project, 1)
    prompt(project, 2, "runs " + json.dumps(sed(3, "b.txt")))
    project.wait("#(require('acp').state().sessions[2].edits or {}) == 1")
    end(project, [], ["b.txt"])


def test_a_change_without_a_tool_call_belongs_to_the_older_session(project: Editor) -> None:
    prompt(project, 1)
    prompt(project, 2, "silently " + json.dumps(sed(3, "b.txt")))
    until(lambda: "changed" in (project.work / "b.txt").read_text())
    end(project, ["b.txt"], [])


def test_a_new_file_that_the_other_session_renames_belongs_to_both(project: Editor) -> None:
    home, work = project.home, project.work
    prompt(project, 2, f"runs {work}/n.txt " + json.dumps("echo new > n.txt"))
    project.wait("#(require('acp').state().sessions[2].edits or {}) == 1")
    move = json.dumps(f"mv n.txt m.txt; touch {home}/1")
    prompt(project, 1, f"runs {work}/n.txt {work}/m.txt {move}")
    until((home / "1").exists)
    end(project, ["m.txt"], ["m.txt"])


def test_a_change_belongs_to_the_later_session_while_the_buffer_is_busy(project: Editor) -> None:
    """An operator of the user waits for its motion until both have changed the file."""
    work = project.work
    done = "require('acp').state().sessions[{}].tool_calls"
    project.open("a.txt")
    project.keys("10Gd")
    project.wait("vim.api.nvim_get_mode().mode == 'no'")
    prompt(project, 1, f"runs {work}/a.txt " + json.dumps(sed(3, "a.txt")))
    project.wait(f"({done.format(1)}[#{done.format(1)}] or {{}}).status == 'completed'")
    prompt(project, 2, f"runs {work}/a.txt " + json.dumps(sed(5, "a.txt")))
    project.wait(f"({done.format(2)}[#{done.format(2)}] or {{}}).status == 'completed'")
    project.keys("<Esc>")
    project.wait("#(require('acp').state().sessions[2].edits or {}) == 1")
    assert project.lines(str(work / "a.txt"))[2:5:2] == ["changed", "changed"]
    until(lambda: pending(project, 2) == ["a.txt"])


def test_file_stamps_outlive_the_turn_of_another_session(editor: Editor) -> None:
    path = editor.write("a.txt", LINES)
    repository(editor.work)
    editor.agent("script")
    editor.open("a.txt")
    agent = StepwiseAgent.at_work(editor)
    agent.ask("runs", "true")
    editor.cmd("call setline(16, 'mine')")
    agent.ask("silently", "sed -i 's/^line 4$/four/' a.txt")
    root = str(editor.work)
    editor.lua("require('acp.buffers.disk_changes').set_turns(...)", [root, root + "/sub"])
    agent.ask("runs", "a.txt", "true")
    editor.wait("(require('acp').state().sessions[1].edits or {})[1]")
    agent.end()
    both = LINES.replace("line 16", "mine").replace("line 4\n", "four\n")
    assert editor.lines(str(path)) == both.splitlines()
    assert edits_by_name(editor)["a.txt"]["hunks"] == 1
