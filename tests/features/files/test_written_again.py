"""A write of an agent after its earlier text was rejected, undone, restored, reloaded, deleted or
checked out. A write that is answered with success is in buffer and file.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import killed_host
from tests.support.editor import Editor
from tests.support.git import git, repository
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

OLD = "".join(f"line {n}\n" for n in range(1, 13))
NEW = OLD.replace("line 3\n", "line 3\nagent\n")
MORE = NEW.replace("line 9\n", "nine\n")


class Project:
    """An editor, its scripted agent at work, and `a.txt`."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.path = editor.write("a.txt", OLD)
        editor.agent("script")
        self.agent = StepwiseAgent(editor)

    def begin(self) -> None:
        """Begin a turn."""
        self.agent.begin()
        self.agent.traffic.wait("session/prompt")

    def write(self, text: str, path: Path | None = None) -> str:
        """Return the answer to a write of the agent."""
        return self.ask("write", str(path or self.path), json.dumps(text))

    def read(self, path: Path | None = None) -> str:
        """Return the answer to a read of the agent."""
        return self.ask("read", str(path or self.path))

    def ask(self, *words: str) -> str:
        before = len(self.agent.traffic.notes())
        self.agent.ask(*words)
        prefix = f"{words[0]} {words[1]} "
        notes = self.agent.traffic.notes()[before:]
        return next(note for note in notes if note.startswith(prefix)).removeprefix(prefix)

    def shown(self, path: Path | None = None) -> str | None:
        """Return the text of the file's loaded buffer."""
        name = str(path or self.path)
        found = self.editor.lua(
            "local b = vim.fn.bufnr('^' .. ... .. '$') "
            "return b > 0 and vim.api.nvim_buf_is_loaded(b) "
            "and vim.api.nvim_buf_get_lines(b, 0, -1, true)",
            name,
        )
        return "".join(f"{line}\n" for line in found) if found else None

    def modified(self, path: Path | None = None) -> bool:
        return bool(
            self.editor.lua("return vim.bo[vim.fn.bufnr(...)].modified", str(path or self.path))
        )

    def holds(self, text: str, path: Path | None = None) -> None:
        """Check that buffer and file have this text, and that nothing is unsaved."""
        where = path or self.path
        assert where.read_text() == text
        assert self.shown(where) in (None, text)
        if self.shown(where) is not None:
            assert not self.modified(where)

    def type(self, *edits: tuple[int, str]) -> None:
        """Replace lines (1-based) of the shown file as the user."""
        for row, line in edits:
            self.editor.keys(f"{row}G0C{line}<Esc>")
        until(lambda: all(line in str(self.shown()) for _, line in edits))

    def decide(self, command: str) -> None:
        """Reject or unreject, and wait until the hunks have changed."""
        if command.startswith("Acp reject"):
            until(self.pending)  # Neovim gets a write a moment after its agent
        before = self.pending()
        self.editor.cmd(command)
        until(lambda: self.pending() != before)

    def pending(self) -> list[object]:
        return list(self.editor.session(1).get("edits", []))


@pytest.fixture
def project(editor: Editor) -> Project:
    return Project(editor)


@pytest.fixture
def shown(project: Project) -> Project:
    """Return the project with its file open in the window."""
    project.editor.open("a.txt")
    project.begin()
    return project


@pytest.mark.parametrize("again", [NEW, MORE], ids=["the same", "more"])
def test_an_undone_change_is_written_again(shown: Project, again: str) -> None:
    assert shown.write(NEW) == "ok"
    shown.editor.keys("u")
    until(lambda: shown.shown() == OLD)
    shown.editor.cmd("silent write")
    assert shown.write(again) == "ok"
    shown.holds(again)


def test_only_the_agents_part_of_an_undo_is_written_again(shown: Project) -> None:
    """The user's own line, which the agent knows as well, stays undone."""
    shown.type((9, "user"))
    assert shown.read() == "ok"
    known = OLD.replace("line 9\n", "user\n")
    shown.editor.keys("u")
    until(lambda: shown.shown() == OLD)
    shown.editor.cmd("silent write")
    assert shown.write(known.replace("line 1\n", "one\n")) == "ok"
    shown.holds(OLD.replace("line 1\n", "one\n"))


def test_an_undone_and_redone_change_is_the_agents(shown: Project) -> None:
    assert shown.write(NEW) == "ok"
    shown.editor.keys("u")
    until(lambda: shown.shown() == OLD)
    shown.editor.keys("<C-r>")
    until(lambda: shown.shown() == NEW)
    another = NEW.replace("agent\n", "another\n")
    shown.editor.cmd("silent write")
    assert shown.write(another) == "ok"
    shown.holds(another)


@pytest.mark.parametrize("command", ["edit!", "bunload!", "bdelete!", "bwipeout!"])
def test_a_change_that_was_discarded_unsaved_is_written_again(shown: Project, command: str) -> None:
    shown.editor.lua("require('acp').setup({ agent = 'script', files = { save = 'never' } })")
    assert shown.write(NEW) == "ok"
    assert (shown.path.read_text(), shown.modified()) == (OLD, True)
    if command != "edit!":
        shown.editor.cmd("enew")
    argument = "" if command == "edit!" else f" {shown.path}"
    shown.editor.cmd(f"silent {command}{argument}")
    until(lambda: shown.shown() != NEW)
    assert shown.write(NEW) == "ok"
    assert (shown.shown(), shown.path.read_text()) == (NEW, OLD)


def test_an_agent_leaves_text_typed_after_a_reload(shown: Project) -> None:
    assert shown.write(NEW) == "ok"
    shown.type((12, "unsaved"))
    shown.editor.cmd("silent edit!")
    until(lambda: shown.shown() == NEW)
    shown.type((9, "user"))
    assert shown.write(NEW.replace("line 1\n", "one\n")) == "ok"
    assert shown.shown() == NEW.replace("line 1\n", "one\n").replace("line 8\n", "user\n")


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("by_agent", [False, True])
def test_a_change_that_a_checkout_removed_is_written_again(
    editor: Editor, is_open: bool, by_agent: bool
) -> None:
    project = Project(editor)
    repository(editor.work)
    if is_open:
        editor.open("a.txt")
    project.begin()
    assert project.write(NEW) == "ok"
    if by_agent:
        project.agent.ask("runs", str(project.path), "git checkout -q a.txt")
    else:
        git(editor.work, "checkout", "-q", "a.txt")
    assert project.path.read_text() == OLD
    assert project.write(MORE) == "ok"
    project.holds(MORE)


def test_a_killed_host_leaves_no_base_behind(shown: Project) -> None:
    assert shown.write(NEW) == "ok"
    shown.agent.end()
    killed_host.kill_host_once_written(shown.editor)
    shown.editor.cmd("Acp edits")
    killed_host.wait_host(shown.editor)
    shown.decide("Acp reject all")
    until(lambda: shown.path.read_text() == OLD)
    shown.agent.begin()
    assert shown.write(NEW) == "ok"
    shown.holds(NEW)


DEAF = """
vim.api.nvim_create_autocmd('BufWriteCmd', {
  buffer = 0, callback = function() vim.bo.modified = false end,
})
"""
CUTS = """
vim.api.nvim_create_autocmd('BufWritePost', {
  buffer = 0, callback = function(args) os.remove(args.file) end,
})
"""


@pytest.mark.parametrize("code", [DEAF, CUTS], ids=["nothing is written", "deleted at once"])
def test_a_save_that_did_not_save_is_not_success(shown: Project, code: str) -> None:
    shown.editor.lua(code)
    assert '"reason": "failed"' in shown.write(NEW)


def test_an_unchanged_text_is_saved_if_all_writes_are(shown: Project) -> None:
    shown.editor.lua("require('acp').setup({ agent = 'script', files = { save = 'always' } })")
    shown.type((9, "user"))
    assert shown.read() == "ok"
    assert shown.write(OLD.replace("line 9\n", "user\n")) == "ok"
    shown.holds(OLD.replace("line 9\n", "user\n"))


def test_a_new_file_is_created_in_a_buffer_that_the_user_has_opened(project: Project) -> None:
    project.editor.open("new.txt")
    path = project.editor.work / "new.txt"
    project.begin()
    assert project.read(path) == "ok"
    assert project.write("a\n", path) == "ok"
    project.holds("a\n", path)
    project.editor.wait("#require('acp').state().sessions[1].edits == 1")
    assert [event["data"]["kind"] for event in project.editor.events("AcpEdit")] == ["created"]
    assert project.editor.session(1)["edits"][0]["kind"] == "created"


LAID = {
    "dos": OLD.replace("\n", "\r\n").encode(),
    "bom": b"\xef\xbb\xbf" + OLD.encode(),
    "latin1": OLD.replace("line 5", "é").encode("latin-1"),
    "no end": OLD[:-1].encode(),
    "empty": b"",
}


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("laid", LAID)
def test_files_of_all_kinds_are_written_again_as_they_lie(
    project: Project, laid: str, is_open: bool
) -> None:
    project.path.write_bytes(LAID[laid])
    if is_open:
        project.editor.open("a.txt")
    project.begin()
    assert project.read() == "ok"
    old = project.agent.traffic.answers("fs/read_text_file")[-1]["result"]["content"]
    new = old.replace("line 3\n", "line 3\nagent\n") if old else "agent\n"
    assert project.write(new) == "ok"
    written = project.path.read_bytes()
    assert written != LAID[laid]
    project.decide("Acp reject all")
    until(lambda: project.path.read_bytes() == LAID[laid])
    assert project.write(new) == "ok"
    assert project.path.read_bytes() == written
    project.editor.wait("#require('acp').state().sessions[1].edits == 1")


def test_a_file_that_the_agent_moved_is_written_at_both_places(project: Project) -> None:
    moved = project.editor.work / "moved.txt"
    project.editor.open("a.txt")
    project.begin()
    assert project.write(NEW) == "ok"
    project.agent.ask("runs", str(project.path), str(moved), f"mv {project.path} {moved}")
    assert project.read().startswith("error -32002")
    assert project.write(MORE, moved) == "ok"
    project.holds(MORE, moved)
    assert project.write(NEW) == "ok"
    project.holds(NEW)


@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_a_write_after_a_conflict_is_against_the_side_that_was_chosen(
    shown: Project, verb: str
) -> None:
    assert shown.read() == "ok"
    shown.type((3, "mine"))
    shown.agent.ask("runs", str(shown.path), f"sed -i 's/line 3$/its/' {shown.path}")
    shown.editor.wait("((require('acp').state().sessions[1].edits or {})[1] or {}).conflict")
    shown.editor.cmd(f"Acp {verb} file")
    shown.editor.wait("not ((require('acp').state().sessions[1].edits or {})[1] or {}).conflict")
    if verb == "accept":
        until(lambda: shown.shown() == OLD.replace("line 3\n", "its\n"))
        assert shown.write(OLD.replace("line 3\n", "its again\n")) == "ok"
        shown.holds(OLD.replace("line 3\n", "its again\n"))
    else:
        mine = OLD.replace("line 3\n", "mine\n")
        assert "conflict" in shown.write(OLD.replace("line 3\n", "its again\n"))
        assert shown.shown() == mine
