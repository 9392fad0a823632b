"""Windows of the Lua front end: focus, layout, help, choices."""

from __future__ import annotations

import re

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start, sent, session
from tests.support.lua import lua_chunk

FIXED = "return { vim.wo.winfixbuf, vim.wo.winfixwidth, vim.wo.winfixheight }"


def test_a_window_beside_leaves_focus_layout_and_diff_unchanged(front: Editor) -> None:
    front.cmd("vsplit | diffthis")
    before = front.lua("return { vim.api.nvim_get_current_win(), vim.fn.winheight(0) }")
    win = front.lua(
        "local buffer = vim.api.nvim_create_buf(false, true)"
        " return require('acp.ui.window').open_beside(buffer, { size = 30 })"
    )
    assert front.lua("return { vim.api.nvim_get_current_win(), vim.fn.winheight(0) }") == before
    assert front.lua("return vim.wo[...].diff", win) is False
    assert front.lua("return vim.wo[...].winfixbuf", win) is True
    assert front.lua("return vim.api.nvim_win_get_width(...)", win) == 30


def test_a_window_that_is_refused_opens_as_soon_as_possible(front: Editor) -> None:
    front.lua(lua_chunk(__file__, "map_window_opening"))
    front.keys("i<F2>")
    front.wait("vim.fn.winnr('$') == 2")
    assert front.lua("return vim.fn.mode() .. vim.api.nvim_get_current_line()") == "ix"


def test_the_last_window_is_left_open_not_closed(front: Editor) -> None:
    session(front)
    front.lua("require('acp.features.chat.view').open(1)")
    front.cmd("wincmd l | only")
    assert front.lua("return vim.fn.bufname()") == "acp://chat/1"
    front.cmd("Acp chat")
    assert front.lua("return vim.fn.bufname()") == ""
    assert front.lua(FIXED) == [False, False, False]
    front.cmd("Acp chat")
    front.cmd("wincmd l | only")
    front.lua("require('acp.ui.jump').to('a.txt')")
    assert front.lua("return vim.fn.bufname()") == "a.txt", "as the statusline shows it"
    assert front.lua(FIXED) == [False, False, False], "a window beside the last one"


def test_the_last_window_shows_the_users_last_file(front: Editor) -> None:
    session(front)
    front.open(front.write("a.txt", "a\n"))
    front.cmd("Acp chat | AcpPrompt")
    front.keys("<Esc>")
    front.cmd("wincmd t | quit")
    front.cmd("wincmd k")
    front.keys(":quit<CR>")
    front.wait("vim.fn.expand('%:t') == 'a.txt' and vim.fn.winnr('$') == 1")


def test_the_plugins_only_window_lets_the_user_edit_in_it(front: Editor) -> None:
    session(front)
    front.lua("require('acp.features.chat.view').open(1)")
    front.cmd("wincmd l | only")
    assert front.lua("return vim.fn.bufname()") == "acp://chat/1"
    front.wait("not vim.wo.winfixbuf")
    front.cmd("set number | edit a.txt")
    assert front.lua("return vim.fn.bufname()") == "a.txt"
    width = front.lua("return { vim.w.acp or false, vim.wo.winfixwidth, vim.wo.number }")
    assert width == [False, False, True]
    front.cmd("Acp chat")
    assert front.lua("return { vim.fn.bufname(), vim.fn.winnr('$') }") == ["a.txt", 2]
    front.cmd("wincmd l | edit! b.txt")
    assert front.lua(FIXED) == [False, False, False], "the user has insisted"
    front.cmd("Acp chat")
    assert front.lua("return { vim.fn.bufname(), vim.fn.winnr('$') }") == ["b.txt", 3]
    show = "new | setlocal buftype=acwrite | let new = bufnr() | close | execute 'buffer!' new"
    for command in ("edit! .", show):
        front.cmd(f"only | Acp chat | wincmd l | {command}")
        assert front.lua(FIXED) == [False, False, False], command
    front.cmd("only | Acp chat | wincmd l")
    front.keys("g?")
    front.cmd("edit! b.txt")
    left = front.lua("return { vim.bo.buftype, vim.wo.winhighlight, vim.wo.fillchars }")
    assert left == ["", "", ""], "the user's file in a float of the plugin"


def test_it_does_so_in_the_same_command_line(front: Editor) -> None:
    session(front)
    front.lua("require('acp.features.chat.view').open(1)")
    front.cmd("wincmd l | only | edit a.txt")
    assert front.lua("return vim.fn.bufname()") == "a.txt"
    front.lua("require('acp.features.chat.view').open(1)")
    front.cmd("tab split | tabclose | wincmd l")
    assert front.lua("return { vim.fn.bufname(), vim.wo.winfixbuf }") == ["acp://chat/1", True]


def test_a_file_gets_a_window_of_its_own_beside_chat_and_composer(front: Editor) -> None:
    session(front)
    front.write("a.txt", "one\ntwo\n")
    front.cmd("Acp chat | AcpPrompt")
    width = front.lua("return vim.fn.winwidth(0)")
    front.keys("<Esc>")
    front.cmd("wincmd t | quit")
    front.keys(":edit +2 a.txt<CR>")
    front.wait("vim.fn.winnr('$') == 3")
    shown = front.lua("return vim.tbl_map(vim.fn.bufname, vim.fn.tabpagebuflist())")
    assert shown == ["a.txt", "acp://chat/1", "acp://composer/1"]
    assert front.lua("return { vim.fn.winnr(), vim.fn.line('.') }") == [1, 2]
    assert "acp" not in front.lua("return vim.wo.statusline")
    assert front.lua(FIXED) == [False, False, False]
    front.wait("vim.wo[vim.fn.bufwinid('acp://chat/1')].winfixbuf")
    front.cmd("wincmd b")
    assert front.lua("return { vim.fn.winwidth(0), vim.wo.winfixbuf }") == [width, True]


def test_a_window_of_the_plugin_is_fixed_again_beside_others(front: Editor) -> None:
    session(front)
    front.lua("require('acp.features.chat.view').open(1)")
    front.cmd("wincmd l | only")
    front.wait("not vim.wo.winfixbuf")
    front.cmd("new")
    front.wait("vim.wo[vim.fn.bufwinid('acp://chat/1')].winfixbuf")


def test_a_chat_that_opens_in_anothers_window_is_not_entered(front: Editor) -> None:
    for n in range(1, 7):
        session(front, n)
    front.lua(lua_chunk(__file__, "open_six_chats"))
    shown = front.lua("return vim.tbl_map(vim.fn.bufname, vim.fn.tabpagebuflist())")
    assert "acp://chat/6" in shown
    assert "acp://chat/1" not in shown
    assert front.lua("return { vim.o.eventignore, _G.entered }") == ["", 0]
    assert not [verb for verb, _ in sent(front) if verb == "current"]


def test_a_window_at_the_bottom_has_its_height_whatever_is_above(front: Editor) -> None:
    heights = front.lua(lua_chunk(__file__, "window_heights"))
    assert heights == [10, 10]


HEIGHT = "vim.fn.winheight(vim.fn.bufwinid(...))"
TOP = "vim.api.nvim_win_get_position(vim.fn.bufwinid(...))[1]"


def test_a_floating_chat_leaves_room_for_others_below(front: Editor) -> None:
    session(front)
    front.setup({"chat": {"layout": "float"}})
    front.lua("require('acp.features.chat.view').open(1)")
    chat, composer, plan = "acp://chat/1", "acp://composer/1", "acp://plan/1"
    whole = front.lua(f"return {HEIGHT}", chat)
    front.cmd("AcpPrompt")
    assert front.lua("return vim.fn.bufname()") == composer
    front.lua("require('acp.features.plan.view').set(1, {'first'}, {})")
    front.cmd("Acp plan")
    tops = [front.lua(f"return {TOP}", name) for name in (chat, plan, composer)]
    assert tops == sorted(tops)
    end = tops[0] + front.lua(f"return {HEIGHT}", chat)
    assert end <= tops[1] - 1
    front.cmd("close")
    front.cmd("Acp plan")
    assert front.lua(f"return {HEIGHT}", chat) == whole


def test_the_plan_toggles_and_keeps_the_focus(front: Editor) -> None:
    session(front)
    front.lua(
        "require('acp.features.plan.view').set(1, {'first', 'second'}, {{0, 0, 5, 'AcpPlanDone'}})"
    )
    front.cmd("Acp plan")
    assert front.lines("acp://plan/1") == ["first", "second"]
    assert front.lua("return vim.fn.bufname()") == ""
    front.lua(
        "require('acp.features.plan.view').set(1, ...)",
        ["one", "two", "three", "four", "fifth step"],
        [],
    )
    front.wait_screen("fifth step")
    front.lua("require('acp.features.plan.view').set(1, {'third'}, {})")
    assert front.lines("acp://plan/1") == ["third"]
    front.cmd("Acp plan")
    assert front.lua("return vim.fn.winnr('$')") == 1


def test_a_plan_is_shown_whole_below_a_winbar_of_the_user(front: Editor) -> None:
    front.cmd("set winbar=%f")
    session(front)
    front.lua(
        "require('acp.features.plan.view').set(1, ...)", [f"step {n}" for n in range(1, 7)], []
    )
    front.cmd("Acp plan")
    front.wait_screen("step 6")
    assert any("step 1" in row for row in front.screen())


def test_a_requested_window_takes_the_focus_unless_the_user_moved_on(front: Editor) -> None:
    front.cmd("Acp info")
    front.lua("require('acp.ui.report').open('acp://info', 'acpinfo', {'a'})")
    assert front.lua("return vim.bo.filetype") == "acpinfo"
    front.cmd("close")
    front.cmd("Acp info")
    front.keys("ihello")
    front.lua("require('acp.ui.report').open('acp://info', 'acpinfo', {'b'})")
    assert front.lua("return vim.bo.filetype") == ""
    assert front.lines("acp://info") == ["b"]


def test_help_lists_the_current_keys(front: Editor) -> None:
    front.lua(
        "require('acp').setup(...)", {"keymaps": {"composer": {"<c-S>": False, "gs": "send"}}}
    )
    front.cmd("AcpPrompt")
    front.keys("<Esc>g?")
    text = "\n".join(front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert re.search(r"gs\s+send", text)
    assert not re.search(r"^\s+<C-s>", text, re.MULTILINE)
    front.keys("q")
    assert front.lua("return vim.bo.filetype") == "acpcomposer"


def test_help_begins_with_the_main_keys_and_names_them_as_typed(
    front: Editor,
) -> None:
    front.lua("vim.g.maplocalleader = ','")
    front.lua("require('acp.ui.help').open(...)", "composer")
    lines = front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    assert [line.split()[-1] for line in lines[1:3]] == ["n)", "send"]
    assert "this list" in lines[-1]
    front.keys("q")
    front.lua("require('acp.ui.help').open(...)", "edits")
    lines = front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    assert [line.split()[0] for line in lines[1:]] == [",a", ",r", "]h", "[h"]


def test_help_shows_digits_as_a_range(front: Editor) -> None:
    front.lua("require('acp.ui.help').open(...)", "permission")
    lines = front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    assert [line.split()[0] for line in lines if "number" in line] == ["1…9"]
    assert front.lua("return vim.fn.winwidth(0)") <= 50


def test_a_plan_below_a_floating_chat_stays_on_the_screen(front: Editor) -> None:
    front.setup({"chat": {"layout": "float"}})
    session(front)
    lines = [f"- [ ] {'step ' * 20}{n}" for n in range(20)]
    front.lua(
        "require('acp.features.chat.view').open(1) "
        "require('acp.features.plan.view').set(1, ..., {}) "
        "require('acp.features.plan.view').toggle(1)",
        lines,
    )
    front.cmd("AcpPrompt")
    boxes = front.lua(lua_chunk(__file__, "float_rows"))
    ends = [end for _, end in sorted(boxes)]
    starts = [start for start, _ in sorted(boxes)]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False)), boxes
    assert ends[-1] <= front.lua("return vim.o.lines - vim.o.cmdheight")


def test_a_plan_has_the_signs_of_the_chat_and_indents_wrapped_steps(
    front: Editor,
) -> None:
    session(front)
    lines = ["- [ ] first", f"- [x] {'word ' * 30}end-of-step"]
    spans = [[row, 0, 6, "AcpListMarker"] for row in range(2)]
    front.lua("require('acp.features.plan.view').set(1, ...)", lines, spans)
    front.cmd("Acp plan")
    front.wait_screen("end-of-step")
    screen = [row.rstrip() for row in front.screen()]
    assert "○ first" in screen
    assert any(row.startswith("✓ word") for row in screen)
    row = next(line for line in screen if "end-of-step" in line)
    assert re.match(r" {2}\S", row), row
    assert front.lines("acp://plan/1") == lines


def test_the_chat_is_toggled_in_the_tab_page_where_the_user_is(front: Editor) -> None:
    session(front)
    here = "#vim.tbl_filter(function(w) return vim.w[w].acp end, vim.api.nvim_tabpage_list_wins(0))"
    front.cmd("Acp chat")
    assert front.lua(f"return {here}") == 1
    front.cmd("tabnew")
    front.cmd("Acp chat")
    assert front.lua(f"return {here}") == 1
    front.cmd("Acp chat")
    assert front.lua(f"return {here}") == 0
    front.cmd("tabprevious")
    assert front.lua(f"return {here}") == 1
    front.cmd("wincmd l | setlocal nowinfixbuf | split")
    front.cmd("Acp chat")
    assert front.lua(f"return {here}") == 0


def test_a_chat_leaves_room_for_all_windows_of_the_user(front: Editor) -> None:
    session(front)
    front.cmd("vsplit")
    front.cmd("Acp chat")
    widths = front.lua("return vim.tbl_map(vim.api.nvim_win_get_width, vim.api.nvim_list_wins())")
    assert min(widths) >= 20, widths
    assert widths[-1] == 40


def test_selects_do_not_nest_and_wait_for_normal_mode(front: Editor) -> None:
    front.lua(
        "_G.asked = {} vim.ui.select = function(items, opts, done)"
        " table.insert(_G.asked, { opts.prompt, done }) end"
    )
    front.keys("i")
    front.lua("require('acp.ui.pick').select(7, 'first', 'k', {'a', 'b'})")
    front.keys("x")
    assert front.lua("return #_G.asked") == 0
    front.keys("<Esc>")
    front.wait("#_G.asked == 1")
    front.lua(
        "vim.api.nvim_open_win(0, true, {relative='editor', row=1, col=1, width=9, height=2})"
    )
    front.lua("require('acp.ui.pick').input(8, 'second', nil)")
    front.lua("vim.ui.input = function(o, done) done('text') end")
    front.lua("_G.asked[1][2]('b', 2)")
    front.wait("#_G.sent == 2")
    assert sent(front) == [["picked", {"id": 7, "index": 2}], ["typed", {"id": 8, "text": "text"}]]


def test_a_side_window_keeps_its_share_of_a_resized_screen(front: Editor) -> None:
    session(front)
    front.lua("require('acp.features.chat.view').open(1)")
    chat = front.lua("return vim.fn.bufwinid('acp://chat/1')")
    width = "vim.api.nvim_win_get_width(...) == "
    front.wait(width + "40", chat)
    front.rpc.request("nvim_ui_try_resize", 60, 20)
    front.wait(width + "24", chat)
    front.rpc.request("nvim_ui_try_resize", 40, 10)
    front.wait(width + "20", chat)
    front.cmd("redraw")
    front.rpc.request("nvim_ui_try_resize", 100, 30)
    front.wait(width + "40", chat)
    front.lua("vim.api.nvim_win_set_width(..., 60)", chat)
    front.wait(width + "60", chat)
    front.cmd("redraw")
    front.rpc.request("nvim_ui_try_resize", 50, 30)
    front.wait(width + "29", chat)


COLUMNS = """
return vim.tbl_map(function(win)
  return { vim.fn.bufname(vim.api.nvim_win_get_buf(win)), vim.fn.win_screenpos(win)[2] }
end, vim.api.nvim_tabpage_list_wins(0))
"""


def test_another_chat_takes_the_window_of_the_first_unless_the_user_is_in_it(
    front: Editor,
) -> None:
    width = "return vim.api.nvim_win_get_width(vim.fn.win_getid(1))"
    session(front, 1)
    front.lua("require('acp.features.chat.view').open(1)")
    own = front.lua(width)
    session(front, 2)
    front.lua("require('acp.features.chat.view').open(2)")
    assert front.lua(width) == own
    column = own + 2
    assert front.lua(COLUMNS)[1:] == [["acp://chat/2", column]]
    session(front, 3)
    front.cmd("wincmd l")
    front.lua("require('acp.features.chat.view').open(3)")
    assert front.lua(width) == own
    assert front.lua(COLUMNS)[1:] == [["acp://chat/2", column], ["acp://chat/3", column]]
    assert front.lua("return vim.fn.bufname()") == "acp://chat/2"
    front.cmd("wincmd t")
    for n in (2, 3):
        front.lua("vim.api.nvim_win_close(vim.fn.bufwinid(...), true)", f"acp://chat/{n}")
    assert front.lua(width) > own


def test_another_chat_takes_the_window_of_a_session_that_has_ended(front: Editor) -> None:
    session(front, 1, status="failed")
    front.lua("require('acp.features.chat.view').open(1)")
    session(front, 2)
    front.lua("require('acp.features.chat.view').open(2)")
    assert [name for name, _ in front.lua(COLUMNS)[1:]] == ["acp://chat/2"]
    assert front.lua("return vim.fn.bufloaded('acp://chat/1')") == 1


def test_a_wide_screen_has_chats_side_by_side(edit: Start) -> None:
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(260, 30))
    editor.setup({"chat": {"size": 80}})
    for n in (1, 2):
        session(editor, n)
        editor.lua("require('acp.features.chat.view').open(...)", n)
    assert len({column for _, column in editor.lua(COLUMNS)}) == 3


def test_many_chats_leave_one_another_a_usable_width(front: Editor) -> None:
    """Neovim would shrink each window to a column. Older chats are closed instead, and their
    buffers stay.
    """
    front.cmd("set number")
    for n in range(1, 7):
        session(front, n)
        front.lua("require('acp.features.chat.view').open(...)", n)
    shown = front.lua(lua_chunk(__file__, "window_options"))
    assert all(width >= 20 for _, width, _, _ in shown), shown
    assert shown[0][0] == "", "the user's own window"
    chats = {name: (number, fixed) for name, _, number, fixed in shown[1:]}
    assert set(chats.values()) == {(False, True)}
    assert chats.keys() == {"acp://chat/6"}
    assert front.lua("return vim.fn.bufloaded('acp://chat/1')") == 1


BAR = (
    "local at = vim.fn.getwininfo(vim.fn.bufwinid(...))[1] "
    "return vim.fn.screenattr(at.winrow, at.wincol)"
)


def test_a_bar_is_as_bright_while_the_user_is_in_another_window(front: Editor) -> None:
    session(front)
    front.cmd("set termguicolors")
    front.cmd("highlight WinBarNC guifg=#202020 guibg=#101010 | highlight WinBar guifg=#ffffff")
    front.lua("require('acp.features.chat.view').open(1)")
    front.cmd("AcpPrompt")
    front.wait("vim.fn.bufname() == 'acp://composer/1'")
    looks = set()
    for command in ("stopinsert", "wincmd k", "wincmd h"):
        front.cmd(command)
        front.screen()
        looks |= {front.lua(BAR, f"acp://{name}/1") for name in ("chat", "composer")}
    assert front.lua("return vim.fn.bufname()") == ""
    assert len(looks) == 1


def test_the_keys_are_shown_on_a_tiny_screen(front: Editor) -> None:
    session(front)
    front.lua("require('acp.features.chat.view').open(1)")
    front.cmd("wincmd l")
    front.rpc.request("nvim_ui_try_resize", 12, 5)
    front.keys("g?")
    front.wait("vim.api.nvim_win_get_config(0).title")
    assert "E5108" not in front.messages()


def test_the_keys_are_not_cut_in_the_middle_of_a_word(front: Editor) -> None:
    front.rpc.request("nvim_ui_try_resize", 60, 30)
    front.lua("require('acp.ui.help').open(...)", "review")
    front.wait_screen("accept it")
    rows = [row.split("│")[1].strip() for row in front.screen() if row.count("│") == 2]
    assert "hunk); on the left, reject it" in " ".join(rows), rows
    assert any("close the review" in row for row in rows), "below the wrapped rows"


def test_windows_have_no_tildes_and_the_other_fill_characters_of_the_user(front: Editor) -> None:
    front.cmd("set fillchars=vert:!")
    session(front, queue=["one"])
    for command in ("Acp queue", "Acp checkpoints", "AcpPrompt", "Acp plan", "Acp overview"):
        front.cmd(command)
    front.lua("require('acp.features.chat.view').open(1)")
    characters = front.lua(
        "return vim.iter(vim.api.nvim_list_wins()):filter(function(w) return vim.w[w].acp end)"
        ":map(function(w) return vim.wo[w].fillchars end):totable()"
    )
    assert len(characters) >= 4
    for one in characters:
        assert {"vert:!", "eob: "} <= set(one.split(","))
