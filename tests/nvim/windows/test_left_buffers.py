"""Buffers with the plugin's names that are not its own, from a session file or the user's
`:edit`.
"""

from __future__ import annotations

import pytest

from tests.support.editor import Editor

CHAT = "require('acp').state().sessions[1].chat_bufnr"
KIND = "return { vim.bo.buftype, vim.bo.filetype, vim.bo.modified }"


@pytest.fixture
def left(editor: Editor) -> Editor:
    """Return an editor where the four names are taken, each with a window, the composer's the
    last.
    """
    editor.agent("script")
    editor.open(editor.write("mine.txt", "mine\n"))
    for name in ("plan", "queue", "chat", "composer"):
        editor.cmd(f"split | enew | file acp://{name}/1")
    return editor


def test_the_chat_takes_over_its_name(left: Editor) -> None:
    before = left.lua("return vim.fn.bufnr('acp://chat/1')")
    windows = left.lua("return vim.fn.winnr('$')")
    left.turn("say one")
    assert "one" in left.chat(1)
    assert left.lua(f"return {CHAT}") == before
    assert left.lua("return vim.fn.winnr('$')") == windows
    left.cmd("wincmd j")
    assert left.lua(KIND) == ["nofile", "acpchat", False]
    assert left.lua("return vim.wo.foldmethod") == "manual"
    assert left.lua("return vim.bo.modifiable") is False


def test_the_composer_keeps_the_text_typed_there(left: Editor) -> None:
    left.turn("say one")
    left.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'say two' })")
    left.cmd("wincmd b | AcpPrompt")
    left.wait("vim.fn.bufname() == 'acp://composer/1'")
    assert left.lua(KIND) == ["acwrite", "acpcomposer", False]
    left.cmd("write")
    left.wait_event("AcpTurnEnd", 2)
    assert "two" in left.chat(1)


def test_plan_and_queue_take_over_their_names(left: Editor) -> None:
    left.turn("plan 1")
    left.prompt("wait_for_cancel")
    left.wait("require('acp').state().sessions[1].status == 'running'")
    left.prompt("say waits")
    left.wait("#require('acp').state().sessions[1].queue == 1")
    left.cmd("Acp queue")
    left.wait("vim.fn.bufname() == 'acp://queue/1'")
    assert left.lua(KIND) == ["acwrite", "acpqueue", False]
    assert left.lines("acp://queue/1") == ["say waits"]
    assert left.lua("return vim.bo[vim.fn.bufnr('acp://plan/1')].filetype") == "acpplan"
    assert left.lines("acp://plan/1") != [""]
    left.cmd("AcpCancel!")


@pytest.mark.parametrize("word", ["bwipeout!", "bdelete!", "bunload!"])
def test_a_deleted_chat_is_complete_when_it_is_opened_again(editor: Editor, word: str) -> None:
    editor.agent("script")
    editor.turn("say one")
    editor.cmd(f"execute '{word}' bufnr('acp://chat/1')")
    editor.cmd("Acp chat")
    editor.wait("vim.fn.bufwinid('acp://chat/1') > 0")
    whole = "vim.deep_equal(vim.fn.getbufline('acp://chat/1', 1, 2), { '## You', 'say one' })"
    editor.wait(whole)
    editor.cmd(f"execute '{word}' bufnr('acp://chat/1')")
    editor.lua("vim.cmd('Acp chat') vim.cmd('AcpPrompt say two')")
    editor.wait_event("AcpTurnEnd", 2)
    editor.wait("vim.iter(vim.fn.getbufline('acp://chat/1', 1, '$')):find('two')")
    editor.wait(whole)
    editor.cmd("Acp info")
    editor.wait("vim.fn.bufname() == 'acp://info'")
    info = editor.lines("acp://info")
    assert "problems" not in info, info[info.index("problems") :]


@pytest.mark.parametrize("word", ["bwipeout!", "bdelete!", "bunload!"])
def test_a_chat_that_is_deleted_while_it_is_redrawn_is_drawn_the_next_time(
    editor: Editor, word: str
) -> None:
    """The frame in progress finds the buffer gone."""
    editor.agent("script")
    editor.turn("say one")
    errors = editor.lua(
        f"""vim.cmd("execute '{word}' bufnr('acp://chat/1')")
        return require('acp.frame').apply({{ {{ 'reset_chat', 1 }} }}).errors"""
    )
    assert errors == []
    editor.cmd("Acp chat")
    editor.wait("vim.deep_equal(vim.fn.getbufline('acp://chat/1', 1, 2), { '## You', 'say one' })")


@pytest.mark.parametrize("key", ["chat_bufnr", "composer_bufnr"])
def test_the_snapshot_names_no_wiped_buffer(editor: Editor, key: str) -> None:
    editor.agent("script")
    editor.turn("say hello")
    editor.cmd("AcpPrompt")
    editor.wait(f"require('acp').state().sessions[1].{key}")
    wiped = editor.session()[key]
    editor.cmd(f"bwipeout! {wiped}")
    assert key not in editor.session()
    editor.turn("say again")
    editor.cmd("AcpPrompt")
    editor.wait(f"(require('acp').state().sessions[1].{key} or 0) > {wiped}")
    assert editor.lua("return vim.api.nvim_buf_is_valid(...)", editor.session()[key])
