"""Pending edits outlive the host: it is killed, and the next one decides them."""

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
    """`a.txt` of twenty lines, open; the agent has changed two of them, as the journal has it."""
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


def hunks(editor: Editor, count: int, n: int = 1) -> None:
    code = "local n, h = ... local s = require('acp').state().sessions[n] local c = 0 "
    code += "for _, e in ipairs(s.edits) do c = c + e.hunks end return c == h"
    editor.wait(code, n, count)


def shown(editor: Editor) -> list[tuple[int, list[str]]]:
    return [(mark["first"], mark["removed"]) for mark in marks(editor)]


def test_marks_and_counts_stay_and_are_those_of_the_next_host(project: Editor) -> None:
    before, counted = shown(project), edits(project)
    assert before == [(1, ["line 2"]), (9, ["line 10"])]
    kill_host_once_written(project)
    assert "with the pending edits of 1 file" in project.messages()
    assert (shown(project), edits(project)) == (before, counted)
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    assert (shown(project), edits(project)) == (before, counted)


@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_a_decision_may_be_the_first_command(project: Editor, verdict: str) -> None:
    kill_host_once_written(project)
    project.cmd("10")
    project.cmd(f"Acp {verdict}")
    hunks(project, 1)
    line = "ten" if verdict == "accept" else "line 10"
    assert buffer(project)[9] == line
    until(lambda: disk(project).split("\n")[9] == line)
    reject_all(project)
    hunks(project, 0)
    assert buffer(project) == [*LINES[:9], line, *LINES[10:]]
    project.cmd("Acp unreject")
    hunks(project, 1)
    assert buffer(project)[1] == "two"


def test_the_review_may_be_the_first_command(project: Editor) -> None:
    kill_host_once_written(project)
    project.cmd("Acp review")
    project.wait("#vim.api.nvim_list_tabpages() == 2")
    assert project.lines(f"acp://base/1//{project.work / 'a.txt'}") == LINES


def test_what_the_user_did_meanwhile_is_theirs(project: Editor) -> None:
    kill_host_once_written(project)
    project.lua("vim.api.nvim_buf_set_lines(0, 4, 5, true, {'mine', 'too'})")
    project.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, {'first'})")
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    assert shown(project) == [(2, ["line 2"]), (11, ["line 10"])]
    reject_all(project)
    hunks(project, 0)
    assert buffer(project) == ["first", *LINES[:4], "mine", "too", *LINES[5:]]


def test_what_the_user_changed_inside_of_a_hunk_belongs_to_it(project: Editor) -> None:
    kill_host_once_written(project)
    project.lua("vim.api.nvim_buf_set_lines(0, 1, 2, true, {'two of mine'})")
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    project.cmd("2")
    project.cmd("Acp reject")
    hunks(project, 1)
    assert buffer(project)[1] == "line 2"


def test_an_undo_meanwhile_and_its_redo(project: Editor) -> None:
    kill_host_once_written(project)
    project.cmd("undo")
    assert buffer(project) == LINES
    project.cmd("Acp edits")
    wait_host(project)
    hunks(project, 0)
    project.cmd("redo")
    hunks(project, 2)
    kill_host_once_written(project)
    project.cmd("undo")
    project.cmd("Acp edits")
    hunks(project, 0)


def test_a_reject_before_is_taken_back_after(project: Editor) -> None:
    project.cmd("2")
    project.cmd("Acp reject")
    hunks(project, 1)
    project.cmd("Acp accept all")
    hunks(project, 0)
    kill_host_once_written(project)
    project.cmd("Acp unreject")
    hunks(project, 1)
    assert buffer(project)[1] == "two"
    until(lambda: disk(project).split("\n")[1] == "two")
    project.cmd("Acp unreject")
    project.wait_message("Nothing was rejected")


def test_twice(project: Editor) -> None:
    kill_host_once_written(project)
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    project.cmd("2")
    project.cmd("Acp accept")
    hunks(project, 1)
    kill_host_once_written(project)
    reject_all(project)
    hunks(project, 0)
    assert buffer(project) == ["line 1", "two", *LINES[2:]]


def test_files_that_no_buffer_shows_were_created_or_deleted(editor: Editor) -> None:
    gone = editor.write("gone.sh", b"\xef\xbb\xbfgone\r\nfor good\r\n")
    gone.chmod(0o755)
    was, kept_bytes = gone.read_bytes(), editor.write("kept.txt", TEXT)
    editor.agent("script")
    editor.turn("hello")
    editor.turn(f"runs {json.dumps('rm gone.sh; echo new > new.txt')}")
    editor.turn(f"write {kept_bytes} {json.dumps(TWO)}")
    editor.wait("#require('acp').state().sessions[1].edits == 3")
    editor.cmd("bwipeout kept.txt")
    kill_host_once_written(editor)
    reject_all(editor)
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    until(gone.exists)
    assert gone.read_bytes() == was
    assert gone.stat().st_mode & 0o111
    assert not (editor.work / "new.txt").exists()
    assert disk(editor, "kept.txt") == TEXT
    kill_host_once_written(editor)
    editor.cmd("Acp unreject")
    editor.wait("#require('acp').state().sessions[1].edits == 3")
    assert not gone.exists()
    assert disk(editor, "new.txt") == "new\n"
    assert disk(editor, "kept.txt") == TWO


def test_what_became_of_closed_files_meanwhile_is_the_users(project: Editor) -> None:
    kill_host_once_written(project)
    project.cmd("bwipeout! a.txt")
    (project.work / "a.txt").write_text(TWO.replace("line 15", "mine"))
    reject_all(project)
    hunks(project, 0)
    until(lambda: disk(project) == TEXT.replace("line 15", "mine"))


def test_a_file_that_is_gone_is_decided(project: Editor) -> None:
    kill_host_once_written(project)
    project.cmd("bwipeout! a.txt")
    (project.work / "a.txt").unlink()
    project.cmd("Acp edits")
    hunks(project, 0)
    assert not (project.work / "a.txt").exists()


def test_sessions_idle_running_and_closed(editor: Editor) -> None:
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
def test_a_conflict(editor: Editor, command: str) -> None:
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


def test_what_could_not_be_read_is_told_and_the_rest_decided(project: Editor) -> None:
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
    """Change the last byte of each place like this."""
    path = journal_path(editor)
    data = bytearray(path.read_bytes())
    for found in re.finditer(pattern, bytes(data), re.DOTALL):
        data[found.end() - 1] ^= 1
    path.write_bytes(data)


def test_of_a_host_that_is_killed_while_it_writes_little_is_lost(project: Editor) -> None:
    """Whenever that is: what is pending then is what Neovim showed, or a moment older."""
    path = project.work / "a.txt"
    kill_host(project)
    assert all(found == str(path) for found in journaled_edits(project))
    project.cmd("Acp edits")
    wait_host(project)


def test_an_open_review_goes_on(project: Editor) -> None:
    project.cmd("Acp review")
    project.wait("#vim.api.nvim_list_tabpages() == 2")
    project.wait("vim.wo.diff")
    kill_host_once_written(project)
    project.cmd("wincmd l")
    project.cmd("10")
    project.keys("do")
    project.wait("vim.fn.getline(10) == 'line 10'")
    project.cmd("Acp edits")
    hunks(project, 1)
    project.cmd("Acp accept file")
    hunks(project, 0)
    assert disk(project).split("\n")[1] == "two"


def test_a_turn_that_was_cut_holds_no_save_up(project: Editor) -> None:
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


def test_a_file_that_was_renamed(editor: Editor) -> None:
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
    hunks(editor, 0)
    until((editor.work / "old.txt").exists)
    assert disk(editor, "old.txt") == TEXT
    assert not (editor.work / "new.txt").exists()


def test_an_undo_of_a_reject_meanwhile_makes_it_pending_again(project: Editor) -> None:
    reject_all(project)
    hunks(project, 0)
    project.wait("vim.fn.getline(2) == 'line 2'")
    kill_host_once_written(project)
    project.cmd("undo")
    project.cmd("Acp edits")
    hunks(project, 2)
    assert buffer(project)[1] == "two"


def test_what_the_user_saves_under_the_next_host_is_theirs(project: Editor) -> None:
    """In a buffer that the one before it knew."""
    project.cmd("Acp accept all")
    hunks(project, 0)
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
    hunks(project, 1)
    assert shown(project) == [(14, ["line 15"])]


@pytest.mark.parametrize("when", ["while no host runs", "under the next one"])
def test_a_commit_accepts(editor: Editor, when: str) -> None:
    path = editor.write("a.txt", TEXT)
    repository(editor.work)
    editor.agent("script")
    editor.turn(f"write {path} {json.dumps(TWO)}")
    hunks(editor, 2)
    until(lambda: any(kind == "head" for kind, _ in read_journal(editor)))
    kill_host_once_written(editor)
    if when == "under the next one":
        editor.cmd("Acp edits")
        wait_host(editor)
        hunks(editor, 2)
    git(editor.work, "commit", "-q", "-am", "x")
    if when == "under the next one":
        editor.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    else:
        editor.cmd("Acp edits")
    hunks(editor, 0)
    assert disk(editor) == TWO


def test_a_commit_of_an_agent_that_was_cut_stays_pending(editor: Editor) -> None:
    path, done = editor.write("a.txt", TEXT), editor.work / "done"
    repository(editor.work)
    editor.agent("script")
    commit = "git -c user.name=a -c user.email=a@a commit -q -am x; touch done"
    write = f"write {path} {json.dumps(TWO)}"
    editor.prompt(f"{write}\nsilently {json.dumps(commit)}\nuntil_there {editor.work}/never")
    until(done.exists)
    hunks(editor, 2)
    kill_host_once_written(editor)
    editor.cmd("Acp edits")
    editor.wait("#vim.fn.getqflist() == 2")
    editor.turn("hello")
    hunks(editor, 2)


MANY = 40


@pytest.mark.parametrize("seed", range(4))
def test_while_an_agent_writes_one_file_after_the_other(editor: Editor, seed: int) -> None:
    """At any moment: what is pending then is what the agent did, to the last of it."""
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
