"""Files that an agent's program truncates before it writes them: the empty state between the two
steps is not taken for the result.
"""

from __future__ import annotations

import os
import signal

import pytest

from acp_nvim.files.bytes.disk import EMPTIED_NS
from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.killed_host import HOST_PID
from tests.support.lua import lua_chunk
from tests.support.pending_edits import LINES, edits_by_name, wait_edits
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

BOM = b"\xef\xbb\xbf"
DOS = LINES.replace("\n", "\r\n").encode()
LATIN1 = LINES.replace("line 8", "line é").encode("latin1")
CHANGED = LINES.replace("line 4\n", "four\n")
FILL_AT_CONFLICT = lua_chunk(__file__, "copy_before_part")
"""Makes the agent's program write the file just as Neovim learns of a conflict with its empty
state.
"""
RELOAD_BETWEEN = lua_chunk(__file__, "reload_emptied_file")
"""Makes Neovim read the file between the two steps of the agent's program."""
READ_TRUNCATED = lua_chunk(__file__, "read_truncated_file")
"""Reads a buffer whose file has changed in the same tick and is truncated at that moment. Returns
the lines.
"""
NOTE_AGE = lua_chunk(__file__, "note_age_at_edit")
"""Notes the age of a file in nanoseconds when its change is reported."""


class EmptiedFile:
    """File in the current window, with an agent at work."""

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
        """Truncate the file, as its program does when it opens it."""
        self.agent.ask("runs", "true > a.txt")

    def fill(self, data: bytes) -> None:
        """Write the file."""
        (self.editor.home / "new").write_bytes(data)
        self.agent.ask("runs", f"cp {self.editor.home}/new a.txt")

    def end_turn(self) -> None:
        """End the turn and wait until the files have been scanned."""
        self.agent.end()
        self.editor.wait("not require('acp.buffers.watch').at_work(...)", str(self.path))

    def wait_conflict(self) -> None:
        """Wait until the empty file conflicts with the user's changes."""
        self.editor.wait("(require('acp').state().sessions[1].edits[1] or {}).conflict")

    def wait_counts(self, *counts: int) -> None:
        """Wait until this number of hunks, added and removed lines are pending."""
        self.editor.wait(
            "local edit = require('acp').state().sessions[1].edits[1] or {} "
            "return vim.deep_equal({ edit.hunks, edit.added, edit.removed }, ...)",
            list(counts),
        )


@pytest.fixture(params=["git", "plain"])
def kind(request: pytest.FixtureRequest) -> str:
    """Return whether the file is in a repository."""
    return str(request.param)


@pytest.mark.parametrize("bom", [b"", BOM])
def test_unsaved_text_is_merged_with_the_text_that_follows(
    editor: Editor, kind: str, bom: bytes
) -> None:
    emptied = EmptiedFile(editor, kind, bom + LINES.encode())
    editor.cmd("call setline(16, 'mine')")
    emptied.empty()
    emptied.wait_conflict()
    emptied.fill(bom + CHANGED.encode())
    emptied.wait_counts(1, 1, 1)
    assert editor.lines(str(emptied.path)) == CHANGED.replace("line 16", "mine").splitlines()
    emptied.end_turn()
    assert "note" not in edits_by_name(editor)["a.txt"]
    assert not edits_by_name(editor)["a.txt"]["conflict"]
    editor.cmd("silent write")
    editor.cmd("Acp reject all")
    wait_edits(editor)
    mine = LINES.replace("line 16", "mine")
    until(lambda: emptied.path.read_bytes() == bom + mine.encode())


def test_text_that_follows_just_as_neovim_learns_of_the_conflict_is_merged(
    editor: Editor, kind: str
) -> None:
    """The buffer was not read from the new text."""
    emptied = EmptiedFile(editor, kind, LINES.encode())
    editor.cmd("call setline(16, 'mine')")
    (editor.home / "new").write_text(CHANGED)
    editor.lua(FILL_AT_CONFLICT, f"{editor.home}/new", str(emptied.path))
    emptied.empty()
    emptied.wait_counts(1, 1, 1)
    assert editor.lines(str(emptied.path)) == CHANGED.replace("line 16", "mine").splitlines()
    emptied.end_turn()
    emptied.wait_counts(1, 1, 1)
    assert not edits_by_name(editor)["a.txt"]["conflict"]


def test_discarding_unsaved_text_leaves_only_the_agents_edit_pending(
    editor: Editor, kind: str
) -> None:
    emptied = EmptiedFile(editor, kind, LINES.encode())
    editor.cmd("call setline(16, 'mine')")
    emptied.empty()
    emptied.wait_conflict()
    emptied.fill(CHANGED.encode())
    emptied.wait_counts(1, 1, 1)
    editor.cmd("silent edit!")
    editor.wait("vim.fn.getline(16) == 'line 16'")
    emptied.end_turn()
    emptied.wait_counts(1, 1, 1)
    editor.cmd("Acp reject all")
    wait_edits(editor)
    until(lambda: emptied.path.read_text() == LINES)


@pytest.mark.parametrize(
    "before", [BOM + LINES.encode(), LINES.replace("8", "é").encode("latin1"), DOS]
)
def test_a_clean_buffer_keeps_the_format_of_its_file(
    editor: Editor, kind: str, before: bytes
) -> None:
    """Neovim has read the file while it was empty."""
    emptied = EmptiedFile(editor, kind, before)
    after = before.replace(b"line 4", b"four")
    editor.lua("vim.fn.writefile({}, ...) vim.cmd('checktime')", str(emptied.path))
    assert editor.lines(str(emptied.path)) == [""]
    emptied.wait_counts(1, 0, 20)
    emptied.fill(after)
    emptied.wait_counts(1, 1, 1)
    emptied.end_turn()
    assert "note" not in edits_by_name(editor)["a.txt"]
    editor.cmd("call setline(16, 'mine') | silent write")
    assert emptied.path.read_bytes() == after.replace(b"line 16", b"mine")


def test_a_change_to_an_empty_file_is_reported_after_a_delay(editor: Editor, kind: str) -> None:
    """Until then the view of a reader does not move."""
    emptied = EmptiedFile(editor, kind, LINES.encode())
    editor.lua(NOTE_AGE, str(emptied.path))
    emptied.empty()
    emptied.wait_counts(1, 0, 20)
    assert editor.lua("return _G.age") >= EMPTIED_NS
    emptied.end_turn()


def test_line_ends_survive_a_reload_of_the_empty_file(editor: Editor, kind: str) -> None:
    """After it, Neovim would read carriage returns as parts of the lines."""
    emptied = EmptiedFile(editor, kind, DOS)
    emptied.fill(DOS.replace(b"line 4", b"four"))
    emptied.wait_counts(1, 1, 1)
    (editor.home / "new").write_bytes(DOS.replace(b"line 4", b"FOUR"))
    host = editor.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    editor.lua(RELOAD_BETWEEN, str(emptied.path), f"{editor.home}/new", True)
    assert editor.lines(str(emptied.path))[3] == "FOUR\r"
    os.kill(host, signal.SIGCONT)
    editor.wait("vim.fn.getline(4) == 'FOUR'")
    emptied.wait_counts(1, 1, 1)
    emptied.end_turn()
    assert "note" not in edits_by_name(editor)["a.txt"]
    assert editor.lua("return vim.bo.fileformat") == "dos"
    editor.cmd("Acp reject all")
    wait_edits(editor)
    until(lambda: emptied.path.read_bytes() == DOS)


def test_an_encoding_survives_a_reload_of_the_empty_file(editor: Editor, kind: str) -> None:
    """After it, Neovim reads the file as UTF-8 and shows question marks."""
    emptied = EmptiedFile(editor, kind, LATIN1)
    emptied.fill(LATIN1.replace(b"line 4", b"four"))
    emptied.wait_counts(1, 1, 1)
    (editor.home / "new").write_bytes(LATIN1.replace(b"line 4", b"FOUR"))
    host = editor.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    editor.lua(RELOAD_BETWEEN, str(emptied.path), f"{editor.home}/new", True)
    assert editor.lines(str(emptied.path))[7] == "line ?"
    os.kill(host, signal.SIGCONT)
    editor.wait("vim.fn.getline(8) == 'line é'")
    emptied.wait_counts(1, 1, 1)
    emptied.end_turn()
    assert "note" not in edits_by_name(editor)["a.txt"]
    assert editor.lua("return vim.bo.fileencoding") == "latin1"
    editor.cmd("Acp reject all")
    wait_edits(editor)
    until(lambda: emptied.path.read_bytes() == LATIN1)


def test_the_plugins_reload_of_an_empty_file_keeps_the_encoding(editor: Editor) -> None:
    """The program truncates the file right before that, and Neovim reads it again later."""
    path = editor.write("a.txt", LATIN1)
    editor.open("a.txt")
    assert editor.lua(READ_TRUNCATED, str(path)) == [""]
    path.write_bytes(LATIN1)
    editor.cmd("checktime")
    assert editor.lines(str(path))[7] == "line é"


@pytest.mark.parametrize("reads_again", [True, False])
def test_a_reject_restores_line_ends_after_neovim_has_read_the_empty_file(
    editor: Editor, reads_again: bool
) -> None:
    """The file has no pending edits, and its buffer the format of the empty file."""
    emptied = EmptiedFile(editor, "git", DOS)
    emptied.fill(DOS.replace(b"line 4", b"four"))
    emptied.wait_counts(1, 1, 1)
    editor.cmd("Acp reject all")
    wait_edits(editor)
    until(lambda: emptied.path.read_bytes() == DOS)
    (editor.home / "new").write_bytes(DOS[:-2])
    host = editor.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    editor.lua(RELOAD_BETWEEN, str(emptied.path), f"{editor.home}/new", reads_again)
    assert editor.lua("return vim.bo.fileformat") == "unix"
    os.kill(host, signal.SIGCONT)
    emptied.wait_counts(1, 1, 1)
    emptied.end_turn()
    editor.cmd("Acp reject all")
    wait_edits(editor)
    until(lambda: emptied.path.read_bytes() == DOS, what=repr(emptied.path.read_bytes()))


def test_a_line_typed_after_neovim_has_read_the_empty_file_does_not_replace_the_file(
    editor: Editor,
) -> None:
    """The file has its former text again when the host checks it."""
    emptied = EmptiedFile(editor, "plain", LINES.encode())
    emptied.fill(CHANGED.encode())
    emptied.wait_counts(1, 1, 1)
    host = editor.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    emptied.path.write_text("")
    editor.cmd("checktime")
    emptied.path.write_text(CHANGED)
    editor.keys("Gomine<Esc>")
    os.kill(host, signal.SIGCONT)
    editor.wait("require('acp.buffers.disk_changes').is_settled()")
    editor.keys(":write<CR>n<CR>")
    editor.wait("vim.fn.mode() == 'n'")
    emptied.end_turn()
    assert set(CHANGED.split("\n")) <= set(emptied.path.read_text().split("\n"))
