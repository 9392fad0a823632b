"""Line ends, BOM and final newline that an agent changes on disk: pending like lines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cases import case
from tests.support.editor import Editor
from tests.support.git import git, repository
from tests.support.pending_edits import edits_by_name, reject_all, wait_edits
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

BOM = b"\xef\xbb\xbf"
UNIX = b"one\ntwo\nthree\n"
DOS = UNIX.replace(b"\n", b"\r\n")
CHANGES = {
    "line endings: unix → dos": (UNIX, DOS),
    "line endings: dos → unix": (DOS, UNIX),
    "BOM added": (UNIX, BOM + UNIX),
    "BOM removed": (BOM + DOS, DOS),
    "line endings: dos → unix, BOM added": (DOS, BOM + UNIX),
    "final newline removed": (DOS, DOS[:-2]),
    "final newline added": (UNIX[:-1], UNIX),
}
LAID = "return { vim.bo.fileformat, vim.bo.bomb, vim.bo.modified }"


class ChangedFile:
    """File that an agent has changed in a turn."""

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
        """Let the agent write these bytes."""
        (self.editor.home / "new").write_bytes(data)
        self.agent.ask("runs", f"cat {self.editor.home}/new > a.txt")

    def end_turn(self) -> None:
        self.agent.end()
        self.editor.wait("not require('acp.buffers.watch').at_work(...)", str(self.path))

    def begin_next_turn(self) -> None:
        self.end_turn()
        self.agent.begin()

    def pending(self) -> dict[str, Any]:
        """Return the pending edit of the file."""
        wait_edits(self.editor, a="modified")
        return edits_by_name(self.editor)["a.txt"]

    def reject_unsaved(self) -> None:
        """Reject the change to DOS in the buffer, where the user has not saved a line."""
        self.pending()
        self.editor.cmd("call setline(3, 'mine')")
        reject_all(self.editor)
        wait_edits(self.editor)
        self.editor.wait("vim.bo.fileformat == 'unix'")

    def decide(self, command: str, wanted: bytes) -> None:
        """Decide, and wait until nothing is pending and the file has these bytes."""
        self.editor.cmd(f"Acp {command}")
        wait_edits(self.editor)
        until(lambda: self.path.read_bytes() == wanted)


class ChangedFiles:
    """A file for each format change, which an agent has changed in a turn."""

    def __init__(self, editor: Editor, opened: bool) -> None:
        self.editor = editor
        self.names = {f"{number}.txt": note for number, note in enumerate(CHANGES)}
        self.before = {name: CHANGES[note][0] for name, note in self.names.items()}
        self.after = {name: CHANGES[note][1] for name, note in self.names.items()}
        for name, data in self.before.items():
            editor.write(name, data)
            (editor.home / name).write_bytes(self.after[name])
        repository(editor.work)
        editor.agent("script")
        editor.turn("say hello")
        for name in self.names if opened else ():
            editor.open(name)
        self.agent = StepwiseAgent(editor)
        self.agent.begin()
        self.put()

    def put(self) -> None:
        """Let the agent change the files."""
        words = (f"cat {self.editor.home}/{name} > {name}" for name in self.names)
        self.agent.ask("runs", "; ".join(words))
        self.wait_notes()

    def end_turn(self) -> None:
        self.agent.end()
        path = str(self.editor.work / "0.txt")
        self.editor.wait("not require('acp.buffers.watch').at_work(...)", path)

    def wait_notes(self) -> None:
        """Wait until each change is pending."""

        def notes() -> dict[str, str]:
            found = edits_by_name(self.editor)
            return {name: str(edit.get("note")) for name, edit in found.items()}

        until(lambda: notes() == self.names, what=repr(self.names))

    def decide(self, command: str, wanted: dict[str, bytes]) -> None:
        """Decide, and wait until nothing is pending and the files have these bytes."""
        self.editor.cmd(f"Acp {command}")
        wait_edits(self.editor)
        self.wait_bytes(wanted)

    def wait_bytes(self, wanted: dict[str, bytes]) -> None:
        work = self.editor.work
        until(lambda: {name: (work / name).read_bytes() for name in wanted} == wanted)


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize("ended", [True, False])
def test_format_changes_are_rejected_unrejected_and_accepted(
    editor: Editor, ended: bool, opened: bool
) -> None:
    changed = ChangedFiles(editor, opened)
    if ended:
        changed.end_turn()
    changed.decide("reject all", changed.before)
    editor.cmd("Acp unreject")
    changed.wait_notes()
    changed.wait_bytes(changed.after)
    changed.decide("accept all", changed.after)
    if not ended:
        changed.end_turn()
    assert edits_by_name(editor) == {}
    changed.wait_bytes(changed.after)


def test_format_changes_are_shown_like_hunks(editor: Editor) -> None:
    changed = ChangedFiles(editor, opened=True)
    changed.end_turn()
    editor.cmd("Acp edits")
    editor.wait("#vim.fn.getqflist() >= ...", len(CHANGES))
    texts = editor.lua("return vim.tbl_map(function(it) return it.text end, vim.fn.getqflist())")
    assert [text for text in texts if text in CHANGES] == list(CHANGES)
    editor.cmd("cclose")
    for name, note in changed.names.items():
        with case(note):
            editor.open(name)
            editor.wait_screen(note)
            editor.cmd(f"Acp review {name}")
            edit = edits_by_name(editor)[name]
            editor.wait_screen(f"M {name}  +{edit['added']} -{edit['removed']}, {note}")
            editor.cmd("tabclose")


def test_the_buffer_has_the_format_of_its_file(editor: Editor) -> None:
    changed = ChangedFile(editor, UNIX, BOM + DOS, opened=True)
    changed.pending()
    assert editor.lua(LAID) == ["dos", True, False]
    editor.cmd("call setline(2, 'mine') | silent write")
    assert changed.path.read_bytes() == BOM + DOS.replace(b"two", b"mine")
    changed.decide("reject all", UNIX.replace(b"two", b"mine"))
    assert editor.lua(LAID) == ["unix", False, False]
    changed.end_turn()
    assert edits_by_name(editor) == {}


@pytest.mark.parametrize("opened", [True, False])
def test_lines_and_line_ends_change_at_once(editor: Editor, opened: bool) -> None:
    """A hunk is decided alone, the line ends with the file."""
    changed = ChangedFile(editor, UNIX, DOS.replace(b"two", b"TWO"), opened)
    changed.end_turn()
    found = changed.pending()
    assert (found["hunks"], found["note"]) == (1, "line endings: unix → dos")
    editor.open("a.txt")
    editor.cmd("2")
    editor.cmd("Acp reject")
    until(lambda: changed.path.read_bytes() == DOS)
    editor.wait("require('acp').state().sessions[1].edits[1].hunks == 0")
    assert changed.pending()["note"] == "line endings: unix → dos"
    changed.decide("reject file", UNIX)


def test_unsaved_text_is_saved_in_the_new_format(editor: Editor) -> None:
    """A format that was rejected in discarded text is pending again."""
    changed = ChangedFile(editor, UNIX, UNIX, opened=True)
    editor.cmd("call setline(3, 'mine')")
    changed.put(DOS)
    assert changed.pending()["note"] == "line endings: unix → dos"
    changed.end_turn()
    editor.cmd("silent write")
    assert changed.path.read_bytes() == DOS.replace(b"three", b"mine")
    editor.cmd("call setline(3, 'other')")
    reject_all(editor)
    editor.wait_message("a.txt: rejected in the buffer, not saved yet")
    editor.wait("vim.bo.fileformat == 'unix'")
    editor.cmd("silent edit!")
    assert changed.pending()["note"] == "line endings: unix → dos"
    changed.decide("reject all", UNIX.replace(b"three", b"mine"))


def test_a_change_that_the_agent_reverts_is_not_pending(editor: Editor) -> None:
    changed = ChangedFile(editor, UNIX, DOS, opened=True)
    changed.pending()
    changed.put(UNIX)
    wait_edits(editor)
    changed.end_turn()
    assert editor.lua(LAID) == ["unix", False, False]


@pytest.mark.parametrize("opened", [True, False])
def test_a_single_line_with_another_end_is_not_a_format_change(
    editor: Editor, opened: bool
) -> None:
    """Many agents append lines with their own line end."""
    changed = ChangedFile(editor, DOS, DOS + b"four\n", opened)
    assert "note" not in changed.pending()
    changed.end_turn()
    changed.decide("reject all", DOS)


def test_a_format_that_the_user_changes_is_theirs(editor: Editor) -> None:
    changed = ChangedFile(editor, UNIX, UNIX, opened=True)
    editor.cmd("set fileformat=dos bomb | silent write")
    assert changed.path.read_bytes() == BOM + DOS
    changed.agent.ask("runs", "true")
    changed.put(BOM + DOS.replace(b"two", b"TWO"))
    found = changed.pending()
    assert (found["hunks"], found.get("note")) == (1, None)
    changed.end_turn()
    changed.decide("reject all", BOM + DOS)


def test_a_change_that_neovim_reads_first_is_the_agents(editor: Editor) -> None:
    changed = ChangedFile(editor, UNIX, UNIX, opened=True)
    (editor.home / "new").write_bytes(DOS)
    changed.agent.ask("silently", f"cat {editor.home}/new > a.txt")
    editor.cmd("checktime")
    changed.end_turn()
    assert changed.pending()["note"] == "line endings: unix → dos"
    changed.decide("reject all", UNIX)


def test_a_format_that_changes_again_after_an_accept_is_pending(editor: Editor) -> None:
    """The next reject restores the accepted format."""
    changed = ChangedFile(editor, UNIX, DOS, opened=True)
    changed.pending()
    changed.decide("accept all", DOS)
    changed.put(BOM + DOS)
    assert changed.pending()["note"] == "BOM added"
    changed.end_turn()
    changed.decide("reject all", DOS)


@pytest.mark.parametrize("opened", [True, False])
def test_a_restore_restores_the_format(editor: Editor, opened: bool) -> None:
    changed = ChangedFile(editor, UNIX, DOS, opened)
    changed.end_turn()
    assert changed.pending()["note"] == "line endings: unix → dos"
    changed.decide("restore 2", UNIX)
    if opened:
        assert editor.lua(LAID) == ["unix", False, False]
        editor.cmd("silent write")
        assert changed.path.read_bytes() == UNIX
    editor.cmd("Acp restore")
    until(lambda: changed.path.read_bytes() == DOS)
    assert changed.pending()["note"] == "line endings: unix → dos"
    if opened:
        editor.wait("vim.bo.fileformat == 'dos'")
    changed.decide("reject all", UNIX)


@pytest.mark.parametrize("opened", [True, False])
def test_a_restore_knows_the_format_at_its_checkpoint(editor: Editor, opened: bool) -> None:
    """User and agent have changed the file since."""
    changed = ChangedFile(editor, UNIX, DOS, opened)
    changed.end_turn()
    editor.turn("say hello")
    changed.decide("accept all", DOS)
    changed.agent.begin()
    changed.put(BOM + DOS.replace(b"two", b"2"))
    assert changed.pending()["note"] == "BOM added"
    changed.end_turn()
    editor.cmd("Acp restore 3")
    until(lambda: changed.path.read_bytes() == DOS)
    until(lambda: changed.pending()["note"] == "line endings: unix → dos")
    changed.decide("reject all", UNIX)
    editor.cmd("Acp unreject")
    until(lambda: changed.path.read_bytes() == DOS)
    assert changed.pending()["note"] == "line endings: unix → dos"


def test_a_format_change_after_a_settled_conflict_is_pending(editor: Editor) -> None:
    changed = ChangedFile(editor, UNIX, UNIX, opened=True)
    editor.cmd("call setline(2, 'mine')")
    changed.put(UNIX.replace(b"two", b"theirs"))
    editor.wait("(require('acp').state().sessions[1].edits[1] or {}).conflict")
    editor.cmd("silent write")
    wait_edits(editor)
    changed.agent.ask("runs", "true")
    changed.put(BOM + UNIX.replace(b"two", b"mine"))
    assert changed.pending()["note"] == "BOM added"
    changed.end_turn()
    changed.decide("reject all", UNIX.replace(b"two", b"mine"))


def test_a_format_change_after_a_rejected_deletion_is_pending(editor: Editor) -> None:
    """The store still has the file as deleted."""
    changed = ChangedFile(editor, BOM + UNIX, BOM + UNIX, opened=False)
    changed.agent.ask("runs", "rm a.txt")
    wait_edits(editor, a="deleted")
    changed.decide("reject all", BOM + UNIX)
    changed.put(UNIX)
    assert changed.pending()["note"] == "BOM removed"
    changed.end_turn()
    changed.decide("reject all", BOM + UNIX)


def test_a_format_change_to_an_accepted_new_file_is_pending(editor: Editor) -> None:
    changed = ChangedFile(editor, UNIX, UNIX, opened=False)
    changed.agent.ask("runs", "printf 'new\\n' > n.txt")
    wait_edits(editor, n="created")
    editor.cmd("Acp accept all")
    wait_edits(editor)
    changed.agent.ask("runs", "printf 'new\\r\\n' > n.txt")
    wait_edits(editor, n="modified")
    assert edits_by_name(editor)["n.txt"]["note"] == "line endings: unix → dos"
    changed.end_turn()
    reject_all(editor)
    wait_edits(editor)
    until(lambda: (editor.work / "n.txt").read_bytes() == b"new\n")


@pytest.mark.parametrize("ended", [True, False])
def test_a_change_after_an_unsaved_reject_is_merged(editor: Editor, ended: bool) -> None:
    """The buffer will be saved in the old format; the file has the agent's."""
    changed = ChangedFile(editor, UNIX, DOS, opened=True)
    changed.reject_unsaved()
    if ended:
        changed.begin_next_turn()
    changed.put(DOS.replace(b"one", b"ONE"))
    found = changed.pending()
    assert (found["hunks"], found["added"], found["removed"]) == (1, 1, 1)
    assert not found["conflict"]
    assert editor.lines(str(changed.path)) == ["ONE", "two", "mine"]
    changed.end_turn()
    editor.cmd("silent write")
    assert changed.path.read_bytes() == b"ONE\ntwo\nmine\n"


def test_a_format_whose_unsaved_reject_was_undone_is_rejected_again(editor: Editor) -> None:
    """The agent has changed the file, which still has its format, before that."""
    changed = ChangedFile(editor, UNIX, DOS.replace(b"one", b"ONE"), opened=True)
    changed.reject_unsaved()
    changed.begin_next_turn()
    changed.put(DOS.replace(b"one", b"ONE").replace(b"two", b"TWO"))
    changed.pending()
    changed.end_turn()
    editor.cmd("silent undo")
    wait_edits(editor)
    editor.cmd("Acp unreject")
    editor.wait("vim.bo.fileformat == 'dos'")
    editor.cmd("silent write")
    reject_all(editor)
    wait_edits(editor)
    until(lambda: changed.path.read_bytes() == b"one\ntwo\nmine\n")


def test_a_second_format_after_an_unsaved_reject_is_rejected_to_the_users(editor: Editor) -> None:
    changed = ChangedFile(editor, UNIX, DOS, opened=True)
    changed.reject_unsaved()
    changed.begin_next_turn()
    changed.put(BOM + DOS)
    changed.pending()
    changed.end_turn()
    reject_all(editor)
    wait_edits(editor)
    editor.cmd("silent write")
    assert changed.path.read_bytes() == b"one\ntwo\nmine\n"


def test_a_buffer_that_shows_carriage_returns_keeps_them(editor: Editor) -> None:
    """Read with `++ff=unix`, each of its lines ends in a CR."""
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
def test_rejected_changes_that_are_made_again_are_pending(editor: Editor, opened: bool) -> None:
    """The bytes are exactly those from before the reject."""
    changed = ChangedFiles(editor, opened)
    changed.decide("reject all", changed.before)
    changed.put()
    changed.end_turn()
    changed.decide("reject all", changed.before)


@pytest.mark.parametrize("note", ["line endings: unix → dos", "BOM added"])
def test_a_format_change_just_after_a_commit_is_pending(editor: Editor, note: str) -> None:
    """The commit has the text, but not the format."""
    before, after = CHANGES[note]
    changed = ChangedFile(editor, before, before.replace(b"two", b"TWO"), opened=False)
    changed.pending()
    git(editor.work, "commit", "-q", "-a", "-m", "x")
    editor.wait("vim.uv.now() > ...", editor.lua("return vim.uv.now()") + 400)
    changed.put(after.replace(b"two", b"TWO"))
    editor.wait("require('acp').state().sessions[1].edits[1].note == ...", note)
    editor.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    editor.wait("require('acp').state().sessions[1].edits[1].hunks == 0")
    assert changed.pending()["note"] == note
    changed.end_turn()
    changed.decide("reject all", before.replace(b"two", b"TWO"))
