"""Files that are formatted when they are saved, in the buffer before or on disk afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.cases import case
from tests.support.editor import Editor
from tests.support.formatters import FORMATTERS, LINES
from tests.support.git import repository
from tests.support.killed_host import HOST_PID
from tests.support.pending_edits import counts, edits_by_name, lines, wait_edits
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

IN_BACKGROUND = """
        set autoread
        function Formatted()
          call jobstart('sleep .01; sed -i -E "s/ +/ /g" ' . expand('<afile>:p:S'),
            \\ {'on_exit': {-> execute('checktime')}})
        endfunction
        autocmd BufWritePost *.txt call Formatted()
"""


def started(editor: Editor, formatter: str) -> Editor:
    """Return an editor that shows a file of twenty lines, with an agent that waits for steps."""
    editor.write("a.txt", LINES)
    repository(editor.work)
    editor.lua("vim.api.nvim_exec2(..., {})", formatter)
    editor.agent("script")
    editor.open("a.txt")
    return editor


@pytest.fixture(params=list(FORMATTERS))
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    return started(editor, FORMATTERS[request.param])


def wait_text(editor: Editor, wanted: str) -> None:
    """Wait until the file and its buffer have this text."""
    path = editor.work / "a.txt"
    until(lambda: path.read_text() == wanted, what=f"{path.read_text()}")
    editor.wait(
        "vim.deep_equal(vim.api.nvim_buf_get_lines(0, 0, -1, true), ...)", wanted.splitlines()
    )


def save_line(editor: Editor, line: int, text: str) -> None:
    """Change a line as the user and save."""
    editor.keys(f"{line}G0C{text}<Esc>:silent write<CR>")


def end_turn(editor: Editor, agent: StepwiseAgent) -> None:
    agent.end()
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "a.txt"))
    editor.wait("require('acp.buffers.disk_changes').is_settled()")


def test_text_that_the_user_saves_during_a_turn_is_theirs(
    project: Editor, agent: StepwiseAgent
) -> None:
    save_line(project, 3, "mine  all")
    wait_text(project, lines(l3="mine all"))
    agent.ask("runs", "true")
    save_line(project, 9, "mine  too")
    wait_text(project, lines(l3="mine all", l9="mine too"))
    end_turn(project, agent)
    assert edits_by_name(project) == {}


VERBS_AND_ENDS = [(verb, ended) for verb in ("accept", "reject") for ended in (False, True)]
"""Decisions, and whether the turn has ended before."""


@contextmanager
def new_turn(project: Editor, verb: str, ended: bool) -> Iterator[StepwiseAgent]:
    """Decide in the block, in or after a new turn, and restore the text as the user at its end."""
    with case(verb, ended):
        agent = StepwiseAgent.at_work(project, f"{verb}-{ended}")
        yield agent
        if not ended:
            end_turn(project, agent)
        assert edits_by_name(project) == {}
        project.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", LINES.splitlines())
        project.cmd("noautocmd silent write")
        project.turn(f"read {project.work}/a.txt")


def test_formatting_of_the_agents_lines_is_part_of_its_hunks(project: Editor) -> None:
    """Formatting elsewhere belongs to neither side."""
    path = str(project.work / "a.txt")
    for verb, ended in VERBS_AND_ENDS:
        with new_turn(project, verb, ended) as agent:
            agent.ask("replace", path, "line 12\n", "twelve  all\n")
            wait_text(project, lines(l12="twelve all"))
            save_line(project, 17, "mine  too")
            wait_text(project, lines(l12="twelve all", l17="mine too"))
            agent.ask("replace", path, "line 2\n", "two  all\n")
            wait_text(project, lines(l2="two all", l12="twelve all", l17="mine too"))
            if ended:
                end_turn(project, agent)
            project.wait("require('acp').state().sessions[1].edits[1].hunks == 2")
            project.cmd(f"Acp {verb} all")
            wait_edits(project)
            formatted = {"l2": "two all", "l12": "twelve all"} if verb == "accept" else {}
            wait_text(project, lines(l17="mine too", **formatted))


def test_a_change_on_disk_is_formatted_by_the_next_save(project: Editor) -> None:
    """Nothing is saved, so nothing is formatted, until the user saves or rejects."""
    for verb, ended in VERBS_AND_ENDS:
        with new_turn(project, verb, ended) as agent:
            agent.ask("runs", "sed -i 's/^line 12$/twelve  all/' a.txt")
            wait_edits(project, a="modified")
            project.wait("vim.fn.getline(12) == 'twelve  all'")
            save_line(project, 17, "mine  too")
            wait_text(project, lines(l12="twelve all", l17="mine too"))
            if ended:
                end_turn(project, agent)
            project.wait("require('acp').state().sessions[1].edits[1].hunks == 1")
            project.cmd(f"Acp {verb} all")
            wait_edits(project)
            formatted = {"l12": "twelve all"} if verb == "accept" else {}
            wait_text(project, lines(l17="mine too", **formatted))


def test_a_reject_that_is_formatted_can_be_undone(project: Editor, agent: StepwiseAgent) -> None:
    agent.ask("runs", "sed -i 's/^line 12$/twelve  all/' a.txt")
    wait_edits(project, a="modified")
    end_turn(project, agent)
    project.cmd("Acp reject all")
    wait_edits(project)
    wait_text(project, lines())
    project.cmd("Acp unreject")
    wait_edits(project, a="modified")
    wait_text(project, lines(l12="twelve all"))
    assert edits_by_name(project)["a.txt"]["hunks"] == 1
    project.cmd("Acp accept all")
    wait_edits(project)


@pytest.mark.parametrize("looked_at", [False, True])
@pytest.mark.parametrize("formatter", ["pre", "edit", "checktime"])
def test_a_new_file_that_is_formatted_is_still_the_agents_alone(
    editor: Editor, formatter: str, looked_at: bool
) -> None:
    """With a formatter that runs some time after the save, the file counts as changed by the
    user.
    """
    project = started(editor, FORMATTERS[formatter])
    agent = StepwiseAgent(project)
    agent.begin()
    path = project.work / "n.txt"
    agent.ask("runs", "printf 'one\\ntwo\\n' > n.txt")
    wait_edits(project, n="created")
    agent.ask("replace", str(path), "two", "two  too")
    until(lambda: path.read_text() == "one\ntwo too\n")
    if looked_at:
        project.open("n.txt")
        project.cmd("silent update")
    end_turn(project, agent)
    wait_edits(project, n="created")
    project.cmd("Acp reject all")
    wait_edits(project)
    until(lambda: not path.exists())


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_changes_by_a_formatter_in_the_background_are_pending_and_not_lost(
    editor: Editor, verb: str
) -> None:
    """Its changes on disk during a turn cannot be distinguished from the agent's."""
    project = started(editor, IN_BACKGROUND)
    agent = StepwiseAgent(project)
    agent.begin()
    agent.traffic.wait("session/prompt")
    path = str(project.work / "a.txt")
    agent.ask("replace", path, "line 12\n", "twelve  all\n")
    wait_text(project, lines(l12="twelve all"))
    save_line(project, 17, "mine  too")
    wait_text(project, lines(l12="twelve all", l17="mine too"))
    end_turn(project, agent)
    wait_edits(project, a="modified")
    project.cmd(f"Acp {verb} all")
    wait_edits(project)
    formatted = {"l12": "twelve all"} if verb == "accept" else {}
    wait_text(project, lines(l17="mine too", **formatted))
    assert edits_by_name(project) == {}


@pytest.mark.parametrize("formatter", ["edit", "checktime"])
def test_a_change_on_disk_right_after_formatting_is_the_agents(
    editor: Editor, formatter: str
) -> None:
    """The formatted file has not been scanned."""
    project = started(editor, FORMATTERS[formatter])
    agent = StepwiseAgent.at_work(project)
    agent.ask("runs", "true")
    host = project.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    project.lua("vim.fn.setline(3, 'mine  all') vim.cmd('silent write')")
    project.wait("vim.fn.getline(3) == 'mine all'")
    agent.ask("runs", "a.txt", "sleep .01; sed -i 's/^line 12$/twelve/' a.txt")
    os.kill(host, signal.SIGCONT)
    end_turn(project, agent)
    wait_text(project, lines(l3="mine all", l12="twelve"))
    until(lambda: counts(project) == [(1, 1, 1)])
    project.cmd("Acp reject all")
    wait_edits(project)
    wait_text(project, lines(l3="mine all"))


def test_a_rejected_move_of_a_file_that_was_formatted_is_not_pending_again(
    project: Editor, agent: StepwiseAgent
) -> None:
    old, new = project.work / "a.txt", project.work / "new.txt"
    agent.ask("runs", f"mv {old} {new}")
    project.wait("#require('acp').state().sessions[1].edits == 1")
    project.open("new.txt")
    save_line(project, 3, "mine  all")
    saved = lines(l3="mine all")
    until(lambda: new.read_text() == saved, what="the file is not formatted")
    project.wait("vim.fn.getline(3) == 'mine all'")
    project.cmd("Acp reject file")
    until(lambda: not new.exists(), what="the file still exists")
    end_turn(project, agent)
    assert edits_by_name(project) == {}
    assert old.read_text() == saved
