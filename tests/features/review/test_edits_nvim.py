"""Pending edits in a real Neovim: attribution to the agent, and decisions."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.pending_edits import edits, wait_hunks
from tests.support.waiting import until

LINES = [f"line {n}" for n in range(1, 21)]
TEXT = "\n".join(LINES) + "\n"


@pytest.fixture
def project(editor: Editor) -> Editor:
    """Return an editor that shows `a.txt`, of twenty lines, with the scripted agent."""
    editor.write("a.txt", TEXT)
    editor.agent("script")
    editor.open("a.txt")
    return editor


def replace(editor: Editor, changes: dict[int, str], name: str = "a.txt") -> None:
    """Let the agent read the file and write it with these lines (1-based) changed."""
    script = []
    for row, line in changes.items():
        script.append(f"replace {editor.work / name} 'line {row}\n' '{line}\n'".replace("\n", ""))
    lines = list(editor.lines(str(editor.work / name)))
    for row, line in changes.items():
        lines[row - 1] = line
    text = json.dumps("\n".join(lines) + "\n")
    editor.turn(f"read {editor.work / name}\nwrite {editor.work / name} {text}")


def buffer(editor: Editor, name: str = "a.txt") -> list[str]:
    return editor.lines(str(editor.work / name))


def disk(editor: Editor, name: str = "a.txt") -> str:
    return (editor.work / name).read_text()


def test_a_write_is_pending_by_hunks(project: Editor) -> None:
    replace(project, {3: "three", 10: "ten"})
    wait_hunks(project, 2)
    assert edits(project) == [
        {
            "path": str(project.work / "a.txt"),
            "hunks": 2,
            "added": 2,
            "removed": 2,
            "kind": "modified",
            "conflict": False,
            "named": True,
        }
    ]
    event = project.events("AcpEdit")[0]["data"]
    assert (event["kind"], event["source"], event["conflict"]) == ("modified", "fs", False)


def test_the_hunk_under_the_cursor_is_accepted_or_rejected(project: Editor) -> None:
    replace(project, {3: "three", 10: "ten"})
    wait_hunks(project, 2)
    project.cmd("3")
    project.cmd("Acp accept")
    wait_hunks(project, 1)
    project.cmd("10")
    project.cmd("Acp reject")
    wait_hunks(project)
    assert buffer(project) == [*LINES[:2], "three", *LINES[3:]]
    until(lambda: disk(project) == "\n".join(buffer(project)) + "\n")
    assert not project.lua("return vim.bo.modified")
    project.keys("u")
    assert buffer(project)[9] == "ten"


def test_a_decision_outside_any_hunk_is_reported(project: Editor) -> None:
    replace(project, {3: "three"})
    wait_hunks(project, 1)
    project.cmd("7")
    project.cmd("Acp reject")
    project.wait_message("No pending hunk on line 7")
    wait_hunks(project, 1)


def test_the_users_own_lines_are_never_pending(project: Editor) -> None:
    replace(project, {3: "three"})
    wait_hunks(project, 1)
    project.keys("Gomine<Esc>gg0iX<Esc>")
    project.wait("vim.api.nvim_buf_get_lines(0, 0, 1, true)[1] == 'Xline 1'")
    wait_hunks(project, 1)
    project.cmd("Acp reject all")
    wait_hunks(project)
    project.wait("vim.api.nvim_buf_get_lines(0, 2, 3, true)[1] == 'line 3'")
    assert buffer(project) == ["Xline 1", *LINES[1:], "mine"]
    assert disk(project) == TEXT.replace("line 3\n", "three\n"), "the user's edits stay unsaved"


def test_edits_inside_a_hunk_belong_to_it(project: Editor) -> None:
    replace(project, {3: "three"})
    wait_hunks(project, 1)
    project.keys("3GA and more<Esc>")
    project.cmd("write")
    project.cmd("Acp reject")
    wait_hunks(project)
    until(lambda: disk(project) == TEXT)


def test_undoing_the_write_leaves_nothing_pending(project: Editor) -> None:
    replace(project, {3: "three"})
    wait_hunks(project, 1)
    project.keys("u")
    wait_hunks(project)


def test_rows_stay_right_after_many_keys_undo_and_paste(project: Editor) -> None:
    replace(project, {3: "three", 18: "eighteen"})
    wait_hunks(project, 2)
    project.keys("5Gyyp3dd5GPggOtop<CR>top<Esc>:10,12m0<CR>u<C-r>:g/line 1[45]/d<CR>")
    project.wait("not vim.tbl_contains(vim.api.nvim_buf_get_lines(0, 0, -1, true), 'line 14')")
    expected = ["line 18" if x == "eighteen" else x for x in buffer(project)]
    row = buffer(project).index("eighteen") + 1
    project.lua(
        "local path, line = ... "
        "require('acp.base.host').notify('reject', { scope = 'hunk', path = path, line = line })",
        str(project.work / "a.txt"),
        row,
    )
    wait_hunks(project, 1)
    until(lambda: buffer(project) == expected)


def test_a_reject_deletes_a_created_file(project: Editor) -> None:
    path = project.work / "new" / "b.txt"
    project.turn(f'write {path} "one\\ntwo\\n"')
    wait_hunks(project, 1)
    assert edits(project)[0]["kind"] == "created"
    project.cmd("Acp reject all")
    wait_hunks(project)
    until(lambda: not path.exists())
    project.cmd("Acp unreject")
    wait_hunks(project, 1)
    until(path.exists)
    assert path.read_text() == "one\ntwo\n"


def test_a_reject_empties_a_created_file_that_a_window_shows(project: Editor) -> None:
    path = project.work / "b.txt"
    project.turn(f'write {path} "one\\ntwo\\n"')
    wait_hunks(project, 1)
    project.open("b.txt")
    project.cmd("Acp reject file")
    wait_hunks(project)
    until(lambda: not path.exists())
    assert buffer(project, "b.txt") == [""]
    assert not project.lua("return vim.bo.modified")
    project.keys("u")
    assert buffer(project, "b.txt") == ["one", "two"]


def test_decisions_work_without_windows_and_after_the_agents_end(project: Editor) -> None:
    path = project.work / "b.txt"
    path.write_text(TEXT)
    project.turn(f"replace {path} 'line 3' three\nreplace {project.work}/a.txt 'line 3' three")
    wait_hunks(project, 1, 1)
    project.cmd("Acp stop")
    project.wait_event("AcpAgentExit")
    project.cmd("enew | bwipeout! #")
    project.cmd("Acp reject all")
    wait_hunks(project)
    until(lambda: path.read_text() == TEXT and disk(project) == TEXT)


def test_a_file_changed_elsewhere_keeps_that_change(project: Editor) -> None:
    path = project.work / "b.txt"
    path.write_text(TEXT)
    project.turn(f"replace {path} 'line 3' three")
    wait_hunks(project, 1)
    project.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    project.cmd(f"bwipeout! {path}")
    path.write_text(path.read_text() + "by another program\n")
    project.cmd("Acp reject all")
    wait_hunks(project)
    until(lambda: path.read_text() == TEXT + "by another program\n")


def test_changes_by_a_formatter_on_save_are_not_the_agents(project: Editor) -> None:
    project.lua(
        "vim.api.nvim_create_autocmd('BufWritePre', { buffer = 0, callback = function() "
        "vim.api.nvim_buf_set_lines(0, -2, -1, true, { 'formatted' }) end })"
    )
    replace(project, {3: "three"})
    wait_hunks(project, 1)
    assert buffer(project)[-1] == "formatted"
    project.cmd("Acp reject all")
    wait_hunks(project)
    until(lambda: disk(project) == TEXT.replace("line 20", "formatted"))


def test_pending_hunks_fill_the_quickfix_list(project: Editor) -> None:
    replace(project, {3: "three", 10: "ten"})
    wait_hunks(project, 2)
    project.cmd("Acp edits")
    project.wait("#vim.fn.getqflist() == 2")
    items = project.lua("return vim.fn.getqflist()")
    assert [(item["lnum"], item["text"]) for item in items] == [
        (3, "+1 -1 three"),
        (10, "+1 -1 ten"),
    ]


def test_a_file_opened_later_is_followed(project: Editor) -> None:
    path = project.write("b.txt", TEXT)
    project.turn(f"replace {path} 'line 3' three")
    wait_hunks(project, 1)
    project.wait("not require('acp.buffers.watch').at_work(...)", str(path))
    project.cmd(f"bwipeout! {path}")
    project.open("b.txt")
    project.keys("ggOmine<Esc>")
    project.wait("vim.api.nvim_buf_get_lines(0, 0, 1, true)[1] == 'mine'")
    project.cmd("4")
    project.cmd("Acp reject")
    wait_hunks(project)
    assert buffer(project, "b.txt") == ["mine", *LINES]


def test_a_discarded_buffer_loses_its_unsaved_edits(editor: Editor) -> None:
    path = editor.write("a.txt", TEXT)
    editor.agent("script")
    editor.setup({"files": {"save": "never"}})
    editor.open("a.txt")
    editor.turn(f"replace {path} 'line 3' three")
    wait_hunks(editor, 1)
    editor.cmd("enew | bwipeout! #")
    wait_hunks(editor)
    assert path.read_text() == TEXT


def test_writing_the_base_accepts(project: Editor) -> None:
    replace(project, {3: "three", 10: "ten"})
    wait_hunks(project, 2)
    base = [*LINES[:2], "three", *LINES[3:]]
    project.lua(
        "local path, lines = ... "
        "local args = { path = path, lines = lines, eol = true } "
        "require('acp.base.host').notify('base_written', args)",
        str(project.work / "a.txt"),
        base,
    )
    wait_hunks(project, 1)
    project.cmd("Acp reject all")
    wait_hunks(project)
    until(lambda: disk(project) == "\n".join(base) + "\n")


def test_all_means_the_files_of_the_session(project: Editor) -> None:
    project.write("b.txt", TEXT)
    replace(project, {3: "three"})
    wait_hunks(project, 1)
    project.lua(
        "require('acp').prompt(..., { new = true })", f"replace {project.work}/b.txt 'line 3' three"
    )
    project.wait("#(require('acp').state().sessions[2].edits or {}) == 1")
    project.cmd("Acp accept all")
    project.wait("#require('acp').state().sessions[2].edits == 0")
    assert len(edits(project, 1)) == 1
    project.wait_message("in b.txt. Pending in other sessions: a.txt. :Acp edits lists them")
    project.cmd("Acp reject all")
    project.wait_message("This session has no pending edits. Pending in other sessions: a.txt.")


def test_a_decision_on_edits_that_have_just_gone_is_reported(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say hello")
    for verb, scope in (("accept", "all"), ("reject", "all"), ("accept", "file")):
        args = {"scope": scope, "session": 1, "path": str(editor.work / "a.txt")}
        editor.lua("require('acp.base.host').notify(...)", verb, args)
    editor.wait_message("No pending edits")
    editor.turn("say the host has done all three")
    assert "list index" not in editor.messages()
