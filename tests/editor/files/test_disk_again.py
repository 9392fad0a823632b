"""What an agent does on disk to a file once more, after a decision on it or before it was seen."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.pending_edits import LINES, edits_by_name, wait_edits
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """A file of twenty lines, in a repository or not, and an agent that takes orders."""
    editor.write("a.txt", LINES)
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    return editor


@pytest.fixture
def agent(project: Editor) -> StepwiseAgent:
    """At work."""
    return StepwiseAgent.at_work(project)


def test_deleted_again_after_a_reject(project: Editor, agent: StepwiseAgent) -> None:
    path = project.work / "a.txt"
    agent.ask("runs", "rm a.txt")
    wait_edits(project, a="deleted")
    project.cmd("Acp reject all")
    wait_edits(project)
    assert path.read_text() == LINES
    agent.ask("runs", "rm a.txt")
    wait_edits(project, a="deleted")
    agent.end()
    project.cmd("Acp reject all")
    wait_edits(project)
    assert path.read_text() == LINES


def held(editor: Editor) -> None:
    """Neovim answers nobody until the file `go` is there."""
    code = "vim.wait(20000, function() return vim.uv.fs_stat(...) end, 5, true)"
    editor.rpc.notify("nvim_exec_lua", code.replace("...", f"'{editor.home}/go'"), [])


def wait_scanned(editor: Editor, name: str) -> None:
    """Until the store has taken in a file of that name."""
    kept = editor.home / "data/nvim/acp/checkpoints"
    index = "*/*/index-*[0-9]"
    until(lambda: any(name.encode() in it.read_bytes() for it in kept.glob(index)))


def test_gone_before_it_was_taken_up(editor: Editor) -> None:
    editor.write("a.txt", LINES)
    repository(editor.work)
    editor.agent("script")
    agent = StepwiseAgent(editor)
    agent.begin()
    agent.traffic.wait("session/prompt")
    held(editor)
    agent.ask("runs", "sed -i 2d a.txt; cp a.txt x.txt")
    wait_scanned(editor, "x.txt")
    agent.ask("silently", "rm x.txt")
    (editor.home / "go").touch()
    wait_edits(editor, a="modified")
    agent.end()
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "a.txt"))
    wait_edits(editor, a="modified")
    assert [event["data"]["path"] for event in editor.events("AcpEdit")] == [
        str(editor.work / "a.txt")
    ]


@pytest.mark.parametrize(
    "parts", [["cp a.txt b.txt", "rm a.txt"], ["mv a.txt ../", "mv ../a.txt b.txt"]]
)
@pytest.mark.parametrize("edited", [False, True])
def test_a_move_that_is_seen_bit_by_bit(
    project: Editor, agent: StepwiseAgent, parts: list[str], edited: bool
) -> None:
    if edited:
        agent.ask("runs", "sed -i 's/^line 4$/four/' a.txt")
        wait_edits(project, a="modified")
    agent.ask("runs", parts[0])
    kind = "deleted" if parts[0].startswith("mv") else "modified"
    kinds = {"a": kind} if edited or kind == "deleted" else {}
    wait_edits(project, **kinds, **({} if kind == "deleted" else {"b": "created"}))
    agent.ask("runs", parts[1])
    wait_edits(project, b="modified")
    agent.end()
    wait_edits(project, b="modified")
    assert edits_by_name(project)["b.txt"]["hunks"] == int(edited)
    project.cmd("Acp reject all")
    wait_edits(project)
    assert (project.work / "a.txt").read_text() == LINES
    assert not (project.work / "b.txt").exists()


def test_on_disk_what_it_has_written_through_the_editor(
    project: Editor, agent: StepwiseAgent
) -> None:
    """The buffer has unsaved edits, so the write did not reach the disk."""
    path = str(project.work / "a.txt")
    project.open("a.txt")
    project.lua("vim.fn.setline(16, 'mine')")
    agent.ask("read", path)
    agent.ask("replace", path, "line 8\n", "")
    wait_edits(project, a="modified")
    agent.ask("runs", path, "sed -i '/^line 8$/d' a.txt")
    agent.end()
    project.wait("not require('acp.buffers.watch').at_work(...)", path)
    assert (
        edits_by_name(project)["a.txt"]["added"],
        edits_by_name(project)["a.txt"]["removed"],
    ) == (0, 1)
    project.cmd("Acp reject all")
    wait_edits(project)
    assert project.lines(path) == LINES.replace("line 16", "mine").splitlines()


def test_a_new_file_that_the_user_undoes_is_empty(project: Editor, agent: StepwiseAgent) -> None:
    """Neovim's byte offsets are those of before the undo for a while."""
    path = str(project.work / "n.txt")
    agent.ask("write", path, json.dumps("one\ntwo\n"))
    wait_edits(project, n="created")
    run = "vim.api.nvim_buf_call(vim.fn.bufadd(...), function() vim.cmd('{}') end)"
    project.lua(run.format("undo"), path)
    project.wait("require('acp').state().sessions[1].edits[1].added == 0")
    project.lua(run.format("write"), path)
    agent.ask("read", path)
    assert agent.traffic.answers("fs/read_text_file")[-1]["result"] == {"content": ""}


def test_a_save_that_ends_the_file_with_a_newline(project: Editor, agent: StepwiseAgent) -> None:
    """'fixendofline' does; what the agent writes afterwards does not take it away."""
    path = project.write("b.txt", "one\ntwo\nthree")
    project.open("b.txt")
    agent.ask("read", str(path))
    project.cmd("call setline(1, 'mine') | silent write")
    assert path.read_text() == "mine\ntwo\nthree\n"
    agent.ask("replace", str(path), "two", "TWO")
    assert path.read_text() == "mine\nTWO\nthree\n"
    wait_edits(project, b="modified")
    project.cmd("Acp reject all")
    wait_edits(project)
    assert path.read_text() == "mine\ntwo\nthree\n"


def test_an_undo_after_a_save_that_ends_the_file_with_a_newline(project: Editor) -> None:
    """The newline is the user's, also where the agent has changed the line above the last one."""
    path = project.write("b.txt", "one\ntwo\nthree")
    project.open("b.txt")
    agent = StepwiseAgent(project)
    agent.begin()
    agent.traffic.wait("session/prompt")
    project.cmd("call setline(1, 'mine')")
    agent.ask("runs", "sed -i 's/two/TWO/' b.txt")
    wait_edits(project, b="modified")
    project.cmd("silent write")
    assert path.read_text() == "mine\nTWO\nthree\n"
    project.cmd("undo")
    assert project.lines(str(path)) == ["mine", "two", "three"]
    wait_edits(project)
    agent.end()


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_the_hunk_that_the_user_saw_is_decided(
    project: Editor, agent: StepwiseAgent, verb: str
) -> None:
    """The agent moves it just before the user's key, on disk, where another comes to its place."""
    path = project.work / "a.txt"
    project.open("a.txt")
    agent.ask("runs", "sed -i 's/^line 5$/five/; s/^line 10$/ten/' a.txt")
    project.wait("vim.fn.getline(10) == 'ten'")
    project.wait("#require('acp.review.inline').rows(0) == 2")
    agent.ask("silently", "sed -i '1i 1\\n2\\n3\\n4\\n5' a.txt")
    project.cmd(f"10 | Acp {verb}")
    project.wait("vim.fn.getline(1) == '1'")
    agent.end()
    project.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    project.wait("require('acp').state().sessions[1].edits[1].removed == 1")  # there were two
    assert edits_by_name(project)["a.txt"]["hunks"] == 2
    project.cmd("Acp reject all")
    wait_edits(project)
    kept = LINES.replace("line 10", "ten") if verb == "accept" else LINES
    assert path.read_text() == kept


@pytest.mark.parametrize("scope", ["file", "all"])
def test_what_the_user_has_not_seen_is_not_accepted(
    project: Editor, agent: StepwiseAgent, scope: str
) -> None:
    project.open("a.txt")
    agent.ask("runs", "sed -i 's/^line 5$/five/' a.txt; echo new > n.txt")
    wait_edits(project, a="modified", n="created")
    agent.ask("silently", "sed -i 's/^line 10$/ten/' a.txt; echo more >> n.txt")
    project.cmd(f"Acp accept {scope}")
    project.wait_message("has changed meanwhile")
    agent.end()
    wait_edits(project, a="modified", n="created")
    assert edits_by_name(project)["a.txt"]["hunks"] == 1
    project.cmd("Acp reject all")
    wait_edits(project)
    assert (project.work / "a.txt").read_text() == LINES.replace("line 5", "five")


@pytest.mark.parametrize("scope", ["hunk", "file"])
def test_a_conflict_that_comes_before_the_key_is_not_decided_by_it(
    project: Editor, agent: StepwiseAgent, scope: str
) -> None:
    """To accept one would be to take the agent's text in place of what the user typed."""
    path = project.work / "a.txt"
    project.open("a.txt")
    agent.ask("runs", "sed -i 's/^line 5$/five/' a.txt")
    project.wait("#require('acp.review.inline').rows(0) == 1")
    project.cmd("call setline(15, 'mine')")
    agent.ask("silently", "sed -i 's/^line 15$/theirs/' a.txt")
    project.cmd(f"5 | Acp accept {scope}")
    project.wait("require('acp').state().sessions[1].edits[1].conflict")
    assert project.lines(str(path))[14] == "mine"
    agent.end()
    assert project.lines(str(path))[14] == "mine"
    assert edits_by_name(project)["a.txt"]["conflict"]


@pytest.mark.parametrize("command", ["edit!", "bwipeout! | edit a.txt"])
def test_a_reject_that_is_not_saved_is_given_up(
    project: Editor, agent: StepwiseAgent, command: str
) -> None:
    """On disk the agent's line stands still: it is pending again."""
    path = project.work / "a.txt"
    project.open("a.txt")
    project.cmd("call setline(16, 'mine')")
    agent.ask("runs", "sed -i 's/^line 4$/four/' a.txt")
    wait_edits(project, a="modified")
    agent.end()
    project.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    project.cmd("Acp reject all")
    wait_edits(project)
    assert path.read_text() == LINES.replace("line 4\n", "four\n")
    project.cmd(command)
    wait_edits(project, a="modified")
    project.cmd("Acp reject all")
    wait_edits(project)
    assert path.read_text() == LINES
