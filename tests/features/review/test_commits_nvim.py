"""Commits and pending edits: what the user commits is accepted, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.git import git, repository
from tests.support.lua import lua_chunk
from tests.support.pending_edits import LINES, edits_by_name
from tests.support.script_lines import shell
from tests.support.stepwise_agent import StepwiseAgent

COMMIT = "git -c user.name=A -c user.email=a@example.org commit -q"


@pytest.fixture
def project(editor: Editor) -> Editor:
    """Two files in a repository, a third that is not in it."""
    for name in ("a.txt", "b.txt"):
        editor.write(name, LINES)
    repository(editor.work)
    editor.write("loose.txt", LINES)
    editor.agent("script")
    editor.turn("say hello")
    return editor


@pytest.fixture
def agent(project: Editor) -> StepwiseAgent:
    """At work."""
    return StepwiseAgent.at_work(project)


def wait_pending(editor: Editor, *names: str) -> None:
    """Until these files, and no others, have pending edits."""
    editor.wait(lua_chunk(__file__, "has_edits_of"), list(names))


def noticed(editor: Editor, work: Path) -> None:
    """The user commits one more file, and comes back: that is noticed for sure."""
    (work / "mark.txt").write_text("mark\n")
    git(work, "add", "mark.txt")
    git(work, "commit", "-q", "-m", "mark", "mark.txt")
    editor.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")


def test_a_commit_says_nothing_of_files_that_it_does_not_change(project: Editor) -> None:
    work = project.work
    project.open("b.txt")
    project.cmd("call setline(3, 'mine') | silent write | bwipeout")  # not committed
    agent = StepwiseAgent(project)
    agent.begin()
    agent.ask("runs", "rm loose.txt; git checkout -q b.txt; sed -i 's/line 5$/five/' a.txt")
    wait_pending(project, "a.txt", "b.txt", "loose.txt")
    agent.end()
    git(work, "commit", "-q", "-m", "x", "a.txt")
    project.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    wait_pending(project, "b.txt", "loose.txt")
    project.cmd("Acp reject all")
    wait_pending(project)
    assert (work / "loose.txt").read_text() == LINES
    assert (work / "b.txt").read_text() == LINES.replace("line 3", "mine")


def test_a_commit_of_the_agents_accepts_nothing(project: Editor, agent: StepwiseAgent) -> None:
    work = project.work
    agent.ask("runs", "sed -i 's/line 5$/five/' a.txt")
    wait_pending(project, "a.txt")
    agent.ask("runs", f"{COMMIT} -am x")
    project.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    agent.ask("runs", f"sed -i 's/line 5$/five/' b.txt; {COMMIT} -am y")
    agent.end()
    wait_pending(project, "a.txt", "b.txt")
    project.wait("not require('acp.buffers.watch').at_work(...)", str(work / "a.txt"))
    noticed(project, work)
    agent.begin()
    agent.end()
    wait_pending(project, "a.txt", "b.txt")
    assert edits_by_name(project)["a.txt"]["hunks"] == 1
    project.cmd("Acp reject all")
    wait_pending(project)
    assert (work / "a.txt").read_text() == LINES


def test_a_commit_of_the_users_while_a_turn_runs(project: Editor, agent: StepwiseAgent) -> None:
    agent.ask("runs", "sed -i 's/line 5$/five/' a.txt")
    wait_pending(project, "a.txt")
    git(project.work, "commit", "-q", "-a", "-m", "x")
    agent.end()
    wait_pending(project)


def test_a_commit_accepts_what_it_contains(project: Editor) -> None:
    project.turn(shell("sed -i '3s/.*/x/' a.txt b.txt"))
    wait_pending(project, "a.txt", "b.txt")
    git(project.work, "commit", "-q", "-m", "x", "a.txt")
    project.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    wait_pending(project, "b.txt")
