"""An agent's terminal of a size that it tells: chat and buffer show what such a terminal would."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.waiting import until

NAME = "acp://terminal/1/t"
BAR = "[" + "#" * 73 + "] "
NARROW = """
vim.api.nvim_win_set_width(vim.fn.bufwinid('acp://chat/1'), 40)
return vim.api.nvim_win_get_width(vim.fn.bufwinid('acp://chat/1'))
"""
SPLIT = """
vim.cmd('vertical 40split')
vim.cmd.normal({ 'G', bang = true })
return { vim.api.nvim_win_get_width(0), vim.wo.wrap }
"""
OPEN = "require('acp.base.host').notify('terminal_open', { session = 1, id = 't' })"
ATTRIBUTES = """
local row = ...
vim.cmd.redraw()
return vim.tbl_map(function(column)
  local at = vim.fn.screenpos(0, row, column)
  return vim.fn.screenattr(at.row, at.col)
end, { 1, 4 })
"""
AT_END = "vim.fn.line('.') == vim.fn.line('$') and vim.fn.line('w$') == vim.fn.line('$')"


def told(**update: Any) -> str:
    """A line of a script: one update of the terminal."""
    return f"update {json.dumps({'terminalId': 't', **update})}"


def state(**fields: Any) -> str:
    return told(sessionUpdate="terminal_update", **fields)


def chunk(text: str) -> str:
    data = base64.b64encode(text.encode()).decode()
    return told(sessionUpdate="terminal_output_chunk", data=data)


def size(columns: int, rows: int) -> dict[str, int]:
    return {"cols": columns, "rows": rows}


def snapshot(text: str) -> dict[str, str]:
    return {"data": base64.b64encode(text.encode()).decode()}


def ends(editor: Editor, *lines: str) -> None:
    """Wait until the terminal's buffer ends so."""
    until(lambda: editor.lines(NAME)[-len(lines) :] == [*lines])


def opened(editor: Editor) -> None:
    """Open the terminal's buffer."""
    editor.lua(OPEN)
    editor.wait("vim.bo.filetype == 'acpterminal'")


@pytest.fixture(autouse=True)
def agent(editor: Editor) -> None:
    editor.agent("script2", protocol=2)


def test_a_terminal_of_80_columns_in_windows_of_40(editor: Editor) -> None:
    done = chunk("\r\n\x1b[31mred\x1b[0m plain\r\n")
    bars = [chunk(f"\r{BAR}{percent:3}%") for percent in range(20, 101, 20)]
    start = state(command="make", size=size(80, 24))
    editor.turn("\n".join([start, *bars, done]))
    assert editor.lua(NARROW) == 40
    until(lambda: f"{BAR}100%" in editor.chat())
    assert not any("20%" in line for line in editor.chat())
    opened(editor)
    ends(editor, f"{BAR}100%", "red plain")
    assert editor.lua(SPLIT) == [40, False]
    red, plain = editor.lua(ATTRIBUTES, 2)
    assert red != plain
    # A table, drawn by addresses, and a line of 100 columns, which wraps at the 80th.
    table = "\x1b[2J\x1b[H" + "".join(
        f"\x1b[{row};{column}Hcell{row}{column}" for row in (1, 3) for column in (1, 72)
    )
    editor.turn("\n".join([chunk(table), chunk("\x1b[5;1H" + "x" * 100)]))
    rows = ["cell11" + " " * 65 + "cell172", "", "cell31" + " " * 65 + "cell372", ""]
    rows += ["x" * 80, "x" * 20]
    ends(editor, *rows)
    until(lambda: "\n".join(["$ make", *rows]) in "\n".join(editor.chat()))
    # A window of 60 columns from now on.
    editor.turn("\n".join([state(size=size(60, 24)), chunk("\x1b[2J\x1b[H" + "y" * 70)]))
    ends(editor, "y" * 60, "y" * 10)
    # The agent says what is there, and goes on.
    editor.turn("\n".join([state(output=snapshot("new\r\n12")), chunk("\b3\r\n"), chunk("z")]))
    until(lambda: editor.lines(NAME) == ["new", "13", "z"])
    editor.turn(state(exitStatus={"exitCode": 3}))
    until(lambda: editor.lines(NAME) == ["new", "13", "z", "[exit code 3]"])


def test_the_size_comes_late_and_goes(editor: Editor) -> None:
    editor.turn("\n".join([state(command="make"), chunk("a" * 50 + "\n" + "b" * 90)]))
    opened(editor)
    assert editor.lua("return vim.bo.buftype") == "terminal"
    editor.turn(state(size=size(40, 10)))
    until(lambda: editor.lines(NAME) == ["a" * 40, "a" * 10, "b" * 40, "b" * 40, "b" * 10])
    shown = editor.lua("return { vim.api.nvim_buf_get_name(0), vim.bo.filetype, vim.bo.buftype }")
    assert shown == [NAME, "acpterminal", "nofile"]
    editor.turn(state(size=None))
    editor.wait("vim.bo.buftype == 'terminal' and vim.api.nvim_buf_get_name(0) == ...", NAME)
    until(lambda: "".join(editor.lines(NAME)).count("b") == 90)
    editor.turn("\n".join([state(size=size(40, 10)), chunk("\nend")]))
    until(lambda: editor.lines(NAME)[-2:] == ["b" * 10, "end"])
    editor.cmd("bwipeout!")
    opened(editor)
    until(lambda: editor.lines(NAME)[-2:] == ["b" * 10, "end"])
    editor.cmd("edit!")
    until(lambda: editor.lines(NAME)[-2:] == ["b" * 10, "end"])
    editor.turn(chunk("\r\n".join(map(str, range(300)))))
    editor.wait(AT_END)
    ends(editor, "298", "299")
    editor.keys("gg")
    editor.turn(chunk("\r\nmore"))
    ends(editor, "299", "more")
    assert editor.lua("return vim.fn.line('.')") == 1, "who reads elsewhere stays there"
