"""Views and reports in a real Neovim."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor


@pytest.mark.parametrize("command", ["export", "log save"])
def test_a_file_that_cannot_be_written_is_reported_and_nothing_ends(
    editor: Editor, command: str
) -> None:
    editor.errors_expected = True
    editor.agent("say", "hello")
    editor.turn("hi")
    editor.cmd(f"Acp {command} {editor.work}/none/such/file")
    editor.wait_message("acp: Cannot write")
    assert editor.state()["host"] == "running"
    editor.turn("once more")


def test_the_tutor_takes_a_tour_on_a_copy_of_its_sample(editor: Editor) -> None:
    mine = editor.open(editor.write("mine.txt", "mine\n"))
    editor.agent("say", "not asked")
    editor.cmd("Acp tutor")
    editor.wait_event("AcpTurnEnd")
    session = editor.session()
    assert "1 of 10 · Talk" in " ".join(editor.chat())
    assert session["agent"] == "tutor"
    assert editor.lua("return vim.fn.expand('%:p:h')") == session["cwd"]
    assert editor.lua("return vim.fn.fnamemodify(vim.fn.bufname(), ':t')") == "till.py"
    editor.cmd("tabclose")
    assert editor.lua("return { vim.api.nvim_get_current_buf(), vim.fn.getcwd() }") == [
        mine,
        str(editor.work),
    ]


VIEWS = {
    "acp://chat/1": ("", "hello"),
    "acp://plan/1": ("Acp plan", "Look"),
    "acp://info": ("Acp info", "agent script"),
    "acp://log/script": ("Acp log", "session/prompt"),
    "acp://queue/1": ("Acp queue", "later"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_edit_keeps_the_content_of_a_view(editor: Editor, name: str) -> None:
    opener, text = VIEWS[name]
    editor.agent("script")
    editor.turn("say hello")
    editor.turn("plan")
    editor.prompt("wait_for_cancel")
    editor.wait_event("AcpTurnStart", 3)
    editor.prompt("later")
    editor.wait("#require('acp').state().sessions[1].queue == 1")
    chat = "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://chat/1'), 0, -1, true))"
    editor.wait(f"{chat}:find('waiting', 1, true)")
    if opener:
        editor.cmd(opener)
    find = "local n = ... return vim.iter(vim.api.nvim_list_wins()):find(function(w) return"
    find += " vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(w)) == n end)"
    editor.lua("vim.api.nvim_set_current_win(...)", editor.wait(find, name))
    before = editor.lines(name)
    assert text in "\n".join(before)
    editor.cmd("edit")
    joined = "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n') == ..."
    editor.wait(joined, "\n".join(before))
    assert editor.lua("return vim.bo.filetype")


@pytest.mark.parametrize("name", ["acp://chat/1", "acp://plan/1"])
def test_keys_are_commands_in_a_view_that_is_entered_from_insert_mode(
    editor: Editor, name: str
) -> None:
    editor.agent("script")
    editor.turn("plan")
    editor.prompt("wait_for_cancel")
    editor.wait_event("AcpTurnStart", 2)
    editor.cmd("Acp plan")
    editor.cmd("AcpPrompt")
    editor.wait("vim.api.nvim_get_mode().mode == 'i'")
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", name)
    editor.wait("vim.api.nvim_get_mode().mode == 'n'")
    if name == "acp://chat/1":
        editor.press_ctrl_c()
        assert editor.wait_event("AcpTurnEnd", 2)["stop_reason"] == "cancelled"


def test_the_window_of_a_plan_follows_the_chat_below_it_to_a_new_session(editor: Editor) -> None:
    editor.agent("plan")
    editor.turn("plan")
    editor.cmd("Acp plan")
    editor.keys(":AcpPrompt<CR><Esc>:Acp new<CR>")
    editor.wait("vim.fn.bufwinid('acp://plan/2') > 0 and vim.fn.bufwinid('acp://chat/2') > 0")
    assert editor.lua("return vim.fn.bufwinid('acp://plan/1')") == -1
    assert editor.lines("acp://plan/2") == ["No plan yet"]
    editor.turn("plan")
    assert editor.lines("acp://plan/2") == editor.lines("acp://plan/1")


def test_a_plan_shows_state_and_priority_of_each_entry_once(editor: Editor) -> None:
    editor.agent("plan")
    editor.turn("go")
    editor.cmd("Acp plan")
    assert editor.lines("acp://plan/1") == [
        "- [x] Look (high)",
        "- [-] Think",
        "- [ ] Act (low)",
    ]


def test_an_empty_queue_is_reported(editor: Editor) -> None:
    editor.agent("echo")
    editor.turn("hi")
    for action in ("run", "clear"):
        editor.cmd("messages clear")
        editor.cmd(f"Acp queue {action}")
        editor.wait_message("The queue is empty")


def test_a_tool_call_may_show_no_line_of_its_output(editor: Editor) -> None:
    editor.setup({"chat": {"tool_lines": 0}})
    editor.agent("script")
    content = [{"type": "content", "content": {"type": "text", "text": "one\ntwo"}}]
    update = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "content": content}
    editor.turn("update " + json.dumps(update))
    chat = editor.chat()
    assert "  … +2 lines" in chat
    assert not {"  one", "  two", "  on"} & set(chat)


@pytest.mark.parametrize("started", [False, True])
def test_checkhealth_finds_nothing_wrong(editor: Editor, started: bool) -> None:
    if started:
        editor.agent("echo")
        editor.turn("hi")
    editor.cmd("checkhealth acp")
    report = editor.wait(
        "vim.bo.filetype == 'checkhealth'"
        " and table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"
    )
    for part in ("acp: Python", "acp: host", "tutor", "No mistakes"):
        assert part in report
    assert "ERROR" not in report


def test_an_exported_tool_call_is_a_heading_and_a_fence(editor: Editor) -> None:
    editor.agent("script")
    content = [{"type": "content", "content": {"type": "text", "text": "one\n```\ntwo"}}]
    update = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "content": content}
    editor.turn("say # Head\nupdate " + json.dumps({**update, "status": "completed"}))
    editor.cmd("Acp export out.md")
    editor.wait_message("Exported to")
    text = (editor.work / "out.md").read_text()
    assert "\n# Head\n" in text
    assert "\n### ✓ T\n\n````\none\n```\ntwo\n````\n" in text


def test_a_chat_is_opened_at_its_end_and_follows(editor: Editor) -> None:
    at_end = (
        "local win = vim.fn.bufwinid('acp://chat/1') return win > 0 and"
        " vim.api.nvim_win_get_cursor(win)[1] == vim.fn.line('$', win)"
    )
    editor.setup({"chat": {"open": False}})
    editor.agent("script")
    editor.turn("\n".join(f"say line {n}\\n" for n in range(80)))
    editor.cmd("Acp chat")
    editor.wait(at_end)
    editor.turn("say one\nthink two\nsay three")
    editor.wait(at_end)
    editor.cmd("Acp chat")
    editor.cmd("Acp chat")
    editor.wait(at_end)
    assert "three" in "\n".join(editor.screen())


def test_keys_of_the_chat_move_from_turn_to_turn(editor: Editor) -> None:
    editor.agent("script")
    for text in ("one", "two", "three"):
        editor.turn(f"say {text}")
    editor.cmd("wincmd l")
    turns = [at for at, line in enumerate(editor.chat(), 1) if line == "## You"]
    assert len(turns) == 3
    for keys, row in (("gg]]", turns[1]), ("]]", turns[2]), ("]]", turns[2]), ("[[", turns[1])):
        editor.keys(keys)
        editor.wait("vim.fn.line('.') == ...", row)
