"""Usual ways to write and close a buffer, in the composer."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor

COMPOSERS = "#vim.fn.win_findbuf(vim.fn.bufnr('acp://composer/1'))"


@pytest.fixture
def composer(editor: Editor) -> Editor:
    """Return an editor with a prompt in the composer."""
    editor.agent("script")
    write(editor)
    return editor


def write(editor: Editor) -> None:
    editor.cmd("AcpPrompt")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'say hi' })")
    editor.keys("<Esc>")


CLOSE = [
    *(":x<CR>", ":wq<CR>", "ZZ", ":xit<CR>", ":exi<CR>", ":x!<CR>", ":silent x<CR>"),
    *(":noh | x<CR>", ":w | x<CR>", ":wq | echo 1<CR>"),
]


def test_write_and_close_sends_once_and_closes(composer: Editor) -> None:
    for count, keys in enumerate(CLOSE, 1):
        if count > 1:
            write(composer)
        composer.keys(keys)
        composer.wait_event("AcpTurnEnd", count)
        assert "hi" in composer.chat()
        assert composer.lua(f"return {COMPOSERS}") == 0, keys
        assert composer.lines("acp://composer/1") == [""]
        assert composer.traffic[-1].prompts() == ["say hi"] * count


def test_write_and_close_from_a_script_sends_once(composer: Editor) -> None:
    composer.lua("vim.cmd('wq')")
    composer.wait_event("AcpTurnEnd")
    assert composer.traffic[-1].prompts() == ["say hi"]
    assert composer.lua(f"return {COMPOSERS}") == 0


def test_exit_with_a_name_writes_that_file(composer: Editor) -> None:
    composer.keys(":x kept.md<CR>")
    assert composer.lua(f"return {COMPOSERS}") == 0
    assert (composer.work / "kept.md").read_text() == "say hi\n"
    assert composer.lines("acp://composer/1") == ["say hi"]
    assert not composer.traffic[-1].prompts()


OTHERS = [
    *(":wa<CR>", ":q<CR>", "ZQ", ":1<CR>:q<CR>", ":%d<CR>isay hi<Esc>:wa<CR>"),
    *(":x<C-c>", "/x<CR>", ":<C-u>exe 'x'<CR>"),
]


def test_other_keys_do_not_send(composer: Editor) -> None:
    for keys in OTHERS:
        composer.keys(keys)
        composer.cmd("AcpPrompt")
        assert composer.lines("acp://composer/1") == ["say hi"], keys
        assert not composer.lua("return vim.bo[vim.fn.bufnr('acp://composer/1')].modified"), keys
        assert not composer.traffic[-1].prompts(), keys
        composer.keys("<Esc>")


def test_an_empty_composer_is_closed(composer: Editor) -> None:
    composer.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, {})")
    composer.cmd("new")
    composer.lua(
        "vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('acp://composer/1'))[1])"
    )
    composer.keys("ZZ")
    composer.wait(f"{COMPOSERS} == 0")


def test_the_completion_key_is_shown_and_can_be_changed(editor: Editor) -> None:
    editor.lua(
        "require('acp').setup({ keymaps = { composer = {"
        " ['<C-g>'] = { 'complete', mode = 'i' }, ['<C-x><C-o>'] = false } } })"
    )
    editor.cmd("AcpPrompt")
    editor.keys("{sel<C-g><C-y><Esc>")
    editor.wait("vim.api.nvim_get_current_line() == '{selection}'")
    editor.keys("g?")
    editor.wait_screen("complete /command, @file (i)")


def test_an_autosave_does_not_send_an_unfinished_prompt(composer: Editor) -> None:
    composer.cmd("autocmd InsertLeave,TextChanged * ++nested silent! write")
    composer.keys("A and<Esc>")
    composer.wait("vim.fn.mode() == 'n'")
    composer.keys("A more<Esc>:w<CR>")
    composer.wait_event("AcpTurnEnd")
    assert composer.traffic[-1].prompts() == ["say hi and more"]
