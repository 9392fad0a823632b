"""Marks of pending hunks in the user's own buffers, in a real Neovim without a host."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start, last, sent
from tests.support.lua import lua_chunk
from tests.support.review_frames import (
    LINES,
    apply,
    changed,
    count_marks,
    marks,
    marks_set,
    pend,
    words,
)


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host, with recorded notifications."""
    return edit(init=HOST + RECORD_NOTIFY, screen=(80, 24))


def test_hunks_are_marked_with_the_lines_they_replaced(front: Editor) -> None:
    path = changed(front)
    front.open(path)
    pend(front, path, LINES)
    found = marks(front)
    assert [(m["first"], m["last"]) for m in found] == [(3, 3), (10, 11), (22, 22)]
    assert [m["removed"] for m in found] == [["line 3"], [], ["line 20", "line 21"]]
    assert [m.get("line") for m in found] == [
        "AcpHunkChange",
        "AcpHunkAdd",
        None,
    ]
    assert [m["sign"].strip() for m in found] == ["AcpSignChange", "AcpSignAdd", "AcpSignRemove"]
    assert words(front) == ["three"]
    rows = front.screen()
    assert any("line 3" in row and "┃" not in row for row in rows)
    assert sum("┃" in row for row in rows) == 3


def test_words_and_syntax_are_visible_over_the_background_of_a_line(front: Editor) -> None:
    front.cmd("set termguicolors | highlight AcpHunkChange guifg=#111111 guibg=#222222")
    front.cmd("highlight AcpHunkWord guibg=#333333")
    front.cmd("highlight Syntax guifg=#444444")
    path = front.write("a.txt", "call(new)\n")
    front.open(path)
    front.lua(
        "vim.api.nvim_buf_set_extmark(0, vim.api.nvim_create_namespace('syntax'), 0, 0,"
        " { end_col = 4, hl_group = 'Syntax', priority = 100 })"
    )
    pend(front, path, ["call(old)"])
    row = next(at for at, text in enumerate(front.screen(), 1) if "call(new)" in text)
    column = front.screen()[row - 1].index("call(new)")
    call, paren, word, beyond = (
        front.lua("return vim.fn.screenattr(...)", row, column + at) for at in (1, 5, 6, 20)
    )
    assert len({call, paren, word}) == 3
    assert beyond == paren


def test_syntax_colours_do_not_hide_added_text_on_a_screen_of_few_colours(front: Editor) -> None:
    """A string in the default scheme is green, like the background of an added line."""
    front.cmd("set notermguicolors | highlight Syntax ctermfg=2")
    path = front.write("a.txt", "one\nadded\n")
    front.open(path)
    front.lua(
        "vim.api.nvim_buf_set_extmark(0, vim.api.nvim_create_namespace('syntax'), 1, 0,"
        " { end_col = 3, hl_group = 'Syntax', priority = 125 })"
    )
    pend(front, path, ["one"])
    row = next(at for at, text in enumerate(front.screen(), 1) if "added" in text)
    column = front.screen()[row - 1].index("added") + 1
    attributes = {front.lua("return vim.fn.screenattr(...)", row, column + at) for at in (0, 4)}
    assert len(attributes) == 1


def test_an_empty_list_leaves_no_marks(front: Editor) -> None:
    path = changed(front)
    front.open(path)
    options = "return vim.inspect({vim.api.nvim_get_option_info2('modifiable', {buf=0}).was_set, "
    options += (
        "vim.bo.modifiable, vim.bo.readonly, vim.bo.modified, vim.wo.signcolumn, vim.wo.diff})"
    )
    before = front.lua(options)
    maps = "return #vim.api.nvim_buf_get_keymap(0, 'n')"
    assert front.lua(maps) == 0
    pend(front, path, LINES)
    assert front.lua(options) == before
    assert front.lua(maps) == 4
    apply(front, ["hunks", str(path.resolve()), [], {"kind": "modified"}])
    assert marks(front) == []
    assert words(front) == []
    assert front.lua(maps) == 0


def test_lines_removed_above_the_first_and_after_the_last_are_visible(front: Editor) -> None:
    path = front.write("a.txt", "middle\n")
    front.open(path)
    pend(front, path, ["first 1", "first 2", "middle", "last 1"])
    rows = [row.strip() for row in front.screen()]
    at = rows.index("first 1")
    assert rows[at : at + 2] == ["first 1", "first 2"]
    assert "middle" in rows[at + 2]
    assert rows[at + 3] == "last 1"
    assert front.lua("return {vim.fn.line('.'), vim.fn.line('$')}") == [1, 1]


def test_lines_above_the_first_return_with_the_top_and_can_be_scrolled_past(
    front: Editor,
) -> None:
    path = front.write("a.txt", "\n".join(LINES) + "\n")
    front.open(path)
    pend(front, path, ["gone 1", "gone 2", *LINES])
    front.keys("Ggg")
    front.wait_screen("gone 1")
    front.keys("<C-e>")
    assert front.lua("return vim.fn.winsaveview().topfill") == 1
    front.keys("<C-e><C-e>")
    assert front.lua("return vim.fn.line('w0')") == 2
    front.keys("gg")
    front.wait_screen("gone 1")


def test_all_of_a_text_may_be_removed(front: Editor) -> None:
    path = front.write("a.txt", "")
    front.open(path)
    removed = {"first": 0, "last": 1, "removed": ["a", "b"], "kind": "changed"}
    apply(front, ["hunks", str(path.resolve()), [removed], {"kind": "modified"}])
    rows = [row.strip() for row in front.screen()]
    assert rows.index("b") == rows.index("a") + 1


def test_only_changed_hunks_are_drawn_again(front: Editor) -> None:
    path = changed(front)
    front.open(path)
    pend(front, path, LINES)
    before = [m["id"] for m in marks(front)]
    pend(front, path, [*LINES[:3], "line three", *LINES[4:]])
    assert [m["id"] for m in marks(front)] == before[1:]
    pend(front, path, LINES)
    assert [m["id"] for m in marks(front)][1:] == before[1:]


def test_marks_move_with_the_text_until_the_hosts_next_update(front: Editor) -> None:
    path = changed(front)
    front.open(path)
    pend(front, path, LINES)
    ids = [m["id"] for m in marks(front)]
    tick = front.lua("return vim.b.changedtick")
    front.keys("ggOhello<Esc>")
    assert [m["first"] for m in marks(front)] == [4, 11, 23]
    pend(front, path, LINES, tick=tick)
    assert [m["first"] for m in marks(front)] == [4, 11, 23]
    front.cmd("silent write")
    pend(front, path, ["hello", *LINES], tick=front.lua("return vim.b.changedtick"))
    assert [m["first"] for m in marks(front)] == [4, 11, 23]
    assert [m["id"] for m in marks(front)] == ids


def test_a_user_edit_within_a_hunk_shows_new_words(front: Editor) -> None:
    path = changed(front)
    front.open(path)
    pend(front, path, LINES)
    front.keys("4gg0cwrow<Esc>")
    front.cmd("silent write")
    pend(front, path, [*LINES[:3], "line three", *LINES[4:]])
    assert words(front) == ["row"]


def test_a_file_that_is_opened_later_or_reloaded_gets_its_marks(front: Editor) -> None:
    path = changed(front)
    pend(front, path, LINES)
    front.open(path)
    assert [m["first"] for m in marks(front)] == [3, 10, 22]
    front.cmd("edit!")
    assert [m["first"] for m in marks(front)] == [3, 10, 22]
    front.cmd("bwipeout")
    front.open(path)
    assert [m["first"] for m in marks(front)] == [3, 10, 22]
    assert front.lua("return #vim.api.nvim_buf_get_keymap(0, 'n')") == 4


def test_a_file_is_found_through_a_symlink(front: Editor) -> None:
    path = changed(front)
    (front.work / "link.txt").symlink_to(path)
    front.open("link.txt")
    pend(front, path, LINES)
    assert len(marks(front)) == 3
    front.cmd("bwipeout")
    front.open("link.txt")
    assert len(marks(front)) == 3


def test_inline_text_and_signs_can_be_turned_off(front: Editor) -> None:
    path = changed(front)
    front.setup({"review": {"signs": False}})
    front.open(path)
    pend(front, path, LINES)
    assert not any("sign" in m for m in marks(front))
    apply(front, ["hunks", str(path.resolve()), [], {}])
    front.setup({"review": {"inline": False}})
    pend(front, path, LINES)
    assert all(m["removed"] == [] and "line" not in m for m in marks(front))
    front.keys("]h")
    assert front.lua("return vim.fn.line('.')") == 4
    assert words(front) == []


def test_keys_decide_the_hunk_under_the_cursor(front: Editor) -> None:
    path = changed(front)
    front.open(path)
    pend(front, path, LINES)
    front.keys("]h]h\\a")
    verb, args = last(front)
    assert (verb, args["scope"], args["path"], args["line"]) == (
        "accept",
        "hunk",
        str(path.resolve()),
        11,
    )
    front.keys("]h\\r")
    assert last(front)[0] == "reject"
    assert last(front)[1]["line"] == 23


def test_the_users_own_mapping_of_a_key_is_restored(front: Editor) -> None:
    path = changed(front)
    front.open(path)
    front.cmd("nnoremap <buffer> ]h <Cmd>let g:hit = 1<CR>")
    front.lua("vim.keymap.set('n', '[h', function() vim.g.back = 1 end, { buffer = true })")
    pend(front, path, LINES)
    front.keys("]h[h")
    assert front.lua("return {vim.g.hit, vim.g.back}") == []
    apply(front, ["hunks", str(path.resolve()), [], {}])
    front.keys("]h[h")
    assert front.lua("return {vim.g.hit, vim.g.back}") == [1, 1]


def test_a_mapping_that_the_user_makes_meanwhile_stays(front: Editor) -> None:
    path = changed(front)
    front.open(path)
    pend(front, path, LINES)
    front.cmd("nnoremap <buffer> ]h <Cmd>let g:hit = 1<CR>")
    apply(front, ["hunks", str(path.resolve()), [], {}])
    front.keys("]h")
    assert front.lua("return vim.g.hit") == 1


def test_hunk_navigation_continues_in_the_next_file_and_wraps(front: Editor) -> None:
    first, second = changed(front, "a.txt"), changed(front, "b.txt")
    front.open(first)
    pend(front, first, LINES)
    pend(front, second, LINES)
    where = "return vim.fn.expand('%:t') .. vim.fn.line('.')"
    seen = []
    for keys in ("]h", "2]h", "]h", "3]h", "[h", "[h"):
        front.keys(keys)
        seen.append(front.lua(where))
    assert seen == ["a.txt4", "a.txt23", "b.txt4", "a.txt4", "b.txt23", "b.txt11"]
    assert front.lua("return #vim.api.nvim_list_wins()") == 1
    front.keys("<C-o>")
    assert front.lua(where) == "b.txt23"


def test_a_decision_moves_the_cursor_on_only_while_the_user_is_there(front: Editor) -> None:
    first, second = changed(front, "a.txt"), changed(front, "b.txt")
    front.open(first)
    pend(front, first, LINES)
    pend(front, second, LINES)
    where = "return vim.fn.expand('%:t') .. vim.fn.line('.')"
    front.keys("]h\\a")
    apply(front, ["next_hunk", str(first.resolve()), 10])
    assert front.lua(where) == "a.txt11"
    front.keys("\\a")
    apply(front, ["next_hunk", str(second.resolve()), 3])
    assert front.lua(where) == "b.txt4"
    front.keys("\\a<C-w>n")
    apply(front, ["next_hunk", str(first.resolve()), 3])
    assert front.lua("return vim.api.nvim_buf_get_name(0)") == ""
    apply(front, ["next_hunk", str(first.resolve()), 3])
    assert front.lua("return vim.api.nvim_buf_get_name(0)") == ""
    assert len(sent(front)) == 3


def test_the_next_hunk_is_not_shown_in_a_window_with_a_fixed_buffer(front: Editor) -> None:
    """The user decided in a window of the plugin; the file is shown in one of the user's."""
    first = changed(front, "a.txt")
    front.open(first)
    pend(front, first, LINES)
    front.cmd("below new | setlocal buftype=nofile winfixbuf")
    tool = front.lua("return vim.api.nvim_get_current_win()")
    front.lua("require('acp.features.review.hunk').visit(...)", str(first.resolve()), 10)
    assert front.lua("return vim.fn.expand('%:t') .. vim.fn.line('.')") == "a.txt11"
    assert front.lua("return vim.api.nvim_get_current_win()") != tool


def test_a_conflict_is_shown_in_the_buffer(front: Editor) -> None:
    path = front.write("a.txt", "x\n")
    front.open(path)
    apply(front, ["hunks", str(path.resolve()), [], {"kind": "modified", "conflict": True}])
    front.wait_screen("Conflict with the agent")
    apply(front, ["hunks", str(path.resolve()), [], {"kind": "modified", "conflict": False}])
    assert not any("conflict" in row for row in front.screen())


def numbered(count: int, every: int) -> tuple[list[str], list[str]]:
    """Return a base of `count` lines and a text in which every `every`-th one is changed."""
    base = [f"value = compute({number}, alpha)" for number in range(count)]
    live = [
        line.replace("alpha", "beta") if number % every == every - 1 else line
        for number, line in enumerate(base)
    ]
    return base, live


def line_hunks(base: list[str], live: list[str]) -> list[dict[str, Any]]:
    """Return the hunks between texts of the same length, line by line."""
    return [
        {"first": row, "last": row + 1, "removed": [old], "kind": "changed"}
        for row, (old, new) in enumerate(zip(base, live, strict=True))
        if old != new
    ]


def test_of_fifty_hunks_only_the_changed_ones_are_drawn_again(front: Editor) -> None:
    base, live = numbered(10_000, 200)
    path = front.write("a.txt", "\n".join(live) + "\n")
    front.open(path)
    count_marks(front)
    op = ["hunks", str(path.resolve()), line_hunks(base, live), {"kind": "modified"}]
    apply(front, op)
    assert marks_set(front) == len(marks(front)) == 50
    base[199] = live[199]
    op[2] = line_hunks(base, live)
    apply(front, op)
    assert marks_set(front) == 0
    assert len(marks(front)) == 49


CLOCK = lua_chunk(__file__, "slow_clock")
MOST = 100  # the visible ones, and one slice
APPLY = """
local answer = require('acp.frame').apply(...)
local ns = vim.api.nvim_create_namespace('acp.hunks')
return #answer.errors == 0 and #vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, {})
"""


def test_two_thousand_hunks_are_drawn_in_slices(front: Editor) -> None:
    base, live = numbered(10_000, 5)
    path = front.write("a.txt", "\n".join(live) + "\n")
    front.open(path)
    op = ["hunks", str(path.resolve()), line_hunks(base, live), {"kind": "modified"}]
    front.lua(CLOCK)
    assert 0 < front.lua(APPLY, [op]) < MOST
    front.wait(
        "#vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('acp.hunks'), 0, -1, {})"
        " == 2000"
    )
    front.keys("G")
    front.wait_screen("value = compute(9999, alpha)")
