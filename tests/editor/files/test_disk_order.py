"""Edits that an agent makes on disk and through the editor, one after the other: none is lost."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.pending_edits import LINES, edits_by_name
from tests.support.stepwise_agent import StepwiseAgent


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """A file of twenty lines, in a repository or not, and the scripted agent."""
    editor.write("a.txt", LINES)
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    return editor


def by_itself(command: str) -> str:
    return "silently " + json.dumps(command)


def wait_counts(editor: Editor, name: str, *counts: int) -> None:
    path = "hunks", "added", "removed"
    editor.wait(
        "(function(n, want) for _, e in ipairs(require('acp').state().sessions[1].edits) do"
        " if vim.fs.basename(e.path) == n then"
        "  return vim.deep_equal({ e.hunks, e.added, e.removed }, want) end end end)(...)",
        name,
        list(counts),
    )
    assert [edits_by_name(editor)[name][key] for key in path] == list(counts)


@pytest.mark.parametrize("opened", [False, True])
def test_a_write_after_an_edit_on_disk(project: Editor, opened: bool) -> None:
    path = project.work / "a.txt"
    if opened:
        project.open("a.txt")
    project.turn(by_itself("sed -i 's/^line 3$/three/' a.txt") + f"\nreplace {path} '15' fifteen")
    wait_counts(project, "a.txt", 2, 2, 2)
    project.cmd("Acp reject all")
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.read_text() == LINES


def test_a_write_into_a_file_made_on_disk(project: Editor) -> None:
    path = project.work / "new.txt"
    project.turn(by_itself("printf 'one\\ntwo\\n' > new.txt") + f"\nreplace {path} two TWO")
    wait_counts(project, "new.txt", 1, 2, 0)
    assert edits_by_name(project)["new.txt"]["kind"] == "created"


def test_a_write_that_the_agent_takes_back_on_disk(project: Editor) -> None:
    path, new = project.work / "a.txt", project.work / "new.txt"
    undo = "sed -i 's/^three$/line 3/' a.txt; rm new.txt"
    project.open("a.txt")
    project.turn(f"replace {path} 'line 3\\n' three\nwrite {new} text\n" + by_itself(undo))
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert not new.exists()
    assert project.lines(str(path)) == LINES.splitlines()


def test_a_rename_is_told_on_both_sides(project: Editor) -> None:
    project.turn(by_itself("mv a.txt b.txt"))
    project.wait("#require('acp').state().sessions[1].edits == 1")
    told = [
        event["data"]["path"].rpartition("/")[2] + " " + event["data"]["kind"]
        for event in project.events("AcpEdit")
    ]
    assert sorted(told) == ["a.txt deleted", "b.txt created"]


@pytest.mark.parametrize("command", ["rm run.sh", "mv run.sh moved.sh"])
def test_a_program_comes_back_as_one(project: Editor, command: str) -> None:
    path = project.write("run.sh", "#!/bin/sh\necho one\n")
    path.chmod(0o755)
    project.turn(by_itself(command))
    project.wait("#require('acp').state().sessions[1].edits == 1")
    project.cmd("Acp reject all")
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.stat().st_mode & 0o777 == 0o755
    project.cmd("Acp unreject")
    project.wait("#require('acp').state().sessions[1].edits == 1")
    assert not path.exists()
    project.cmd("Acp reject all")
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\r\ntwo\r\n"])
def test_a_buffer_of_bytes_keeps_them(editor: Editor, data: bytes) -> None:
    """A BOM and carriage returns are text where a file is edited with 'binary'."""
    editor.agent("script")
    orders = StepwiseAgent.at_work(editor)
    path = editor.write("b.txt", data)  # nobody has looked at it
    editor.lua("vim.cmd('edit ++bin ' .. vim.fn.fnameescape(...))", str(path))
    lines = editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")
    orders.ask("read", str(path))
    orders.ask("write", str(path), json.dumps(data.decode()))
    assert editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)") == lines
    orders.ask("write", str(path), json.dumps(data.decode() + "three"))
    assert path.read_bytes() == data + b"three"
    orders.end()
    assert editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)") == [*lines, "three"]
