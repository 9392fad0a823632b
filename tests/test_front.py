"""The Lua front in a real Neovim, without a host: what would be sent to it is recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.editor import ROOT, Editor
from tests.rpc import EditorError

HOST = """
_G.sent = {}
_G.host = { running = true, takes = true }
package.loaded['acp.host'] = {
  notify = function(verb, args)
    table.insert(_G.sent, { verb, args })
    return _G.host.takes
  end,
  running = function() return _G.host.running end,
}
_G.told = {}
"""

RECORD_NOTIFY = "vim.notify = function(text, level) table.insert(_G.told, { text, level }) end\n"

SESSION = {
    "agent": "claude",
    "status": "idle",
    "cwd": "/",
    "modes": {
        "current": "ask",
        "available": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
    },
    "options": [
        {
            "id": "llm",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": "big",
            "options": [
                {"group": "g", "name": "G", "options": [{"value": "big", "name": "Big"}]},
                {"value": "small", "name": "Small"},
            ],
        },
        {"id": "think", "name": "Think", "type": "boolean", "currentValue": False},
    ],
    "commands": [
        {"name": "init", "description": "d", "hint": "path"},
        {"name": "review", "description": "d"},
    ],
    "usage": {"used": 34_000, "size": 200_000},
}
OPTIONS = [
    {"id": "yes", "name": "Yes", "kind": "allow_once"},
    {"id": "ever", "name": "Always", "kind": "allow_always"},
    {"id": "no", "name": "No", "kind": "reject_once"},
]
Start = Callable[..., Editor]


@pytest.fixture
def front(edit: Start) -> Editor:
    """An editor whose host is a record, with notifications recorded as well."""
    return edit(init=HOST + RECORD_NOTIFY, screen=(100, 30))


def sent(editor: Editor) -> list[list[Any]]:
    """All verbs so far, `[name, arguments]` each."""
    found: list[list[Any]] = editor.lua("return _G.sent")
    return found


def last(editor: Editor) -> list[Any]:
    return sent(editor)[-1]


def told(editor: Editor) -> list[str]:
    return [text for text, _ in editor.lua("return _G.told")]


def session(editor: Editor, n: int = 1, **more: Any) -> None:
    """Put a session into the snapshot and make it current, as a frame would."""
    editor.lua(
        "local n, s = ... require('acp.state').set({'sessions', n}, s)"
        " require('acp.state').set({'current'}, n)",
        n,
        {**SESSION, **more},
    )


def permission(number: int | str) -> dict[str, Any]:
    return {"id": number, "tool_call": "t", "title": "run", "options": OPTIONS}


def cards(editor: Editor, *ids: int | str, n: int = 1) -> None:
    """Cards of these decisions, three lines each."""
    found = [
        {
            "id": i,
            "lines": [f"decision {i}", "  rm file", "  [1] Yes"],
            "spans": [[0, 0, 8, "AcpKey"]],
            "options": OPTIONS,
        }
        for i in ids
    ]
    editor.lua("require('acp.permission').set(...)", n, found)


def float_lines(editor: Editor) -> list[str] | None:
    """Lines of the float of decisions in the current tab page, None when there is none."""
    lines: list[str] | None = editor.lua(
        """for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.bo[buf].filetype == 'acppermission' then
            return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
          end
        end"""
    )
    return lines


def error_of(editor: Editor, command: str) -> str:
    """The one line that a wrong command answers with."""
    before = len(told(editor))
    editor.cmd(command)
    lines = told(editor)[before:]
    assert len(lines) == 1 and "\n" not in lines[0], lines
    return lines[0]


def composer(editor: Editor, n: int = 1) -> list[str]:
    return editor.lines(f"acp://composer/{n}")


# ---- commands


def test_the_text_of_a_prompt_is_taken_as_typed(front: Editor) -> None:
    text = r'fix a | b \| c "d" \n % # <args> \\'
    front.cmd(f"AcpPrompt {text}")
    assert last(front)[1]["text"] == text
    front.cmd(f"Acp prompt {text}")
    assert last(front)[1]["text"] == text
    assert last(front)[1]["cwd"] == str(front.work)


def test_a_range_goes_along_with_the_prompt(front: Editor) -> None:
    path = front.write("a.py", "one\ntwo\nthree\n")
    front.open(path)
    front.cmd("2,3AcpPrompt why")
    lines = last(front)[1]["range"]
    assert (lines["first"], lines["last"], lines["text"]) == (2, 3, "two\nthree")
    assert (lines["path"], lines["filetype"]) == (str(path), "python")


def test_a_bang_asks_for_a_new_session(front: Editor) -> None:
    session(front)
    front.cmd("AcpPrompt! hello")
    assert last(front)[1]["new"] is True


def test_files_named_in_a_prompt_are_attached(front: Editor) -> None:
    path = front.write("src/a.py", "")
    front.cmd("AcpPrompt see @src/a.py, not me@src/a.py or @nothing")
    assert last(front)[1]["attach"] == [str(path)]


def test_variables_go_along_and_leave_the_text_alone(front: Editor) -> None:
    front.open(front.write("a.txt", "first\nsecond\n"))
    front.lua(
        "vim.fn.setqflist({{ bufnr = vim.api.nvim_get_current_buf(), lnum = 2, text = 'bad' }})"
    )
    front.cmd("AcpPrompt fix @{quickfix} and @{nonsense}")
    arguments = last(front)[1]
    assert arguments["text"] == "fix @{quickfix} and @{nonsense}"
    assert [variable["name"] for variable in arguments["variables"]] == ["quickfix"]
    assert arguments["variables"][0]["text"].endswith("a.txt:2:0: bad")


@pytest.mark.parametrize(
    ("command", "nearest"),
    [
        ("Acp chta", "chat"),
        ("Acp perm", "permissions"),
        ("Acp queue ru", "run"),
        ("Acp mode cod", "code"),
        ("Acp model smal", "small"),
        ("Acp option thnk", "think"),
        ("Acp option think tru", "true"),
        ("Acp agent claud", "claude"),
        ("Acp new gemni", "gemini"),
        ("Acp accept hnk", "hunk"),
        ("Acp allow ye", "yes"),
        ("Acp attach a.tx", "a.txt"),
    ],
)
def test_a_wrong_word_is_one_line_that_names_the_nearest(
    front: Editor, command: str, nearest: str
) -> None:
    front.write("a.txt", "")
    session(front, permissions=[permission("p1")])
    assert f"'{nearest}'" in error_of(front, command)
    assert sent(front) == []


@pytest.mark.parametrize(
    ("command", "verb", "arguments"),
    [
        ("Acp mode code", "mode", {"id": "code"}),
        ("Acp model small", "option", {"id": "llm", "value": "small"}),
        ("Acp option think true", "option", {"id": "think", "value": True}),
        ("Acp allow", "allow", {}),
        ("Acp deny no", "deny", {"option": "no"}),
        ("Acp queue run", "queue", {"action": "run"}),
        ("Acp restore 2", "restore", {"n": 2}),
        ("Acp log", "log", {}),
        ("Acp info", "info", {}),
        ("AcpCancel!", "cancel", {"clear": True}),
        ("Acp cancel", "cancel", {"clear": False}),
        ("Acp agent claude", "agent", {"name": "claude"}),
    ],
)
def test_subcommands_become_verbs(
    front: Editor, command: str, verb: str, arguments: dict[str, Any]
) -> None:
    session(front, permissions=[permission("p1")])
    front.cmd(command)
    assert last(front) == [verb, arguments]


def test_an_empty_table_of_arguments_arrives_as_a_map(front: Editor) -> None:
    """msgpack would make a list of it."""
    front.cmd("Acp info")
    assert front.lua("return vim.mpack.encode(_G.sent[1][2]) == '\\128'")


def test_comment_takes_its_text_and_place(front: Editor) -> None:
    path = front.write("a.txt", "one\ntwo\n")
    front.open(path)
    front.cmd("2")
    front.cmd("Acp comment why | this?")
    verb, arguments = last(front)
    assert verb == "comment"
    assert (arguments["text"], arguments["path"], arguments["line"]) == (
        "why | this?",
        str(path),
        2,
    )


def test_attach_takes_names_with_spaces(front: Editor) -> None:
    path = front.write("my file.txt", "")
    front.cmd(r"Acp attach my\ file.txt")
    assert last(front) == ["attach", {"paths": [str(path)], "cwd": str(front.work)}]
    front.cmd("Acp attach -")
    assert last(front)[1]["clipboard"] is True


def test_nothing_starts_the_host_to_say_that_nothing_is_going_on(front: Editor) -> None:
    front.lua("_G.host.running = false")
    for command in (
        "AcpCancel",
        "Acp allow",
        "Acp queue",
        "Acp edits",
        "Acp permissions",
        "Acp stop",
        "Acp chat",
    ):
        error_of(front, command)
    assert sent(front) == []


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("Acp per", ["permissions"]),
        ("Acp queue ", ["edit", "run", "clear"]),
        ("Acp mode ", ["ask", "code"]),
        ("Acp model ", ["big", "small"]),
        ("Acp option ", ["llm", "think"]),
        ("Acp option think ", ["true", "false"]),
        ("Acp allow ", ["yes", "ever", "no"]),
        ("Acp accept ", ["hunk", "file", "all"]),
        ("Acp agent clau", ["claude"]),
        ("Acp attach my", [r"my\ file.txt"]),
        ("Acp info ", []),
    ],
)
def test_completion(front: Editor, line: str, some: list[str]) -> None:
    front.write("my file.txt", "")
    session(front, permissions=[permission("p1")])
    assert front.lua("return vim.fn.getcompletion(..., 'cmdline')", line) == some


def test_choices_are_put_to_the_users_picker(front: Editor) -> None:
    session(front)
    front.lua("vim.ui.select = function(items, opts, done) _G.items = items done(items[2], 2) end")
    front.cmd("Acp mode")
    front.wait("_G.sent[1]")
    assert front.lua("return _G.items") == ["* Ask", "  Code"]
    assert last(front) == ["mode", {"id": "code"}]


def test_an_error_in_a_command_is_one_line(front: Editor) -> None:
    front.lua("package.loaded['acp.host'].notify = function() error('broken\\nand more') end")
    assert error_of(front, "AcpPrompt hello") == "acp: broken"


# ---- composer


def test_writing_the_composer_sends_and_clears_it(front: Editor) -> None:
    front.cmd("AcpPrompt")
    assert front.lua("return vim.bo.filetype .. ' ' .. vim.bo.buftype") == "acpcomposer acwrite"
    front.keys("ifirst<CR>second<Esc>:w<CR>")
    assert last(front)[0] == "prompt"
    assert last(front)[1]["text"] == "first\nsecond"
    assert composer(front) == [""]


@pytest.mark.parametrize("keys", ["ihello<C-s>", "ihello<Esc><C-s>", "ihello<Esc><CR>"])
def test_keys_that_send(front: Editor, keys: str) -> None:
    session(front)
    front.cmd("AcpPrompt")
    front.keys(keys)
    assert last(front)[1]["text"] == "hello"
    assert last(front)[1]["session"] == 1


def test_a_prompt_that_the_host_does_not_take_stays(front: Editor) -> None:
    front.lua("_G.host.takes = false")
    front.cmd("AcpPrompt")
    front.keys("ihello<C-s>")
    assert composer(front) == ["hello"]


def test_a_prompt_that_died_with_the_host_comes_back(front: Editor) -> None:
    front.lua("require('acp.state').set({'host'}, 'starting')")
    front.cmd("AcpPrompt")
    front.keys("ihello<C-s>more<Esc>")
    front.lua("require('acp.state').host_gone('failed', 'no pynvim')")
    front.wait("#vim.api.nvim_buf_get_lines(0, 0, -1, false) == 2")
    assert composer(front) == ["hello", "more"]


def test_a_host_that_runs_has_taken_it(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("ihello<C-s><Esc>")
    front.lua("require('acp.state').set({'host'}, 'running') require('acp.state').changed()")
    front.wait("#_G.acp_events == 1")
    front.lua("require('acp.state').host_gone('failed', 'crash')")
    front.wait("#_G.acp_events == 2")
    assert composer(front) == [""]


def test_text_given_back_stands_in_front_and_typing_goes_on(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("iabc")
    front.lua("require('acp.composer').give_back(1, 'one\\ntwo')")
    front.keys("def")
    assert composer(front) == ["one", "two", "abcdef"]


def test_the_draft_survives_bdelete_and_edit(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("ikeep me<Esc>")
    front.cmd("edit")
    assert composer(front) == ["keep me"]
    front.cmd("bdelete")
    front.cmd("AcpPrompt")
    assert composer(front) == ["keep me"]
    front.keys("A!<Esc>:w<CR>")
    assert last(front)[1]["text"] == "keep me!"


def test_wall_does_not_send_and_qall_is_not_stopped(front: Editor) -> None:
    front.open(front.write("a.txt", "x\n"))
    front.cmd("AcpPrompt")
    front.keys("ihalf a pro<Esc>")
    front.wait("not vim.bo.modified")
    front.cmd("wall")
    assert sent(front) == []
    front.quit()


def test_a_part_can_be_sent(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("ione<CR>two<CR>three<Esc>")
    front.cmd("2w!")
    assert last(front)[1]["text"] == "two"
    assert composer(front) == ["one", "three"]


def test_history_keeps_what_is_written_at_every_step(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("ifirst<C-s>second<C-s>draft<Esc>")
    seen = []
    for key in ("<C-p>", "<C-p>", "A!<Esc><C-n>", "<C-n>", "<C-p><C-p>"):
        front.keys(key)
        seen.append(composer(front))
    assert seen == [["second"], ["first"], ["second"], ["draft"], ["first!"]]


def test_an_attached_range_follows_edits_until_it_is_sent(front: Editor) -> None:
    front.open(front.write("a.txt", "one\ntwo\nthree\n"))
    buffer = front.lua("return vim.api.nvim_get_current_buf()")
    front.cmd("2AcpPrompt")
    front.wait_screen("+ a.txt:2")
    front.lua("vim.api.nvim_buf_set_lines(..., 0, 0, false, {'zero'})", buffer)
    front.keys("iwhy<C-s>")
    lines = last(front)[1]["range"]
    assert (lines["first"], lines["last"], lines["text"]) == (3, 3, "two")


def test_the_composer_of_a_session_to_come_asks_for_a_new_one(front: Editor) -> None:
    session(front)
    front.cmd("AcpPrompt!")
    assert front.lua("return vim.fn.bufname()") == "acp://composer/2"
    front.keys("ihello<C-s>")
    assert last(front)[1]["new"] is True
    assert "session" not in last(front)[1]


def test_the_snapshot_learns_of_a_composer_that_was_there_first(front: Editor) -> None:
    front.cmd("AcpPrompt")
    buffer = front.lua("return vim.api.nvim_get_current_buf()")
    session(front)
    front.lua("require('acp.state').changed()")
    front.wait("require('acp').state().sessions[1].composer_bufnr == ...", buffer)


def test_omni_completion_of_commands_and_files(front: Editor) -> None:
    front.write("src/alpha.py", "")
    session(front)
    front.cmd("AcpPrompt")
    front.wait("#require('acp.files').list(vim.fn.getcwd()) == 1")
    front.keys("i/i<C-x><C-o><C-y>")
    assert composer(front) == ["/init "]
    front.keys("see @alp<C-x><C-o><C-y>")
    assert composer(front) == ["/init see @src/alpha.py"]


# ---- decisions


def test_the_float_does_not_take_focus_or_keys(front: Editor) -> None:
    front.open(front.write("a.txt", ""))
    front.keys("iabc")
    cards(front, 1)
    front.keys("yYnN1")
    assert front.lua("return vim.api.nvim_get_current_line()") == "abcyYnN1"
    assert sent(front) == []
    front.wait_screen("decision 1")


@pytest.mark.parametrize(
    ("key", "choice"), [("y", "yes"), ("Y", "ever"), ("n", "no"), ("2", "ever")]
)
def test_keys_in_the_float_answer_the_card_under_the_cursor(
    front: Editor, key: str, choice: str
) -> None:
    cards(front, 1, 2)
    front.cmd("Acp permissions")
    front.keys("5G" + key)
    assert last(front) == ["answer", {"id": 2, "choice": choice}]


def test_a_kind_that_is_not_offered_answers_nothing(front: Editor) -> None:
    cards(front, 1)
    front.cmd("Acp permissions")
    front.keys("N")
    assert told(front)[-1] == "acp: no option of kind reject_always; options: yes, ever, no"
    assert sent(front) == []


def test_a_key_is_not_taken_by_the_card_that_has_just_moved_there(front: Editor) -> None:
    cards(front, 1, 2)
    front.cmd("Acp permissions")
    cards(front, 2)
    front.keys("y")
    assert sent(front) == []
    assert "press again" in told(front)[-1]


def test_cursor_stays_on_its_card_when_another_goes(front: Editor) -> None:
    cards(front, 1, 2)
    front.cmd("Acp permissions")
    front.keys("6G")
    cards(front, 2)
    front.keys("y")
    assert last(front) == ["answer", {"id": 2, "choice": "yes"}]


def test_the_float_follows_tabs_and_comes_back_after_only(front: Editor) -> None:
    cards(front, 1)
    front.cmd("tabnew")
    front.wait("vim.fn.winnr('$') == 2")
    assert float_lines(front) is not None
    front.cmd("only")
    assert float_lines(front) is None
    cards(front, 1, 2)
    assert float_lines(front) is not None
    cards(front)
    assert float_lines(front) is None
    front.cmd("tabclose")
    assert float_lines(front) is None


def test_the_float_waits_for_the_command_line_window(front: Editor) -> None:
    front.keys("q:")
    cards(front, 1)
    front.keys(":q<CR>")
    front.wait("vim.fn.getcmdwintype() == ''")
    front.wait_screen("decision 1")


def test_permission_keys_in_the_chat_act_only_on_a_card(front: Editor) -> None:
    session(front)
    front.lua("require('acp.chat').open(1)")
    front.lua(
        "require('acp.chat').replace(1, 0, 1, {'one', 'card', 'three'},"
        " {{}, {{1, 1, {decision = 'd1', kind = 'decision'}}}})"
    )
    front.lua(
        "require('acp.permission').set(1, ...)",
        [{"id": "d1", "lines": ["x"], "spans": [], "options": OPTIONS}],
    )
    front.cmd("wincmd l")
    front.keys("gg")
    front.keys("yy")
    assert front.lua("return vim.fn.getreg('\"')") == "one\n"
    front.keys("1j")
    assert front.lua("return vim.fn.line('.')") == 2
    front.keys("y")
    assert last(front) == ["answer", {"id": "d1", "choice": "yes"}]


def test_plug_maps_answer_the_oldest(front: Editor) -> None:
    session(front, permissions=[permission("p1"), permission("p2")])
    front.cmd("nmap gA <Plug>(acp-allow-always)")
    front.keys("gA")
    assert last(front) == ["answer", {"id": "p1", "choice": "ever"}]


# ---- windows


def test_a_window_beside_leaves_focus_layout_and_diff_alone(front: Editor) -> None:
    front.cmd("vsplit | diffthis")
    before = front.lua("return { vim.api.nvim_get_current_win(), vim.fn.winheight(0) }")
    win = front.lua(
        "return require('acp.window').open_beside(vim.api.nvim_create_buf(false, true), { size = 30 })"
    )
    assert front.lua("return { vim.api.nvim_get_current_win(), vim.fn.winheight(0) }") == before
    assert front.lua("return vim.wo[...].diff", win) is False
    assert front.lua("return vim.wo[...].winfixbuf", win) is True
    assert front.lua("return vim.api.nvim_win_get_width(...)", win) == 30


def test_a_window_that_is_refused_opens_as_soon_as_it_may(front: Editor) -> None:
    front.lua(
        """vim.keymap.set('i', '<F2>', function()
          require('acp.window').open_beside(vim.api.nvim_create_buf(false, true))
          return 'x'
        end, { expr = true })"""
    )
    front.keys("i<F2>")
    front.wait("vim.fn.winnr('$') == 2")
    assert front.lua("return vim.fn.mode() .. vim.api.nvim_get_current_line()") == "ix"


def test_the_last_window_is_left_not_closed(front: Editor) -> None:
    session(front)
    front.lua("require('acp.chat').open(1)")
    front.cmd("wincmd l | only")
    assert front.lua("return vim.fn.bufname()") == "acp://chat/1"
    front.cmd("Acp chat")
    assert front.lua("return vim.fn.bufname()") == ""
    assert front.lua("return vim.wo.winfixbuf") is False


def test_the_plan_toggles_and_keeps_the_focus(front: Editor) -> None:
    session(front)
    front.lua("require('acp.plan').set(1, {'first', 'second'}, {{0, 0, 5, 'AcpPlanDone'}})")
    front.cmd("Acp plan")
    assert front.lines("acp://plan/1") == ["first", "second"]
    assert front.lua("return vim.fn.bufname()") == ""
    front.lua("require('acp.plan').set(1, {'third'}, {})")
    assert front.lines("acp://plan/1") == ["third"]
    front.cmd("Acp plan")
    assert front.lua("return vim.fn.winnr('$')") == 1


def test_what_was_asked_for_takes_the_focus_unless_the_user_went_on(front: Editor) -> None:
    front.cmd("Acp info")
    front.lua("require('acp.show').open('acp://info', 'acpinfo', {'a'})")
    assert front.lua("return vim.bo.filetype") == "acpinfo"
    front.cmd("close")
    front.cmd("Acp info")
    front.keys("ihello")
    front.lua("require('acp.show').open('acp://info', 'acpinfo', {'b'})")
    assert front.lua("return vim.bo.filetype") == ""
    assert front.lines("acp://info") == ["b"]


def test_help_lists_the_keys_in_force(front: Editor) -> None:
    front.lua(
        "require('acp').setup(...)", {"keymaps": {"composer": {"<c-S>": False, "gs": "send"}}}
    )
    front.cmd("AcpPrompt")
    front.keys("g?")
    text = "\n".join(front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert re.search(r"gs\s+send", text) and "C-s" not in text
    front.keys("q")
    assert front.lua("return vim.bo.filetype") == "acpcomposer"


def test_selects_do_not_nest_and_wait_for_normal_mode(front: Editor) -> None:
    front.lua(
        "_G.asked = {} vim.ui.select = function(i, o, done) table.insert(_G.asked, { o.prompt, done }) end"
    )
    front.keys("i")
    front.lua("require('acp.pick').select(7, 'first', 'k', {'a', 'b'})")
    front.keys("x")
    assert front.lua("return #_G.asked") == 0
    front.keys("<Esc>")
    front.wait("#_G.asked == 1")
    front.lua(
        "vim.api.nvim_open_win(0, true, {relative='editor', row=1, col=1, width=9, height=2})"
    )
    front.lua("require('acp.pick').input(8, 'second', nil)")
    front.lua("vim.ui.input = function(o, done) done('text') end")
    front.lua("_G.asked[1][2]('b', 2)")
    front.wait("#_G.sent == 2")
    assert sent(front) == [["picked", {"id": 7, "index": 2}], ["typed", {"id": 8, "text": "text"}]]


# ---- options


def test_all_mistakes_are_reported_at_once_with_the_nearest_name(front: Editor) -> None:
    wrong = {
        "agnet": "x",
        "chat": {"layuot": "right", "size": "big", "layout": "left"},
        "files": {"save": "alwys"},
        "keymaps": {"composer": {"gz": "sned"}, "chta": {}},
        "permission": {"rules": [{"action": "permit"}]},
        "agents": {"mine": {"comand": ["x"]}},
    }
    front.lua("require('acp').setup(...)", wrong)
    (text,) = told(front)
    for name in (
        "'agent'",
        "'chat.layout'",
        "'chat.size'",
        "'always'",
        "'send'",
        "'keymaps.chat'",
        "rules",
        "'command'",
    ):
        assert name in text, text
    assert len(front.lua("return require('acp.config').mistakes")) == 8
    assert front.lua("return require('acp.config').get().chat.layout") == "left"
    assert front.lua("return require('acp.config').get().chat.size") == pytest.approx(0.4)


def test_mistakes_at_the_start_leave_no_prompt_behind(edit: Start) -> None:
    wrong = "{ agnet = 1, fles = 2, chat = 3, keymaps = 4 }"
    front = edit(init=f"{HOST} require('acp').setup({wrong})", screen=(70, 20))
    front.wait("vim.fn.execute('messages'):find('agnet', 1, true)")
    assert front.rpc.mode()["blocking"] is False
    assert "4 mistakes" in front.messages()
    assert "'fles', did you mean 'files'" in front.messages()


def test_users_agents_are_merged_over_the_presets(front: Editor) -> None:
    front.lua(
        "require('acp').setup(...)",
        {
            "agent": "claude",
            "agents": {"claude": {"env": {"A": "b"}}, "mine": {"command": ["x"]}, "pi": False},
        },
    )
    agents = front.lua("return require('acp.config').for_host().agents")
    assert agents["claude"] == {"command": ["claude-agent-acp"], "env": {"A": "b"}}
    assert agents["mine"]["command"] == ["x"]
    assert "pi" not in agents
    assert last(front)[0] == "setup"


def test_keymaps_false_takes_all_keys_away(front: Editor) -> None:
    front.lua("require('acp').setup({ keymaps = false })")
    front.cmd("AcpPrompt")
    assert front.lua("return vim.api.nvim_buf_get_keymap(0, 'n')") == []


def test_every_colour_that_is_drawn_is_defined(front: Editor) -> None:
    front.lua("require('acp.highlights').define()")
    drawn: set[str] = set()
    for path in [*(ROOT / "acp_nvim/render").glob("*.py"), *(ROOT / "lua").glob("**/*.lua")]:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py" or path.name not in ("types.lua", "notify.lua"):
            drawn |= set(re.findall(r"""["'](Acp[A-Z][A-Za-z]*)["']""", text))
    events = {"AcpState", "AcpTurnEnd", "AcpPermission", "AcpElicitation", "AcpPrompt", "AcpFollow"}
    defined = set(front.lua("return vim.tbl_keys(require('acp.highlights').groups)"))
    assert drawn - events <= defined
    assert front.lua("return vim.api.nvim_get_hl(0, { name = 'AcpUser' }).link") == "Title"


# ---- words to the user


def test_a_message_is_one_line_that_never_asks_for_enter(edit: Start) -> None:
    front = edit(init=HOST, screen=(60, 20))
    for number in range(3):
        front.lua(
            "require('acp.notify').echo('warn', ...)",
            f"{number} long\nand\x1b[31m longer " + "漢字" * 60,
        )
        assert front.rpc.mode()["blocking"] is False
    assert "^[" in front.messages()


def test_a_message_waits_until_the_command_line_is_free(edit: Start) -> None:
    front = edit(init=HOST, screen=(60, 20))
    front.keys(":echo 'typ")
    front.lua("require('acp.notify').echo('info', 'later')")
    assert front.lua("return vim.fn.getcmdline()") == "echo 'typ"
    front.keys("<Esc>")
    front.wait("vim.fn.execute('messages'):find('acp: later', 1, true)")


def test_turn_ends_are_told_only_without_focus(front: Editor) -> None:
    front.lua("require('acp.notify').watch()")
    end = "vim.api.nvim_exec_autocmds('User', {pattern='AcpTurnEnd', data={session=1, stop_reason='end_turn'}})"
    front.lua(end)
    assert told(front) == []
    front.lua("vim.api.nvim_exec_autocmds('FocusLost', {})")
    front.lua(end)
    assert told(front) == ["acp: session 1: the turn has ended"]


def test_statusline(front: Editor) -> None:
    assert front.lua("return require('acp').statusline()") == ""
    session(front, status="running", permissions=[permission("p1")])
    assert front.lua("return require('acp').statusline()") == "claude running 1? 34k/200k"
    assert sent(front) == []


def test_jump_to_hunks_goes_round(front: Editor) -> None:
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


def test_the_plugin_file_loads_nothing_and_refuses_twice(front: Editor) -> None:
    assert front.lua("return vim.g.loaded_acp") == 1
    modules = front.lua(
        "return vim.tbl_filter(function(m) return m:match('^acp') end, vim.tbl_keys(package.loaded))"
    )
    assert modules == ["acp.host"]


def test_a_command_that_fails_inside_a_script_raises(edit: Start) -> None:
    front = edit(init=HOST, screen=(80, 20))
    with pytest.raises(EditorError, match="did you mean 'chat'"):
        front.cmd("Acp chta")


def test_install_repairs_what_is_there(front: Editor, tmp_path: Path) -> None:
    """Whatever the machine has, the last step fills this repository's environment."""
    steps = front.lua("return (require('acp.install').steps())")
    assert steps[-1]["argv"][-2:] == ["-e", str(ROOT)]
    assert str(ROOT / ".venv") in " ".join(steps[-1]["argv"])
