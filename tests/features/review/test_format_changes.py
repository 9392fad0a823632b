"""Line ends, the BOM and the final newline, changed by an agent on disk: pending as lines are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.git import git, repository
from tests.support.pending_edits import edits_by_name, reject_all, wait_edits
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

BOM = b"\xef\xbb\xbf"
UNIX = b"one\ntwo\nthree\n"
DOS = UNIX.replace(b"\n", b"\r\n")
CHANGES = {
    "line ends: unix → dos": (UNIX, DOS),
    "line ends: dos → unix": (DOS, UNIX),
    "BOM added": (UNIX, BOM + UNIX),
    "BOM removed": (BOM + DOS, DOS),
    "line ends: dos → unix, BOM added": (DOS, BOM + UNIX),
    "final newline removed": (DOS, DOS[:-2]),
    "final newline added": (UNIX[:-1], UNIX),
}
LAID = "return { vim.bo.fileformat, vim.bo.bomb, vim.bo.modified }"


class Changed:
    """A file that an agent has changed in a turn."""

    def __init__(self, editor: Editor, before: bytes, after: bytes, opened: bool) -> None:
        self.editor = editor
        self.path = editor.write("a.txt", before)
        repository(editor.work)
        editor.agent("script")
        editor.turn("say hello")
        if opened:
            editor.open("a.txt")
        self.agent = StepwiseAgent(editor)
        self.agent.begin()
        self.put(after)

    def put(self, data: bytes) -> None:
        """The agent makes this of the file."""
        (self.editor.home / "new").write_bytes(data)
        self.agent.ask("runs", f"cat {self.editor.home}/new > a.txt")

    def over(self) -> None:
        """The turn has ended."""
        self.agent.end()
        self.editor.wait("not require('acp.buffers.watch').at_work(...)", str(self.path))

    def pending(self) -> dict[str, Any]:
        """Its edit."""
        wait_edits(self.editor, a="modified")
        return edits_by_name(self.editor)["a.txt"]

    def decide(self, command: str, wanted: bytes) -> None:
        """A decision leaves nothing pending, and these bytes."""
        self.editor.cmd(f"Acp {command}")
        wait_edits(self.editor)
        until(lambda: self.path.read_bytes() == wanted)


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("what", list(CHANGES))
def test_rejected_and_taken_back_and_accepted(
    editor: Editor, what: str, ended: bool, opened: bool
) -> None:
    before, after = CHANGES[what]
    changed = Changed(editor, before, after, opened)
    assert changed.pending()["note"] == what
    if ended:
        changed.over()
    changed.decide("reject all", before)
    editor.cmd("Acp unreject")
    assert changed.pending()["note"] == what
    until(lambda: changed.path.read_bytes() == after)
    changed.decide("accept all", after)
    if not ended:
        changed.over()
    assert edits_by_name(editor) == {}
    assert changed.path.read_bytes() == after


@pytest.mark.parametrize("what", list(CHANGES))
def test_it_is_told_where_hunks_are(editor: Editor, what: str) -> None:
    changed = Changed(editor, *CHANGES[what], opened=True)
    changed.over()
    editor.wait_screen(what)
    editor.cmd("Acp edits")
    editor.wait("#vim.fn.getqflist() > 0")
    assert editor.lua("return vim.fn.getqflist()[1].text") == what
    editor.cmd("cclose")
    editor.cmd("Acp review")
    editor.wait_screen(f"a.txt · +{changed.pending()['added']} -{changed.pending()['removed']}, ")


def test_the_buffer_lies_as_its_file(editor: Editor) -> None:
    changed = Changed(editor, UNIX, BOM + DOS, opened=True)
    changed.pending()
    assert editor.lua(LAID) == ["dos", True, False]
    editor.cmd("call setline(2, 'mine') | silent write")
    assert changed.path.read_bytes() == BOM + DOS.replace(b"two", b"mine")
    changed.decide("reject all", UNIX.replace(b"two", b"mine"))
    assert editor.lua(LAID) == ["unix", False, False]
    changed.over()
    assert edits_by_name(editor) == {}


@pytest.mark.parametrize("opened", [True, False])
def test_lines_and_line_ends_at_once(editor: Editor, opened: bool) -> None:
    """A hunk is decided by itself, the line ends with the file."""
    changed = Changed(editor, UNIX, DOS.replace(b"two", b"TWO"), opened)
    changed.over()
    found = changed.pending()
    assert (found["hunks"], found["note"]) == (1, "line ends: unix → dos")
    editor.open("a.txt")
    editor.cmd("2")
    editor.cmd("Acp reject")
    until(lambda: changed.path.read_bytes() == DOS)
    editor.wait("require('acp').state().sessions[1].edits[1].hunks == 0")
    assert changed.pending()["note"] == "line ends: unix → dos"
    changed.decide("reject file", UNIX)


def test_unsaved_edits_of_the_user(editor: Editor) -> None:
    """They are saved as the file lies then."""
    changed = Changed(editor, UNIX, UNIX, opened=True)
    editor.cmd("call setline(3, 'mine')")
    changed.put(DOS)
    assert changed.pending()["note"] == "line ends: unix → dos"
    changed.over()
    editor.cmd("silent write")
    assert changed.path.read_bytes() == DOS.replace(b"three", b"mine")
    changed.decide("reject all", UNIX.replace(b"three", b"mine"))


def test_changed_and_changed_back(editor: Editor) -> None:
    changed = Changed(editor, UNIX, DOS, opened=True)
    changed.pending()
    changed.put(UNIX)
    wait_edits(editor)
    changed.over()
    assert editor.lua(LAID) == ["unix", False, False]


@pytest.mark.parametrize("opened", [True, False])
def test_a_line_that_ends_otherwise_is_no_other_layout(editor: Editor, opened: bool) -> None:
    """Many agents append lines in their own way."""
    changed = Changed(editor, DOS, DOS + b"four\n", opened)
    assert "note" not in changed.pending()
    changed.over()
    changed.decide("reject all", DOS)


def test_what_the_user_changes_is_theirs(editor: Editor) -> None:
    changed = Changed(editor, UNIX, UNIX, opened=True)
    editor.cmd("set fileformat=dos bomb | silent write")
    assert changed.path.read_bytes() == BOM + DOS
    changed.agent.ask("runs", "true")
    changed.put(BOM + DOS.replace(b"two", b"TWO"))
    found = changed.pending()
    assert (found["hunks"], found.get("note")) == (1, None)
    changed.over()
    changed.decide("reject all", BOM + DOS)


def test_neovim_has_read_it_first(editor: Editor) -> None:
    changed = Changed(editor, UNIX, UNIX, opened=True)
    (editor.home / "new").write_bytes(DOS)
    changed.agent.ask("silently", f"cat {editor.home}/new > a.txt")
    editor.cmd("checktime")
    changed.over()
    assert changed.pending()["note"] == "line ends: unix → dos"
    changed.decide("reject all", UNIX)


def test_accepted_with_the_file_and_changed_again(editor: Editor) -> None:
    """What was accepted is what the next reject brings back."""
    changed = Changed(editor, UNIX, DOS, opened=True)
    changed.pending()
    changed.decide("accept all", DOS)
    changed.put(BOM + DOS)
    assert changed.pending()["note"] == "BOM added"
    changed.over()
    changed.decide("reject all", DOS)


@pytest.mark.parametrize("opened", [True, False])
def test_a_restore_brings_it_back(editor: Editor, opened: bool) -> None:
    changed = Changed(editor, UNIX, DOS, opened)
    changed.over()
    assert changed.pending()["note"] == "line ends: unix → dos"
    changed.decide("restore 2", UNIX)
    if opened:
        assert editor.lua(LAID) == ["unix", False, False]
        editor.cmd("silent write")
        assert changed.path.read_bytes() == UNIX
    editor.cmd("Acp restore")
    until(lambda: changed.path.read_bytes() == DOS)
    assert changed.pending()["note"] == "line ends: unix → dos"
    if opened:
        editor.wait("vim.bo.fileformat == 'dos'")
    changed.decide("reject all", UNIX)


@pytest.mark.parametrize("opened", [True, False])
def test_a_restore_brings_back_what_it_was_before(editor: Editor, opened: bool) -> None:
    """The checkpoint knows it, whatever the user and the agent have made of the file since."""
    changed = Changed(editor, UNIX, DOS, opened)
    changed.over()
    editor.turn("say hello")
    changed.decide("accept all", DOS)
    changed.agent.begin()
    changed.put(BOM + DOS.replace(b"two", b"2"))
    assert changed.pending()["note"] == "BOM added"
    changed.over()
    editor.cmd("Acp restore 3")
    until(lambda: changed.path.read_bytes() == DOS)
    until(lambda: changed.pending()["note"] == "line ends: unix → dos")
    changed.decide("reject all", UNIX)
    editor.cmd("Acp unreject")
    until(lambda: changed.path.read_bytes() == DOS)
    assert changed.pending()["note"] == "line ends: unix → dos"


def test_after_a_save_that_settles_a_conflict(editor: Editor) -> None:
    changed = Changed(editor, UNIX, UNIX, opened=True)
    editor.cmd("call setline(2, 'mine')")
    changed.put(UNIX.replace(b"two", b"theirs"))
    editor.wait("(require('acp').state().sessions[1].edits[1] or {}).conflict")
    editor.cmd("silent write")
    wait_edits(editor)
    changed.agent.ask("runs", "true")
    changed.put(BOM + UNIX.replace(b"two", b"mine"))
    assert changed.pending()["note"] == "BOM added"
    changed.over()
    changed.decide("reject all", UNIX.replace(b"two", b"mine"))


def test_after_a_deletion_that_was_rejected(editor: Editor) -> None:
    """The store has it as deleted, still."""
    changed = Changed(editor, BOM + UNIX, BOM + UNIX, opened=False)
    changed.agent.ask("runs", "rm a.txt")
    wait_edits(editor, a="deleted")
    changed.decide("reject all", BOM + UNIX)
    changed.put(UNIX)
    assert changed.pending()["note"] == "BOM removed"
    changed.over()
    changed.decide("reject all", BOM + UNIX)


def test_a_new_file_that_was_accepted(editor: Editor) -> None:
    changed = Changed(editor, UNIX, UNIX, opened=False)
    changed.agent.ask("runs", "printf 'new\\n' > n.txt")
    wait_edits(editor, n="created")
    editor.cmd("Acp accept all")
    wait_edits(editor)
    changed.agent.ask("runs", "printf 'new\\r\\n' > n.txt")
    wait_edits(editor, n="modified")
    assert edits_by_name(editor)["n.txt"]["note"] == "line ends: unix → dos"
    changed.over()
    reject_all(editor)
    wait_edits(editor)
    until(lambda: (editor.work / "n.txt").read_bytes() == b"new\n")


@pytest.mark.parametrize("ended", [True, False])
def test_changed_again_after_a_reject_that_is_not_saved(editor: Editor, ended: bool) -> None:
    """The buffer will be saved as it was, and the file lies as the agent has laid it."""
    changed = Changed(editor, UNIX, DOS, opened=True)
    changed.pending()
    editor.cmd("call setline(3, 'mine')")
    reject_all(editor)
    wait_edits(editor)
    editor.wait("vim.bo.fileformat == 'unix'")
    if ended:
        changed.over()
        changed.agent.begin()
    changed.put(DOS.replace(b"one", b"ONE"))
    found = changed.pending()
    assert (found["hunks"], found["added"], found["removed"]) == (1, 1, 1)
    assert not found["conflict"]
    assert editor.lines(str(changed.path)) == ["ONE", "two", "mine"]
    changed.over()
    editor.cmd("silent write")
    assert changed.path.read_bytes() == b"ONE\ntwo\nmine\n"


def test_a_buffer_that_shows_the_ends_of_its_lines(editor: Editor) -> None:
    """Read with `++ff=unix` it has a CR at the end of each, and keeps them."""
    path = editor.write("a.txt", DOS)
    repository(editor.work)
    editor.agent("script")
    editor.cmd('edit ++ff=unix a.txt | call setline(3, "mine\\r")')
    agent = StepwiseAgent.at_work(editor)
    agent.ask("runs", "sed -i s/one/ONE/ a.txt")
    wait_edits(editor, a="modified")
    assert edits_by_name(editor)["a.txt"]["hunks"] == 1
    assert editor.lines(str(path)) == ["ONE\r", "two\r", "mine\r"]
    agent.end()


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize("what", list(CHANGES))
def test_laid_once_more_after_a_reject(editor: Editor, what: str, opened: bool) -> None:
    """The very bytes that were seen before the reject."""
    before, after = CHANGES[what]
    changed = Changed(editor, before, after, opened)
    changed.pending()
    changed.decide("reject all", before)
    changed.put(after)
    assert changed.pending()["note"] == what
    changed.over()
    changed.decide("reject all", before)


@pytest.mark.parametrize("what", ["line ends: unix → dos", "BOM added"])
def test_laid_otherwise_after_a_commit_that_is_noticed_later(editor: Editor, what: str) -> None:
    """The commit has the text, and not how it lies."""
    before, after = CHANGES[what]
    changed = Changed(editor, before, before.replace(b"two", b"TWO"), opened=False)
    changed.pending()
    git(editor.work, "commit", "-q", "-a", "-m", "x")
    editor.wait("vim.uv.now() > ...", editor.lua("return vim.uv.now()") + 400)
    changed.put(after.replace(b"two", b"TWO"))
    editor.wait("require('acp').state().sessions[1].edits[1].note == ...", what)
    editor.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    editor.wait("require('acp').state().sessions[1].edits[1].hunks == 0")
    assert changed.pending()["note"] == what
    changed.over()
    changed.decide("reject all", before.replace(b"two", b"TWO"))
