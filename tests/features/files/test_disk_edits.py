"""Edits that an agent makes on disk, in a real Neovim: found, shown, merged."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.git import repository
from tests.support.lua import lua_chunk
from tests.support.pending_edits import LINES, edits_by_name, reject_all, wait_count, wait_edits
from tests.support.script_lines import shell, silently
from tests.support.stepwise_agent import StepwiseAgent
from tests.support.waiting import until

MARKS = lua_chunk(__file__, "text_at_marks")


@pytest.fixture(params=["git", "plain"])
def five(request: pytest.FixtureRequest, editor: Editor) -> Editor:
    """Return an editor with five files of twenty lines, in a repository or not, and the scripted
    agent.
    """
    for n in range(5):
        editor.write(f"f{n}.txt", LINES)
    editor.write("other.txt", "other\n")
    if request.param == "git":
        repository(editor.work)
    editor.agent("script")
    return editor


def mark(editor: Editor, name: str, row: int) -> None:
    """Set an extmark at the number in a line."""
    editor.lua(
        "local bufnr, row = ... vim.api.nvim_buf_set_extmark(bufnr, "
        "vim.api.nvim_create_namespace('test'), row, 5, { id = 1 })",
        editor.open(name),
        row,
    )


def text(editor: Editor, name: str) -> str:
    """Return the text of the buffer."""
    return "\n".join(editor.lines(str(editor.work / name)))


def test_sed_on_five_files_is_reviewable_at_once(five: Editor) -> None:
    for n in range(3):
        mark(five, f"f{n}.txt", 14)
    five.prompt(shell("sed -i -e '3i added' -e 's/line 9$/LINE 9/' f*.txt") + "\nwait_for_cancel")
    found = wait_count(five, 5)
    assert five.session()["status"] == "running", "after the tool call, not after the turn"
    five.cmd("AcpCancel")
    five.wait_event("AcpTurnEnd")
    assert {name: (e["hunks"], e["added"], e["removed"]) for name, e in found.items()} == {
        f"f{n}.txt": (2, 2, 1) for n in range(5)
    }
    assert five.lua(MARKS) == {f"f{n}.txt": "15" for n in range(3)}
    for n in range(3):
        bufnr = five.open(f"f{n}.txt")
        assert not five.lua("return vim.bo[...].modified", bufnr)
        assert text(five, f"f{n}.txt").count("added") == 1
    events = [event["data"] for event in five.events("AcpEdit")]
    assert {(e["source"], e["kind"], e["conflict"]) for e in events} == {
        ("disk", "modified", False)
    }
    assert len(events) == 5


def test_an_agents_own_folder_is_not_pending_and_survives_a_reject(five: Editor) -> None:
    lines = "mkdir -p .script/a/.locks && echo 1 > .script/a/.locks/x && echo 2 > .script/kept"
    five.turn(silently(lines))
    assert set(wait_count(five, 1)) == {"kept"}
    five.turn(shell("echo 3 > .script/a/.locks/x && echo new > new.txt"))
    assert set(wait_count(five, 2)) == {"kept", "new.txt"}
    reject_all(five)
    wait_count(five, 0)
    until(lambda: not (five.work / "new.txt").exists())
    assert (five.work / ".script/a/.locks/x").read_text() == "3\n"


def test_changes_that_no_tool_call_names_are_found_when_the_turn_ends(five: Editor) -> None:
    five.turn(silently("rm f0.txt; echo new > new.txt; mv other.txt moved.txt"))
    found = wait_count(five, 3)
    assert {name: e["kind"] for name, e in found.items()} == {
        "f0.txt": "deleted",
        "new.txt": "created",
        "moved.txt": "modified",
    }
    reject_all(five)
    wait_count(five, 0)
    names = {f"f{n}.txt" for n in range(5)} | {"other.txt"}
    until(lambda: {p.name for p in five.work.glob("*.txt")} == names)
    assert (five.work / "f0.txt").read_text() == LINES
    assert (five.work / "other.txt").read_text() == "other\n"
    five.cmd("Acp unreject")
    wait_count(five, 3)
    until((five.work / "moved.txt").exists)
    assert not (five.work / "f0.txt").exists()
    assert (five.work / "new.txt").read_text() == "new\n"


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


def test_an_ignored_file_that_the_tool_call_names_is_pending(project: Editor) -> None:
    name = "node_modules/x.txt"
    project.write(".gitignore", "node_modules\n")
    path = project.write(name, "one\ntwo\n")
    project.turn(
        f'edits_disk {path} "one\\nTWO\\n"',
    )
    assert (wait_count(project, 1)["x.txt"]["added"], path.read_text()) == (1, "one\nTWO\n")


def test_binary_files_have_no_review(plain: Editor) -> None:
    plain.turn(shell("printf 'a\\0b' > data.bin"))
    plain.wait_event("AcpEdit")
    assert edits_by_name(plain) == {}


@pytest.mark.parametrize("autoread", [True, False])
def test_neovim_does_not_prompt_during_a_turn(plain: Editor, autoread: bool) -> None:
    plain.lua("vim.o.autoread = ...", autoread)
    mark(plain, "a.txt", 14)
    plain.prompt(silently("sed -i '2i added' a.txt") + f"\nuntil_there {plain.work}/go")
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


def test_no_setting_of_the_plugin_and_no_prompt_remain_after_the_turn(plain: Editor) -> None:
    plain.cmd("set nowrite noautoread")
    plain.open("a.txt")
    plain.turn(shell("sed -i '2i added' a.txt"))
    wait_count(plain, 1)
    plain.wait("#vim.api.nvim_get_autocmds({ event = 'FileChangedShell' }) == 0")
    plain.cmd("checktime")
    assert not plain.rpc.mode()["blocking"]


def test_undoing_an_agents_change_on_disk_leaves_the_buffer_modified(plain: Editor) -> None:
    """Otherwise `:x` would silently leave the agent's text in the file."""
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


def test_a_rename_is_reported_on_both_sides(project: Editor) -> None:
    project.turn(silently("mv a.txt b.txt"))
    project.wait("#require('acp').state().sessions[1].edits == 1")
    events = [
        event["data"]["path"].rpartition("/")[2] + " " + event["data"]["kind"]
        for event in project.events("AcpEdit")
    ]
    assert sorted(events) == ["a.txt deleted", "b.txt created"]


@pytest.mark.parametrize("command", ["rm run.sh", "mv run.sh moved.sh"])
def test_a_rejected_deletion_of_a_program_keeps_its_mode(project: Editor, command: str) -> None:
    path = project.write("run.sh", "#!/bin/sh\necho one\n")
    path.chmod(0o755)
    project.turn(silently(command))
    project.wait("#require('acp').state().sessions[1].edits == 1")
    reject_all(project)
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.stat().st_mode & 0o777 == 0o755
    project.cmd("Acp unreject")
    project.wait("#require('acp').state().sessions[1].edits == 1")
    assert not path.exists()
    reject_all(project)
    project.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.stat().st_mode & 0o777 == 0o755


def held(editor: Editor) -> None:
    """Block Neovim until the file `go` exists."""
    code = "vim.wait(20000, function() return vim.uv.fs_stat(...) end, 5, true)"
    editor.rpc.notify("nvim_exec_lua", code.replace("...", f"'{editor.home}/go'"), [])


def wait_scanned(editor: Editor, name: str) -> None:
    """Wait until the store contains a file with this name."""
    store = editor.home / "data/nvim/acp/checkpoints"
    until(lambda: any(name.encode() in it.read_bytes() for it in store.rglob("index-*[0-9]")))


def test_a_file_that_is_deleted_before_it_was_scanned_is_not_pending(editor: Editor) -> None:
    editor.write("a.txt", LINES)
    repository(editor.work)
    editor.agent("script")
    agent = StepwiseAgent(editor)
    agent.begin()
    agent.traffic.wait("session/prompt")
    held(editor)
    agent.ask("runs", "sed -i 2d a.txt; cp a.txt x.txt")
    wait_scanned(editor, "x.txt")
    agent.ask("silently", "rm x.txt")
    (editor.home / "go").touch()
    wait_edits(editor, a="modified")
    agent.end()
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "a.txt"))
    wait_edits(editor, a="modified")
    assert [event["data"]["path"] for event in editor.events("AcpEdit")] == [
        str(editor.work / "a.txt")
    ]


@pytest.mark.parametrize(
    "parts", [["cp a.txt b.txt", "rm a.txt"], ["mv a.txt ../", "mv ../a.txt b.txt"]]
)
@pytest.mark.parametrize("edited", [False, True])
def test_a_move_that_is_seen_in_parts_is_pending_as_one(
    project: Editor, agent: StepwiseAgent, parts: list[str], edited: bool
) -> None:
    if edited:
        agent.ask("runs", "sed -i 's/^line 4$/four/' a.txt")
        wait_edits(project, a="modified")
    agent.ask("runs", parts[0])
    kind = "deleted" if parts[0].startswith("mv") else "modified"
    kinds = {"a": kind} if edited or kind == "deleted" else {}
    wait_edits(project, **kinds, **({} if kind == "deleted" else {"b": "created"}))
    agent.ask("runs", parts[1])
    wait_edits(project, b="modified")
    agent.end()
    wait_edits(project, b="modified")
    assert edits_by_name(project)["b.txt"]["hunks"] == int(edited)
    reject_all(project)
    wait_edits(project)
    assert (project.work / "a.txt").read_text() == LINES
    assert not (project.work / "b.txt").exists()
