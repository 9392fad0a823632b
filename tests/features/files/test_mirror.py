"""Reads of buffers that the host knows without asking Neovim again: no change is missing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until

COUNT = lua_chunk(__file__, "count_reads")
IN_ONE_TURN = """
local code, text = ...
load(code)()
require('acp').prompt(text)
"""


@pytest.fixture
def opened(editor: Editor) -> Path:
    """Return a file of three lines in a buffer that the host knows, older than a clock tick."""
    path = editor.write("a.txt", "one\ntwo\nthree\n")
    os.utime(path, (time.time() - 60,) * 2)
    until(lambda: time.time_ns() - path.stat().st_ctime_ns > 50_000_000)
    editor.open(path)
    editor.agent("script")
    editor.lua(COUNT)
    editor.turn(f"read {path}")
    return path


def last_read(editor: Editor) -> str:
    """Return the text that the agent read last."""
    quoted = [line for line in editor.chat() if line.startswith('"')]
    content: str = json.loads(quoted[-1])
    return content


def reads(editor: Editor) -> int:
    count: int = editor.lua("return _G.reads")
    return count


def test_a_buffer_without_changes_is_not_requested_again(editor: Editor, opened: Path) -> None:
    before = reads(editor)
    editor.turn(f"reads {opened} 200")
    editor.turn(f"read {opened}")
    assert last_read(editor) == "one\ntwo\nthree\n"
    assert reads(editor) == before


def test_changes_just_before_a_prompt_are_in_its_reads(editor: Editor, opened: Path) -> None:
    """The prompt is sent in the same iteration of Neovim's loop as the change."""
    before = reads(editor)
    for n in range(25):
        code = f"vim.api.nvim_buf_set_lines(0, {n % 3}, {n % 3}, true, {{ 'typed {n}' }})"
        count = len(editor.events("AcpTurnEnd"))
        editor.lua(IN_ONE_TURN, code, f"read {opened}")
        editor.wait_event("AcpTurnEnd", count + 1)
        lines = editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")
        assert f"typed {n}" in lines
        assert last_read(editor) == "".join(f"{line}\n" for line in lines)
    assert reads(editor) == before, "they are known without asking"


def test_reads_during_fast_typing_miss_no_key(editor: Editor, opened: Path) -> None:
    """Each read contains the one before it, and the last one all keys before its prompt."""
    editor.keys("Go")
    typed = ""
    for round_ in range(6):
        count = len(editor.events("AcpTurnEnd"))
        editor.prompt(f"read_growing {opened} 150\nread {opened}")
        for n in range(40):
            text = f"{round_}.{n} "
            editor.rpc.send("nvim_input", text)
            typed += text
        editor.wait_event("AcpTurnEnd", count + 1)
        editor.wait("vim.api.nvim_get_current_line() == ...", typed)
        editor.turn(f"read {opened}")
        assert last_read(editor) == f"one\ntwo\nthree\n{typed}\n"


def write_on_disk(editor: Editor, path: Path) -> str:
    path.write_text("of another program\n", encoding="utf-8")
    return "of another program\n"


def write_on_disk_within_a_tick(editor: Editor, path: Path) -> str:
    """Let the agent write several times, always the same size, with a read after each write."""
    steps = [f'write_disk {path} "line {n}\\n"\nread {path}' for n in range(10)]
    editor.turn("\n".join(steps))
    quoted = [json.loads(line) for line in editor.chat() if line.startswith('"')]
    assert quoted[-10:] == [f"line {n}\n" for n in range(10)]
    return "line 9\n"


def remove_end_of_line(editor: Editor, path: Path) -> str:
    editor.cmd("set noeol nofixeol")
    return "one\ntwo\nthree"


def reload(editor: Editor, path: Path) -> str:
    path.write_text("anew\n", encoding="utf-8")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'unsaved' })")
    editor.cmd("edit!")
    return "anew\n"


def wipe(editor: Editor, path: Path) -> str:
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'unsaved' })")
    editor.cmd("bwipeout!")
    return "one\ntwo\nthree\n"


def rename_buffer(editor: Editor, path: Path) -> str:
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'unsaved' })")
    editor.cmd(f"keepalt file {path}.other")
    return "one\ntwo\nthree\n"


def undo(editor: Editor, path: Path) -> str:
    editor.keys("dd")
    editor.turn(f"read {path}")
    assert last_read(editor) == "two\nthree\n"
    editor.keys("u")
    return "one\ntwo\nthree\n"


def save_with_formatter(editor: Editor, path: Path) -> str:
    editor.cmd("autocmd BufWritePre <buffer> %s/$/;/")
    editor.keys("dd")
    editor.cmd("write")
    return "two;\nthree;\n"


def delete_file(editor: Editor, path: Path) -> str:
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'unsaved' })")
    path.unlink()
    return "unsaved\ntwo\nthree\n"


def empty_buffer(editor: Editor, path: Path) -> str:
    editor.cmd("%delete")
    return ""


def empty_and_fill_buffer(editor: Editor, path: Path) -> str:
    editor.cmd("%delete | put ='x' | 1delete")
    return "x\n"


EVENTS = (
    *(empty_buffer, empty_and_fill_buffer),
    *(write_on_disk, write_on_disk_within_a_tick, remove_end_of_line, reload, wipe, rename_buffer),
    *(undo, save_with_formatter, delete_file),
)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_the_next_read_follows_each_event(
    editor: Editor, opened: Path, event: Callable[[Editor, Path], str]
) -> None:
    expected = event(editor, opened)
    editor.turn(f"read {opened}")
    assert last_read(editor) == expected


CHANGES = (
    *("%!tac", "$put ='é 日本 𝄞 e\u0301'", "undo", "redo", "earlier 9", "later 9", "2,3move 0"),
    *("%substitute/o/ö/ge", "split | 1delete | close", "vsplit | normal! >>", "close", "sort!"),
    *("noautocmd 1copy $", "set bomb", "set fileformat=dos", "write", "edit!", "1delete"),
    *("noautocmd edit!", "edit! ++ff=unix", "edit! ++ff=dos", "set fileencoding=latin1", "undo"),
    *("noautocmd write!", "%delete", "undo", "edit! ++enc=utf-8", "read !printf 'a\\nb'"),
    *("set noeol nofixeol", "wundo! /dev/null | 1delete", "global/./move 0", "%join", "earlier 3f"),
    *("noautocmd undo 0", "0read #", "retab!", "normal! ggVGgU"),
)
"""Commands that change a buffer, or its relation to the file."""
AS_FILE = lua_chunk(__file__, "buffer_as_file")


def test_the_next_read_follows_each_command(editor: Editor, opened: Path) -> None:
    editor.write("other.txt", "other\n")
    editor.cmd("edit other.txt | edit #")
    for change in CHANGES:
        editor.cmd(f"silent! {change}")
        editor.turn(f"read {opened}")
        assert last_read(editor) == editor.lua(AS_FILE), change
    other = opened.with_name("renamed.txt")
    for change in ("saveas!", "noautocmd saveas!", "noautocmd keepalt file"):
        opened.write_text("kept\n", encoding="utf-8")
        editor.cmd(f"edit! {opened}")
        editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'unsaved' })")
        editor.cmd(f"silent {change} {other}")
        editor.turn(f"read {opened}\nread {other}")
        quoted = [json.loads(line) for line in editor.chat() if line.startswith('"')]
        assert quoted[-2:] == ["kept\n", editor.lua(AS_FILE)], change
        editor.cmd("bwipeout!")
        other.unlink(missing_ok=True)


RECORD = lua_chunk(__file__, "note_verbs")


@pytest.mark.parametrize("verb", ["prompt", "cancel", "decide"])
def test_changes_are_sent_before_and_after_the_users_action(
    editor: Editor, opened: Path, verb: str
) -> None:
    editor.lua(RECORD)
    change = "vim.api.nvim_buf_set_lines(0, 0, 0, true, { 'typed' })"
    notify = f"require('acp.base.host').notify({verb!r}, vim.empty_dict())"
    editor.lua(f"{change} {notify} {change}")
    editor.wait("#_G.verbs >= 3")
    assert editor.lua("return _G.verbs") == ["edited", verb, "edited"]


def test_a_save_for_an_agent_makes_the_host_check_no_other_file(
    editor: Editor, opened: Path
) -> None:
    """The last scan of the turn finds changes by programs that the save has run."""
    editor.turn(f"write {opened} agent")
    editor.wait("next(require('acp').state().sessions[1].edits) ~= nil")
    editor.lua(RECORD)
    editor.turn(f"write {opened} again")
    assert "refresh" not in editor.lua("return _G.verbs")
    editor.cmd("silent write")
    editor.wait("vim.tbl_contains(_G.verbs, 'refresh')")


STANDING_CLOCK = lua_chunk(__file__, "count_reloads")
CHANGED_IN_THE_SAME_TICK = lua_chunk(__file__, "write_with_old_mtime")


@pytest.mark.parametrize(
    "layout", ["", "set ff=dos", "set fenc=utf-16le bomb", "set noeol nofixeol"]
)
def test_a_change_within_one_clock_tick_is_read_and_causes_no_other_reload(
    editor: Editor, opened: Path, layout: str
) -> None:
    """The file clock stands still, so modification times prove nothing."""
    editor.cmd(layout)
    editor.lua(STANDING_CLOCK)
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'ä', 'b' }) vim.cmd.write()")
    editor.turn(f"read {opened}")
    editor.turn(f"write {opened} {json.dumps(last_read(editor).replace('b', 'w'))}")
    editor.turn(f"read {opened}\nread {opened}")
    assert editor.lua("return _G.reloads") == 0
    for old, new, reloads in (("w", "w", 0), ("w", "v", 1), ("v", "u", 1)):
        found = editor.lua(CHANGED_IN_THE_SAME_TICK, str(opened), old, new)
        assert found == [["ä", new], reloads]


STANDING_STAMPS = lua_chunk(__file__, "constant_mtime")


FOUND = """
local bufnr = require('acp.buffers.live').buffer(...)
return { vim.api.nvim_buf_get_lines(bufnr, 1, 2, true)[1], _G.reloads }
"""


def test_text_that_the_user_saved_is_not_read_again(editor: Editor, opened: Path) -> None:
    """The saved file has the modification time of its earlier text."""
    editor.lua(STANDING_CLOCK + STANDING_STAMPS)
    assert editor.lua(FOUND, str(opened)) == ["two", 0]
    editor.lua("vim.fn.setline(2, 'longer') vim.cmd.write()")
    assert editor.lua(FOUND, str(opened)) == ["longer", 0]


def test_a_file_that_is_still_empty_is_not_read_into_its_buffer(
    editor: Editor, opened: Path
) -> None:
    """A program that writes a file in place truncates it first."""
    editor.cmd("set ff=dos | write")
    editor.lua(STANDING_CLOCK)
    content = opened.read_bytes()
    opened.write_bytes(b"")
    editor.turn(f"read {opened}")
    assert last_read(editor) == ""
    assert editor.lua("return _G.reloads") == 0
    opened.write_bytes(content + b"four\r\n")
    editor.turn(f"read {opened}")
    assert last_read(editor) == "one\ntwo\nthree\nfour\n"
    assert editor.lua("return vim.bo.fileformat") == "dos"
