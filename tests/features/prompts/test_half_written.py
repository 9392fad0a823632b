"""Unfinished text is sent or applied only by the user's own save."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start, composer, sent, session

AUTOSAVES = {
    "lua": """vim.defer_fn(function()
        vim.cmd('silent! wall | silent! write') _G.saved = true end, 1)""",
    "timer": """vim.fn.timer_start(1, function()
        vim.cmd('silent! wall | silent! write') _G.saved = true end)""",
    "vim": """vim.cmd([[call timer_start(1, {-> [execute('silent! wall | silent! write'),
        \\ luaeval('(function() _G.saved = true end)()')]})]])""",
    "builtin": """vim.cmd([[call timer_start(1, function('execute',
        \\ ['silent! wall | silent! write | lua _G.saved = true']))]])""",
    "event": """vim.api.nvim_create_autocmd('User', { pattern = 'Save', nested = true, callback =
        function() vim.cmd('silent! wall | silent! write') _G.saved = true end })
        vim.defer_fn(function() vim.api.nvim_exec_autocmds('User', { pattern = 'Save' }) end, 1)""",
}
"""Ways to save all buffers, and the current one, some time later."""

LEAVES_TEXT = {
    ":edit": "<Cmd>edit other.txt<CR>",
    "typed :edit": ":edit other.txt<CR>",
    ":next file": "<C-^>",
    ":!": ":silent !true<CR>",
    "typed :bnext": ":bnext<CR>",
}
"""Keys that make Neovim save by itself with 'autowriteall'."""

WRITES = {
    "w": ":w<CR>",
    "wall": ":silent wall<CR>",
    "x": ":x<CR>",
    "ZZ": "ZZ",
    "update": ":update | echo 1<CR>",
    "mapped": "<F2>",
    "mapped in Insert mode": "i<F2><Esc>",
}
"""Keys with which the user writes."""

MAPS = """
vim.keymap.set({ 'n', 'i' }, '<F2>', '<Cmd>silent write<CR><Esc>')
vim.keymap.set('n', '<F3>', function() vim.cmd.write() end)
"""


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host, with recorded notifications."""
    front = edit(init=HOST + RECORD_NOTIFY + MAPS, screen=(100, 30))
    session(front, queue=["first", "second"])
    front.open(front.write("other.txt", "x\n"))
    front.open(front.write("a.txt", "x\n"))
    return front


def queue(front: Editor) -> None:
    front.cmd("Acp queue")
    front.wait("vim.bo.filetype == 'acpqueue'")
    front.keys("A and half of<Esc>")
    front.wait("vim.bo.modified")


def form(front: Editor) -> None:
    shown = {"lines": ["━━ 1. Name", ""], "cursor": 1}
    front.lua("require('acp.frame').apply({ { 'form', 'e1', ... } })", shown)
    front.wait("vim.fn.bufexists('acp://form/e1') == 1")
    front.cmd("wincmd j")
    front.keys("GAhalf of<Esc>")
    front.wait("vim.bo.filetype == 'acpform' and vim.bo.modified")


def proposal(front: Editor) -> None:
    front.lua("require('acp.features.review.request').expect()")
    files = [{"path": "/p/a.txt", "base": ["one"], "proposal": ["TWO"]}]
    front.lua("require('acp.frame').apply({ { 'propose', 'p1', (...), {} } })", files)
    front.wait("vim.api.nvim_buf_get_name(0):find('acp://proposal', 1, true)")
    front.keys("Ahalf of<Esc>")
    front.wait("vim.bo.modified")


BUFFERS: dict[str, Callable[[Editor], None]] = {"queue": queue, "form": form, "proposal": proposal}

APPLIED = "#vim.tbl_filter(function(one) return one[1] == 'queue' end, _G.sent)"


def run_autosave(front: Editor, autosave: str) -> None:
    front.lua("_G.saved = false " + AUTOSAVES[autosave])
    front.wait("_G.saved")


@pytest.mark.parametrize("autosave", AUTOSAVES)
def test_an_autosave_sends_and_applies_nothing(front: Editor, autosave: str) -> None:
    for name, begin in BUFFERS.items():
        begin(front)
        before = sent(front)
        front.lua("_G.notified = {} vim.v.errmsg = ''")
        run_autosave(front, autosave)
        assert sent(front) == before, name
        assert front.lua("return vim.bo.modified"), name
        assert front.lua("return _G.notified") == []
        assert front.lua("return vim.v.errmsg") == ""
        assert front.lua("return vim.fn.search('half of', 'nw')") > 0
        front.keys("<Esc>:w<CR>")
        front.wait("not vim.bo.modified")


@pytest.mark.parametrize("mode", ["", "<Esc>", "<Esc>V", "<Esc>:echo 1", "<Esc>d"])
def test_an_autosave_sends_no_prompt(front: Editor, mode: str) -> None:
    for autosave in AUTOSAVES:
        front.cmd("AcpPrompt")
        front.keys(f"half of{mode}")
        before = sent(front)
        run_autosave(front, autosave)
        assert sent(front) == before, autosave
        front.keys("<Esc><Esc>")
        assert composer(front) == ["half of"]
        front.keys(":w<CR>")
        assert len(sent(front)) == len(before) + 1
        assert sent(front)[-1][0] == "prompt"
        assert composer(front) == [""]


@pytest.mark.parametrize("option", ["", "autowrite", "autowriteall"])
def test_the_users_own_write_is_applied(front: Editor, option: str) -> None:
    if option:
        front.cmd(f"set {option}")
    for keys in (*WRITES.values(), *(() if option else ("<F3>",))):
        front.lua("_G.sent = {}")
        session(front, queue=["first", "second"])
        queue(front)
        front.keys(keys)
        front.wait(f"{APPLIED} == 1")
        assert sent(front)[-1][1]["texts"] == ["first and half of", "second"], keys
        front.cmd("silent! bwipeout! acp://queue/1")


@pytest.mark.parametrize("keys", LEAVES_TEXT)
def test_neovims_own_save_applies_nothing(front: Editor, keys: str) -> None:
    front.cmd("set autowriteall")
    queue(front)
    front.keys(LEAVES_TEXT[keys])
    front.wait("vim.fn.mode() == 'n'")
    assert front.lua(f"return {APPLIED}") == 0
    lines = front.lua(
        "return vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://queue/1'), 0, 1, true)"
    )
    assert lines == ["first and half of"]
    assert not front.rpc.mode()["blocking"]
    front.errors_expected = True  # E37, as for each buffer with unsaved text


def test_a_function_that_writes_the_composer_sends_it_with_autowrite(front: Editor) -> None:
    front.cmd("set autowrite")
    front.cmd("AcpPrompt")
    front.keys("hello<Esc><F3>")
    assert sent(front)[-1][0] == "prompt"


@pytest.mark.parametrize("given", ["cmd", "lua"])
def test_a_write_by_a_program_that_drives_neovim_is_applied(front: Editor, given: str) -> None:
    """A graphical front end does this at its own key."""
    queue(front)
    front.cmd("write") if given == "cmd" else front.lua("vim.cmd('write')")
    front.wait(f"{APPLIED} == 1")
