"""Commits and pending edits: edits that the user commits are accepted, and no others."""

from __future__ import annotations

import json
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
    """Return an editor with two files in a repository and a third one outside it."""
    for name in ("a.txt", "b.txt"):
        editor.write(name, LINES)
    repository(editor.work)
    editor.write("loose.txt", LINES)
    editor.agent("script")
    editor.turn("say hello")
    return editor


@pytest.fixture
def agent(project: Editor) -> StepwiseAgent:
    """Return an agent at work."""
    return StepwiseAgent.at_work(project)


def wait_pending(editor: Editor, *names: str) -> None:
    """Wait until exactly these files have pending edits."""
    editor.wait(lua_chunk(__file__, "has_edits_of"), list(names))


def commit_another(editor: Editor, work: Path) -> None:
    """Commit one more file as the user and return to Neovim, which makes it notice earlier
    commits.
    """
    (work / "mark.txt").write_text("mark\n")
    git(work, "add", "mark.txt")
    git(work, "commit", "-q", "-m", "mark", "mark.txt")
    editor.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")


def test_a_commit_decides_nothing_in_files_that_it_does_not_change(project: Editor) -> None:
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


def test_a_commit_by_the_agent_accepts_nothing(project: Editor, agent: StepwiseAgent) -> None:
    work = project.work
    agent.ask("runs", "sed -i 's/line 5$/five/' a.txt")
    wait_pending(project, "a.txt")
    agent.ask("runs", f"{COMMIT} -am x")
    project.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    agent.ask("runs", f"sed -i 's/line 5$/five/' b.txt; {COMMIT} -am y")
    agent.end()
    wait_pending(project, "a.txt", "b.txt")
    project.wait("not require('acp.buffers.watch').at_work(...)", str(work / "a.txt"))
    commit_another(project, work)
    agent.begin()
    agent.end()
    wait_pending(project, "a.txt", "b.txt")
    assert edits_by_name(project)["a.txt"]["hunks"] == 1
    project.cmd("Acp reject all")
    wait_pending(project)
    assert (work / "a.txt").read_text() == LINES


def test_a_commit_by_the_user_during_a_turn_accepts(project: Editor, agent: StepwiseAgent) -> None:
    agent.ask("runs", "sed -i 's/line 5$/five/' a.txt")
    wait_pending(project, "a.txt")
    git(project.work, "commit", "-q", "-a", "-m", "x")
    agent.end()
    wait_pending(project)


def test_a_commit_by_an_autocommand_on_an_agents_save_accepts(
    project: Editor, agent: StepwiseAgent
) -> None:
    """The end of the turn finds it."""
    project.open("a.txt")
    project.cmd(f"autocmd BufWritePost a.txt call system('{COMMIT} -am x')")
    for name in ("b.txt", "a.txt"):
        changed = LINES.replace("line 5\n", "five\n")
        agent.ask("write", str(project.work / name), json.dumps(changed))
    agent.end()
    wait_pending(project)


def test_a_commit_accepts_the_edits_that_it_contains(project: Editor) -> None:
    project.turn(shell("sed -i '3s/.*/x/' a.txt b.txt"))
    wait_pending(project, "a.txt", "b.txt")
    git(project.work, "commit", "-q", "-m", "x", "a.txt")
    project.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    wait_pending(project, "b.txt")
