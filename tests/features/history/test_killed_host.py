"""Pending edits after the host is killed: the next host shows and decides them."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick
from tests.support.git import git, repository
from tests.support.killed_host import (
    is_written,
    journal_path,
    journaled_edits,
    kill_host,
    kill_host_once_written,
    read_journal,
    wait_host,
)
from tests.support.pending_edits import edits, reject_all
from tests.support.review_frames import marks
from tests.support.waiting import until

LINES = [f"line {n}" for n in range(1, 21)]
TEXT = "\n".join(LINES) + "\n"
TWO = "\n".join(["line 1", "two", *LINES[2:9], "ten", *LINES[10:]]) + "\n"


@pytest.fixture
def project(editor: Editor) -> Editor:
    """Return an editor that shows `a.txt`; the agent has changed two of its twenty lines, and the
    journal has it.
    """
    path = editor.write("a.txt", TEXT)
    editor.agent("script")
    editor.open("a.txt")
    editor.turn(f"read {path}\nwrite {path} {json.dumps(TWO)}")
    editor.wait("(require('acp').state().sessions[1].edits[1] or {}).hunks == 2")
    until(lambda: is_written(editor), what="the journal is written")
    return editor


def buffer(editor: Editor, name: str = "a.txt") -> list[str]:
    return editor.lines(str(editor.work / name))


def disk(editor: Editor, name: str = "a.txt") -> str:
    return (editor.work / name).read_text()


def wait_hunks(editor: Editor, count: int, n: int = 1) -> None:
    code = "local n, h = ... local s = require('acp').state().sessions[n] local c = 0 "
    code += "for _, e in ipairs(s.edits) do c = c + e.hunks end return c == h"
    editor.wait(code, n, count)


def marks_and_removed(editor: Editor) -> list[tuple[int, list[str]]]:
    return [(mark["first"], mark["removed"]) for mark in marks(editor)]


def test_marks_and_counts_stay_under_the_next_host(project: Editor) -> None:
    before, counted = marks_and_removed(project), edits(project)
    assert before == [(1, ["line 2"]), (9, ["line 10"])]
    kill_host_once_written(project)
    assert "with the pending edits of 1 file" in project.messages()
    assert (marks_and_removed(project), edits(project)) == (before, counted)
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    assert (marks_and_removed(project), edits(project)) == (before, counted)


@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_a_decision_may_be_the_first_command(project: Editor, verdict: str) -> None:
    kill_host_once_written(project)
    project.cmd("10")
    project.cmd(f"Acp {verdict}")
    wait_hunks(project, 1)
    line = "ten" if verdict == "accept" else "line 10"
    assert buffer(project)[9] == line
    until(lambda: disk(project).split("\n")[9] == line)
    reject_all(project)
    wait_hunks(project, 0)
    assert buffer(project) == [*LINES[:9], line, *LINES[10:]]
    project.cmd("Acp unreject")
    wait_hunks(project, 1)
    assert buffer(project)[1] == "two"


def test_the_review_may_be_the_first_command(project: Editor) -> None:
    kill_host_once_written(project)
    project.cmd("Acp review")
    project.wait("#vim.api.nvim_list_tabpages() == 2")
    assert project.lines(f"acp://base/1//{project.work / 'a.txt'}") == LINES


def test_text_that_the_user_types_meanwhile_is_theirs(project: Editor) -> None:
    kill_host_once_written(project)
    project.lua("vim.api.nvim_buf_set_lines(0, 4, 5, true, {'mine', 'too'})")
    project.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, {'first'})")
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    assert marks_and_removed(project) == [(2, ["line 2"]), (11, ["line 10"])]
    reject_all(project)
    wait_hunks(project, 0)
    assert buffer(project) == ["first", *LINES[:4], "mine", "too", *LINES[5:]]


def test_text_that_the_user_types_in_a_hunk_belongs_to_it(project: Editor) -> None:
    kill_host_once_written(project)
    project.lua("vim.api.nvim_buf_set_lines(0, 1, 2, true, {'two of mine'})")
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    project.cmd("2")
    project.cmd("Acp reject")
    wait_hunks(project, 1)
    assert buffer(project)[1] == "line 2"


def test_an_undo_without_a_host_and_its_redo_are_followed(project: Editor) -> None:
    kill_host_once_written(project)
    project.cmd("undo")
    assert buffer(project) == LINES
    project.cmd("Acp edits")
    wait_host(project)
    wait_hunks(project, 0)
    project.cmd("redo")
    wait_hunks(project, 2)
    kill_host_once_written(project)
    project.cmd("undo")
    project.cmd("Acp edits")
    wait_hunks(project, 0)


@pytest.mark.parametrize("saves", [False, True])
def test_an_undone_reject_without_a_host_is_pending_beside_typed_lines(
    project: Editor, saves: bool
) -> None:
    reject_all(project)
    wait_hunks(project, 0)
    until(lambda: disk(project) == TEXT)
    kill_host_once_written(project)
    project.cmd("undo")
    project.cmd("call append(15, 'mine')")
    if saves:
        project.cmd("silent write")
    project.cmd("Acp edits")
    wait_host(project)
    wait_hunks(project, 2)
    assert marks_and_removed(project) == [(1, ["line 2"]), (9, ["line 10"])]
    reject_all(project)
    wait_hunks(project, 0)
    assert buffer(project) == [*LINES[:15], "mine", *LINES[15:]]


def test_text_from_before_an_accept_belongs_to_the_hunk_in_its_place(project: Editor) -> None:
    """It is shown, since the user may have undone the accepted change, too."""
    project.cmd("Acp accept all")
    wait_hunks(project, 0)
    path = project.work / "a.txt"
    project.turn(f"read {path}\nwrite {path} {json.dumps(TWO.replace('two', 'zwei'))}")
    wait_hunks(project, 1)
    kill_host_once_written(project)
    project.cmd("undo 0")
    project.cmd("Acp edits")
    wait_host(project)
    wait_hunks(project, 1)
    assert marks_and_removed(project) == [(1, ["two"])]
    assert buffer(project) == LINES


def test_an_earlier_reject_can_be_undone(project: Editor) -> None:
    project.cmd("2")
    project.cmd("Acp reject")
    wait_hunks(project, 1)
    project.cmd("Acp accept all")
    wait_hunks(project, 0)
    kill_host_once_written(project)
    project.cmd("Acp unreject")
    wait_hunks(project, 1)
    assert buffer(project)[1] == "two"
    until(lambda: disk(project).split("\n")[1] == "two")
    project.cmd("Acp unreject")
    project.wait_message("Nothing was rejected")


def test_the_host_may_be_killed_twice(project: Editor) -> None:
    kill_host_once_written(project)
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    project.cmd("2")
    project.cmd("Acp accept")
    wait_hunks(project, 1)
    kill_host_once_written(project)
    reject_all(project)
    wait_hunks(project, 0)
    assert buffer(project) == ["line 1", "two", *LINES[2:]]


def test_edits_of_files_without_a_buffer_are_decided(editor: Editor) -> None:
    deleted = editor.write("gone.sh", b"\xef\xbb\xbfgone\r\nfor good\r\n")
    deleted.chmod(0o755)
    was, kept_bytes = deleted.read_bytes(), editor.write("kept.txt", TEXT)
    editor.agent("script")
    editor.turn("hello")
    editor.turn(f"runs {json.dumps('rm gone.sh; echo new > new.txt')}")
    editor.turn(f"write {kept_bytes} {json.dumps(TWO)}")
    editor.wait("#require('acp').state().sessions[1].edits == 3")
    editor.cmd("bwipeout kept.txt")
    kill_host_once_written(editor)
    reject_all(editor)
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    until(deleted.exists)
    assert deleted.read_bytes() == was
    assert deleted.stat().st_mode & 0o111
    assert not (editor.work / "new.txt").exists()
    assert disk(editor, "kept.txt") == TEXT
    kill_host_once_written(editor)
    editor.cmd("Acp unreject")
    editor.wait("#require('acp').state().sessions[1].edits == 3")
    assert not deleted.exists()
    assert disk(editor, "new.txt") == "new\n"
    assert disk(editor, "kept.txt") == TWO


def test_changes_to_closed_files_meanwhile_are_the_users(project: Editor) -> None:
    kill_host_once_written(project)
    project.cmd("bwipeout! a.txt")
    (project.work / "a.txt").write_text(TWO.replace("line 15", "mine"))
    reject_all(project)
    wait_hunks(project, 0)
    until(lambda: disk(project) == TEXT.replace("line 15", "mine"))


def test_the_edits_of_a_deleted_file_are_gone(project: Editor) -> None:
    kill_host_once_written(project)
    project.cmd("bwipeout! a.txt")
    (project.work / "a.txt").unlink()
    project.cmd("Acp edits")
    wait_hunks(project, 0)
    assert not (project.work / "a.txt").exists()


def test_edits_of_idle_running_and_closed_sessions_are_pending(editor: Editor) -> None:
    install_picker(editor)
    editor.agent("script")
    paths = [editor.write(f"{n}.txt", "one\n") for n in (1, 2, 3)]
    for n, path in enumerate(paths, 1):
        editor.cmd("Acp new")
        editor.wait_event("AcpSession", n)
        editor.turn(f"say {n}")
        editor.turn(f'write {path} "agent {n}\\n"')
        editor.wait("#require('acp').state().sessions[...].edits == 1", n)
    editor.lua("require('acp').prompt('wait_for_cancel', { session = 2 })")
    editor.wait("require('acp').state().sessions[2].status == 'running'")
    pick(editor, "Acp sessions", "say 1", "close")
    editor.wait("require('acp').state().sessions[1].status == 'closed'")
    kill_host_once_written(editor)
    editor.cmd("Acp edits")
    editor.wait("#vim.fn.getqflist() == 3")
    states = {n: editor.session(n) for n in (1, 2, 3)}
    assert [len(state["edits"]) for state in states.values()] == [1, 1, 1]
    assert [states[n]["status"] for n in (1, 2, 3)] == ["closed", "failed", "failed"]
    editor.open(paths[0])
    editor.cmd("Acp reject file")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    until(lambda: paths[0].read_text() == "one\n")
    editor.cmd("Acp accept all")
    for n in (2, 3):
        editor.wait("#require('acp').state().sessions[...].edits == 0", n)


@pytest.mark.parametrize("command", ["Acp accept all", "Acp reject all", "w", "Acp edits"])
def test_a_conflict_can_be_settled(editor: Editor, command: str) -> None:
    path = editor.write("a.txt", TEXT)
    editor.agent("script")
    editor.open("a.txt")
    editor.keys("Aof mine<Esc>")
    editor.turn("runs " + json.dumps("sed -i s/line.1$/agents/ a.txt"))
    editor.wait("(require('acp').state().sessions[1].edits[1] or {}).conflict")
    kill_host_once_written(editor)
    editor.cmd(command)
    if command == "w":
        editor.cmd("Acp edits")
    wait_host(editor)
    if command == "Acp edits":
        editor.wait("#vim.fn.getqflist() == 1")
        assert edits(editor)[0]["conflict"]
        editor.cmd("Acp review")
        editor.wait("#vim.api.nvim_list_tabpages() == 2")
        return
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    agents = command == "Acp accept all"
    first = {"Acp accept all": "agents", "Acp reject all": "line 1of mine", "w": "line 1of mine"}
    assert buffer(editor)[0] == first[command]
    on_disk = "line 1of mine" if command == "w" else "agents"
    assert path.read_text().split("\n")[0] == on_disk
    assert editor.lua("return vim.bo.modified") == (not agents and command != "w")
    assert not agents or "not saved yet" not in editor.messages()


def test_a_damaged_entry_is_reported_and_the_rest_can_be_decided(project: Editor) -> None:
    other = project.write("b.txt", TEXT)
    project.turn(f"write {other} {json.dumps(TWO)}")
    project.wait("#require('acp').state().sessions[1].edits == 2")
    kill_host_once_written(project)
    damage(project, rb"put.file.{,200}?b.txt")
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    project.wait_event("AcpNotice")
    assert [Path(edit["path"]).name for edit in edits(project)] == ["a.txt"]
    assert any("damaged" in line for line in project.chat(1))


def damage(editor: Editor, pattern: bytes) -> None:
    """Flip the last byte of each match in the journal."""
    path = journal_path(editor)
    data = bytearray(path.read_bytes())
    for found in re.finditer(pattern, bytes(data), re.DOTALL):
        data[found.end() - 1] ^= 1
    path.write_bytes(data)


def test_a_host_that_is_killed_during_a_write_leaves_a_readable_journal(project: Editor) -> None:
    """It has the state that Neovim showed, or a slightly earlier one."""
    path = project.work / "a.txt"
    kill_host(project)
    assert all(found == str(path) for found in journaled_edits(project))
    project.cmd("Acp edits")
    wait_host(project)


def test_an_open_review_stays_usable(project: Editor) -> None:
    project.cmd("Acp review")
    project.wait("#vim.api.nvim_list_tabpages() == 2")
    project.wait("vim.wo.diff")
    kill_host_once_written(project)
    project.cmd("wincmd l")
    project.cmd("10")
    project.keys("do")
    project.wait("vim.fn.getline(10) == 'line 10'")
    project.cmd("Acp edits")
    wait_hunks(project, 1)
    project.cmd("Acp accept file")
    wait_hunks(project, 0)
    assert disk(project).split("\n")[1] == "two"


def test_saves_do_not_wait_for_a_turn_that_was_cut(project: Editor) -> None:
    project.prompt("wait_for_cancel")
    project.wait("require('acp').state().sessions[1].status == 'running'")
    project.wait("require('acp.buffers.watch').at_work(...)", str(project.work / "a.txt"))
    kill_host_once_written(project)
    assert not project.lua(
        "return require('acp.buffers.watch').at_work(...)", str(project.work / "a.txt")
    )
    project.keys("Amine<Esc>")
    project.cmd("write")
    assert disk(project).startswith("line 1mine\n")


def test_a_renamed_file_stays_pending(editor: Editor) -> None:
    editor.write("old.txt", TEXT)
    editor.agent("script")
    editor.turn("hello")
    editor.turn("runs " + json.dumps("mv old.txt new.txt; sed -i s/line.2$/two/ new.txt"))
    editor.wait("#require('acp').state().sessions[1].edits > 0")
    before = edits(editor)
    kill_host_once_written(editor)
    editor.cmd("Acp edits")
    wait_host(editor)
    assert edits(editor) == before
    reject_all(editor)
    wait_hunks(editor, 0)
    until((editor.work / "old.txt").exists)
    assert disk(editor, "old.txt") == TEXT
    assert not (editor.work / "new.txt").exists()


def test_undoing_a_reject_without_a_host_makes_it_pending_again(project: Editor) -> None:
    reject_all(project)
    wait_hunks(project, 0)
    project.wait("vim.fn.getline(2) == 'line 2'")
    kill_host_once_written(project)
    project.cmd("undo")
    project.cmd("Acp edits")
    wait_hunks(project, 2)
    assert buffer(project)[1] == "two"


def test_text_that_the_user_saves_under_the_next_host_is_theirs(project: Editor) -> None:
    """The previous host knew the buffer."""
    project.cmd("Acp accept all")
    wait_hunks(project, 0)
    kill_host_once_written(project)
    project.turn("hello")
    ready, path = project.home / "ready", project.work / "a.txt"
    command = f"sed -i s/line.15$/agents/ {path}"
    project.prompt(f"until_there {ready}\nsilently {json.dumps(command)}")
    project.wait("require('acp.buffers.watch').at_work(...)", str(path))
    until(lambda: len(project.session(1)["checkpoints"]) == 3 and is_written(project))
    project.cmd("5")
    project.keys("Cmine<Esc>:w<CR>")
    until(lambda: "mine" in disk(project))
    ready.touch()
    project.wait_event("AcpTurnEnd", 3)
    wait_hunks(project, 1)
    assert marks_and_removed(project) == [(14, ["line 15"])]


@pytest.mark.parametrize("when", ["while no host runs", "under the next one"])
def test_a_commit_accepts_edits(editor: Editor, when: str) -> None:
    path = editor.write("a.txt", TEXT)
    repository(editor.work)
    editor.agent("script")
    editor.turn(f"write {path} {json.dumps(TWO)}")
    wait_hunks(editor, 2)
    until(lambda: any(kind == "head" for kind, _ in read_journal(editor)))
    kill_host_once_written(editor)
    if when == "under the next one":
        editor.cmd("Acp edits")
        wait_host(editor)
        wait_hunks(editor, 2)
    git(editor.work, "commit", "-q", "-am", "x")
    if when == "under the next one":
        editor.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    else:
        editor.cmd("Acp edits")
    wait_hunks(editor, 0)
    assert disk(editor) == TWO


def test_a_commit_by_an_agent_whose_turn_was_cut_accepts_nothing(editor: Editor) -> None:
    path, done = editor.write("a.txt", TEXT), editor.work / "done"
    repository(editor.work)
    editor.agent("script")
    commit = "git -c user.name=a -c user.email=a@a commit -q -am x; touch done"
    write = f"write {path} {json.dumps(TWO)}"
    editor.prompt(f"{write}\nsilently {json.dumps(commit)}\nuntil_there {editor.work}/never")
    until(done.exists)
    wait_hunks(editor, 2)
    kill_host_once_written(editor)
    editor.cmd("Acp edits")
    editor.wait("#vim.fn.getqflist() == 2")
    editor.turn("hello")
    wait_hunks(editor, 2)


MANY = 40


@pytest.mark.parametrize("seed", range(4))
def test_the_host_may_be_killed_while_an_agent_writes_many_files(editor: Editor, seed: int) -> None:
    """All of the agent's writes are pending afterwards."""
    rng = random.Random(seed)
    paths = [editor.write(f"{n}.txt", f"one {n}\ntwo\n") for n in range(MANY)]
    editor.agent("script")
    editor.turn("hello")
    steps = [
        f"write {path} {json.dumps(f'one {n}{chr(10)}TWO{chr(10)}')}"
        for n, path in enumerate(paths)
    ]
    editor.lua("require('acp').prompt(...)", "\n".join(steps))
    count = rng.randrange(MANY)
    editor.wait("#require('acp').state().sessions[1].edits >= ...", count)
    kill_host(editor)
    texts = [path.read_text() for path in paths]
    written = sum("TWO" in text for text in texts)
    assert written >= count
    editor.cmd("Acp edits")
    wait_host(editor)
    editor.wait("#vim.fn.getqflist() == ...", written)
    found = edits(editor)
    assert len(found) == written
    assert [path.read_text() for path in paths] == texts
    assert not any(event["name"] == "AcpNotice" for event in editor.events())
    reject_all(editor)
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    pending = {edit["path"] for edit in found}
    wanted = [
        f"one {n}\ntwo\n" if str(path) in pending else texts[n] for n, path in enumerate(paths)
    ]
    until(lambda: [path.read_text() for path in paths] == wanted)
