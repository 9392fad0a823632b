"""Decisions on an agent's changes on disk, and later changes to the same file."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.pending_edits import (
    LINES,
    edits_by_name,
    marked_changes,
    reject_all,
    wait_count,
    wait_edits,
)
from tests.support.script_lines import shell
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until


def test_a_file_that_is_deleted_again_after_a_reject_is_pending(
    project: Editor, agent: StepwiseAgent
) -> None:
    path = project.work / "a.txt"
    agent.ask("runs", "rm a.txt")
    wait_edits(project, a="deleted")
    reject_all(project)
    wait_edits(project)
    assert path.read_text() == LINES
    agent.ask("runs", "rm a.txt")
    wait_edits(project, a="deleted")
    agent.end()
    reject_all(project)
    wait_edits(project)
    assert path.read_text() == LINES


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_a_key_decides_the_hunk_that_the_user_saw(
    project: Editor, agent: StepwiseAgent, verb: str
) -> None:
    """Just before the key, the agent moves the hunk on disk, and another one takes its place."""
    path = project.work / "a.txt"
    marked_changes(project, agent, "s/^line 5$/five/; s/^line 10$/ten/", 2)
    agent.ask("silently", "sed -i '1i 1\\n2\\n3\\n4\\n5' a.txt")
    project.cmd(f"10 | Acp {verb}")
    project.wait("vim.fn.getline(1) == '1'")
    agent.end()
    project.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    project.wait("require('acp').state().sessions[1].edits[1].removed == 1")  # there were two
    assert edits_by_name(project)["a.txt"]["hunks"] == 2
    reject_all(project)
    wait_edits(project)
    expected = LINES.replace("line 10", "ten") if verb == "accept" else LINES
    assert path.read_text() == expected


@pytest.mark.parametrize("scope", ["file", "all"])
def test_changes_that_the_user_has_not_seen_are_not_accepted(
    project: Editor, agent: StepwiseAgent, scope: str
) -> None:
    project.open("a.txt")
    agent.ask("runs", "sed -i 's/^line 5$/five/' a.txt; echo new > n.txt")
    wait_edits(project, a="modified", n="created")
    agent.ask("silently", "sed -i 's/^line 10$/ten/' a.txt; echo more >> n.txt")
    project.cmd(f"Acp accept {scope}")
    project.wait_message("has just changed")
    agent.end()
    wait_edits(project, a="modified", n="created")
    assert edits_by_name(project)["a.txt"]["hunks"] == 1
    reject_all(project)
    wait_edits(project)
    assert (project.work / "a.txt").read_text() == LINES.replace("line 5", "five")


@pytest.mark.parametrize("command", ["edit!", "bwipeout! | edit a.txt"])
def test_discarding_an_unsaved_reject_makes_the_hunk_pending_again(
    project: Editor, agent: StepwiseAgent, command: str
) -> None:
    """The file on disk still has the agent's line."""
    path = project.work / "a.txt"
    project.open("a.txt")
    project.cmd("call setline(16, 'mine')")
    agent.ask("runs", "sed -i 's/^line 4$/four/' a.txt")
    wait_edits(project, a="modified")
    agent.end()
    project.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    reject_all(project)
    wait_edits(project)
    assert path.read_text() == LINES.replace("line 4\n", "four\n")
    project.cmd(command)
    wait_edits(project, a="modified")
    reject_all(project)
    wait_edits(project)
    assert path.read_text() == LINES


def test_a_file_that_a_window_shows_is_deleted_and_restored(project: Editor) -> None:
    project.open("a.txt")
    project.turn(shell("rm a.txt"))
    assert wait_count(project, 1)["a.txt"]["kind"] == "deleted"
    project.cmd("checktime")
    assert not project.rpc.mode()["blocking"]
    project.cmd("Acp reject file")
    wait_count(project, 0)
    until((project.work / "a.txt").exists)
    assert (project.work / "a.txt").read_text() == LINES
    assert not project.lua("return vim.bo.modified")


def test_a_created_file_that_the_user_changed_is_kept(plain: Editor) -> None:
    plain.turn(shell("printf 'one\\ntwo\\n' > new.txt"))
    wait_count(plain, 1)
    plain.open("new.txt")
    plain.keys("Gomine<Esc>:w<CR>")
    plain.wait("vim.bo.modified == false")
    plain.cmd("Acp reject file")
    plain.wait_message("kept")
    assert (plain.work / "new.txt").read_text() == "one\ntwo\nmine\n"


def test_a_deletion_is_pending_again_while_a_window_shows_the_file(plain: Editor) -> None:
    path = plain.work / "a.txt"
    plain.open("a.txt")
    plain.turn(shell("rm a.txt"))
    wait_count(plain, 1)
    reject_all(plain)
    wait_count(plain, 0)
    until(path.exists)
    plain.cmd("Acp unreject")
    assert wait_count(plain, 1)["a.txt"]["kind"] == "deleted"
    until(lambda: not path.exists())
    plain.cmd("Acp edits")
    plain.wait("#vim.fn.getqflist() == 1")
    assert edits_by_name(plain)["a.txt"]["kind"] == "deleted"


@pytest.mark.parametrize("command", ["saveas", "noautocmd file"])
def test_edits_in_a_buffer_with_a_new_name_change_no_hunks_of_the_old_file(
    project: Editor, agent: StepwiseAgent, command: str
) -> None:
    path = project.work / "a.txt"
    marked_changes(project, agent, "s/^line 5$/five/; s/^line 10$/ten/", 2)
    project.cmd(f"silent {command} b.txt")
    project.keys("gg5Sfive in b<Esc>jdG")
    agent.ask("read", str(path))
    agent.end()
    assert edits_by_name(project)["a.txt"]["hunks"] == 2
    reject_all(project)
    wait_edits(project)
    assert path.read_text() == LINES
    assert project.lines(str(project.work / "b.txt")) == ["five in b"]
