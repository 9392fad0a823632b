"""Edits that an agent makes on disk by itself, in a real Neovim: found, shown, merged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.git import git, repository
from tests.support.pending_edits import LINES, edits_by_name, wait_count
from tests.support.waiting import until

MARKS = """
local ns = vim.api.nvim_create_namespace('test')
local found = {}
for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
  local at = vim.api.nvim_buf_get_extmark_by_id(bufnr, ns, 1, {})
  if at[1] then
    local name = vim.fs.basename(vim.api.nvim_buf_get_name(bufnr))
    found[name] = vim.api.nvim_buf_get_lines(bufnr, at[1], at[1] + 1, true)[1]:sub(at[2] + 1)
  end
end
return found
"""


@pytest.fixture(params=["git", "plain"])
def project(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """Five files of twenty lines, in a repository or not, and the scripted agent."""
    for n in range(5):
        editor.write(f"f{n}.txt", LINES)
    editor.write("other.txt", "other\n")
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    return editor


@pytest.fixture
def plain(editor: Editor) -> Editor:
    """One file, no repository."""
    editor.write("a.txt", LINES)
    editor.agent("script")
    return editor


def mark(editor: Editor, name: str, row: int) -> None:
    """An extmark at the number of a line."""
    editor.lua(
        "local bufnr, row = ... vim.api.nvim_buf_set_extmark(bufnr, "
        "vim.api.nvim_create_namespace('test'), row, 5, { id = 1 })",
        editor.open(name),
        row,
    )


def shell(command: str, *paths: Path) -> str:
    """The line of a script that runs a command within a tool call."""
    return " ".join(["runs", *map(str, paths), json.dumps(command)])


def text(editor: Editor, name: str) -> str:
    """The text of the buffer."""
    return "\n".join(editor.lines(str(editor.work / name)))


def test_sed_on_five_files_is_reviewable_at_once(project: Editor) -> None:
    for n in range(3):
        mark(project, f"f{n}.txt", 14)
    project.prompt(
        shell("sed -i -e '3i added' -e 's/line 9$/LINE 9/' f*.txt") + "\nwait_for_cancel"
    )
    found = wait_count(project, 5)
    assert project.session()["status"] == "running", "after the tool call, not after the turn"
    project.cmd("AcpCancel")
    project.wait_event("AcpTurnEnd")
    assert {name: (e["hunks"], e["added"], e["removed"]) for name, e in found.items()} == {
        f"f{n}.txt": (2, 2, 1) for n in range(5)
    }
    assert project.lua(MARKS) == {f"f{n}.txt": "15" for n in range(3)}
    for n in range(3):
        bufnr = project.open(f"f{n}.txt")
        assert not project.lua("return vim.bo[...].modified", bufnr)
        assert text(project, f"f{n}.txt").count("added") == 1
    events = [event["data"] for event in project.events("AcpEdit")]
    assert {(e["source"], e["kind"], e["conflict"]) for e in events} == {
        ("disk", "modified", False)
    }
    assert len(events) == 5


def test_what_no_tool_call_tells_is_found_when_the_turn_ends(project: Editor) -> None:
    project.turn("silently " + json.dumps("rm f0.txt; echo new > new.txt; mv other.txt moved.txt"))
    found = wait_count(project, 3)
    assert {name: e["kind"] for name, e in found.items()} == {
        "f0.txt": "deleted",
        "new.txt": "created",
        "moved.txt": "modified",
    }
    project.cmd("Acp reject all")
    wait_count(project, 0)
    names = {f"f{n}.txt" for n in range(5)} | {"other.txt"}
    until(lambda: {p.name for p in project.work.glob("*.txt")} == names)
    assert (project.work / "f0.txt").read_text() == LINES
    assert (project.work / "other.txt").read_text() == "other\n"
    project.cmd("Acp unreject")
    wait_count(project, 3)
    until((project.work / "moved.txt").exists)
    assert not (project.work / "f0.txt").exists()
    assert (project.work / "new.txt").read_text() == "new\n"


def test_unsaved_edits_elsewhere_are_merged(plain: Editor) -> None:
    plain.open("a.txt")
    plain.keys("Gomine<Esc>")
    plain.turn(shell("sed -i '3s/.*/theirs/' a.txt", plain.work / "a.txt"))
    found = wait_count(plain, 1)["a.txt"]
    assert (found["hunks"], found["conflict"]) == (1, False)
    lines = text(plain, "a.txt").split("\n")
    assert (lines[2], lines[-1]) == ("theirs", "mine")
    assert plain.lua("return vim.bo.modified")
    plain.cmd("checktime")
    plain.cmd("silent write")
    assert (plain.work / "a.txt").read_text().split("\n")[-2] == "mine"
    assert not plain.lua("return vim.bo.modified")
    plain.cmd("3")
    plain.cmd("Acp reject")
    wait_count(plain, 0)
    assert (plain.work / "a.txt").read_text() == LINES + "mine\n"


def conflicting(editor: Editor) -> None:
    """The user and the agent change line 3."""
    editor.open("a.txt")
    editor.keys("3Gccmine<Esc>")
    editor.turn(shell("sed -i '3s/.*/theirs/' a.txt", editor.work / "a.txt"))
    assert wait_count(editor, 1)["a.txt"]["conflict"]


def test_overlapping_unsaved_edits_are_a_conflict_and_nothing_is_touched(plain: Editor) -> None:
    conflicting(plain)
    assert text(plain, "a.txt").split("\n")[2] == "mine"
    assert (plain.work / "a.txt").read_text().split("\n")[2] == "theirs"
    assert plain.events("AcpEdit")[-1]["data"]["conflict"]
    plain.cmd("checktime")
    assert not plain.rpc.mode()["blocking"]
    assert text(plain, "a.txt").split("\n")[2] == "mine"


def test_saving_settles_a_conflict_without_a_question(plain: Editor) -> None:
    conflicting(plain)
    plain.cmd("write")
    wait_count(plain, 0)
    assert (plain.work / "a.txt").read_text().split("\n")[2] == "mine"


def test_accepting_a_conflict_takes_the_agents_side(plain: Editor) -> None:
    conflicting(plain)
    plain.cmd("Acp accept file")
    wait_count(plain, 0)
    assert text(plain, "a.txt").split("\n")[2] == "theirs"
    assert not plain.lua("return vim.bo.modified")
    plain.keys("u")
    assert text(plain, "a.txt").split("\n")[2] == "mine"


def test_the_agents_side_is_taken_whatever_line_ends_the_next_save_shall_have(
    plain: Editor,
) -> None:
    path = plain.work / "a.txt"
    path.write_bytes(LINES.replace("\n", "\r\n").encode())
    plain.open("a.txt")
    plain.cmd("set fileformat=unix")
    plain.keys("3Gccmine<Esc>")
    plain.turn(shell("sed -i '3s/.*/theirs\\r/' a.txt", path))
    assert wait_count(plain, 1)["a.txt"]["conflict"]
    plain.cmd("Acp accept file")
    wait_count(plain, 0)
    assert text(plain, "a.txt").split("\n")[2] == "theirs"


def test_what_the_user_saves_while_a_turn_runs_is_his(plain: Editor) -> None:
    plain.write("b.txt", LINES)
    plain.open("a.txt")
    plain.prompt(f"until_there {plain.work}/go\n" + shell("sed -i '3s/.*/theirs/' b.txt"))
    plain.wait("require('acp').state().sessions[1].status == 'running'")
    until(lambda: "waiting" in plain.traffic[0].notes())
    plain.keys("Gomine<Esc>:w<CR>")
    until(lambda: "mine" in (plain.work / "a.txt").read_text())
    plain.wait("not vim.bo.modified")
    plain.open("b.txt")
    plain.write("go", "")
    plain.wait_event("AcpTurnEnd")
    found = wait_count(plain, 2)
    assert set(found) == {"b.txt", "go"}


def test_a_save_and_then_the_agent_on_the_same_file(plain: Editor) -> None:
    plain.open("a.txt")
    plain.prompt(f"until_there {plain.work}/go\n" + shell("sed -i '3s/.*/theirs/' a.txt"))
    until(lambda: "waiting" in plain.traffic[0].notes())
    plain.keys("Gomine<Esc>:w<CR>")
    until(lambda: "mine" in (plain.work / "a.txt").read_text())
    plain.write("go", "")
    plain.wait_event("AcpTurnEnd")
    found = wait_count(plain, 2)
    assert (found["a.txt"]["hunks"], found["a.txt"]["added"]) == (1, 1)


def test_a_write_through_the_editor_is_counted_once(project: Editor) -> None:
    path = project.work / "f0.txt"
    project.turn(f"replace {path} line LINE\n" + shell("true", path))
    found = wait_count(project, 1)
    assert found["f0.txt"]["added"] == 20
    project.turn("hello")
    assert len(project.events("AcpEdit")) == 1
    assert project.events("AcpEdit")[0]["data"]["source"] == "fs"


def test_both_ways_of_writing_the_same_file(project: Editor) -> None:
    path = project.work / "f0.txt"
    project.open("f0.txt")
    project.turn(
        f"replace {path} 'line 1' 'LINE 1'\n"
        + shell("sed -i '20s/.*/end/' f0.txt", path)
        + f"\nreplace {path} 'line 5' 'LINE 5'"
    )
    assert wait_count(project, 1)["f0.txt"]["hunks"] == 3
    project.cmd("Acp reject all")
    wait_count(project, 0)
    until(lambda: path.read_text() == LINES)


def test_a_file_that_the_buffer_still_shows_is_deleted_and_comes_back(project: Editor) -> None:
    project.open("f0.txt")
    project.turn(shell("rm f0.txt"))
    assert wait_count(project, 1)["f0.txt"]["kind"] == "deleted"
    project.cmd("checktime")
    assert not project.rpc.mode()["blocking"]
    project.cmd("Acp reject file")
    wait_count(project, 0)
    until((project.work / "f0.txt").exists)
    assert (project.work / "f0.txt").read_text() == LINES
    assert not project.lua("return vim.bo.modified")


def test_a_created_file_that_the_user_changed_is_kept(plain: Editor) -> None:
    plain.turn(shell("printf 'one\\ntwo\\n' > new.txt"))
    wait_count(plain, 1)
    plain.open("new.txt")
    plain.keys("Gomine<Esc>:w<CR>")
    plain.wait("vim.bo.modified == false")
    plain.cmd("Acp reject file")
    plain.wait_message("kept")
    assert (plain.work / "new.txt").read_text() == "one\ntwo\nmine\n"


def test_an_ignored_file_that_the_tool_call_names(project: Editor) -> None:
    name = "node_modules/x.txt"
    project.write(".gitignore", "node_modules\n")
    path = project.write(name, "one\ntwo\n")
    project.turn(
        f'edits_disk {path} "one\\nTWO\\n"',
    )
    assert (wait_count(project, 1)["x.txt"]["added"], path.read_text()) == (1, "one\nTWO\n")


def test_binary_files_are_no_review(plain: Editor) -> None:
    plain.turn(shell("printf 'a\\0b' > data.bin"))
    plain.wait_event("AcpEdit")
    assert edits_by_name(plain) == {}


@pytest.mark.parametrize("autoread", [True, False])
def test_no_prompt_while_the_turn_runs(plain: Editor, autoread: bool) -> None:
    plain.lua("vim.o.autoread = ...", autoread)
    mark(plain, "a.txt", 14)
    plain.prompt(
        "silently " + json.dumps("sed -i '2i added' a.txt") + f"\nuntil_there {plain.work}/go"
    )
    until(lambda: "waiting" in plain.traffic[0].notes())
    plain.cmd("checktime")
    assert not plain.rpc.mode()["blocking"]
    plain.write("go", "")
    plain.wait_event("AcpTurnEnd")
    found = wait_count(plain, 2)
    assert (found["a.txt"]["hunks"], found["a.txt"]["added"]) == (1, 1)
    plain.keys("Gomore<Esc>")
    plain.cmd("write")
    assert "added" in (plain.work / "a.txt").read_text()


def test_no_policy_of_ours_is_left_after_the_turn(plain: Editor) -> None:
    plain.open("a.txt")
    plain.turn(shell("sed -i '2i added' a.txt"))
    wait_count(plain, 1)
    plain.wait("#vim.api.nvim_get_autocmds({ event = 'FileChangedShell' }) == 0")


def test_a_commit_accepts_what_it_contains(project: Editor) -> None:
    if not (project.work / ".git").exists():
        repository(project.work)
    project.turn(shell("sed -i '3s/.*/x/' f0.txt f1.txt"))
    wait_count(project, 2)
    git(project.work, "commit", "-q", "-m", "x", "f0.txt")
    project.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    assert set(wait_count(project, 1)) == {"f1.txt"}


def test_an_undo_of_what_the_agent_left_on_disk_is_unsaved(plain: Editor) -> None:
    """Else `:x` would leave the agent's text in the file, without a word."""
    path = plain.work / "a.txt"
    plain.open("a.txt")
    plain.keys("Gomine<Esc>:w<CR>")
    until(lambda: "mine" in path.read_text())
    plain.turn(shell("sed -i '2i added' a.txt"))
    wait_count(plain, 1)
    assert not plain.lua("return vim.bo.modified")
    plain.keys("u")
    plain.wait("vim.bo.modified")
    assert "added" not in text(plain, "a.txt")
    plain.keys(":update<CR>")
    until(lambda: path.read_text() == LINES + "mine\n")
    assert not plain.rpc.mode()["blocking"]


def test_a_deletion_that_is_pending_again_while_a_window_shows_the_file(plain: Editor) -> None:
    path = plain.work / "a.txt"
    plain.open("a.txt")
    plain.turn(shell("rm a.txt"))
    wait_count(plain, 1)
    plain.cmd("Acp reject all")
    wait_count(plain, 0)
    until(path.exists)
    plain.cmd("Acp unreject")
    assert wait_count(plain, 1)["a.txt"]["kind"] == "deleted"
    until(lambda: not path.exists())
    plain.cmd("Acp edits")
    plain.wait("#vim.fn.getqflist() == 1")
    assert edits_by_name(plain)["a.txt"]["kind"] == "deleted"


def test_an_unwatched_file_that_is_read_changed_and_then_written(project: Editor) -> None:
    """What the agent did to it by itself is pending as well, though no store keeps the file."""
    path = project.write("node_modules/x.txt", LINES)
    project.write(".gitignore", "node_modules\n")
    project.turn("hello")
    project.turn(
        f"read {path}\n"
        + shell(f"sed -i '3s/.*/by itself/' {path}")
        + f"\nreplace {path} 'line 15' fifteen"
    )
    assert wait_count(project, 1)["x.txt"]["hunks"] == 2
    project.cmd("Acp reject all")
    wait_count(project, 0)
    until(lambda: path.read_text() == LINES)
