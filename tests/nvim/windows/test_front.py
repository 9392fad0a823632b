"""Options, highlights, messages and statusline of the Lua front end."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.editor import ROOT, Editor
from tests.support.front_without_host import (
    HOST,
    Start,
    last,
    notifications,
    permission,
    sent,
    session,
)
from tests.support.rpc import EditorError


def test_all_mistakes_are_reported_at_once_with_the_nearest_name(front: Editor) -> None:
    wrong = {
        "agnet": "x",
        "chat": {"layuot": "right", "size": "big", "layout": "left"},
        "files": {"save": "alwys"},
        "keymaps": {"composer": {"gz": "sned"}, "chta": {}},
        "permission": {"rules": [{"action": "permit"}]},
        "agents": {"mine": {"comand": ["x"]}},
        "presets": {"fast": {"modle": "x"}},
    }
    front.lua("require('acp').setup(...)", wrong)
    (text,) = notifications(front)
    for name in (
        "'agent'",
        "'chat.layout'",
        "'chat.size'",
        "'always'",
        "'send'",
        "'keymaps.chat'",
        "rules",
        "'agents.mine.command'",
        "'presets.fast.model'",
    ):
        assert name in text, text
    assert len(front.lua("return require('acp.config').mistakes")) == 9
    assert front.lua("return require('acp.config').get().chat.layout") == "left"
    assert front.lua("return require('acp.config').get().chat.size") == pytest.approx(0.4)


def test_every_mistake_in_an_agent_and_in_a_rule_is_reported(front: Editor) -> None:
    rules = [{"action": "deny"}, {"acton": "allow", "kind": 3}, {"action": "alow"}, {"path": "x"}]
    agents = {
        "mine": {"comand": ["x"], "evn": {}, "cwd": 3},
        "bare": {"cwd": "/"},
        "good": {"command": ["y"]},
    }
    front.lua("require('acp').setup(...)", {"agents": agents, "permission": {"rules": rules}})
    mistakes = front.lua("return require('acp.config').mistakes")
    assert mistakes == [
        "Option 'agents.bare' should be a table with 'command'",
        "Option 'agents.mine.cwd' should be a string",
        "Option 'permission.rules[2].kind' should be a string or a list",
        (
            "Option 'permission.rules[3].action' should be one of 'allow', 'deny', 'ask',"
            " did you mean 'allow'?"
        ),
        "Option 'permission.rules[4]' should be a table with 'action'",
        "Unknown option 'agents.mine.comand', did you mean 'agents.mine.command'?",
        "Unknown option 'agents.mine.evn', did you mean 'agents.mine.env'?",
        "Unknown option 'permission.rules[2].acton', did you mean 'permission.rules[2].action'?",
    ]
    names = front.lua("return require('acp.config').agent_names()")
    assert "good" in names
    assert "mine" not in names
    assert front.lua("return #require('acp.config').get().permission.rules") == 0


def test_mistakes_at_startup_show_no_hit_enter_prompt(edit: Start) -> None:
    wrong = "{ agnet = 1, fles = 2, chat = 3, keymaps = 4 }"
    front = edit(init=f"{HOST} require('acp').setup({wrong})", screen=(70, 20))
    front.wait_message("agnet")
    assert front.rpc.mode()["blocking"] is False
    assert "4 mistakes" in front.messages()
    assert "'fles', did you mean 'files'" in front.messages()


def test_a_notifier_that_forwards_messages_shows_no_hit_enter_prompt(edit: Start) -> None:
    passes_on = "local own = vim.notify vim.notify = function(...) return own(...) end"
    front = edit(init=HOST + passes_on, screen=(70, 20))
    front.lua("require('acp').setup(...)", {"agnet": 1, "fles": 2})
    assert front.rpc.mode()["blocking"] is False
    assert "'agnet'" in front.messages()
    front.lua("for i = 1, 3 do require('acp.base.notify').echo('warn', ('word '):rep(30)) end")
    assert front.rpc.mode()["blocking"] is False


def test_users_agents_are_merged_over_the_presets(front: Editor) -> None:
    front.lua(
        "require('acp').setup(...)",
        {
            "agent": "claude",
            "agents": {"claude": {"env": {"A": "b"}}, "mine": {"command": ["x"]}, "pi": False},
        },
    )
    agents = front.lua("return require('acp.config').for_host().agents")
    assert agents["claude"]["command"] == ["claude-agent-acp"]
    assert agents["claude"]["env"] == {"A": "b"}
    assert agents["mine"]["command"] == ["x"]
    assert "pi" not in agents
    assert last(front)[0] == "setup"


def test_keymaps_false_removes_all_maps(front: Editor) -> None:
    front.lua("require('acp').setup({ keymaps = false })")
    front.cmd("AcpPrompt")
    assert front.lua("return vim.api.nvim_buf_get_keymap(0, 'n')") == []


def test_every_colour_in_use_is_defined(front: Editor) -> None:
    front.lua("require('acp.ui.highlights').define()")
    drawn: set[str] = set()
    for path in [*(ROOT / "acp_nvim/render").glob("**/*.py"), *(ROOT / "lua").glob("**/*.lua")]:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py" or path.name not in ("types.lua", "notify.lua"):
            drawn |= set(re.findall(r"""["'](Acp[A-Z][A-Za-z]*)["']""", text))
    events = {"AcpState", "AcpTurnEnd", "AcpPermission", "AcpElicitation", "AcpPrompt", "AcpFollow"}
    events |= {"AcpReview", "AcpTurnStart", "AcpPermissionDone", "AcpToolCall", "AcpEdit"}
    drawn -= {"AcpTerminal", "AcpPicture"}  # prefixes of group names that are made as needed
    defined = set(front.lua("return vim.tbl_keys(require('acp.ui.highlights').groups)"))
    assert drawn - events <= defined
    assert front.lua("return vim.api.nvim_get_hl(0, { name = 'AcpUser' }).link") == "Identifier"


def test_every_group_links_to_another_by_default(front: Editor) -> None:
    front.lua("require('acp.ui.highlights').define()")
    looks = front.lua(
        "return vim.iter(vim.fn.getcompletion('Acp', 'highlight')):map(function(name) "
        "return { name, vim.api.nvim_get_hl(0, { name = name }) } end):totable()"
    )
    own = [name for name, look in looks if "link" not in look or not look.get("default")]
    assert len(looks) > 60
    assert own == []


def test_changes_are_announced_at_most_once_in_30_ms(front: Editor) -> None:
    front.lua(
        "_G.at, _G.last = {}, nil "
        "vim.api.nvim_create_autocmd('User', { pattern = 'AcpState', callback = function() "
        "table.insert(_G.at, vim.uv.hrtime()) _G.last = require('acp').state().current end })"
    )
    for n in range(150):
        front.lua(
            "require('acp.base.state').set({'current'}, ...)"
            " require('acp.base.state').announce_change() vim.uv.sleep(1)",
            n,
        )
    front.wait("_G.last == 149")
    at = front.lua("return _G.at")
    assert len(at) > 2
    assert min(b - a for a, b in pairwise(at)) >= 30e6


def test_a_prompt_for_a_missing_session_is_an_error(front: Editor) -> None:
    session(front)
    front.lua("require('acp').prompt('x', { session = 2 })")
    before = len(sent(front))
    front.lua("pcall(require('acp').prompt, 'x', { session = 9 })")
    assert len(sent(front)) == before
    assert "No session 9" in notifications(front)[-1]


def test_invisible_characters_are_spelled_out_on_one_line(edit: Start) -> None:
    """`render/text.py` does the same; a NUL causes no error in Vim's own functions."""
    front = edit()
    text = "a\0b\x1b[31m\u202ec\u200b\x9bd\ufeff\u2066\r\n e\tf é😀\u200d"
    shown = front.lua("return require('acp.base.notify').one_line(...)", text)
    assert shown == "a^@b^[[31m<U+202E>c<U+200B><U+009B>d<U+FEFF><U+2066> e f é😀\u200d"


def test_a_message_is_one_line_without_a_hit_enter_prompt(edit: Start) -> None:
    front = edit(init=HOST, screen=(60, 20))
    for number in range(3):
        front.lua(
            "require('acp.base.notify').echo('warn', ...)",
            f"{number} long\nand\x1b[31m longer " + "漢字" * 60,
        )
        assert front.rpc.mode()["blocking"] is False
    assert front.messages().count("^[") == 3
    front.rpc.request("nvim_ui_try_resize", 20, 6)
    front.cmd("new")
    front.keys("atyped")
    front.lua(
        "local other = vim.fn.win_getid(2)"
        "vim.schedule(function() vim.api.nvim_win_call(other, function() end) end)"
        "require('acp.base.notify').echo('info', ...)",
        "longer than this screen of twenty columns and six rows, " * 3,
    )
    assert front.rpc.mode() == {"mode": "i", "blocking": False}
    assert front.lua("return vim.api.nvim_win_get_cursor(0)") == [1, len("typed")]


@pytest.mark.parametrize("height", [0, 1])
@pytest.mark.parametrize("level", ["info", "warn", "error"])
def test_messages_have_the_whole_text_of_a_message_that_is_cut(
    edit: Start, level: str, height: int
) -> None:
    front = edit(init=HOST, screen=(60, 20))
    front.cmd(f"set cmdheight={height}")
    text = "The agent is not installed: " + " ".join(f"reason-{n}" for n in range(30))
    front.lua("require('acp.base.notify').echo(...)", level, text)
    front.wait_message("reason-29")
    assert front.rpc.mode()["blocking"] is False
    assert " ".join(front.messages().split()) == f"acp: {text}"
    front.wait_screen("acp: The agent is not installed: reason-0")
    assert "reason-29" not in "".join(front.screen())
    front.cmd("messages clear")
    front.lua("require('acp.base.notify').echo(...)", level, "漢字 " * 100_000)
    front.wait_message("漢字")
    assert front.rpc.mode()["blocking"] is False
    assert len(front.messages().splitlines()) == 12


def test_only_the_beginning_of_a_huge_text_is_shown(edit: Start) -> None:
    """An agent's error of 500 kB took 0.2 to 0.9 s, and each redraw of a bar with it 50 ms."""
    front = edit(init=HOST, screen=(60, 20))
    one_line = "return require('acp.base.notify').one_line(...)"
    for text in ("漢字 " * 70_000, "word\n" * 100_000, "é" * 250_000, "x" + "é" * 250_000):
        shown = front.lua(one_line, text)
        assert 9_900 < len(shown.encode()) < 10_100
        assert "�" not in shown
        assert shown.endswith("…")
    assert front.lua(one_line, "x" * 10_000) == "x" * 10_000
    front.lua("_G.got = {} vim.notify = function(text) table.insert(_G.got, text) end")
    front.lua("require('acp.base.notify').echo('error', ...)", "word " * 100_000)
    front.wait("#_G.got == 1")
    assert len(front.lua("return _G.got[1]")) < 10_100


ERRORS = [["one", "two", "three"], ["long " * 60], ["short"]]


@pytest.mark.parametrize("mode", ["i", "R", "v"])
def test_errors_block_no_key_and_stay_on_the_screen(edit: Start, mode: str) -> None:
    front = edit(init=HOST, screen=(60, 20))
    for errors in ERRORS:
        front.cmd("messages clear | enew! | call setline(1, 'text')")
        front.keys(mode)
        begin = time.monotonic()
        for error in errors:
            front.lua("require('acp.base.notify').echo('error', ...)", error)
        front.keys("ll")
        front.wait_screen(f"acp: {errors[-1][:5]}")
        front.keys("x")
        front.wait("vim.fn.getline(1) == ...", {"i": "llxtext", "R": "llxt", "v": "t"}[mode])
        assert time.monotonic() - begin < 0.9, "Neovim has waited for a second"
        said = front.messages().replace("acp:", "").split()
        assert said == " ".join(errors).split()
        front.keys("<Esc>")


def test_a_message_waits_until_the_command_line_is_free(edit: Start) -> None:
    front = edit(init=HOST, screen=(60, 20))
    front.keys(":echo 'typ")
    front.lua("require('acp.base.notify').echo('info', 'later')")
    assert front.lua("return vim.fn.getcmdline()") == "echo 'typ"
    front.keys("<Esc>")
    front.wait_message("acp: later")
    # The end of Terminal mode in a picker that closes would erase the message.
    say = "lua require('acp.base.notify').echo('info', vim.fn.mode())"
    front.cmd(f"tnoremap <F2> <Cmd>close<Bar>{say}<CR>")
    front.cmd("split | terminal cat")
    front.keys("i<F2>")
    front.wait_screen("acp: t")


def test_the_placeholder_is_grey_in_a_terminal_with_16_colours(edit: Start) -> None:
    front = edit(init=HOST, screen=(60, 20))
    front.rpc.request("nvim_ui_set_option", "rgb", False)
    front.lua("require('acp.ui.highlights').define()")
    look = "return vim.api.nvim_get_hl(0, { name = 'AcpPlaceholder' })"
    assert front.lua(look)["ctermfg"] == 8
    front.cmd("colorscheme habamax")
    assert front.lua(look)["link"] == "Comment"


def test_statusline_shows_agent_and_state(front: Editor) -> None:
    assert front.lua("return require('acp').statusline()") == ""
    front.lua("require('acp.base.state').set({'host'}, 'running')")
    assert front.lua("return require('acp').statusline()") == ""
    session(front, status="running", permissions=[permission("p1")])
    assert front.lua("return require('acp').statusline()") == "waiting for you · Claude · 34k/200k"
    assert front.lua("return require('acp').statusline({ short = true })") == "waiting for you"
    session(front, usage={"used": 34_000, "size": 0})
    assert front.lua("return require('acp').statusline()").endswith(" 34k")
    assert sent(front) == []
    session(front, usage={"used": 5, "size": 0})
    assert front.lua("return require('acp').statusline()").endswith(" 5")
    front.cmd("Acp chat")
    front.wait("vim.wo[vim.fn.bufwinid('acp://chat/1')].winbar:find(' 5 $') ~= nil")


def test_a_card_names_only_commands_that_answer_it(front: Editor) -> None:
    options = [
        {"optionId": kind, "id": kind, "name": kind, "kind": kind}
        for kind in ("allow_session", "reject_always")
    ]
    below = """
        local legend = require('acp.features.permissions.legend')
        legend.update({ { id = 'q', options = ... } })
        return legend.text_below_card('q', 30)
    """
    assert front.lua(below, options) == ":Acp permissions"
    options[1]["kind"] = "reject_once"
    assert front.lua(below, options) == ":Acp permissions · :Acp deny"


def test_jump_to_hunks_wraps(front: Editor) -> None:
    front.open(front.write("a.txt", "1\n2\n3\n4\n5\n"))
    front.lua(
        "local ns = vim.api.nvim_create_namespace('acp.hunks')"
        " for _, row in ipairs({1, 3}) do vim.api.nvim_buf_set_extmark(0, ns, row, 0, {}) end"
    )
    front.cmd("nmap ]h <Plug>(acp-next-hunk)")
    front.cmd("nmap [h <Plug>(acp-prev-hunk)")
    seen = []
    for keys in ("]h", "]h", "]h", "[h", "2]h"):
        front.keys(keys)
        seen.append(front.lua("return vim.fn.line('.')"))
    assert seen == [2, 4, 2, 4, 4]


def test_the_plugin_file_loads_nothing_and_runs_once(front: Editor) -> None:
    assert front.lua("return vim.g.loaded_acp")
    modules = front.lua(
        "return vim.tbl_filter(function(name) return name:match('^acp') end,"
        " vim.tbl_keys(package.loaded))"
    )
    assert set(modules) == {"acp.base.host", "acp.base.signals", "acp.features"}, (
        "those of the test"
    )


def test_the_public_module_loads_nothing_until_a_function_is_used(editor: Editor) -> None:
    loaded = (
        "vim.tbl_filter(function(it) return it:match('^acp') end, vim.tbl_keys(package.loaded))"
    )
    assert editor.lua(f"require('acp') return {loaded}") == ["acp"]
    assert editor.lua("return require('acp').state().elicitations") == []
    assert editor.lua(f"return vim.list_contains({loaded}, 'acp.features')")


@pytest.mark.parametrize("columns", [24, 30, 34])
def test_a_message_asks_for_no_key_if_the_ruler_leaves_no_room(edit: Start, columns: int) -> None:
    front = edit(init=HOST, screen=(columns, 16))
    front.cmd("set laststatus=0")
    for _ in range(2):
        front.keys(":Acp chat<CR>")
        assert not front.rpc.request("nvim_get_mode")["blocking"]
    assert front.cmd("messages").splitlines()[0].startswith("acp: No session")


def test_a_command_that_fails_inside_a_script_raises(edit: Start) -> None:
    front = edit(init=HOST, screen=(80, 20))
    with pytest.raises(EditorError, match="did you mean 'chat'"):
        front.cmd("Acp chta")


def test_install_repairs_an_existing_environment(front: Editor, tmp_path: Path) -> None:
    """The last steps fill this repository's environment and compile the plugin's files, for which
    the first prompt would wait.
    """
    steps = front.lua("return (require('acp.features.install.environment').steps())")
    fill, compiling = (step["argv"] for step in steps[-2:])
    assert fill[-2:] == ["-e", str(ROOT)]
    assert str(ROOT / ".venv") in " ".join(fill)
    assert compiling[1:] == ["-m", "compileall", "-q", str(ROOT / "acp_nvim")]
    front.lua("env, lines = require('acp.features.install.environment'), {}")
    front.lua("env.steps = function() return { { name = 'one', argv = { 'true' } } } end")
    build = "env.build(function(line) table.insert(lines, line) end)"
    front.lua(f"vim.g.loaded_acp = nil {build} vim.g.loaded_acp = os.time() {build}")
    asked = "The plugin was updated. Restart Neovim, which keeps sessions and edits"
    assert front.lua("return lines") == ["one", "one", asked]  # an install, and an update


def test_the_last_message_of_an_install_fits_on_a_small_screen(front: Editor) -> None:
    for option, end in (("nil", "The next command uses it"), ("'sh'", "names another interpreter")):
        front.lua(
            "local env = require('acp.features.install.environment') env.steps = function()"
            " return { { name = 'one', argv = { 'true' } } } end"
            f" require('acp').setup({{ python = {option} }}) env.run()"
        )
        front.wait("#_G.notified > 0 and vim.endswith(_G.notified[#_G.notified][1], ...)", end)
        assert len(notifications(front)[-1]) < 68  # the default ruler is beside it


def test_install_adds_the_extra_if_an_agent_has_an_address(front: Editor) -> None:
    front.lua("require('acp').setup({ agents = { far = { url = 'wss://host/acp' } } })")
    fill = front.lua("return (require('acp.features.install.environment').steps())")[-2]["argv"]
    assert fill[-2:] == ["-e", f"{ROOT}[remote]"]


def test_an_error_waits_for_no_key_without_a_line_for_it(editor: Editor) -> None:
    editor.errors_expected = True
    editor.lua("vim.o.cmdheight = 0")
    say = "for i = 1, 3 do require('acp.base.notify').error('broken ' .. i) end"
    editor.lua(f"vim.schedule(function() {say} end)")
    editor.wait_message("acp: broken 3")
    assert editor.lua("return vim.api.nvim_get_mode().blocking") is False


def test_an_error_at_exit_does_not_delay_it(edit: Start) -> None:
    front = edit()
    front.lua(
        "vim.api.nvim_create_autocmd('VimLeavePre', { callback = function() "
        "vim.wait(20) require('acp.base.notify').echo('error', 'too late') end })"
    )
    front.quit()


CUTS = [
    ("Charge for the whole basket", 27, "Charge for the whole basket"),
    ("Charge for the whole basket", 25, "Charge for the whole…"),
    ("Charge for the whole basket", 21, "Charge for the whole…"),
    ("a lua/acp/features/chat/view.lua", 12, "a lua/acp/f…"),
    ("e\u0301e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301…"),
    ("日本語", 4, "日…"),
]


def test_a_text_is_cut_between_words_or_whole_characters(front: Editor) -> None:
    for text, width, cut in CUTS:
        assert front.lua("return require('acp.base.notify').cut(...)", text, width) == cut
