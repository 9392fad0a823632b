"""Saves during a turn behave as without one: the same files, messages, errors and marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest

from tests.support.cases import case
from tests.support.editor import Editor
from tests.support.lua import lua_call, lua_chunk
from tests.support.rpc import EditorGone
from tests.support.waiting import PATIENCE_S

LINES = "".join(f"line {n}\n" for n in range(1, 11))

STATE = lua_chunk(__file__, "visible_state")
EVENTS = lua_chunk(__file__, "note_file_events")
NEXT_CASE = lua_chunk(__file__, "forget_last_case")

FORMATTER = """
vim.api.nvim_create_autocmd('BufWritePre', { once = true, callback = function()
  vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'formatted', 'twice' })
end })
"""

OWN_WRITE = lua_call(__file__, "write_by_plugin")

PCALL = "lua local ok, err = pcall(vim.cmd.write) _G.outcome = { ok, tostring(err) }"

CASES: dict[str, list[str]] = {
    "w": ["w"],
    "w!": ["w!"],
    "update": ["update"],
    "wall": ["wall"],
    "x": ["split", "x"],
    "wq": ["split", "wq"],
    "enc": ["call setline(1, 'é')", "w ++enc=latin1"],
    "unencodable": ["call setline(1, '€')", "w ++enc=latin1"],
    "format": ["w ++ff=dos"],
    "parents": ["file new/deeper/b.txt", "w ++p"],
    "no parents": ["file new/deeper/b.txt", "w"],
    "saveas": ["saveas b.txt"],
    "saveas there": ["saveas c.txt"],
    "saveas there!": ["saveas! c.txt"],
    "other": ["w b.txt"],
    "other enc": ["call setline(1, 'é')", "w ++enc=latin1 b.txt"],
    "other there": ["w c.txt"],
    "other there!": ["w! c.txt"],
    "range": ["2,3w b.txt"],
    "whole range": ["%w b.txt"],
    "range of itself": ["2,3w"],
    "append": ["w >> c.txt"],
    "pipe": ["silent w !cat"],
    "wqall that fails": ["file gone/b.txt", "wqall"],
    "readonly": ["set readonly", "w"],
    "readonly!": ["set readonly", "w!"],
    "protected": ["call setfperm(expand('%'), 'r--r--r--')", "w"],
    "nowrite": ["set nowrite", "w"],
    "backup": ["set backup backupdir=. backupext=.bak", "w"],
    "patchmode": ["set patchmode=.orig", "w"],
    "noeol": ["set noendofline nofixendofline", "w"],
    "directory gone": ["file gone/b.txt", "w"],
    "silent!": ["file gone/b.txt", "silent! w"],
    "pcall": ["file gone/b.txt", PCALL],
    "try": ["file gone/b.txt", "try | w | catch | let g:caught = v:exception | endtry"],
    "full": ["silent! w! /dev/full"],
    "noautocmd": ["noautocmd w"],
    "keepalt": ["edit c.txt", "edit a.txt", "keepalt w b.txt"],
    "lockmarks": ["call setline(2, 'x')", "normal! 4Gyy", "lockmarks w"],
    "autowrite": ["set autowrite", "call setline(3, 'x')", "next c.txt"],
    "hidden": ["set hidden", "call setline(3, 'x')", "edit c.txt", "wall"],
    "autowriteall": ["set autowriteall", "call setline(3, 'x')", "edit c.txt"],
    "undo": ["call setline(3, 'x')", "w", "undo", "w", "redo"],
    "earlier": ["call setline(3, 'x')", "w", "call setline(4, 'y')", "w", "earlier 1f"],
    "formatter": ["lua " + FORMATTER.replace("\n", " "), "w"],
    "own": [f"lua {OWN_WRITE}", "w"],
    "global": ["g/line [12]$/w! b.txt"],
    "changed elsewhere first": ["w", "call setline(2, 'y')", "w", "w"],
}

UNTOLD = {"noautocmd", "own"}
"""Neovim triggers no event for these, so such a write during a turn counts as the agent's."""


def run(editor: Editor, name: str) -> dict[str, Any]:
    """Run the commands of a case in its own folder, and return the state afterwards."""
    folder = editor.work / name
    editor.lua(NEXT_CASE, str(folder))
    editor.keys("3Gccmine<Esc>")
    editor.wait("vim.fn.getline(3) == 'mine' and vim.fn.mode() == 'n'")
    for command in CASES[name]:
        escaped = command.replace("<", "<lt>")
        editor.keys(f":{escaped}<CR>")
        editor.wait("vim.fn.mode() == 'n'")
        assert not editor.rpc.mode()["blocking"], (command, editor.screen())
    state: dict[str, Any] = editor.lua(STATE)
    state["fired"] = editor.lua("return _G.fired")
    state["outcome"] = editor.lua("return _G.outcome or vim.g.caught or false")
    state["files"] = {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode)
        for path in folder.rglob("*")
        if path.is_file()
    }
    return state


def prepare(editor: Editor, names: Iterable[str]) -> None:
    """Write the files of these cases, and record the events of saves."""
    for name in names:
        editor.write(f"{name}/a.txt", LINES)
        editor.write(f"{name}/c.txt", "c\n")
    editor.lua(EVENTS)
    editor.errors_expected = True


def begin_turn(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt(f"until_there {editor.home}/end")
    editor.traffic[0].wait_note("waiting")
    editor.cmd("only")


def end(editor: Editor) -> None:
    """End the turn, in which the agent changed nothing."""
    (editor.home / "end").touch()
    editor.wait_event("AcpTurnEnd")
    assert not editor.session().get("edits")


@pytest.mark.parametrize("names", [CASES.keys() - UNTOLD, UNTOLD], ids=["told", "untold"])
def test_a_save_during_a_turn_is_like_one_without(
    edit: Callable[..., Editor], names: set[str]
) -> None:
    plain, busy = edit(), edit()
    prepare(plain, names)
    prepare(busy, names)
    begin_turn(busy)
    for name in sorted(names):
        with case(name):
            assert run(busy, name) == run(plain, name)
    if names != UNTOLD:
        end(busy)


@pytest.mark.parametrize("command", [":wq", ":x", ":wqa", "ZZ", ":wall | quitall"])
def test_leaving_during_a_turn_is_like_leaving_without(
    edit: Callable[..., Editor], command: str
) -> None:
    editor = edit()
    editor.write("a.txt", LINES)
    editor.open("a.txt")
    begin_turn(editor)
    with suppress(EditorGone):
        editor.keys("3Gccmine<Esc>" + (command if command == "ZZ" else f"{command}<CR>"))
    assert editor.rpc.process.wait(PATIENCE_S) == 0
    assert (editor.work / "a.txt").read_text() == LINES.replace("line 3", "mine")
