"""The review in diff mode, in a real Neovim without a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import last, notifications, sent
from tests.support.review_frames import (
    BUFFERS,
    DIFFS,
    LINES,
    SIDES,
    TABS,
    apply,
    changed,
    edits,
    entry,
    marks,
    opened,
    pend,
    review,
)


def text(path: str) -> str:
    """Return Lua for the lines of the buffer whose name ends so."""
    return (
        "for _, b in ipairs(vim.api.nvim_list_bufs()) do"
        f" if vim.endswith(vim.api.nvim_buf_get_name(b), {path!r}) then"
        " return vim.api.nvim_buf_get_lines(b, 0, -1, false) end end"
    )


def test_the_base_is_left_and_the_live_file_right_in_a_new_tab_page(front: Editor) -> None:
    path = opened(front)
    real = str(path.resolve())
    assert front.lua(TABS) == 2
    assert front.lua(SIDES) == [[f"acp://base/1//{real}", True], [real, True]]
    assert front.lua("return vim.api.nvim_buf_get_name(0)") == real
    assert front.lua("return vim.fn.line('.')") == 4
    front.keys("]c")
    assert front.lua("return vim.fn.line('.')") == 11
    assert front.events("AcpReview")[-1]["data"] == {"open": True}
    assert front.lua(
        f"local b = vim.fn.bufnr('acp://base/1//{real}') return vim.bo[b].filetype"
    ) == ("text")


def test_each_window_shows_the_meaning_of_diff_mode_keys(front: Editor) -> None:
    opened(front)
    bars = (
        "return vim.tbl_map(function(w) return vim.wo[w].winbar end,"
        " vim.api.nvim_tabpage_list_wins(0))"
    )
    left, right = front.lua(bars)
    assert "dp rejects · do accepts" in left
    assert "do rejects · dp accepts" in right
    front.wait_screen("base")
    front.wait_screen("yours")
    rejected = "return vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 3, 4, false)"
    front.keys("<C-w>hgg]cdp")
    assert front.lua(rejected) == ["line 3"]
    front.keys("]cdo")
    front.wait("#vim.tbl_filter(function(s) return s[1] == 'base_written' end, _G.sent) == 1")


def test_the_line_below_the_base_names_the_file(front: Editor) -> None:
    path = opened(front)
    front.wait_screen(f"{path.name} · base ")
    assert not any("acp://base" in row for row in front.screen()[1:])
    front.cmd("wincmd h")
    front.cmd(f"split {front.write('other.txt', 'x')}")
    front.wait_screen("other.txt ")
    front.cmd("close | wincmd h")
    front.cmd("edit other.txt")
    front.wait_screen("other.txt ")
    front.wait("vim.wo.statusline == vim.go.statusline")


def test_statuslines_of_the_user_stay(front: Editor) -> None:
    front.cmd("set statusline=mine:%f")
    opened(front)
    lines = (
        "return vim.tbl_map(function(w) return vim.wo[w].statusline end, vim.api.nvim_list_wins())"
    )
    assert set(front.lua(lines)) == {"mine:%f"}


def test_obtaining_rejects_and_putting_accepts(front: Editor) -> None:
    path = opened(front)
    front.keys("do")
    assert path.read_text().splitlines()[3] == "line 3"
    assert front.lua("return vim.api.nvim_buf_get_lines(0, 3, 4, false)") == ["line 3"]
    front.keys("]cdp")
    front.wait("#vim.tbl_filter(function(s) return s[1] == 'base_written' end, _G.sent) == 1")
    verb, args = last(front)
    assert args["lines"] == [*LINES[:10], "new 1", "new 2", *LINES[10:]]
    assert (verb, args["path"], args["eol"]) == ("base_written", str(path.resolve()), True)
    assert not front.lua("return vim.bo[vim.fn.bufnr('acp://base')].modified")


def test_putting_on_the_last_line_accepts_the_removal_of_those_below(front: Editor) -> None:
    path = front.write("a.txt", "one\ntwo\n")
    front.open(path)
    review(front, entry(path, ["one", "two", "three", "four"]))
    front.keys("Gdp")
    front.wait("#_G.sent == 2")
    assert last(front)[1]["lines"] == ["one", "two"]
    front.keys("<C-w>hoadded<Esc>")
    front.wait("#_G.sent == 3")
    front.keys("<C-w>lGdp")
    front.wait("#_G.sent == 4")
    assert last(front)[1]["lines"] == ["one", "two"]


def test_putting_on_the_last_line_of_the_base_rejects_the_lines_below(front: Editor) -> None:
    path = front.write("a.txt", "one\ntwo\nthree\n")
    front.open(path)
    review(front, entry(path, ["one", "two"]))
    front.keys("<C-w>hGdp")
    front.wait("vim.api.nvim_buf_line_count(vim.fn.bufnr('a.txt')) == 2")


def test_a_reject_saves_none_of_the_users_changes(front: Editor) -> None:
    path = opened(front)
    before = path.read_text()
    front.keys("ggOunsaved<Esc>]cdo")
    assert front.lua("return vim.bo.modified")
    assert path.read_text() == before


def test_an_undo_in_the_base_undoes_the_accept(front: Editor) -> None:
    opened(front)
    front.keys("dp")
    front.wait("#_G.sent == 2")
    front.keys("<C-w>hu")
    front.wait("#_G.sent == 3")
    assert last(front)[1]["lines"] == LINES


def test_text_typed_into_the_base_is_sent_when_insert_mode_ends(front: Editor) -> None:
    opened(front)
    front.keys("<C-w>hggOtyped")
    front.lua("return 1")
    assert len(sent(front)) == 1
    front.keys("<Esc>")
    front.wait("#_G.sent == 2")
    assert last(front)[1]["lines"][0] == "typed"
    front.keys("ggdd")
    front.wait("#_G.sent == 3")
    front.cmd("write")
    assert len(sent(front)) == 3


def set_base(front: Editor, path: str, base: list[str]) -> None:
    """Set the base of a file as new hunks would."""
    front.lua("require('acp.features.review.base').set(...)", path, base, True)


def test_the_hosts_base_is_taken_but_not_over_a_change_just_made(front: Editor) -> None:
    path = opened(front)
    real = str(path.resolve())
    base = text("//" + real)
    set_base(front, real, ["first", *LINES])
    assert front.lua(base) == ["first", *LINES]
    assert len(sent(front)) == 1
    front.keys("dp")
    front.wait("#_G.sent == 2")
    mine = last(front)[1]["lines"]
    set_base(front, real, LINES)
    assert front.lua(base) == mine
    set_base(front, real, mine)
    set_base(front, real, LINES)
    assert front.lua(base) == LINES


def test_the_hosts_base_is_not_taken_over_a_change_it_does_not_know(front: Editor) -> None:
    path = opened(front)
    real = str(path.resolve())
    set_base_at_once = "vim.cmd('normal! dp') require('acp.features.review.base').set(...)"
    front.lua(set_base_at_once, real, LINES, True)
    front.wait("#_G.sent == 2")
    assert last(front)[1]["lines"] != LINES
    assert front.lua(text("//" + real)) == last(front)[1]["lines"]


def test_new_hunks_define_the_left_side(front: Editor) -> None:
    path = opened(front)
    real = str(path.resolve())
    pend(front, path, ["first", *LINES], tick=front.lua("return vim.b.changedtick"))
    assert front.lua(text("//" + real)) == ["first", *LINES]
    apply(front, ["hunks", real, [], {"kind": "modified"}])
    assert front.lua(text("//" + real)) == path.read_text().splitlines()
    assert [verb for verb, _ in sent(front)] == ["review"]


def test_a_base_that_the_host_does_not_confirm_is_taken_later(front: Editor) -> None:
    path = opened(front)
    real = str(path.resolve())
    front.keys("dp")
    front.wait("#_G.sent == 2")
    set_base(front, real, ["other"])
    check = text("//" + real).replace("return vim.api", "return 1 == #vim.api")
    front.wait(check)


@pytest.mark.parametrize(
    "leave", ["tabclose", "quit", "wincmd h | quit", "normal \\q", "tabonly | quit", "Acp review"]
)
def test_closing_leaves_no_trace(front: Editor, leave: str) -> None:
    before = front.lua(BUFFERS)
    front.open(changed(front))
    options = (
        "return {vim.wo.diff, vim.wo.wrap, vim.wo.foldmethod, vim.wo.foldcolumn, vim.o.scrollopt}"
    )
    was = front.lua(options)
    front.cmd("edit b.txt")
    first = opened(front)
    if leave == "Acp review":
        front.lua("require('acp.features.review.actions').close()")
    elif leave.startswith("normal"):
        front.keys(leave.removeprefix("normal "))
    else:
        front.cmd(leave)
    front.wait("#vim.tbl_filter(function(e) return e.name == 'AcpReview' end, acp_events) == 2")
    assert front.events("AcpReview")[-1]["data"] == {"open": False}
    assert front.lua(TABS) == 1
    assert front.lua(DIFFS) == []
    assert not any(name.startswith("acp://") for name in front.lua(BUFFERS))
    assert front.lua("return #vim.api.nvim_buf_get_keymap(vim.fn.bufnr('a.txt'), 'n')") == 4
    for command in ("buffer a.txt", "split", "buffer b.txt", "buffer a.txt", "new a.txt"):
        front.cmd(command)
        assert front.lua(options) == was, command
    assert first.exists()
    assert before is not None


def test_only_keeps_the_live_side_as_a_window_of_the_user(front: Editor) -> None:
    path = opened(front)
    front.cmd("only")
    front.wait("#vim.tbl_filter(function(e) return e.name == 'AcpReview' end, acp_events) == 2")
    assert front.lua(TABS) == 2
    assert front.lua("return vim.api.nvim_buf_get_name(0)") == str(path.resolve())
    assert front.lua(DIFFS) == []


def test_a_live_side_that_is_moved_to_another_tab_page_leaves_diff_mode(front: Editor) -> None:
    path = opened(front)
    front.keys("<C-w>T")
    front.wait("#vim.tbl_filter(function(e) return e.name == 'AcpReview' end, acp_events) == 2")
    assert front.lua(TABS) == 2
    assert front.lua("return vim.api.nvim_buf_get_name(0)") == str(path.resolve())
    assert front.lua("return { vim.wo.diff, vim.wo.foldmethod }") == [False, "manual"]
    front.cmd("tabclose")
    opened(front)
    front.cmd("diffoff! | split")
    front.keys("<C-w>T")
    front.lua("require('acp.features.review.actions').close()")
    front.wait("#vim.tbl_filter(function(e) return e.name == 'AcpReview' end, acp_events) == 4")
    assert front.lua("return vim.api.nvim_buf_get_name(0)") == str(path.resolve())
    assert front.lua("return { vim.wo.foldmethod, vim.wo.winbar }") == ["manual", ""]


def test_another_file_in_the_live_window_makes_it_the_users(front: Editor) -> None:
    opened(front)
    front.cmd("edit other.txt")
    front.wait("#vim.tbl_filter(function(e) return e.name == 'AcpReview' end, acp_events) == 2")
    assert front.lua(SIDES)[0][0].endswith("other.txt")
    assert front.lua(DIFFS) == []


def test_the_users_own_diff_stays(front: Editor) -> None:
    front.write("one.txt", "1\n")
    front.write("two.txt", "2\n")
    front.cmd("edit one.txt")
    front.cmd("vertical diffsplit two.txt")
    front.cmd("new")
    opened(front)
    front.cmd("tabclose")
    front.wait("#vim.tbl_filter(function(e) return e.name == 'AcpReview' end, acp_events) == 2")
    in_diff = "vim.tbl_filter(function(w) return vim.wo[w].diff end, vim.api.nvim_list_wins())"
    assert front.lua(f"return #{in_diff}") == 2


def several(front: Editor) -> list[Path]:
    paths = [changed(front, name) for name in ("a.txt", "b.txt", "c.txt")]
    front.open(paths[0])
    review(front, *[entry(path, LINES) for path in paths])
    return paths


def test_files_are_listed_and_one_key_shows_the_next(front: Editor) -> None:
    paths = several(front)
    front.wait_screen("▸ M a.txt  +3 -3  3 hunks")
    front.wait_screen("1/3 a.txt")
    seen = []
    for keys in ("]f", "]f", "]f", "[f", "2]f"):
        front.keys(keys)
        seen.append(front.lua("return vim.fn.expand('%:t')"))
    assert seen == ["b.txt", "c.txt", "a.txt", "c.txt", "b.txt"]
    front.wait_screen("2/3 b.txt")
    in_diff = (
        "return #vim.tbl_filter(function(w) return vim.wo[w].diff end, vim.api.nvim_list_wins())"
    )
    assert front.lua(in_diff) == 2
    front.keys("\\A")
    assert last(front) == ["accept", {"scope": "file", "path": str(paths[1].resolve())}]
    done = [entry(paths[0], LINES), entry(paths[2], LINES)]
    edits(front, *done)
    front.wait_screen("b.txt  done")
    assert not any("rejects" in row for row in front.screen()), "a key that has no effect"
    front.keys("]f]f]f")
    assert front.lua("return vim.fn.expand('%:t')") == "c.txt"


def test_files_that_the_agent_edits_meanwhile_are_listed_and_nothing_moves(front: Editor) -> None:
    first = opened(front)
    second = changed(front, "b.txt")
    front.cmd("tabprevious")
    edits(front, entry(first, LINES), entry(second, LINES))
    front.wait("#_G.sent == 2")
    assert last(front) == ["review", {}]
    apply(front, ["review", [entry(first, LINES), entry(second, LINES)]])
    assert front.lua("return vim.fn.tabpagenr()") == 1
    front.cmd("tabnext")
    front.wait_screen("▸ M a.txt")
    front.keys("]f")
    assert front.lua("return vim.fn.expand('%:t')") == "b.txt"


def test_the_list_selects_and_decides(front: Editor) -> None:
    paths = several(front)
    front.keys("<C-w>jjr")
    assert last(front) == ["reject", {"scope": "file", "path": str(paths[1].resolve())}]
    front.keys("<CR>")
    assert front.lua("return vim.fn.expand('%:t')") == "b.txt"
    front.keys("<C-w>j:quit<CR>")
    assert front.lua(TABS) == 2
    front.keys("]f")
    assert front.lua("return vim.fn.expand('%:t')") == "c.txt"


def test_only_two_buffers_are_compared_after_many_files(front: Editor) -> None:
    several(front)
    front.keys("]f]f[f")
    front.cmd("diffupdate")
    front.keys("ggdo]cdo")
    assert front.lua("return vim.v.errmsg") == ""


def test_a_created_and_a_deleted_file_are_shown(front: Editor) -> None:
    new = front.write("new.txt", "one\ntwo\n")
    deleted = front.work / "gone.txt"
    made = entry(new, [], kind="created", hunks=1)
    lost = entry(deleted, ["x", "y"], kind="deleted", hunks=1)
    review(front, made, lost)
    front.wait_screen("new.txt · +3 -3 · new")
    front.keys("ggdp")
    front.wait("#_G.sent == 2")
    assert last(front)[1]["lines"] == ["one", "two"]
    front.keys("]f")
    front.wait_screen("deleted by the agent")
    front.keys("do")
    assert last(front)[0] == "reject"
    assert last(front)[1]["path"] == str(deleted.resolve())
    front.keys("dp")
    assert last(front)[0] == "accept"


def test_a_conflict_shows_both_sides(front: Editor) -> None:
    path = front.write("a.txt", "mine\n")
    front.open(path)
    review(front, entry(path, ["old"], conflict=True, theirs=["theirs"], hunks=0))
    assert front.lua(SIDES)[0][0].startswith("acp://theirs/1//")
    front.wait_screen("yours, not saved")
    front.keys("do")
    assert front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)") == ["theirs"]


def test_a_decision_in_the_base_names_the_line_of_the_live_side(front: Editor) -> None:
    path = opened(front)
    front.keys("]c]c<C-w>h")
    front.cmd("Acp accept")
    verb, args = last(front)
    assert (verb, args["path"], args["line"]) == ("accept", str(path.resolve()), 23)


def test_the_next_hunk_in_another_file_is_shown_in_the_review(front: Editor) -> None:
    paths = several(front)
    for path in paths:
        pend(front, path, LINES)
    front.keys("\\a")
    apply(front, ["next_hunk", str(paths[1].resolve()), 10])
    assert front.lua("return vim.fn.expand('%:t') .. vim.fn.line('.')") == "b.txt11"
    front.wait_screen("2/3 b.txt")
    front.keys("]h]h")
    assert front.lua("return vim.fn.expand('%:t') .. vim.fn.line('.')") == "c.txt4"
    front.wait_screen("3/3 c.txt")


def test_the_review_does_not_open_after_the_user_has_moved_on(front: Editor) -> None:
    path = changed(front)
    front.open(path)
    edits(front, entry(path, LINES))
    front.cmd("Acp review")
    front.cmd("new")
    apply(front, ["review", [entry(path, LINES)]])
    assert front.lua(TABS) == 1
    assert notifications(front) == ["acp: The review is ready. :Acp review opens it"]


def test_keys_of_the_review_are_mapped_in_its_windows_only(front: Editor) -> None:
    opened(front)
    for side in ("l", "h"):
        front.keys(f"<C-w>{side}")
        assert front.lua("return vim.fn.maparg(']f', 'n', false, true).buffer") == 1
    front.keys("<C-w>lg?")
    front.wait_screen("accept the file")
    front.keys("q")
    front.cmd("tabprevious")
    assert front.lua("return vim.tbl_isempty(vim.fn.maparg(']f', 'n', false, true))")


def test_quickfix_keeps_the_focus_and_other_lists(front: Editor) -> None:
    path = changed(front)
    front.lua("vim.fn.setqflist({}, ' ', {title = 'theirs', items = {{text = 'x'}}})")
    item = {"filename": str(path), "lnum": 4, "text": "~1 line three"}
    for _ in range(2):
        apply(front, ["quickfix", [item], "Pending edits"])
    info = front.lua("return vim.fn.getqflist({title = 0, size = 0, nr = 0})")
    assert (info["title"], info["size"], info["nr"]) == ("Pending edits", 1, 2)
    assert front.lua("return vim.bo.buftype") == ""
    front.cmd("cfirst")
    assert front.lua("return vim.fn.line('.')") == 4


def test_diff_mode_shows_no_marks_between_its_lines(front: Editor) -> None:
    opened(front)
    side = front.screen()
    left = [row.partition("│")[0].strip() for row in side]
    right = [row.partition("│")[2].strip() for row in side]
    assert left.index("line 4") == right.index("line 4")
    assert not any("┃" in row for row in side)
    front.cmd("tabprevious")
    front.wait_screen("┃ line three")
    front.cmd("tabnext")
    assert not any("┃" in row for row in front.screen())
    front.keys("ggOnew<Esc>")
    front.cmd("tabclose")
    front.wait_screen("┃ line three")
    assert [m["first"] for m in marks(front, front.lua("return vim.fn.bufnr('a.txt')"))] == [
        4,
        11,
        23,
    ]


@pytest.mark.parametrize("window", [1, 2])
def test_a_state_change_while_its_windows_close_is_safe(front: Editor, window: int) -> None:
    opened(front)
    front.lua(
        "vim.api.nvim_win_close(vim.api.nvim_tabpage_list_wins(0)[...], true) "
        "vim.api.nvim_exec_autocmds('User', { pattern = 'AcpState', data = {} })",
        window,
    )
    front.wait("#vim.tbl_filter(function(e) return e.name == 'AcpReview' end, acp_events) == 2")
    assert front.events("AcpReview")[-1]["data"] == {"open": False}


@pytest.mark.parametrize("side", ["base", "live"])
def test_a_command_right_after_a_side_is_closed_is_safe(front: Editor, side: str) -> None:
    for command in ("accept", "reject", "comment why", "review", "diff"):
        opened(front)
        if side == "base":
            front.cmd("wincmd h")
        front.lua("vim.cmd('quit') vim.cmd('Acp ' .. ...)", command)
        front.wait("not require('acp.features.review.tab').state()")
        assert not [line for line in notifications(front) if "Invalid" in line], command
        front.keys("<Esc>")


@pytest.mark.parametrize("side", ["base", "live"])
def test_a_key_right_after_a_side_is_closed_is_safe(front: Editor, side: str) -> None:
    for key in ("]h", "[h", "]f", "[f", "do", "dp", "<CR>", "g?"):
        opened(front)
        if side == "base":
            front.cmd("wincmd h")
        front.keys(f":quit<CR>{key}")
        front.wait("not require('acp.features.review.tab').state()")
        assert not [line for line in notifications(front) if "Invalid" in line], key
        assert "Invalid" not in front.lua("return vim.fn.execute('messages')"), key
        front.keys("<Esc>")
        front.cmd("silent! only")
