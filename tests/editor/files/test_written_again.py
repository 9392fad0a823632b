"""What an agent writes stands, whatever became of its earlier text: rejected, undone, restored,
reloaded, deleted, checked out. A write that is answered with success is in buffer and file.
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
        """A turn begins."""
        self.agent.begin()
        self.agent.traffic.wait("session/prompt")

    def write(self, text: str, path: Path | None = None) -> str:
        """The agent writes a text: what it is answered."""
        return self.ask("write", str(path or self.path), json.dumps(text))

    def read(self, path: Path | None = None) -> str:
        """The same of a read."""
        return self.ask("read", str(path or self.path))

    def ask(self, *words: str) -> str:
        before = len(self.agent.traffic.notes())
        self.agent.ask(*words)
        said = f"{words[0]} {words[1]} "
        notes = self.agent.traffic.notes()[before:]
        return next(note for note in notes if note.startswith(said)).removeprefix(said)

    def shown(self, path: Path | None = None) -> str | None:
        """What a loaded buffer of the file holds."""
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
        """Buffer and file have this text, and nothing is unsaved."""
        where = path or self.path
        assert where.read_text() == text
        assert self.shown(where) in (None, text)
        if self.shown(where) is not None:
            assert not self.modified(where)

    def type(self, *edits: tuple[int, str]) -> None:
        """The user replaces lines (1-based) of the shown file."""
        for row, line in edits:
            self.editor.keys(f"{row}G0C{line}<Esc>")
        until(lambda: all(line in str(self.shown()) for _, line in edits))

    def decide(self, command: str) -> None:
        """Reject or unreject, and wait until the hunks are others."""
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
    """The file is open in the window."""
    project.editor.open("a.txt")
    project.begin()
    return project


@pytest.mark.parametrize("is_open", [False, True])
def test_a_rejected_new_file_is_written_again_by_the_same_write(
    project: Project, is_open: bool
) -> None:
    path = project.editor.work / "deep" / "er" / "new.txt"
    project.begin()
    assert project.write("a\nb\nc\n", path) == "ok"
    if is_open:
        project.editor.open(str(path))
    project.decide("Acp reject all")
    until(lambda: not path.exists())
    for text in ("a\nb\nc\n", "a\nb\nc\nd\n"):
        assert project.write(text, path) == "ok"
        project.holds(text, path)
    project.agent.end()
    told = [event["data"] for event in project.editor.events("AcpEdit")]
    assert [one["kind"] for one in told] == ["created", "created", "modified"]
    assert {one["source"] for one in told} == {"fs"}


def test_what_was_restored_is_written_again_after_a_new_prompt(project: Project) -> None:
    created = project.editor.work / "new.txt"
    project.begin()
    assert project.write(NEW) == project.write("a\nb\nc\n", created) == "ok"
    project.agent.end()
    project.editor.cmd("Acp restore 1")
    until(lambda: not created.exists() and project.path.read_text() == OLD)
    project.editor.wait("#require('acp').state().sessions[1].edits == 0")
    project.begin()
    assert project.write(NEW) == project.write("a\nb\nc\n", created) == "ok"
    project.holds(NEW)
    project.holds("a\nb\nc\n", created)


def test_a_restore_that_is_undone_is_what_the_agent_had_written(project: Project) -> None:
    project.begin()
    assert project.write(NEW) == "ok"
    project.agent.end()
    project.editor.cmd("Acp restore 1")
    until(lambda: project.path.read_text() == OLD)
    project.editor.wait("#require('acp').state().sessions[1].edits == 0")
    project.editor.cmd("Acp restore")
    project.editor.wait("#require('acp').state().sessions[1].edits == 1")
    project.begin()
    assert project.write(NEW.replace("agent\n", "another\n")) == "ok"
    project.holds(NEW.replace("agent\n", "another\n"))


@pytest.mark.parametrize("again", [NEW, MORE], ids=["the same", "more"])
@pytest.mark.parametrize("scope", ["hunk", "file", "all"])
def test_a_rejected_hunk_is_written_again_beside_what_the_user_typed(
    shown: Project, again: str, scope: str
) -> None:
    shown.type((12, "user"))
    shown.editor.cmd("silent write")
    assert shown.write(OLD.replace("line 12", "user")) == "ok"
    shown.type((6, "typed"))
    shown.editor.cmd("silent write")
    assert shown.write(NEW.replace("line 12", "user")) == "ok"
    shown.editor.keys("4G")
    shown.decide(f"Acp reject {scope}")
    user = OLD.replace("line 12", "user").replace("line 6", "typed")
    until(lambda: shown.path.read_text() == user)
    shown.type((1, "after"))
    shown.editor.cmd("silent write")
    assert shown.write(again.replace("line 12", "user")) == "ok"
    mine = again.replace("line 12", "user").replace("line 6\n", "typed\n")
    shown.holds(mine.replace("line 1\n", "after\n"))


def test_what_the_user_typed_after_a_reject_is_no_agents_to_change(shown: Project) -> None:
    assert shown.write(NEW) == "ok"
    shown.decide("Acp reject all")
    shown.type((3, "mine"))
    shown.editor.cmd("silent write")
    assert "conflict" in shown.write(NEW.replace("line 3\n", "three\n"))
    assert shown.path.read_text() == OLD.replace("line 3\n", "mine\n")


def test_typing_is_no_reject(shown: Project) -> None:
    """A line of the agent's that the user has deleted by hand stays away."""
    assert shown.write(NEW) == "ok"
    shown.editor.keys("4Gdd")
    shown.editor.cmd("silent write")
    until(lambda: shown.path.read_text() == OLD)
    assert shown.write(MORE) == "ok"
    shown.holds(OLD.replace("line 9\n", "nine\n"))


def test_a_reject_that_was_taken_back_is_what_the_agent_had_written(shown: Project) -> None:
    assert shown.write(NEW) == "ok"
    shown.decide("Acp reject all")
    shown.decide("Acp unreject")
    until(lambda: shown.path.read_text() == NEW)
    another = NEW.replace("agent\n", "another\n")
    assert shown.write(another) == "ok"
    shown.holds(another)


def test_what_the_user_took_back_after_the_agent_read_stays(shown: Project) -> None:
    assert shown.write(NEW) == "ok"
    shown.decide("Acp reject all")
    assert shown.read() == "ok"
    shown.decide("Acp unreject")
    until(lambda: shown.path.read_text() == NEW)
    assert shown.write(OLD.replace("line 9\n", "nine\n")) == "ok"
    shown.holds(MORE)


@pytest.mark.parametrize("again", [NEW, MORE], ids=["the same", "more"])
def test_what_the_user_undid_is_written_again(shown: Project, again: str) -> None:
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


def test_what_was_undone_and_redone_is_what_the_agent_had_written(shown: Project) -> None:
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
def test_what_was_given_up_unsaved_is_written_again(shown: Project, command: str) -> None:
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


def test_what_is_typed_after_a_reload_is_no_agents_to_change(shown: Project) -> None:
    assert shown.write(NEW) == "ok"
    shown.type((12, "unsaved"))
    shown.editor.cmd("silent edit!")
    until(lambda: shown.shown() == NEW)
    shown.type((9, "user"))
    assert shown.write(NEW.replace("line 1\n", "one\n")) == "ok"
    assert shown.shown() == NEW.replace("line 1\n", "one\n").replace("line 8\n", "user\n")


@pytest.mark.parametrize("is_open", [False, True])
def test_a_file_that_was_deleted_is_missing_and_written_again(
    project: Project, is_open: bool
) -> None:
    if is_open:
        project.editor.open("a.txt")
    project.begin()
    assert project.read() == "ok"
    project.path.unlink()
    assert project.read().startswith("error -32002")
    assert project.write(OLD) == "ok"
    project.holds(OLD)
    project.path.unlink()
    assert project.write(NEW) == "ok"
    project.holds(NEW)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("by_agent", [False, True])
def test_what_a_checkout_took_out_is_written_again(
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


@pytest.mark.parametrize("is_open", [False, True])
def test_what_another_program_wrote_since_is_merged(project: Project, is_open: bool) -> None:
    if is_open:
        project.editor.open("a.txt")
    project.begin()
    assert project.read() == "ok"
    assert project.write(NEW) == "ok"
    project.path.write_text(NEW.replace("line 12\n", "elsewhere\n"))
    assert project.write(MORE) == "ok"
    project.holds(MORE.replace("line 12\n", "elsewhere\n"))
    project.path.write_text(MORE.replace("agent\n", "mine\n"))
    assert "conflict" in project.write(MORE.replace("agent\n", "its\n"))


def test_a_file_that_came_in_place_of_a_deleted_one_is_not_overwritten(project: Project) -> None:
    project.begin()
    assert project.read() == "ok"
    project.path.unlink()
    assert project.read().startswith("error -32002")
    project.path.write_text("precious\n")
    assert "conflict" in project.write(NEW)
    assert project.path.read_text() == "precious\n"


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
def test_a_save_that_did_not_save_is_no_success(shown: Project, code: str) -> None:
    shown.editor.lua(code)
    assert '"reason": "failed"' in shown.write(NEW)


def test_an_unchanged_text_is_saved_where_all_writes_are(shown: Project) -> None:
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


def test_two_agents_write_again_what_the_user_rejected_of_both(project: Project) -> None:
    editor = project.editor
    editor.open("a.txt")
    editor.turn("say hello")
    first = StepwiseAgent(editor, "first", 1)
    editor.agent("script", name="other")
    editor.cmd("Acp new")
    editor.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    second = StepwiseAgent(editor, "second", 2)
    first.begin()
    second.begin()
    project.agent = first
    assert project.write(NEW) == "ok"
    project.agent = second
    assert project.read() == "ok"
    assert project.write(MORE) == "ok"
    project.editor.cmd("Acp reject file")
    until(lambda: project.path.read_text() == OLD)
    assert project.write(MORE) == "ok"
    project.holds(MORE)
    project.agent = first
    assert project.write(NEW) == "ok"
    project.holds(MORE)
