"""Rejects in a buffer with unsaved changes: the text is pending until it is removed from the
file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.killed_host import (
    journaled_edits,
    kill_both,
    kill_host_once_written,
    wait_host,
)
from tests.support.pending_edits import reject_all
from tests.support.waiting import until

Edit = Callable[..., Editor]
OLD = "one\ntwo\nthree\n"
AGENTS = "one\nTWO\nthree\nfour\n"
COUNT = """
local session = require('acp').state().sessions[1]
return ((session and session.edits[1] or {}).hunks or 0) == ...
"""
LINES = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), ' ')"
MESSAGE = "a.txt: rejected in the buffer, not saved yet"


def reject_unsaved(editor: Editor, change: str) -> Path:
    """Let the agent change a file whose buffer has unsaved changes, and reject all of it."""
    editor.agent("script")
    editor.cmd("set noswapfile")
    path = editor.write("a.txt", OLD)
    editor.open("a.txt")
    quoted = AGENTS.replace("\n", "\\n")
    editor.prompt(f'until_there {editor.home}/go\n{change} {path} "{quoted}"')
    editor.wait("require('acp').state().sessions[1].status == 'running'")
    if change == "write_disk":
        editor.lua("vim.fn.setline(1, 'mine')")
    (editor.home / "go").touch()
    editor.wait_event("AcpTurnEnd")
    editor.wait(COUNT, 2)
    if change == "write":
        editor.lua("vim.fn.setline(1, 'mine')")
    reject_all(editor)
    editor.wait_message(MESSAGE)
    editor.wait(COUNT, 0)
    assert editor.lua(LINES) == "mine two three"
    assert path.read_text() == AGENTS
    return path


changes = pytest.mark.parametrize("change", ["write", "write_disk"])


@changes
@pytest.mark.parametrize("end", ["qa!", "kill"])
def test_the_next_neovim_shows_the_edits(edit: Edit, tmp_path: Path, change: str, end: str) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    first = edit(env=env)
    path = reject_unsaved(first, change)
    until(lambda: len(journaled_edits(first)[str(path)].hunks) == 2)
    if end == "kill":
        kill_both(first)
    else:
        first.quit()
    second = edit(env=env, work=first.work)
    second.open("a.txt")
    second.wait(COUNT, 2)
    reject_all(second)
    until(lambda: path.read_text() == OLD)


@changes
def test_the_next_host_of_the_same_neovim_keeps_the_reject(editor: Editor, change: str) -> None:
    """The user's line is next to a rejected one."""
    path = reject_unsaved(editor, change)
    kill_host_once_written(editor)
    editor.lua("vim.fn.setline(3, 'mine too')")
    editor.cmd("Acp edits")
    wait_host(editor)
    editor.turn("say done")
    editor.wait(COUNT, 0)
    assert editor.lua(LINES) == "mine two mine too"
    editor.cmd("edit!")
    editor.wait(COUNT, 2)
    reject_all(editor)
    until(lambda: path.read_text() == OLD)


@changes
@pytest.mark.parametrize("command", ["edit!", "bwipeout! | edit a.txt"])
def test_the_edits_are_pending_again_when_the_buffer_is_discarded(
    editor: Editor, change: str, command: str
) -> None:
    path = reject_unsaved(editor, change)
    editor.cmd(command)
    editor.wait(COUNT, 2)
    reject_all(editor)
    until(lambda: path.read_text() == OLD)


@changes
def test_another_neovim_shows_the_edits_until_the_file_is_saved(
    edit: Edit, tmp_path: Path, change: str
) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    first = edit(env=env)
    path = reject_unsaved(first, change)
    second = edit(env=env, work=first.work)
    second.open("a.txt")
    second.wait(COUNT, 2)
    first.cmd("write!")
    until(lambda: path.read_text() == "mine\ntwo\nthree\n")
    second.cmd("checktime")
    second.wait(COUNT, 0)


def test_a_restored_reject_is_not_saved_either(editor: Editor) -> None:
    path = reject_unsaved(editor, "write")
    editor.turn("say done")
    editor.cmd("edit!")
    editor.wait(COUNT, 2)
    editor.cmd("Acp restore! 2")
    editor.wait(COUNT, 0)
    assert editor.lua(LINES) == "mine two three"
    assert path.read_text() == AGENTS
    editor.cmd("edit!")
    editor.wait(COUNT, 2)
