"""A file with more hunks than can be marked."""

from __future__ import annotations

from acp_nvim.host.review_view import MAX_MARKED
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
