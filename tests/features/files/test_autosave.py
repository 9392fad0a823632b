"""Buffers that save themselves: `autocmd TextChanged * silent! update`, as many users have it.

In an autocommand that is not `++nested` such a save is told to nobody.
"""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.pending_edits import (
    LINES,
    edits_by_name,
    lines,
    reject_all,
    wait_edits,
    wait_hunks,
)
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

EVENTS = "TextChanged,TextChangedI,InsertLeave,FocusLost,BufLeave"


@pytest.fixture(params=["", "++nested"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """A file of twenty lines is open, and an agent waits for orders."""
    editor.write("a.txt", LINES)
    editor.write("b.txt", LINES)
    repository(editor.work)
    editor.cmd(f"autocmd {EVENTS} * {request.param} silent! update")
    editor.agent("script")
    editor.open("a.txt")
    return editor


def types(editor: Editor, line: int, text: str, path: str = "a.txt") -> None:
    """The user replaces a line, with keys; it is saved by that."""
    editor.keys(f"{line}G0C{text}<Esc>")
    until(lambda: text in (editor.work / path).read_text())


def over(editor: Editor, agent: StepwiseAgent) -> None:
    """The turn has ended and all has been looked at."""
    agent.end()
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "a.txt"))


def test_what_the_user_types_meanwhile_is_theirs(project: Editor, agent: StepwiseAgent) -> None:
    types(project, 3, "mine")
    agent.ask("runs", "true")
    types(project, 9, "mine too")
    over(project, agent)
    assert edits_by_name(project) == {}
    assert (project.work / "a.txt").read_text() == lines(l3="mine", l9="mine too")


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_agent_on_disk_after_the_user(project: Editor, agent: StepwiseAgent, verb: str) -> None:
    types(project, 3, "mine")
    agent.ask("runs", "sed -i 's/^line 12$/twelve/' a.txt")
    wait_edits(project, a="modified")
    project.wait("vim.fn.getline(12) == 'twelve'")
    assert edits_by_name(project)["a.txt"]["hunks"] == 1
    types(project, 17, "mine too")
    over(project, agent)
    wait_hunks(project, 1)
    project.cmd(f"Acp {verb} all")
    wait_edits(project)
    kept = {"l12": "twelve"} if verb == "accept" else {}
    wanted = lines(l3="mine", l17="mine too", **kept)
    until(lambda: (project.work / "a.txt").read_text() == wanted)
    assert project.lines(str(project.work / "a.txt")) == wanted.splitlines()


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_agent_through_the_editor(project: Editor, agent: StepwiseAgent, verb: str) -> None:
    path = str(project.work / "a.txt")
    types(project, 3, "mine")
    agent.ask("replace", path, "line 12\n", "twelve\n")
    types(project, 17, "mine too")
    agent.ask("replace", path, "line 6\n", "six\n")
    over(project, agent)
    wait_hunks(project, 2)
    project.cmd(f"Acp {verb} all")
    wait_edits(project)
    kept = {"l6": "six", "l12": "twelve"} if verb == "accept" else {}
    wanted = lines(l3="mine", l17="mine too", **kept)
    until(lambda: (project.work / "a.txt").read_text() == wanted)
    assert project.lines(path) == wanted.splitlines()


def test_a_reject_that_is_taken_back(project: Editor, agent: StepwiseAgent) -> None:
    path = project.work / "a.txt"
    types(project, 3, "mine")
    agent.ask("runs", "sed -i 's/^line 12$/twelve/' a.txt")
    wait_edits(project, a="modified")
    reject_all(project)
    wait_edits(project)
    types(project, 17, "mine too")
    over(project, agent)
    assert path.read_text() == lines(l3="mine", l17="mine too")
    project.cmd("Acp unreject")
    wait_edits(project, a="modified")
    until(lambda: path.read_text() == lines(l3="mine", l12="twelve", l17="mine too"))


def test_files_are_never_saved_by_the_agent(project: Editor) -> None:
    """With `files.save = 'never'` it is the user's own autosave that saves."""
    project.setup({"files": {"save": "never"}})
    agent = StepwiseAgent(project)
    agent.begin()
    path = project.work / "a.txt"
    agent.ask("replace", str(path), "line 12\n", "twelve\n")
    types(project, 3, "mine")
    assert path.read_text() == lines(l3="mine", l12="twelve")
    agent.ask("runs", "true")
    over(project, agent)
    wait_hunks(project, 1)
    reject_all(project)
    wait_edits(project)
    assert project.lines(str(path)) == lines(l3="mine").splitlines()


def test_the_end_of_a_file_without_a_newline(project: Editor, agent: StepwiseAgent) -> None:
    """The save adds it; nothing of that is the agent's."""
    path = project.work / "b.txt"
    project.open("b.txt")
    project.cmd("set noendofline")
    agent.ask("read", str(path))
    types(project, 3, "mine", "b.txt")
    agent.ask("replace", str(path), "line 12\n", "twelve\n")
    over(project, agent)
    assert path.read_text() == lines(l3="mine", l12="twelve")
    wait_hunks(project, 1)
    reject_all(project)
    wait_edits(project)
    assert path.read_text() == lines(l3="mine")


def test_saved_without_autocommands(project: Editor, agent: StepwiseAgent) -> None:
    """As formatters do that are run after a save."""
    path = project.work / "b.txt"
    project.lua(
        "local path, lines = ... local buffer = vim.fn.bufadd(path) vim.fn.bufload(buffer) "
        "vim.api.nvim_buf_set_lines(buffer, 2, 3, true, { 'mine' }) "
        "vim.api.nvim_buf_call(buffer, function() vim.cmd('silent noautocmd update') end)",
        str(path),
    )
    assert path.read_text() == lines(l3="mine")
    agent.ask("runs", "sed -i 's/^line 12$/twelve/' b.txt")
    wait_edits(project, b="modified")
    over(project, agent)
    wait_hunks(project, 1)
    reject_all(project)
    wait_edits(project)
    assert path.read_text() == lines(l3="mine")


def test_saved_just_before_the_prompt(project: Editor, agent: StepwiseAgent) -> None:
    """The agent is quicker than the look at the files before its turn."""
    over(project, agent)
    types(project, 3, "mine")
    text = """silently "sed -i 's/^line 12$/twelve/' a.txt" """
    project.lua("require('acp').prompt(...)", text)
    project.wait_event("AcpTurnEnd", 2)
    wait_edits(project, a="modified")
    reject_all(project)
    wait_edits(project)
    assert (project.work / "a.txt").read_text() == lines(l3="mine")


def parted(editor: Editor, agent: StepwiseAgent) -> None:
    """Buffer and file are in conflict in line 4; then the user types elsewhere, and it is saved."""
    editor.cmd("set eventignore=TextChanged,TextChangedI,InsertLeave")
    editor.keys("4G0Cmine<Esc>")
    editor.wait("vim.fn.getline(4) == 'mine' and vim.fn.mode() == 'n'")
    agent.ask("runs", "sed -i 's/^line 4$/four/' a.txt")
    editor.wait("(require('acp').state().sessions[1].edits[1] or {}).conflict")
    editor.cmd("set eventignore=")
    types(editor, 17, "mine too")


@pytest.mark.parametrize("ended", [False, True])
def test_a_conflict_is_not_decided_by_a_save_that_nobody_asked_for(
    project: Editor, agent: StepwiseAgent, ended: bool
) -> None:
    """The user's text is on disk then; they can still have the agent's, or say so by a save."""
    path = project.work / "a.txt"
    if ended:
        project.cmd("set noautoread")
    parted(project, agent)
    if ended:
        over(project, agent)
    types(project, 18, "and more")
    assert path.read_text() == lines(l4="mine", l17="mine too", l18="and more")
    assert edits_by_name(project)["a.txt"]["conflict"]
    project.cmd("Acp accept all")
    wait_edits(project)
    until(lambda: path.read_text() == lines(l4="four"))
    assert project.lines(str(path)) == lines(l4="four").splitlines()
    project.keys("u")
    until(lambda: path.read_text() == lines(l4="mine", l17="mine too", l18="and more"))
    if not ended:
        over(project, agent)


def test_a_conflict_is_decided_by_the_user_s_own_save(
    project: Editor, agent: StepwiseAgent
) -> None:
    path = project.work / "a.txt"
    parted(project, agent)
    over(project, agent)
    assert edits_by_name(project)["a.txt"]["conflict"]
    project.cmd("silent write")
    wait_edits(project)
    assert path.read_text() == lines(l4="mine", l17="mine too")
