"""A file with more hunks than can be marked."""

from __future__ import annotations

from acp_nvim.host.review_view import MAX_MARKED, MAX_REMOVED
from tests.support.editor import Editor
from tests.support.waiting import until


def test_unmarked_hunks_are_counted_and_decided_with_the_file(editor: Editor) -> None:
    count = MAX_MARKED + 20
    old = "one\ntwo\n" * count
    path = editor.write("a.txt", old)
    editor.agent("script")
    editor.open("a.txt")
    editor.turn(f"shell sed -i s/one/ONE/ {path}")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    (edit,) = editor.session()["edits"]
    assert (edit["hunks"], edit["note"]) == (count, "20 more hunks, not marked")
    editor.cmd("Acp edits")
    editor.wait(f"#vim.fn.getqflist() == {MAX_MARKED + 1}")
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    until(lambda: path.read_text() == old)


def test_the_base_of_such_a_file_is_exact_after_a_change_by_the_user(editor: Editor) -> None:
    count = MAX_MARKED + 20
    old = ["one", "two"] * count
    path = editor.write("a.txt", "".join(f"{line}\n" for line in old))
    editor.agent("script")
    editor.open("a.txt")
    editor.turn(f"shell sed -i s/one/ONE/ {path}")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    editor.cmd("Acp review")
    editor.wait("vim.fn.tabpagenr('$') == 2")
    editor.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), -1, -1, false, { 'mine' })")
    left = f"acp://base/1//{path.resolve()}"
    editor.wait("vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), -2, -1, false)[1] == 'mine'", left)
    assert editor.lines(left) == [*old, "mine"]


def test_removed_lines_beyond_a_bound_are_only_counted(editor: Editor) -> None:
    old = [f"line {n}" for n in range(MAX_REMOVED + 500)]
    path = editor.write("a.txt", "".join(f"{line}\n" for line in old))
    editor.agent("script")
    editor.open("a.txt")
    editor.turn(f"runs {path} 'echo new > {path}'")
    marks = (
        "vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('acp.hunks'), 0, -1,"
        " { details = true })"
    )
    editor.wait(f"#{marks} == 1")
    (mark,) = editor.lua(f"return {marks}")
    assert mark[3]["virt_lines"][-1][0][0] == f"… {MAX_REMOVED + 400} more removed lines"
    editor.cmd("Acp review")
    editor.wait("vim.fn.tabpagenr('$') == 2")
    assert editor.lines(f"acp://base/1//{path.resolve()}") == old
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    until(lambda: path.read_text().splitlines() == old)
