"""Files that an agent's program empties before it writes them: what is there in between is taken
for no more than it is.
"""

from __future__ import annotations

import os
import signal

import pytest

from acp_nvim.files.changes.entered_change import EMPTIED_NS
from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.killed_host import HOST_PID
from tests.support.lua import lua_chunk
from tests.support.pending_edits import LINES, edits_by_name, wait_edits
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

BOM = b"\xef\xbb\xbf"
DOS = LINES.replace("\n", "\r\n").encode()
CHANGED = LINES.replace("line 4\n", "four\n")
MEANWHILE = lua_chunk(__file__, "copy_before_part")
"""The agent's program writes the file just as Neovim is told of a conflict with what was there."""
ANEW = lua_chunk(__file__, "reload_emptied_file")
"""Neovim reads the file between the two steps of the agent's program."""
TELL_AGE = lua_chunk(__file__, "note_age_at_edit")
"""How old a file is, in nanoseconds, when its change is told."""


class Emptied:
    """A file that is shown, and an agent at work."""

    def __init__(self, editor: Editor, kind: str, before: bytes) -> None:
        self.editor = editor
        self.path = editor.write("a.txt", before)
        if kind == "git":
            repository(editor.work)
        editor.agent("script")
        editor.open("a.txt")
        self.agent = StepwiseAgent.at_work(editor)
        self.agent.ask("runs", "true")

    def empty(self) -> None:
        """Its program has opened the file."""
        self.agent.ask("runs", "true > a.txt")

    def fill(self, data: bytes) -> None:
        """It writes it."""
        (self.editor.home / "new").write_bytes(data)
        self.agent.ask("runs", f"cp {self.editor.home}/new a.txt")

    def over(self) -> None:
        """The turn has ended, and all is looked at."""
        self.agent.end()
        self.editor.wait("not require('acp.buffers.watch').at_work(...)", str(self.path))

    def wait_conflict(self) -> None:
        """Until its emptiness has been found to be no change that goes with the user's."""
        self.editor.wait("(require('acp').state().sessions[1].edits[1] or {}).conflict")

    def wait_counts(self, *counts: int) -> None:
        """Until so many hunks, added and removed lines are pending."""
        self.editor.wait(
            "local edit = require('acp').state().sessions[1].edits[1] or {} "
            "return vim.deep_equal({ edit.hunks, edit.added, edit.removed }, ...)",
            list(counts),
        )


@pytest.fixture(params=["git", "plain"])
def kind(request: pytest.FixtureRequest) -> str:
    """In a repository, or not."""
    return str(request.param)


@pytest.mark.parametrize("bom", [b"", BOM])
def test_what_the_user_has_not_saved_is_merged_with_what_comes(
    editor: Editor, kind: str, bom: bytes
) -> None:
    emptied = Emptied(editor, kind, bom + LINES.encode())
    editor.cmd("call setline(16, 'mine')")
    emptied.empty()
    emptied.wait_conflict()
    emptied.fill(bom + CHANGED.encode())
    emptied.wait_counts(1, 1, 1)
    assert editor.lines(str(emptied.path)) == CHANGED.replace("line 16", "mine").splitlines()
    emptied.over()
    assert "note" not in edits_by_name(editor)["a.txt"]
    assert not edits_by_name(editor)["a.txt"]["conflict"]
    editor.cmd("silent write")
    editor.cmd("Acp reject all")
    wait_edits(editor)
    mine = LINES.replace("line 16", "mine")
    until(lambda: emptied.path.read_bytes() == bom + mine.encode())


def test_what_comes_as_neovim_is_told_of_the_conflict(editor: Editor, kind: str) -> None:
    """The buffer has not been read from what the file is then."""
    emptied = Emptied(editor, kind, LINES.encode())
    editor.cmd("call setline(16, 'mine')")
    (editor.home / "new").write_text(CHANGED)
    editor.lua(MEANWHILE, f"{editor.home}/new", str(emptied.path))
    emptied.empty()
    emptied.wait_counts(1, 1, 1)
    assert editor.lines(str(emptied.path)) == CHANGED.replace("line 16", "mine").splitlines()
    emptied.over()
    emptied.wait_counts(1, 1, 1)
    assert not edits_by_name(editor)["a.txt"]["conflict"]


def test_unsaved_edits_that_are_given_up_afterwards(editor: Editor, kind: str) -> None:
    """Then the agent's edit is pending, and nothing of the rest of its file."""
    emptied = Emptied(editor, kind, LINES.encode())
    editor.cmd("call setline(16, 'mine')")
    emptied.empty()
    emptied.wait_conflict()
    emptied.fill(CHANGED.encode())
    emptied.wait_counts(1, 1, 1)
    editor.cmd("silent edit!")
    editor.wait("vim.fn.getline(16) == 'line 16'")
    emptied.over()
    emptied.wait_counts(1, 1, 1)
    editor.cmd("Acp reject all")
    wait_edits(editor)
    until(lambda: emptied.path.read_text() == LINES)


@pytest.mark.parametrize(
    "before", [BOM + LINES.encode(), LINES.replace("8", "é").encode("latin1"), DOS]
)
def test_a_clean_buffer_lies_as_its_file(editor: Editor, kind: str, before: bytes) -> None:
    """Also where Neovim has read it when it was empty."""
    emptied = Emptied(editor, kind, before)
    after = before.replace(b"line 4", b"four")
    editor.lua("vim.fn.writefile({}, ...) vim.cmd('checktime')", str(emptied.path))
    assert editor.lines(str(emptied.path)) == [""]
    emptied.wait_counts(1, 0, 20)
    emptied.fill(after)
    emptied.wait_counts(1, 1, 1)
    emptied.over()
    assert "note" not in edits_by_name(editor)["a.txt"]
    editor.cmd("call setline(16, 'mine') | silent write")
    assert emptied.path.read_bytes() == after.replace(b"line 16", b"mine")


def test_a_file_that_has_just_been_emptied_may_be_about_to_be_written(
    editor: Editor, kind: str
) -> None:
    """Until then whoever reads it keeps their place."""
    emptied = Emptied(editor, kind, LINES.encode())
    editor.lua(TELL_AGE, str(emptied.path))
    emptied.empty()
    emptied.wait_counts(1, 0, 20)
    assert editor.lua("return _G.age") >= EMPTIED_NS
    emptied.over()


def test_line_ends_of_a_buffer_that_was_edited_anew_when_its_file_was_empty(
    editor: Editor, kind: str
) -> None:
    """From then on Neovim reads them as parts of the lines."""
    emptied = Emptied(editor, kind, DOS)
    emptied.fill(DOS.replace(b"line 4", b"four"))
    emptied.wait_counts(1, 1, 1)
    (editor.home / "new").write_bytes(DOS.replace(b"line 4", b"FOUR"))
    host = editor.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    editor.lua(ANEW, str(emptied.path), f"{editor.home}/new")
    assert editor.lines(str(emptied.path))[3] == "FOUR\r"
    os.kill(host, signal.SIGCONT)
    editor.wait("vim.fn.getline(4) == 'FOUR'")
    emptied.wait_counts(1, 1, 1)
    emptied.over()
    assert "note" not in edits_by_name(editor)["a.txt"]
    assert editor.lua("return vim.bo.fileformat") == "dos"
    editor.cmd("Acp reject all")
    wait_edits(editor)
    until(lambda: emptied.path.read_bytes() == DOS)
