"""The composer: sending, returned prompts, drafts, history, completion."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import (
    HOST,
    RECORD_NOTIFY,
    Start,
    composer,
    last,
    sent,
    session,
)


def test_writing_the_composer_sends_and_clears_it(front: Editor) -> None:
    front.cmd("AcpPrompt")
    assert front.lua("return vim.bo.filetype .. ' ' .. vim.bo.buftype") == "acpcomposer acwrite"
    front.keys("first<CR>second<Esc>:w<CR>")
    assert last(front)[0] == "prompt"
    assert last(front)[1]["text"] == "first\nsecond"
    assert composer(front) == [""]


@pytest.mark.parametrize("keys", ["hello<C-s>", "hello<Esc><C-s>", "hello<Esc><CR>"])
def test_keys_that_send(front: Editor, keys: str) -> None:
    session(front)
    front.cmd("AcpPrompt")
    front.keys(keys)
    assert last(front)[1]["text"] == "hello"
    assert last(front)[1]["session"] == 1


def test_a_prompt_that_the_host_does_not_accept_stays(front: Editor) -> None:
    front.lua("_G.host.takes = false")
    front.cmd("AcpPrompt")
    front.keys("hello<C-s>")
    assert composer(front) == ["hello"]


def test_a_prompt_that_was_lost_with_the_host_returns(front: Editor) -> None:
    front.lua("require('acp.base.state').set({'host'}, 'starting')")
    front.cmd("AcpPrompt")
    front.keys("hello<C-s>more<Esc>")
    front.lua("require('acp.base.state').on_host_exit('failed', 'no pynvim')")
    front.wait("#vim.api.nvim_buf_get_lines(0, 0, -1, false) == 2")
    assert composer(front) == ["hello", "more"]


def test_a_prompt_that_the_host_has_accepted_does_not_return(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("hello<C-s><Esc>")
    front.lua("require('acp.frame').apply({ { 'taken', 1 } })")
    front.lua("require('acp.base.state').on_host_exit('failed', 'crash')")
    front.wait("#_G.acp_events == 1")
    assert composer(front) == [""]


def test_a_returned_prompt_is_put_before_the_text_and_typing_continues(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("abc")
    front.lua("require('acp.features.prompts.composer').return_prompt(1, 'one\\ntwo')")
    front.keys("def")
    assert composer(front) == ["one", "two", "abcdef"]


def test_the_draft_survives_bdelete_and_edit(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("keep me<Esc>")
    front.cmd("edit")
    assert composer(front) == ["keep me"]
    front.cmd("bdelete")
    front.cmd("AcpPrompt")
    assert composer(front) == ["keep me"]
    front.keys("!<Esc>:w<CR>")
    assert last(front)[1]["text"] == "keep me!"


def test_wall_does_not_send_and_qall_is_not_stopped(front: Editor) -> None:
    front.open(front.write("a.txt", "x\n"))
    front.cmd("AcpPrompt")
    front.keys("half a pro<Esc>")
    front.wait("not vim.bo.modified")
    front.cmd("wall")
    assert [verb for verb, _ in sent(front)] == ["begin"]
    front.quit()


def test_a_range_can_be_sent(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("one<CR>two<CR>three<Esc>")
    front.cmd("2w!")
    assert last(front)[1]["text"] == "two"
    assert composer(front) == ["one", "three"]


def test_writing_to_another_name_writes_a_file(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("one<CR>two<Esc>")
    front.cmd("w kept.md")
    assert (front.work / "kept.md").read_text() == "one\ntwo\n"
    assert composer(front) == ["one", "two"]
    assert [verb for verb, _ in sent(front)] == ["begin"]


def test_history_keeps_edits_at_every_step(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.keys("first<C-s>second<C-s>draft<Esc>")
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
    front.keys("why<C-s>")
    lines = last(front)[1]["range"]
    assert (lines["first"], lines["last"], lines["text"]) == (3, 3, "two")


def test_the_composer_of_a_new_session_requests_one(front: Editor) -> None:
    session(front)
    front.cmd("AcpPrompt!")
    assert front.lua("return vim.fn.bufname()") == "acp://composer/2"
    assert last(front) == ["begin", {"n": 2, "cwd": str(front.work)}]
    front.keys("hello<C-s>")
    assert last(front)[1]["session"] == 2
    assert "new" not in last(front)[1]


def test_the_snapshot_includes_a_composer_that_was_there_first(front: Editor) -> None:
    front.cmd("AcpPrompt")
    buffer = front.lua("return vim.api.nvim_get_current_buf()")
    session(front)
    front.lua("require('acp.base.state').announce_change()")
    front.wait("require('acp').state().sessions[1].composer_bufnr == ...", buffer)


def test_omni_completion_of_commands_and_files(front: Editor) -> None:
    front.write("src/alpha.py", "")
    session(front)
    front.cmd("AcpPrompt")
    front.wait("#require('acp.features.prompts.composer.files').list(vim.fn.getcwd()) == 2")
    front.keys("/i<C-x><C-o><C-y>")
    assert composer(front) == ["/init "]
    front.keys("see @alp<C-x><C-o><C-y>")
    assert composer(front) == ["/init see @src/alpha.py"]


def test_completion_of_commands_with_invisible_characters(front: Editor) -> None:
    """A NUL causes no Vim error while the user types."""
    odd = [
        {"name": "a\0b", "description": "x"},
        {"name": "a\u202eb", "description": "x"},
        {"name": "two words", "description": "x"},
        {"name": "alright", "description": "first\0\r\nsecond\x1b[31m", "hint": "h\0int"},
    ]
    session(front, commands=odd)
    front.cmd("AcpPrompt")
    front.keys("/<C-x><C-o>")
    front.wait("#vim.fn.complete_info({ 'items' }).items == 1")
    item = front.lua("return vim.fn.complete_info({ 'items' }).items[1]")
    assert (item["word"], item["abbr"]) == ("/alright ", "/alright h^@int")
    assert item["menu"] == "first^@"
    assert item["info"] == "first^@\nsecond^[[31m"


def test_completion_shows_the_value_of_a_variable(front: Editor) -> None:
    front.rpc.request("nvim_ui_try_resize", 200, 40)  # the menu has room for descriptions
    front.cmd("AcpPrompt")
    front.keys("@{<C-x><C-o>")
    front.wait("#vim.fn.complete_info({ 'items' }).items > 5")
    items = front.lua("return vim.fn.complete_info({ 'items' }).items")
    about = {item["word"]: item["menu"] for item in items}
    assert about["@{this}"] == "the cursor's file and line"
    assert all(about.values())


def test_completion_after_an_at_begins_with_files(front: Editor) -> None:
    front.write("alpha.py", "")
    front.cmd("AcpPrompt")
    front.wait("#require('acp.features.prompts.composer.files').list(vim.fn.getcwd()) == 1")
    front.keys("@<C-x><C-o>")
    front.wait("#vim.fn.complete_info({ 'items' }).items > 5")
    words = [item["word"] for item in front.lua("return vim.fn.complete_info().items")]
    assert words[0] == "@alpha.py"
    assert "@{buffer}" in words


@pytest.mark.parametrize(("rows", "height"), [(40, 6), (15, 4)])
def test_a_composer_leaves_half_of_the_height_to_its_chat(
    edit: Start, rows: int, height: int
) -> None:
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(100, rows))
    session(editor)
    editor.lua("require('acp.features.chat.view').open(1)")
    editor.cmd("AcpPrompt")
    assert editor.lua("return { vim.bo.filetype, vim.fn.winheight(0) }") == ["acpcomposer", height]


@pytest.mark.parametrize(("mode", "keys"), [("nmap", "gp"), ("xmap", "Vjgp")])
def test_the_prompt_key_starts_insert_mode(front: Editor, mode: str, keys: str) -> None:
    front.open(front.write("a.txt", "one\ntwo\n"))
    front.cmd(f"{mode} gp <Plug>(acp-prompt)")
    front.keys(keys + "hello<Esc>")
    assert front.lua("return vim.bo.filetype") == "acpcomposer"
    assert front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)") == ["hello"]
    front.cmd("wincmd p")
    front.keys(keys + ", again<Esc>")
    assert front.lua("return vim.api.nvim_get_current_line()") == "hello, again"


@pytest.mark.parametrize("command", [":AcpPrompt<CR>", ":2AcpPrompt<CR>", ":AcpPrompt!<CR>"])
def test_keys_typed_right_after_the_command_are_the_prompt(front: Editor, command: str) -> None:
    front.open(front.write("a.txt", "one\ntwo\n"))
    front.keys(command + "hello there<Esc>")
    assert front.lua("return vim.bo.filetype") == "acpcomposer"
    assert front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)") == ["hello there"]
