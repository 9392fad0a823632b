"""Changes on disk during a turn that the agent did not name: listed apart, with a question."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.git import git, repository
from tests.support.lua import lua_chunk
from tests.support.pending_edits import LINES, edits_by_name, wait_edits
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

SELECT = lua_chunk(__file__, "answer_select")


@pytest.fixture
def project(editor: Editor) -> Editor:
    """Return an editor with files in a repository, and a user who leaves such changes pending."""
    for name in ("a.txt", "b.txt", "c.txt", "sub/d.txt"):
        editor.write(name, LINES)
    repository(editor.work)
    editor.agent("script")
    editor.turn("say hello")
    editor.lua(SELECT + "_G.answer = 2")
    return editor


@pytest.fixture
def agent(project: Editor) -> StepwiseAgent:
    """Return an agent that has been at work for long enough to tell changes from earlier ones."""
    agent = StepwiseAgent.at_work(project)
    agent.ask("runs", "true")
    return agent


def named(editor: Editor) -> dict[str, Any]:
    return {name: edit["named"] for name, edit in edits_by_name(editor).items()}


def screen(editor: Editor) -> str:
    editor.cmd("redraw")
    return "\n".join(editor.grid.lines())


def chat(editor: Editor) -> str:
    return "\n".join(editor.lines("acp://chat/1"))


def questions(editor: Editor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = editor.lua("return _G.asked")
    return found


def test_a_save_of_another_editor_is_listed_apart_with_a_question(
    project: Editor, agent: StepwiseAgent
) -> None:
    agent.ask("runs", "sed -i 's/line 5$/five/' a.txt")
    (project.work / "b.txt").write_text(LINES.replace("line 9\n", "theirs\n"))
    (project.work / "new.txt").write_text("theirs\n")
    agent.end()
    wait_edits(project, a="modified", b="modified", new="created")
    assert named(project) == {"a.txt": True, "b.txt": False, "new.txt": False}
    project.cmd("Acp reject all")
    wait_edits(project, b="modified", new="created")
    assert (project.work / "a.txt").read_text() == LINES
    assert "theirs" in (project.work / "b.txt").read_text()
    [question] = questions(project)
    assert question["prompt"] == "Changed during the turn, not named by the agent: b.txt, new.txt"
    project.wait_message("Rejected 1 hunk in a.txt; not named by the agent and left pending: 2")
    project.lua("_G.answer = 1")
    project.cmd("Acp reject all")
    wait_edits(project)
    until(lambda: not (project.work / "new.txt").exists())
    assert (project.work / "b.txt").read_text() == LINES


def test_a_dismissed_question_rejects_nothing(project: Editor, agent: StepwiseAgent) -> None:
    agent.ask("runs", "sed -i 's/line 5$/five/' a.txt")
    (project.work / "b.txt").write_text("theirs\n")
    agent.end()
    wait_edits(project, a="modified", b="modified")
    project.lua("vim.ui.select = function(_, _, on_choice) on_choice(nil) end")
    project.cmd("Acp reject all")
    project.wait_message("Nothing was rejected")
    wait_edits(project, a="modified", b="modified")
    project.cmd("Acp accept all")
    wait_edits(project)
    assert (project.work / "b.txt").read_text() == "theirs\n"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("echo x > 'n.txt'", "n.txt"),
        ("sed -i 's/line 5$/five/' sub/*", "d.txt"),
        ("cd sub && sed -i 's/line 5$/five/' d.txt", "d.txt"),
        ("rm -r sub", "d.txt"),
    ],
)
def test_a_path_in_a_command_counts_as_named(
    project: Editor, agent: StepwiseAgent, command: str, name: str
) -> None:
    agent.ask("runs", command)
    agent.end()
    project.wait("#require('acp').state().sessions[1].edits == 1")
    assert named(project) == {name: True}
    project.cmd("Acp reject all")
    wait_edits(project)
    assert questions(project) == []


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("line\nbreak.txt", "printf 'x\\n' > 'line\nbreak.txt'"),
        ("b.txt", "ln -sf /etc/hosts b.txt"),
        ("b.txt", "rm b.txt; mkdir b.txt"),
    ],
)
def test_a_location_names_its_file_whatever_replaces_it(
    project: Editor, agent: StepwiseAgent, name: str, command: str
) -> None:
    path = project.work / name
    agent.ask("edits_by", str(path), command)
    agent.end()
    project.wait("#require('acp').state().sessions[1].edits == 1")
    assert named(project) == {name: True}


def test_a_terminals_command_names_files(project: Editor, agent: StepwiseAgent) -> None:
    command = {"command": "sh", "args": ["-c", "echo x > 'n 1.txt'; echo y > \"$0\".txt", "m"]}
    agent.ask("term_create", "t", json.dumps(command))
    agent.ask("term_wait", "t")
    agent.end()
    project.wait("#require('acp').state().sessions[1].edits == 2")
    assert named(project) == {"n 1.txt": True, "m.txt": False}


def test_files_that_a_script_changes_without_naming_them_are_unnamed(
    project: Editor, agent: StepwiseAgent
) -> None:
    (project.work / "fix.sh").write_text("sed -i 's/line 5$/five/' a.txt\n")
    agent.ask("runs", "sh fix.sh")
    agent.end()
    project.wait("#require('acp').state().sessions[1].edits == 2")
    assert named(project) == {"a.txt": False, "fix.sh": True}


def test_a_name_that_follows_the_change_counts(project: Editor, agent: StepwiseAgent) -> None:
    agent.ask("silently", "sed -i 's/line 5$/five/' a.txt")
    agent.ask("runs", "true")
    wait_edits(project, a="modified")
    assert named(project) == {"a.txt": False}
    agent.ask("runs", "cat a.txt")
    project.wait("require('acp').state().sessions[1].edits[1].named")
    agent.end()


def test_a_write_through_the_editor_names_the_file(project: Editor, agent: StepwiseAgent) -> None:
    agent.ask("replace", str(project.work / "a.txt"), "line 5", "five")
    agent.end()
    wait_edits(project, a="modified")
    assert named(project) == {"a.txt": True}


def test_review_quickfix_and_chat_mark_unnamed_changes(
    project: Editor, agent: StepwiseAgent
) -> None:
    (project.work / "b.txt").write_text(LINES.replace("line 9\n", "theirs\n"))
    agent.end()
    wait_edits(project, b="modified")
    mark = "changed during the turn, not named by the agent"
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    assert project.lua("return vim.fn.getqflist()[1].text") == mark
    project.cmd("cclose")
    until(lambda: "1 to review · 1 not named" in screen(project), what="the chat's bar")
    until(lambda: "during the turn, not named by the agent: b.txt" in chat(project))
    project.cmd("Acp review")
    project.wait("#vim.api.nvim_list_tabpages() == 2")
    until(lambda: mark in screen(project), what="the review")


# -- the user's git


@pytest.fixture
def branches(project: Editor) -> Editor:
    """Return a project with another branch, where `a.txt` is another text, `c.txt` is deleted and
    `n.txt` is new.
    """
    work = project.work
    git(work, "checkout", "-q", "-b", "other")
    (work / "a.txt").write_text(LINES.replace("line 3\n", "other\n"))
    (work / "n.txt").write_text("other\n")
    (work / "c.txt").unlink()
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "other")
    git(work, "checkout", "-q", "-")
    return project


def begin_turn(editor: Editor) -> StepwiseAgent:
    agent = StepwiseAgent.at_work(editor)
    agent.ask("runs", "sed -i 's/line 5$/five/' b.txt")
    wait_edits(editor, b="modified")
    return agent


def end_after_edit(editor: Editor, agent: StepwiseAgent) -> None:
    """Let the agent change one more file and end its turn; all earlier changes are then known."""
    agent.ask("runs", "echo x > last.txt")
    agent.end()
    editor.wait(
        "vim.iter(require('acp').state().sessions[1].edits)"
        ":any(function(edit) return vim.endswith(edit.path, 'last.txt') end)"
    )


def test_a_checkout_by_the_user_is_not_pending(branches: Editor) -> None:
    branches.open("a.txt")
    agent = begin_turn(branches)
    git(branches.work, "checkout", "-q", "other")
    end_after_edit(branches, agent)
    wait_edits(branches, b="modified", last="created")
    branches.cmd("Acp reject all")
    wait_edits(branches)
    assert questions(branches) == []
    assert (branches.work / "n.txt").read_text() == "other\n"
    assert not (branches.work / "c.txt").exists()
    assert "other" in (branches.work / "a.txt").read_text()
    branches.cmd("checktime")
    branches.wait("vim.fn.getbufline('a.txt', 3)[1] == 'other'")


def test_a_checkout_and_its_return_are_not_pending(branches: Editor) -> None:
    agent = begin_turn(branches)
    git(branches.work, "checkout", "-q", "other")
    git(branches.work, "checkout", "-q", "-")
    end_after_edit(branches, agent)
    wait_edits(branches, b="modified", last="created")


def test_a_checkout_just_before_the_end_of_the_turn_is_not_pending(branches: Editor) -> None:
    agent = begin_turn(branches)
    git(branches.work, "checkout", "-q", "other")
    agent.end()
    until((branches.work / "n.txt").exists)
    branches.cmd("Acp edits")
    branches.wait("#vim.fn.getqflist() == 1")
    wait_edits(branches, b="modified")


def test_a_commit_of_another_editors_work_is_not_pending(branches: Editor) -> None:
    agent = begin_turn(branches)
    (branches.work / "a.txt").write_text("theirs\n")
    git(branches.work, "commit", "-q", "-m", "theirs", "a.txt")
    end_after_edit(branches, agent)
    wait_edits(branches, b="modified", last="created")


def test_a_pull_is_not_pending(branches: Editor) -> None:
    agent = begin_turn(branches)
    git(branches.work, "pull", "-q", "--ff-only", ".", "other")
    end_after_edit(branches, agent)
    wait_edits(branches, b="modified", last="created")


def test_a_stash_is_not_pending(branches: Editor) -> None:
    (branches.work / "a.txt").write_text("mine\n")
    agent = begin_turn(branches)
    git(branches.work, "stash", "push", "-q", "a.txt")
    end_after_edit(branches, agent)
    wait_edits(branches, b="modified", last="created")


def test_a_checkout_by_the_agent_is_pending(branches: Editor) -> None:
    agent = begin_turn(branches)
    agent.ask("runs", "git checkout -q other")
    end_after_edit(branches, agent)
    wait_edits(branches, a="modified", b="modified", c="deleted", n="created", last="created")
    assert {name for name, is_named in named(branches).items() if not is_named} == {
        "a.txt",
        "c.txt",
        "n.txt",
    }


def test_a_checkout_while_the_agent_runs_something_else_is_not_pending(branches: Editor) -> None:
    agent = begin_turn(branches)
    done = branches.home / "done"
    waiting = agent.order("runs", f"while [ ! -e {done} ]; do sleep 0.01; done")
    branches.wait("vim.tbl_count(require('acp').state().sessions[1].tool_calls) >= 2")
    branches.wait(
        "vim.iter(require('acp').state().sessions[1].tool_calls)"
        ":any(function(call) return call.status == 'in_progress' end)"
    )
    git(branches.work, "checkout", "-q", "other")
    done.touch()
    until(lambda: waiting in agent.traffic.notes())
    end_after_edit(branches, agent)
    wait_edits(branches, b="modified", last="created")


def test_agents_text_that_a_checkout_overwrites_is_set_aside(branches: Editor) -> None:
    agent = begin_turn(branches)
    agent.ask("runs", "sed -i 's/line 9$/nine/' a.txt")
    wait_edits(branches, a="modified", b="modified")
    git(branches.work, "checkout", "-q", "-f", "other")
    end_after_edit(branches, agent)
    wait_edits(branches, last="created")
    branches.cmd("Acp edits parked")
    branches.wait("#vim.fn.getqflist() == 2")
