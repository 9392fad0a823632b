"""Commands at the end of a turn wait for the scan of the files."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.lua import lua_chunk
from tests.support.pending_edits import LINES, wait_edits
from tests.support.script_lines import shell
from tests.support.waiting import until

AT_TURN_END = lua_chunk(__file__, "run_at_turn_end")


@pytest.fixture
def project(editor: Editor) -> Editor:
    """Return an editor in a repository with so many files that a scan takes a while."""
    editor.write("a.txt", LINES)
    for n in range(300):
        editor.write(f"d{n % 20}/{n}.txt", LINES)
    repository(editor.work)
    editor.agent("script")
    editor.turn("say hello")
    return editor


def edit_and(project: Editor, command: str) -> None:
    """Let the agent change two files, and run the command as soon as the turn has ended."""
    project.lua(AT_TURN_END, command)
    project.turn(shell("sed -i 's/line 5$/five/' a.txt; echo new > n.txt"))


def test_reject_all(project: Editor) -> None:
    edit_and(project, "Acp reject all")
    project.wait_message("Rejected 2 hunks")
    until(lambda: not (project.work / "n.txt").exists())
    assert (project.work / "a.txt").read_text() == LINES
    wait_edits(project)


def test_accept_all(project: Editor) -> None:
    edit_and(project, "Acp accept all")
    project.wait_message("Accepted 2 hunks")
    wait_edits(project)
    assert (project.work / "n.txt").exists()


def test_reject_file(project: Editor) -> None:
    project.open("a.txt")
    edit_and(project, "Acp reject file")
    project.wait_message("Rejected 1 hunk")
    wait_edits(project, n="created")


def test_edits(project: Editor) -> None:
    edit_and(project, "Acp edits")
    project.wait("#vim.fn.getqflist() == 2")


def test_review(project: Editor) -> None:
    edit_and(project, "Acp review")
    project.wait("#vim.api.nvim_list_tabpages() == 2")
    project.wait("#vim.fn.tabpagebuflist(2) >= 2")
