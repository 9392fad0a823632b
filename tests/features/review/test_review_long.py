"""Reviews of many files and of long ones: the current file is visible."""

from __future__ import annotations

from pathlib import Path

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start
from tests.support.review_frames import LINES, changed, entry, pend, review


def many(front: Editor) -> list[Path]:
    """Open the review of nine files and return their paths."""
    paths = [changed(front, f"{name}.txt") for name in "abcdefghi"]
    front.open(paths[0])
    review(front, *[entry(path, LINES) for path in paths])
    return paths


def test_the_list_shows_the_current_file(front: Editor) -> None:
    many(front)
    front.wait_screen("▸ M a.txt")
    front.keys("8]f")
    front.wait_screen("▸ M i.txt")
    front.keys("]f")
    front.wait_screen("▸ M a.txt")
    assert front.lua("return vim.fn.expand('%:t')") == "a.txt"


def test_a_large_screen_has_a_longer_list(edit: Start) -> None:
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(120, 60))
    many(editor)
    editor.wait_screen("  M i.txt")
    assert editor.lua("return vim.o.lines") == 60


def test_a_deleted_file_is_shown_from_its_beginning(front: Editor) -> None:
    deleted = front.work / "gone.txt"
    was = [f"was {number}" for number in range(100)]
    path = changed(front)
    front.open(path)
    pend(front, path, LINES)
    review(front, entry(deleted, was, kind="deleted", hunks=1), entry(path, LINES))
    front.wait_screen("line three")
    front.keys("]f")
    front.wait_screen("deleted by the agent")
    front.wait_screen("was 0")
    front.keys("]f")
    front.wait_screen("line three")
    bound = (
        "return vim.tbl_map(function(n) return vim.wo[vim.fn.win_getid(n)].scrollbind end, {1, 2})"
    )
    assert front.lua(bound) == [True, True]


def test_files_that_were_not_open_have_the_usual_buffer_names(front: Editor) -> None:
    paths = many(front)
    front.keys("]f")
    assert front.lua("return { vim.fn.bufname(), vim.api.nvim_buf_get_name(0) }") == [
        "b.txt",
        str(paths[1].resolve()),
    ]


def test_a_narrow_screen_drops_a_hint_and_cuts_the_beginning_of_a_path(
    edit: Start,
) -> None:
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(60, 24))
    name = "a/rather/long/path/of/a/file/that/is/changed.txt"
    paths = [changed(editor, name), changed(editor, "b.txt")]
    editor.open(paths[0])
    review(editor, *[entry(path, LINES) for path in paths])
    editor.wait_screen("base             dp rejects │ 1/2 <ed.txt · +3 -3 · yours")
