"""Files with odd names in the chat: shown on one line, and opened by their real name."""

from __future__ import annotations

import json
import os

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.odd_names import BYTES, ODD_NAMES, make_odd_files

AT = lua_chunk(__file__, "open_name_in_chat")


@pytest.mark.parametrize("key", ["act", "open_file"])
def test_a_location_with_an_odd_name_opens(editor: Editor, key: str) -> None:
    make_odd_files(editor.work, "one\ntwo\n")
    editor.agent("script")
    names = [name for name in ODD_NAMES if name != BYTES]  # JSON cannot contain this name
    calls = [
        {
            "sessionUpdate": "tool_call",
            "toolCallId": f"t{n}",
            "title": f"call {n}",
            "kind": "other",
            "status": "completed",
            "locations": [{"path": f"{editor.work}/{name}", "line": 2}],
        }
        for n, name in enumerate(names)
    ]
    editor.turn("\n".join(f"update {json.dumps(call)}" for call in calls))
    editor.wait("vim.fn.bufwinid('acp://chat/1') > 0")
    found = {}
    for name in names:
        path = f"{editor.work}/{name}"
        shown = editor.lua(
            "return require('acp.base.paths').on_one_line(...)",
            path.removeprefix(f"{editor.work}/"),
        )
        found[name] = editor.lua(AT, f"  {shown}:2", key)
    wrong = {n: got for n, got in found.items() if got != [f"{editor.work}/{n}", 2]}
    assert wrong == {}


def test_gf_in_the_chat_opens_the_file_that_the_text_names(editor: Editor) -> None:
    path = editor.write("sub/a.txt", "one\ntwo\nthree\n")
    editor.agent("script")
    editor.open(editor.write("b.txt", "b\n"))
    editor.turn("say see sub/a.txt:3 and nothing.txt")
    for keys, line in (("gf", 1), ("gF", 3)):
        editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
        editor.lua("vim.fn.search('sub/a', 'w')")
        editor.keys(keys)
        assert editor.lua("return vim.api.nvim_buf_get_name(0)") == str(path)
        assert editor.lua("return vim.fn.line('.')") == line
        editor.open("b.txt")
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    editor.lua("vim.fn.search('nothing', 'w')")
    editor.keys("gf")
    editor.wait_message("No file under the cursor")
    assert editor.lua("return vim.bo.filetype") == "acpchat"


@pytest.mark.parametrize("command", ["AcpPrompt", "Acp info"])
def test_gf_works_in_the_plugins_other_windows(editor: Editor, command: str) -> None:
    path = editor.write("sub/a.txt", "one\n")
    editor.agent("script")
    editor.open(editor.write("b.txt", "b\n"))
    editor.turn("say hello")
    editor.cmd(command)
    editor.wait("vim.bo.filetype:match('^acp') ~= nil and vim.bo.filetype ~= 'acpchat'")
    editor.keys("<Esc>")
    editor.lua(
        "vim.bo.modifiable = true vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'see @sub/a.txt' })"
    )
    editor.keys("0fagf")
    editor.wait("vim.api.nvim_buf_get_name(0) == ...", str(path))


@pytest.mark.parametrize("key", ["gf", "gF"])
def test_gf_in_the_composer_opens_the_file_of_a_mention(editor: Editor, key: str) -> None:
    make_odd_files(editor.work, "one\ntwo\n")
    editor.write("@a b/c.txt", "one\n")
    editor.write("a b/c.txt", "one\n")
    editor.agent("script")
    names = [*ODD_NAMES, "a b/c.txt", "@a b/c.txt"]
    found = {}
    for name in names:
        mention = editor.lua("return '@' .. require('acp.base.paths').quote_mention(...)", name)
        found[name] = opened_from(editor, f"see {mention}, please", key, len(f"see {mention}") - 1)
    lines = {"see @a b/c.txt.": (6, 12), "a @plain.txt @a b/c.txt": (13, 17)}
    for text, col in ((text, col) for text, columns in lines.items() for col in columns):
        assert opened_from(editor, text, key, col) == f"{editor.work}/a b/c.txt"
    wrong = {n: got for n, got in found.items() if got != f"{editor.work}/{n}"}
    assert wrong == {}


def opened_from(editor: Editor, line: str, key: str, col: int) -> str:
    """Return the file that a key opens from a column of a line in the composer."""
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer'")
    editor.keys("<Esc>")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { (...) })", line)
    editor.lua("vim.api.nvim_win_set_cursor(0, { 1, (...) })", len(os.fsencode(line[:col])))
    editor.keys(key)
    name: str = editor.lua("return vim.api.nvim_buf_get_name(0)")
    return name
