"""Classic remote plugin: `:UpdateRemotePlugins`, then the plugin in Neovim's shared Python host."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import killed_host
from tests.support.editor import ROOT, Editor
from tests.support.lua import lua_call
from tests.support.waiting import until


@pytest.fixture
def classic(edit: Callable[..., Editor], tmp_path: Path) -> Editor:
    """Return an editor on a copy of the plugin without `.venv`, with the manifest written and
    sourced.
    """
    root = tmp_path / "plugin"
    root.mkdir()
    for part in ("lua", "plugin", "acp_nvim", "pyproject.toml"):
        (root / part).symlink_to(ROOT / part)
    shutil.copytree(ROOT / "rplugin", root / "rplugin")  # Neovim does not find it through a symlink
    paths = [f"[[{path}]]" for path in (ROOT, root, sys.executable)]
    editor = edit(init=lua_call(__file__, "use_copy_of_plugin", *paths))
    editor.cmd("silent UpdateRemotePlugins")
    editor.cmd("execute 'source' stdpath('data') .. '/rplugin.vim'")
    return editor


def test_a_turn_by_the_classic_host(classic: Editor) -> None:
    classic.agent("chunks", "3")
    end = classic.turn("hello")
    assert end["stop_reason"] == "end_turn"
    assert any(line.startswith("word 0 word 1 word 2") for line in classic.chat())
    channel = classic.lua("return require('acp.base.host').channel()")
    info = classic.lua("return vim.api.nvim_get_chan_info(...)", channel)
    assert info["client"]["type"] == "host", "the shared host of remote plugins, not one of our own"


def test_health_reports_that_the_classic_host_answers(classic: Editor) -> None:
    classic.agent("script")
    classic.turn("say hello")
    classic.cmd("checkhealth acp")
    classic.wait("vim.bo.filetype == 'checkhealth' and vim.fn.line('$') > 10")
    report = "\n".join(classic.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    assert "Running, answers in" in report
    assert "not answering" not in report


def test_the_commands_are_the_same_as_in_lua(classic: Editor) -> None:
    classic.agent("permission")
    classic.prompt("ask me")
    classic.wait("#require('acp').state().sessions[1].permissions == 1")
    classic.answer("Acp allow")
    classic.wait_event("AcpTurnEnd")
    assert classic.session(1)["status"] == "idle"


def test_quitting_leaves_no_process(classic: Editor) -> None:
    classic.agent("grandchildren")
    classic.turn("hello")
    assert len(classic.processes()) > 3
    classic.quit()
    until(lambda: not classic.processes())


def test_killing_neovim_leaves_no_process(classic: Editor) -> None:
    classic.agent("grandchildren")
    classic.turn("hello")
    classic.kill()
    until(lambda: not classic.processes())


def test_a_killed_shared_host_is_replaced_by_the_plugins_own(classic: Editor) -> None:
    """Neovim starts it only once."""
    classic.agent("script")
    path = classic.write("a.txt", "one\ntwo\n")
    classic.turn(f'write {path} "one\\nTWO\\n"')
    classic.wait("#require('acp').state().sessions[1].edits == 1")
    until(lambda: killed_host.is_written(classic))
    classic.errors_expected = True
    channel = classic.lua("return require('acp.base.host').channel()")
    os.kill(classic.lua(killed_host.HOST_PID), signal.SIGKILL)
    classic.wait("vim.api.nvim_get_chan_info(...).id == nil", channel)
    classic.keys(":Acp reject all<CR>")
    classic.wait("#require('acp').state().sessions[1].edits == 0")
    until(lambda: path.read_text() == "one\ntwo\n")
    classic.turn("say on we go")
    assert "on we go" in classic.chat(1)
    messages = classic.home / "told"
    classic.lua(
        "local told = ... vim.api.nvim_create_autocmd('VimLeavePre', { callback = function() "
        "vim.fn.writefile({ vim.fn.execute('messages') }, told) end })",
        str(messages),
    )
    classic.quit()
    assert "leave" not in messages.read_text()
