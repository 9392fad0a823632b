"""Follow mode in a real Neovim: one window, no focus change, and never against the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start, notifications
from tests.support.lua import lua_chunk
from tests.support.review_frames import apply

STATUS = "return (require('acp.features.follow.window').status())"
PLACE = """
local _, win = require('acp.features.follow.window').status()
local b = vim.api.nvim_win_get_buf(win)
return vim.fs.basename(vim.api.nvim_buf_get_name(b)) .. ':' .. vim.api.nvim_win_get_cursor(win)[1]
"""
COUNT = lua_chunk(__file__, "note_window_events")


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor with two windows: left the followed one on a.txt, right the user's on
    mine.txt.
    """
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(100, 24))
    for name in ("a.txt", "b.txt", "mine.txt"):
        editor.write(name, "".join(f"{name} {n}\n" for n in range(1, 101)))
    for command in ("edit a.txt", "Acp follow", "set splitright", "vsplit mine.txt"):
        editor.cmd(command)
    assert editor.lua(STATUS) == "following"
    return editor


def work_at(editor: Editor, name: str, line: int | None) -> None:
    """Report that the agent works here."""
    apply(editor, ["location", 1, str(editor.work / name), line])


def wait_place(editor: Editor, place: str) -> None:
    editor.wait(PLACE.replace("return vim", f"return {place!r} == vim"))


def settle(editor: Editor) -> None:
    """Let the time pass in which an earlier place would have been shown."""
    editor.lua("_G.passed = nil vim.defer_fn(function() _G.passed = true end, 150)")
    editor.wait("_G.passed")


def test_the_window_shows_where_the_agent_works_and_the_focus_stays(front: Editor) -> None:
    windows = front.lua("return vim.api.nvim_tabpage_list_wins(0)")
    front.lua(COUNT)
    work_at(front, "b.txt", 50)
    wait_place(front, "b.txt:50")
    assert front.lua("return vim.fn.expand('%:t') .. vim.fn.line('.')") == "mine.txt1"
    assert front.lua("return vim.api.nvim_tabpage_list_wins(0)") == windows
    assert front.lua("return vim.fn.bufname('#')") == "a.txt"
    assert (
        front.lua("return vim.tbl_filter(function(e) return e:match('^Win') end, _G.fired)") == []
    )
    front.wait_screen("b.txt 50")
    front.keys("<C-w>w")
    front.keys("<C-o>")
    assert front.lua("return vim.fn.expand('%:t')") == "a.txt"


def test_the_line_flashes_for_a_moment(front: Editor) -> None:
    work_at(front, "a.txt", 7)
    wait_place(front, "a.txt:7")
    marks = (
        "local b = vim.fn.bufnr('a.txt') return vim.api.nvim_buf_get_extmarks(b, "
        "vim.api.nvim_create_namespace('acp.follow'), 0, -1, {})"
    )
    assert [mark[1] for mark in front.lua(marks)] == [6]
    front.wait(marks.replace("return", "return 0 == #"))


def test_of_many_places_the_last_is_shown(front: Editor) -> None:
    front.lua(COUNT)
    for line in range(1, 60):
        work_at(front, "b.txt" if line % 2 else "a.txt", line)
    wait_place(front, "b.txt:59")
    reads = "return #vim.tbl_filter(function(e) return e == 'BufReadPost' end, _G.fired)"
    assert front.lua(reads) == 1
    work_at(front, "b.txt", None)
    settle(front)
    wait_place(front, "b.txt:59")


@pytest.mark.parametrize("keys", ["j", "x", "ihello<Esc>", "<C-e>", ":edit mine.txt<CR>", "gg"])
def test_following_pauses_for_the_user_and_the_command_resumes_it(front: Editor, keys: str) -> None:
    work_at(front, "a.txt", 30)
    wait_place(front, "a.txt:30")
    front.keys("<C-w>w")
    assert front.lua(STATUS) == "following"
    front.keys(keys)
    front.wait(f"{STATUS} == 'paused'".replace("return ", ""))
    place = front.lua(PLACE)
    work_at(front, "b.txt", 3)
    settle(front)
    assert front.lua(PLACE) == place
    front.wait_screen("Paused. :Acp follow resumes")
    front.cmd("Acp follow")
    work_at(front, "b.txt", 4)
    wait_place(front, "b.txt:4")


def test_other_cursor_movements_do_not_pause_it(front: Editor) -> None:
    front.keys("<C-w>w")
    work_at(front, "a.txt", 30)
    wait_place(front, "a.txt:30")
    front.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, 0, false, {'new', 'new'})")
    front.keys(":echo 1<CR>")
    front.keys("<C-w>w")
    front.keys("5j")
    assert front.lua(STATUS) == "following"
    assert front.lua(PLACE) == "a.txt:32"


@pytest.mark.parametrize("focus", ["<C-w>b", "<C-w>t"], ids=["elsewhere", "in it"])
def test_a_window_that_opens_or_closes_below_does_not_pause_it(front: Editor, focus: str) -> None:
    work_at(front, "a.txt", 100)
    wait_place(front, "a.txt:100")
    front.keys(focus)
    rows = "vim.fn.winheight(1)"
    before = front.lua(f"return {rows}")
    front.keys(":botright copen<CR>")
    front.wait(f"{rows} < ...", before)
    front.keys(":cclose<CR>")
    front.wait(f"{rows} == ...", before)
    front.screen()
    assert front.lua(STATUS) == "following"
    front.keys("<C-w>t<C-y>")
    front.wait(f"{STATUS} == 'paused'".replace("return ", ""))


def test_the_command_again_ends_it_and_leaves_no_trace(front: Editor) -> None:
    work_at(front, "b.txt", 5)
    wait_place(front, "b.txt:5")
    front.keys("<C-w>w")
    front.wait_screen("Following Tutor")
    front.cmd("Acp follow")
    assert front.lua(STATUS) is None
    assert front.lua("return {vim.wo.winbar, vim.w.acp_follow == nil}") == ["", True]
    for command in ("buffer a.txt", "split", "buffer b.txt", "new a.txt"):
        front.cmd(command)
        assert front.lua("return vim.wo.winbar") == ""
    work_at(front, "a.txt", 50)
    settle(front)
    assert not any("Following Tutor" in row for row in front.screen())


def test_the_users_winbar_stays_beside_the_label(front: Editor) -> None:
    front.keys("<C-w>w")
    front.cmd("Acp follow")
    front.cmd("setlocal winbar=mine")
    front.cmd("Acp follow")
    front.wait_screen("Following Tutor")
    assert front.lua("return vim.wo.winbar:match('mine$')") == "mine"
    work_at(front, "b.txt", 5)
    wait_place(front, "b.txt:5")
    front.cmd("Acp follow")
    front.cmd("buffer a.txt")
    assert front.lua("return vim.wo.winbar") == "mine"


def test_places_that_cannot_be_shown_are_skipped(front: Editor, tmp_path: Path) -> None:
    for path in (front.work, front.work / "none.txt"):
        apply(front, ["location", 1, str(path), 1])
        settle(front)
    assert front.lua(PLACE) == "a.txt:1"
    assert front.lua("return vim.fn.bufexists(...)", str(front.work / "none.txt")) == 0


def test_a_file_outside_is_shown_if_agents_may_go_there(front: Editor, tmp_path: Path) -> None:
    outside, roots = front.home / "outside.txt", [str(front.work)]
    outside.write_text("a secret\n")
    (front.work / "link.txt").symlink_to(outside)
    spelled = [outside, front.work / "link.txt", front.work / "../outside.txt"]
    for path in spelled:
        apply(front, ["location", 1, str(path), 1, roots])
        settle(front)
        assert front.lua(PLACE) == "a.txt:1"
    assert not any(front.lua("return vim.fn.bufexists(...)", str(path)) for path in spelled)
    apply(front, ["location", 1, "b.txt", 2, roots])
    wait_place(front, "b.txt:2")
    more = [str(front.home), *roots]
    apply(front, ["location", 1, str(outside), 1, more])
    wait_place(front, "outside.txt:1")
    apply(front, ["location", 1, "b.txt", 2, roots])
    wait_place(front, "b.txt:2")
    apply(front, ["location", 1, str(outside), 1, roots])  # already open
    wait_place(front, "outside.txt:1")
    apply(front, ["location", 1, "b.txt", 2, roots])
    wait_place(front, "b.txt:2")
    front.cmd(f"bwipeout {outside}")
    front.setup({"files": {"outside": "allow"}})
    apply(front, ["location", 1, str(outside), 1, roots])
    wait_place(front, "outside.txt:1")


def test_a_file_that_an_agent_names_sets_no_options_and_has_a_size_limit(front: Editor) -> None:
    front.write("modeline.txt", "vim: shiftwidth=7 filetype=chosen\n")
    front.write("large.txt", "x" * 2000)
    front.cmd("set modeline modelines=5")
    front.setup({"limits": {"message_bytes": 1000}})
    deep = "/".join(["d" * 200] * 6) + "/deep.txt"
    front.write(deep, "text\n")
    for name in ("large.txt", deep):
        work_at(front, name, 1)
        settle(front)
        assert front.lua(PLACE) == "a.txt:1"
    work_at(front, "modeline.txt", 1)
    wait_place(front, "modeline.txt:1")
    options = "local o = vim.bo[vim.fn.bufnr('modeline.txt')] return { o.sw, o.ft, o.modeline }"
    assert front.lua(options) == [8, "text", True]


def test_unsaved_edits_stay_when_the_window_shows_another_file(front: Editor) -> None:
    front.cmd("set nohidden")
    front.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, 1, false, {'edited'})")
    work_at(front, "b.txt", 5)
    wait_place(front, "b.txt:5")
    lines = "return vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, 1, false)"
    assert front.lua(lines) == ["edited"]


def test_places_wait_while_neovim_allows_no_buffer_change(front: Editor) -> None:
    front.keys("q:")
    work_at(front, "b.txt", 5)
    settle(front)
    front.keys(":q<CR>")
    wait_place(front, "b.txt:5")


def test_a_closed_window_follows_no_longer(front: Editor) -> None:
    work_at(front, "b.txt", 5)
    front.cmd("only")
    settle(front)
    assert front.lua(STATUS) is None
    assert front.lua("return vim.fn.expand('%:t')") == "mine.txt"


def test_only_the_current_session_is_followed(front: Editor) -> None:
    apply(front, ["state", ["current"], 2])
    work_at(front, "b.txt", 5)
    settle(front)
    assert front.lua(PLACE) == "a.txt:1"


def test_the_command_turns_it_off_from_any_window(front: Editor) -> None:
    assert front.lua("return vim.fn.expand('%:t')") == "mine.txt"
    front.cmd("Acp follow")
    assert front.lua(STATUS) is None
    assert notifications(front) == ["acp: No longer following"]
    assert not any("Following Tutor" in row for row in front.screen())
    work_at(front, "b.txt", 5)
    settle(front)
    shown = "vim.tbl_map(function(w) return vim.fn.bufname(vim.api.nvim_win_get_buf(w)) end, ...)"
    names = front.lua(f"return {shown.replace('...', 'vim.api.nvim_tabpage_list_wins(0)')}")
    assert sorted(names) == ["a.txt", "mine.txt"]
    front.cmd("Acp follow")
    work_at(front, "b.txt", 5)
    wait_place(front, "b.txt:5")
    assert front.lua("return vim.fn.expand('%:t')") == "b.txt", "now it is the current one"


def test_a_window_of_the_plugin_can_turn_it_off_and_cannot_follow(front: Editor) -> None:
    front.cmd("Acp info")
    apply(front, ["show", "acp://info", "acpinfo", ["text"]])
    front.cmd("wincmd b")
    assert front.lua("return vim.bo.filetype") == "acpinfo"
    front.cmd("Acp follow")
    assert front.lua(STATUS) is None
    front.cmd("Acp follow")
    assert notifications(front)[-1] == "acp: Use :Acp follow in a code window"
    assert front.lua(STATUS) is None


def paused(front: Editor) -> None:
    """Return an editor in which the user works in the followed window."""
    work_at(front, "a.txt", 30)
    wait_place(front, "a.txt:30")
    front.keys("<C-w>w")
    front.keys("j")
    front.wait(f"{STATUS} == 'paused'".replace("return ", ""))


def test_a_paused_window_resumes_from_a_window_of_the_plugin(front: Editor) -> None:
    paused(front)
    front.cmd("Acp info")
    apply(front, ["show", "acp://info", "acpinfo", ["text"]])
    front.cmd("wincmd b")
    front.cmd("Acp follow")
    assert front.lua(STATUS) == "following"
    work_at(front, "b.txt", 5)
    wait_place(front, "b.txt:5")


def test_while_one_is_paused_the_command_makes_the_current_window_follow(front: Editor) -> None:
    paused(front)
    front.keys("<C-w>w")
    front.cmd("Acp follow")
    work_at(front, "b.txt", 5)
    wait_place(front, "b.txt:5")
    assert front.lua("return vim.fn.expand('%:t')") == "b.txt"


def test_the_option_follows_from_the_first_prompt(edit: Start) -> None:
    editor = edit(screen=(100, 24))
    path = editor.write("a.txt", "".join(f"{n}\n" for n in range(1, 101)))
    other = editor.write("b.txt", "text\n")
    editor.setup({"follow": True})
    editor.agent("script")
    editor.open(other)
    editor.turn(f"read {path}")
    wait_place(editor, "a.txt:1")


def test_an_agent_opens_nothing_outside_its_session_in_the_window(editor: Editor) -> None:
    editor.agent("script")
    outside, text = editor.home / "outside.txt", editor.write("a.txt", "text\n")
    outside.write_text("a secret\n")
    editor.turn("say hello")
    editor.cmd("Acp follow")
    for path in (outside, text, outside):
        editor.turn(f"runs {path} true")
        settle(editor)
    wait_place(editor, "a.txt:1")
    assert editor.lua("return vim.fn.bufexists(...)", str(outside)) == 0


def test_each_place_of_a_tool_call_is_reported_once(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("tool_contents")
    places = [(e["data"]["path"], e["data"].get("line")) for e in editor.events("AcpLocation")]
    assert places == [("/tmp/old.txt", 2), ("/tmp/new.txt", None)]
