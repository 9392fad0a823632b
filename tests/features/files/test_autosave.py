"""Buffers that save themselves with `autocmd TextChanged * silent! update`, a common setting.

Unless the autocommand is `++nested`, such a save triggers no event.
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
    """Return an editor that shows a file of twenty lines, with an agent that waits for steps."""
    editor.write("a.txt", LINES)
    editor.write("b.txt", LINES)
    repository(editor.work)
    editor.cmd(f"autocmd {EVENTS} * {request.param} silent! update")
    editor.agent("script")
    editor.open("a.txt")
    return editor


def replace_line(editor: Editor, line: int, text: str, path: str = "a.txt") -> None:
    """Replace a line with typed keys, which saves the file."""
    editor.keys(f"{line}G0C{text}<Esc>")
    until(lambda: text in (editor.work / path).read_text())


def end_turn(editor: Editor, agent: StepwiseAgent) -> None:
    """End the turn and wait until the files have been scanned."""
    agent.end()
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "a.txt"))


def test_text_that_the_user_types_during_a_turn_is_theirs(
    project: Editor, agent: StepwiseAgent
) -> None:
    replace_line(project, 3, "mine")
    agent.ask("runs", "true")
    replace_line(project, 9, "mine too")
    end_turn(project, agent)
    assert edits_by_name(project) == {}
    assert (project.work / "a.txt").read_text() == lines(l3="mine", l9="mine too")


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_a_change_on_disk_after_the_users_is_decided_alone(
    project: Editor, agent: StepwiseAgent, verb: str
) -> None:
    replace_line(project, 3, "mine")
    agent.ask("runs", "sed -i 's/^line 12$/twelve/' a.txt")
    wait_edits(project, a="modified")
    project.wait("vim.fn.getline(12) == 'twelve'")
    assert edits_by_name(project)["a.txt"]["hunks"] == 1
    replace_line(project, 17, "mine too")
    end_turn(project, agent)
    wait_hunks(project, 1)
    project.cmd(f"Acp {verb} all")
    wait_edits(project)
    accepted = {"l12": "twelve"} if verb == "accept" else {}
    wanted = lines(l3="mine", l17="mine too", **accepted)
    until(lambda: (project.work / "a.txt").read_text() == wanted)
    assert project.lines(str(project.work / "a.txt")) == wanted.splitlines()


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_a_write_through_the_editor_is_decided_alone(
    project: Editor, agent: StepwiseAgent, verb: str
) -> None:
    path = str(project.work / "a.txt")
    replace_line(project, 3, "mine")
    agent.ask("replace", path, "line 12\n", "twelve\n")
    replace_line(project, 17, "mine too")
    agent.ask("replace", path, "line 6\n", "six\n")
    end_turn(project, agent)
    wait_hunks(project, 2)
    project.cmd(f"Acp {verb} all")
    wait_edits(project)
    accepted = {"l6": "six", "l12": "twelve"} if verb == "accept" else {}
    wanted = lines(l3="mine", l17="mine too", **accepted)
    until(lambda: (project.work / "a.txt").read_text() == wanted)
    assert project.lines(path) == wanted.splitlines()


def test_a_reject_can_be_undone(project: Editor, agent: StepwiseAgent) -> None:
    path = project.work / "a.txt"
    replace_line(project, 3, "mine")
    agent.ask("runs", "sed -i 's/^line 12$/twelve/' a.txt")
    wait_edits(project, a="modified")
    reject_all(project)
    wait_edits(project)
    replace_line(project, 17, "mine too")
    end_turn(project, agent)
    assert path.read_text() == lines(l3="mine", l17="mine too")
    project.cmd("Acp unreject")
    wait_edits(project, a="modified")
    until(lambda: path.read_text() == lines(l3="mine", l12="twelve", l17="mine too"))


def test_autosave_saves_agents_writes_that_are_never_saved(project: Editor) -> None:
    """With `files.save = 'never'`, only the user's own autosave saves."""
    project.setup({"files": {"save": "never"}})
    agent = StepwiseAgent(project)
    agent.begin()
    path = project.work / "a.txt"
    agent.ask("replace", str(path), "line 12\n", "twelve\n")
    replace_line(project, 3, "mine")
    assert path.read_text() == lines(l3="mine", l12="twelve")
    agent.ask("runs", "true")
    end_turn(project, agent)
    wait_hunks(project, 1)
    reject_all(project)
    wait_edits(project)
    assert project.lines(str(path)) == lines(l3="mine").splitlines()


def test_the_newline_that_a_save_adds_at_the_end_of_a_file_is_the_users(
    project: Editor, agent: StepwiseAgent
) -> None:
    path = project.work / "b.txt"
    project.open("b.txt")
    project.cmd("set noendofline")
    agent.ask("read", str(path))
    replace_line(project, 3, "mine", "b.txt")
    agent.ask("replace", str(path), "line 12\n", "twelve\n")
    end_turn(project, agent)
    assert path.read_text() == lines(l3="mine", l12="twelve")
    wait_hunks(project, 1)
    reject_all(project)
    wait_edits(project)
    assert path.read_text() == lines(l3="mine")


def test_a_save_without_autocommands_is_the_users(project: Editor, agent: StepwiseAgent) -> None:
    """Formatters that run after a save write this way."""
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
    end_turn(project, agent)
    wait_hunks(project, 1)
    reject_all(project)
    wait_edits(project)
    assert path.read_text() == lines(l3="mine")


def test_a_save_just_before_the_prompt_is_the_users(project: Editor, agent: StepwiseAgent) -> None:
    """The agent changes the file before the scan at the start of its turn."""
    end_turn(project, agent)
    replace_line(project, 3, "mine")
    text = """silently "sed -i 's/^line 12$/twelve/' a.txt" """
    project.lua("require('acp').prompt(...)", text)
    project.wait_event("AcpTurnEnd", 2)
    wait_edits(project, a="modified")
    reject_all(project)
    wait_edits(project)
    assert (project.work / "a.txt").read_text() == lines(l3="mine")


def make_conflict(editor: Editor, agent: StepwiseAgent) -> None:
    """Make buffer and file conflict in line 4; then type elsewhere, which saves the file."""
    editor.cmd("set eventignore=TextChanged,TextChangedI,InsertLeave")
    editor.keys("4G0Cmine<Esc>")
    editor.wait("vim.fn.getline(4) == 'mine' and vim.fn.mode() == 'n'")
    agent.ask("runs", "sed -i 's/^line 4$/four/' a.txt")
    editor.wait("(require('acp').state().sessions[1].edits[1] or {}).conflict")
    editor.cmd("set eventignore=")
    replace_line(editor, 17, "mine too")


@pytest.mark.parametrize("ended", [False, True])
def test_an_automatic_save_does_not_settle_a_conflict(
    project: Editor, agent: StepwiseAgent, ended: bool
) -> None:
    """The user's text is then on disk. They can still take the agent's, or settle it by a save."""
    path = project.work / "a.txt"
    if ended:
        project.cmd("set noautoread")
    make_conflict(project, agent)
    if ended:
        end_turn(project, agent)
    replace_line(project, 18, "and more")
    assert path.read_text() == lines(l4="mine", l17="mine too", l18="and more")
    assert edits_by_name(project)["a.txt"]["conflict"]
    project.cmd("Acp accept all")
    wait_edits(project)
    until(lambda: path.read_text() == lines(l4="four"))
    assert project.lines(str(path)) == lines(l4="four").splitlines()
    project.keys("u")
    until(lambda: path.read_text() == lines(l4="mine", l17="mine too", l18="and more"))
    if not ended:
        end_turn(project, agent)


def test_the_users_own_save_settles_a_conflict(project: Editor, agent: StepwiseAgent) -> None:
    path = project.work / "a.txt"
    make_conflict(project, agent)
    end_turn(project, agent)
    assert edits_by_name(project)["a.txt"]["conflict"]
    project.cmd("silent write")
    wait_edits(project)
    assert path.read_text() == lines(l4="mine", l17="mine too")
