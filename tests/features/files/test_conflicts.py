"""Conflicts: the user's unsaved text and an agent's change on disk concern the same lines."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.pending_edits import LINES, edits_by_name, marked_changes, wait_count
from tests.support.script_lines import shell
from tests.support.stepwise_agent import StepwiseAgent


def text(editor: Editor, name: str) -> str:
    """Return the text of the buffer."""
    return "\n".join(editor.lines(str(editor.work / name)))


def conflicting(editor: Editor) -> None:
    """Change line 3 as the user and as the agent."""
    editor.open("a.txt")
    editor.keys("3Gccmine<Esc>")
    editor.turn(shell("sed -i '3s/.*/theirs/' a.txt", editor.work / "a.txt"))
    assert wait_count(editor, 1)["a.txt"]["conflict"]


def test_overlapping_unsaved_edits_are_a_conflict_and_nothing_is_touched(plain: Editor) -> None:
    conflicting(plain)
    assert text(plain, "a.txt").split("\n")[2] == "mine"
    assert (plain.work / "a.txt").read_text().split("\n")[2] == "theirs"
    assert plain.events("AcpEdit")[-1]["data"]["conflict"]
    plain.cmd("checktime")
    assert not plain.rpc.mode()["blocking"]
    assert text(plain, "a.txt").split("\n")[2] == "mine"


def test_saving_settles_a_conflict_without_a_question(plain: Editor) -> None:
    conflicting(plain)
    plain.cmd("write")
    wait_count(plain, 0)
    assert (plain.work / "a.txt").read_text().split("\n")[2] == "mine"


def test_accepting_a_conflict_takes_the_agents_side(plain: Editor) -> None:
    conflicting(plain)
    plain.cmd("Acp accept file")
    wait_count(plain, 0)
    assert text(plain, "a.txt").split("\n")[2] == "theirs"
    assert not plain.lua("return vim.bo.modified")
    plain.keys("u")
    assert text(plain, "a.txt").split("\n")[2] == "mine"


def test_the_agents_side_is_accepted_with_any_line_ends_of_the_next_save(
    plain: Editor,
) -> None:
    path = plain.work / "a.txt"
    path.write_bytes(LINES.replace("\n", "\r\n").encode())
    plain.open("a.txt")
    plain.cmd("set fileformat=unix")
    plain.keys("3Gccmine<Esc>")
    plain.turn(shell("sed -i '3s/.*/theirs\\r/' a.txt", path))
    assert wait_count(plain, 1)["a.txt"]["conflict"]
    plain.cmd("Acp accept file")
    wait_count(plain, 0)
    assert text(plain, "a.txt").split("\n")[2] == "theirs"


@pytest.mark.parametrize("scope", ["hunk", "file"])
def test_a_conflict_that_comes_before_the_key_is_not_decided_by_it(
    project: Editor, agent: StepwiseAgent, scope: str
) -> None:
    """An accept would replace the user's text with the agent's."""
    path = project.work / "a.txt"
    marked_changes(project, agent, "s/^line 5$/five/", 1)
    project.cmd("call setline(15, 'mine')")
    agent.ask("silently", "sed -i 's/^line 15$/theirs/' a.txt")
    project.cmd(f"5 | Acp accept {scope}")
    project.wait("require('acp').state().sessions[1].edits[1].conflict")
    assert project.lines(str(path))[14] == "mine"
    agent.end()
    assert project.lines(str(path))[14] == "mine"
    assert edits_by_name(project)["a.txt"]["conflict"]
