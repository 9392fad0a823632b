"""Rejects restore the user's bytes: line endings, encoding, BOM, mode."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.git import git, repository
from tests.support.pending_edits import LINES, reject_all, wait_count, wait_hunks
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

CONTENTS = {
    "dos": b"one\r\ntwo\r\nthree\r\n",
    "latin1": "un\ndeux \xe9t\xe9\ntrois\n".encode("latin-1"),
    "bom": b"\xef\xbb\xbfone\ntwo\nthree\n",
    "utf16": "one\ntwo\nthree\n".encode("utf-16"),
    "noeol": b"one\ntwo\nthree",
    "dos noeol": b"one\r\ntwo\r\nthree",
    "plain": b"one\ntwo\nthree\n",
    "empty": b"",
}


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """Return an editor with files of each kind."""
    for name, content in CONTENTS.items():
        editor.write(f"{name}.txt", content)
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    return editor


def found(editor: Editor) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in editor.work.glob("*.txt")}


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize(
    "command",
    ["rm *.txt", 'mkdir away; for i in *.txt; do mv "$i" "away/$i"; done'],
    ids=["deleted", "moved"],
)
def test_a_reject_restores_a_deleted_file(project: Editor, command: str, opened: bool) -> None:
    if opened:
        for name in CONTENTS:
            project.open(f"{name}.txt")
    project.turn("silently " + json.dumps(command))
    count = len(CONTENTS) + (command.startswith("mkdir") and 1)
    wait_count(project, count)
    project.wait("not require('acp.buffers.watch').at_work(...)", str(project.work / "x"))
    assert not found(project)
    reject_all(project)
    wait_count(project, 0)
    assert found(project) == CONTENTS
    project.cmd("Acp unreject")
    wait_count(project, count)
    assert not found(project)
    reject_all(project)
    wait_count(project, 0)
    assert found(project) == CONTENTS


@pytest.mark.parametrize("opened", [False, True])
def test_a_reject_restores_a_changed_file(project: Editor, opened: bool) -> None:
    if opened:
        for name in CONTENTS:
            project.open(f"{name}.txt")
    project.turn("silently 'sed -i 2d *.txt'")
    wait_count(project, len(CONTENTS) - 1)
    project.wait("not require('acp.buffers.watch').at_work(...)", str(project.work / "x"))
    reject_all(project)
    wait_count(project, 0)
    assert found(project) == CONTENTS


@pytest.mark.parametrize("layout", ["dos", "bom", "latin1", "noeol"])
def test_a_reject_restores_files_of_each_format(editor: Editor, layout: str) -> None:
    data = {
        "dos": LINES.replace("\n", "\r\n").encode(),
        "bom": b"\xef\xbb\xbf" + LINES.encode(),
        "latin1": LINES.replace("line 5", "é").encode("latin-1"),
        "noeol": LINES[:-1].encode(),
    }[layout]
    path = editor.write("a.txt", data)
    editor.agent("script")
    editor.turn(f"replace {path} 'line 3' three")
    wait_hunks(editor, 1)
    reject_all(editor)
    wait_hunks(editor)
    until(lambda: path.read_bytes() == data)


def test_a_reject_restores_a_file_that_its_agent_moved_earlier_in_the_turn(editor: Editor) -> None:
    content = CONTENTS["latin1"]
    old, new = editor.write("a.txt", content), editor.work / "b.txt"
    repository(editor.work)
    editor.agent("script")
    editor.turn("say hello")
    agent = StepwiseAgent.at_work(editor)
    agent.ask("runs", f"mv {old} {new}")
    wait_count(editor, 1)
    git(editor.work, "add", "-A")
    git(editor.work, "commit", "-q", "-m", "x")
    editor.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    wait_count(editor, 0)
    agent.ask("runs", f"rm {new}")
    wait_count(editor, 1)
    agent.end()
    reject_all(editor)
    wait_count(editor, 0)
    assert found(editor) == {"b": content}
