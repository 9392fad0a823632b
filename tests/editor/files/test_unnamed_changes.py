"""Changes on disk during a turn that the agent has not named: listed apart, and asked about."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.pending_edits import LINES, edits_by_name, wait_edits
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

SELECT = """
_G.asked = {}
vim.ui.select = function(items, opts, on_choice)
  table.insert(_G.asked, { prompt = opts.prompt, kind = opts.kind, items = items })
  on_choice(items[_G.answer], _G.answer)
end
"""


@pytest.fixture
def project(editor: Editor) -> Editor:
    """Files in a repository, and a user who leaves pending what they are asked about."""
    for name in ("a.txt", "b.txt", "c.txt", "sub/d.txt"):
        editor.write(name, LINES)
    repository(editor.work)
    editor.agent("script")
    editor.turn("say hello")
    editor.lua(SELECT + "_G.answer = 2")
    return editor


@pytest.fixture
def agent(project: Editor) -> StepwiseAgent:
    """At work for long enough that what changes now is later than the prompt."""
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


def asked(editor: Editor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = editor.lua("return _G.asked")
    return found


def test_another_editors_save_is_apart_and_asked_about(
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
    [question] = asked(project)
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
    assert asked(project) == []


def test_a_script_changes_files_that_it_does_not_name(
    project: Editor, agent: StepwiseAgent
) -> None:
    (project.work / "fix.sh").write_text("sed -i 's/line 5$/five/' a.txt\n")
    agent.ask("runs", "sh fix.sh")
    agent.end()
    project.wait("#require('acp').state().sessions[1].edits == 2")
    assert named(project) == {"a.txt": False, "fix.sh": True}


def test_a_name_that_comes_after_the_change_counts(project: Editor, agent: StepwiseAgent) -> None:
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


def test_it_is_said_in_review_quickfix_and_chat(project: Editor, agent: StepwiseAgent) -> None:
    (project.work / "b.txt").write_text(LINES.replace("line 9\n", "theirs\n"))
    agent.end()
    wait_edits(project, b="modified")
    said = "changed during the turn, not named by the agent"
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    assert project.lua("return vim.fn.getqflist()[1].text") == said
    project.cmd("cclose")
    until(lambda: "1 to review · 1 not named" in screen(project), what="the chat's bar")
    until(lambda: "during the turn, not named by the agent: b.txt" in chat(project))
    project.cmd("Acp review")
    project.wait("#vim.api.nvim_list_tabpages() == 2")
    until(lambda: said in screen(project), what="the review")
