"""Windows of a chat in a real Neovim: its end, its composer and plan, and the way back to it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick
from tests.support.lua import lua_chunk

SHOWN = lua_chunk(__file__, "shown_buffers")
AT_END = """
local win = vim.fn.bufwinid('acp://chat/1')
return vim.api.nvim_win_get_cursor(win)[1] == vim.fn.line('$', win)
"""


def shown(editor: Editor) -> list[str]:
    """Return the buffers of the windows from top left to bottom right, without their paths."""
    found: list[str] = editor.lua(SHOWN)
    return found


def title(editor: Editor) -> str:
    """Return the title of the first session in the list of sessions."""
    label: str = next(
        each for each in pick(editor, "Acp sessions", "")[0]["items"] if each.startswith("say line")
    )
    return label.split("  (", maxsplit=1)[0]


@pytest.fixture
def chat(editor: Editor) -> Editor:
    """Return an editor with a file, and a chat that is longer than its window."""
    editor.open(editor.write("a.txt", "one\ntwo\n"))
    editor.agent("script")
    editor.turn("\n".join(f"say line {n}\\n" for n in range(60)))
    editor.wait(AT_END)
    return editor


def test_a_prompt_from_the_code_brings_the_chat_to_its_end(chat: Editor) -> None:
    chat.keys("<C-w>lgg<C-w>h")
    chat.wait("vim.bo.filetype ~= 'acpchat'")
    assert not chat.lua(AT_END)
    chat.keys(":AcpPrompt say more<CR>")
    chat.wait_event("AcpTurnEnd", 2)
    chat.wait(AT_END)
    chat.wait_screen("┃ say more")


@pytest.mark.parametrize("hide", [":Acp chat<CR>", "<C-w>lq", "<C-w>l:q<CR>", "<C-w>l<C-w>c"])
def test_a_chat_is_hidden_and_shown_with_its_composer_and_plan(chat: Editor, hide: str) -> None:
    chat.keys("<C-w>l:Acp plan<CR>i")
    chat.wait("vim.fn.mode() == 'i'")
    chat.keys("half a prompt<Esc><C-w>t")
    before = ["a.txt", "acp://plan/1", "acp://chat/1", "acp://composer/1"]
    chat.wait("vim.fn.winnr('$') == 4")
    assert shown(chat) == before
    chat.keys(hide.replace("<C-w>l", ":call win_gotoid(bufwinid('acp://chat/1'))<CR>"))
    chat.wait("vim.fn.winnr('$') == 1")
    assert shown(chat) == ["a.txt"]
    chat.keys(":Acp chat<CR>")
    chat.wait("vim.fn.winnr('$') == 4")
    assert shown(chat) == before
    assert chat.lua("return vim.bo.buftype") == ""
    assert chat.lines("acp://composer/1") == ["half a prompt"]


def test_closing_one_of_two_windows_of_a_chat_keeps_its_composer(chat: Editor) -> None:
    chat.keys(":AcpPrompt<CR>")
    chat.wait("vim.fn.mode() == 'i'")
    chat.keys("<Esc><C-w>k:split<CR>q")
    chat.wait("vim.fn.winnr('$') == 3")
    assert shown(chat) == ["a.txt", "acp://chat/1", "acp://composer/1"]
    chat.keys("q")
    chat.wait("vim.fn.winnr('$') == 1")


def test_a_chat_that_is_hidden_from_its_composer_leaves_insert_mode(chat: Editor) -> None:
    chat.lua("vim.keymap.set({ 'n', 'i' }, '<F2>', '<Cmd>Acp chat<CR>')")
    chat.keys(":AcpPrompt<CR>")
    chat.wait("vim.fn.mode() == 'i'")
    chat.keys("<F2>")
    chat.wait("vim.fn.winnr('$') == 1 and vim.fn.mode() == 'n'")
    chat.keys("<F2>")
    chat.wait("vim.fn.winnr('$') == 3")
    assert chat.lua("return vim.bo.buftype") == ""


@pytest.mark.parametrize(
    ("keys", "title"),
    [(":Acp terminals<CR>", "terminal"), ("G?Command t1<CR><CR>", "content")],
)
def test_closing_a_terminal_or_a_call_goes_back_to_the_chat(
    chat: Editor, keys: str, title: str
) -> None:
    chat.turn(f"term_create t1 {json.dumps({'command': 'sleep 60'})}\nterm_embed t1")
    chat.wait("#require('acp').state().sessions[1].terminals == 1")
    chat.keys(f"<C-w>l{keys}")
    if title == "terminal":
        chat.wait_screen("1: sleep 60")
        chat.keys("1<CR>")
    chat.wait_screen(f"Scripted · {title}")
    chat.wait("vim.bo.filetype ~= 'acpchat'")
    chat.keys("g?qq")
    chat.wait("vim.bo.filetype == 'acpchat'")


@pytest.mark.parametrize("where", ["composer", "chat"])
@pytest.mark.parametrize("command", ["Acp new", "AcpPrompt! say more"])
def test_a_new_session_replaces_the_one_that_the_user_is_in(
    chat: Editor, command: str, where: str
) -> None:
    chat.keys(":AcpPrompt<CR>")
    chat.wait("vim.fn.mode() == 'i'")
    chat.keys("half a prompt<Esc>" + ("<C-w>k" if where == "chat" else ""))
    chat.wait("vim.bo.filetype == ...", f"acp{where}")
    chat.keys(f":{command}<CR>")
    chat.wait("vim.fn.bufwinid('acp://chat/2') > 0")
    assert shown(chat) == ["a.txt", "acp://chat/2", "acp://composer/2"]
    assert chat.lua("return vim.fn.bufname()") == f"acp://{where}/2"
    assert chat.lines("acp://composer/1") == ["half a prompt"]


@pytest.mark.parametrize("where", ["composer", "chat"])
def test_a_chosen_session_replaces_the_one_that_the_user_is_in(chat: Editor, where: str) -> None:
    install_picker(chat)
    chat.cmd("Acp new")
    chat.wait("vim.fn.bufwinid('acp://chat/2') > 0")
    chat.keys(":AcpPrompt<CR>")
    chat.wait("vim.fn.bufname() == 'acp://composer/2'")
    chat.keys("half a prompt<Esc>" + ("<C-w>k" if where == "chat" else ""))
    chat.wait("vim.bo.filetype == ...", f"acp{where}")
    pick(chat, "Acp sessions", title(chat), "open")
    chat.wait("vim.fn.bufwinid('acp://chat/1') > 0")
    assert shown(chat) == ["a.txt", "acp://chat/1", "acp://composer/1"]
    assert chat.lua("return vim.fn.bufname()") == f"acp://{where}/1"


def test_a_chosen_session_is_shown_in_the_tab_page_of_the_user(chat: Editor) -> None:
    install_picker(chat)
    chat.cmd("tabnew")
    pick(chat, "Acp sessions", title(chat), "open")
    chat.wait("#vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1')) == 2")
    assert shown(chat) == ["", "acp://chat/1"]


@pytest.mark.parametrize("command", ["AcpPrompt! say more", "AcpPrompt!", "Acp new"])
def test_a_new_session_from_the_code_takes_the_place_of_the_chat(
    chat: Editor, command: str
) -> None:
    chat.keys(f":{command}<CR>")
    chat.wait("vim.fn.bufwinid('acp://chat/2') > 0")
    assert shown(chat)[:2] == ["a.txt", "acp://chat/2"]
    chat.keys("<Esc>" * (command == "AcpPrompt!"))

    # A window that the user opened for a chat is theirs.
    chat.cmd("wincmd t | belowright sbuffer acp://chat/1")
    chat.keys(":Acp new<CR>")
    chat.wait("vim.fn.bufwinid('acp://chat/3') > 0")
    assert shown(chat)[:3] == ["a.txt", "acp://chat/1", "acp://chat/3"]


WRAPPED = "say Wrapped " + " ".join(f"{'x' * n} till.py :Acp /skip" for n in range(1, 30))


@pytest.mark.parametrize(
    ("own", "breakat"),
    [
        ("", " \t"),
        ("set breakat=\\ .", " ."),
        ("set linebreak", " \t!@*-+;:,./?"),
    ],
)
def test_words_are_not_torn_unless_the_user_wants_it(
    edit: Callable[..., Editor], own: str, breakat: str
) -> None:
    editor = edit(screen=(97, 40))
    editor.cmd(own)
    editor.agent("script")
    editor.turn(WRAPPED)
    editor.wait_screen("Wrapped")
    assert editor.lua("return vim.go.breakat") == breakat
    rows = [row.rstrip() for row in editor.screen() if "│  " in row]
    torn = [row for row in rows if row.endswith((":", "till.", " /"))]
    assert bool(torn) == bool(own)


def test_an_empty_chat_names_the_keys_that_begin(chat: Editor) -> None:
    chat.keys(":Acp new<CR>")
    chat.wait_screen("i writes a prompt · g? lists all keys")
    chat.turn("say hello")
    chat.wait_screen("hello")
    assert not any("writes a prompt" in row for row in chat.screen())
