"""Folds, marks, cursors and views beside the hunks of an agent's write."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.agent_files_nvim import AgentFilesInNvim
from tests.support.editor import Editor
from tests.support.lua import lua_chunk

LINES = [f"line {n}" for n in range(1, 41)]

SETUP = lua_chunk(__file__, "fold_three_windows")
STATE = lua_chunk(__file__, "folds_and_views")

CHANGES: dict[str, tuple[int, int, list[str]]] = {
    "a line above the fold": (10, 10, ["new"]),
    "lines above the fold": (10, 10, ["new", "more"]),
    "a line above its last one": (14, 14, ["new"]),
    "a line below its first one": (11, 11, ["new"]),
    "a line below it": (15, 15, ["new"]),
    "its first line, in place": (10, 11, ["line 11 and more"]),
    "its first line, by several": (10, 11, ["one", "two", "three"]),
    "the line above and its first": (9, 11, ["one", "two", "three"]),
    "its last line, in place": (14, 15, ["line 15 and more"]),
    "its last lines, by one": (13, 15, ["one"]),
    "without the line above it": (9, 10, []),
    "without its first line": (10, 11, []),
    "without its last line": (14, 15, []),
    "without a line above a view": (7, 8, []),
}
"""Rows [first, last) and their text afterwards; the fold has rows 10 to 14."""


@pytest.fixture
def live(editor: Editor) -> AgentFilesInNvim:
    return AgentFilesInNvim(editor)


def opened(live: AgentFilesInNvim, name: str = "a.txt") -> str:
    """Show a file in three windows with a manual fold, closed in two of them."""
    live.editor.write(name, text(LINES))
    live.editor.open(name)
    live.editor.lua(SETUP)
    live.read(name)
    return name


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def beside(state: dict[str, Any], hunk: set[str], before: dict[str, Any]) -> dict[str, Any]:
    """Return the marks and windows without those that were in the hunk before."""
    windows = [
        {
            "folded": [line for line in now["folded"] if line in LINES and line not in hunk],
            "closed": now["closed"],
            "top": now["top"] if old["top"] not in hunk else None,
            "at": (now["line"], now["col"]) if old["line"] not in hunk else None,
        }
        for old, now in zip(before["windows"], state["windows"], strict=True)
    ]
    both = zip(before["marks"], state["marks"], strict=True)
    return {"windows": windows, "marks": [now for old, now in both if old[0] not in hunk]}


def test_everything_beside_a_hunk_stays(live: AgentFilesInNvim) -> None:
    for number, (what, (first, last, lines)) in enumerate(CHANGES.items()):
        name = opened(live, f"{number}.txt")
        before = live.editor.lua(STATE)
        live.write(name, text([*LINES[:first], *lines, *LINES[last:]]))
        after = live.editor.lua(STATE)
        hunk = set(LINES[first:last])
        assert [window["closed"] for window in before["windows"]].count(True) == 2
        assert beside(after, hunk, before) == beside(before, hunk, before), what


def test_lines_inserted_above_a_fold_are_not_in_it(live: AgentFilesInNvim) -> None:
    name = opened(live)
    live.write(name, text([*LINES[:10], "new", *LINES[10:]]))
    folded = [window["folded"] for window in live.editor.lua(STATE)["windows"]]
    assert folded == [LINES[10:15]] * 3


def test_the_cursor_in_the_first_line_of_a_fold_moves_with_its_text(live: AgentFilesInNvim) -> None:
    name = opened(live)
    live.editor.lua("vim.api.nvim_win_set_cursor(0, { 11, 5 })")
    live.write(name, text(LINES).replace("line 11", "a longer line 11"))
    assert live.editor.lua("return vim.fn.getline('.'):sub(vim.fn.col('.'))") == "11"
    live.write(name, text(LINES).replace("line 11", "11"))
    assert live.editor.lua("return vim.fn.getline('.'):sub(vim.fn.col('.'))") == "11"


MARKS = lua_chunk(__file__, "set_marks_of_plugins")

MARKED = """
local ns = vim.api.nvim_create_namespace('test')
return vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })
"""


@pytest.mark.parametrize("changed", ["line 11!", "line, a number: 11", "1", "line", "lime 11", "x"])
def test_extmarks_in_the_first_line_of_a_fold_move_as_without_it(
    live: AgentFilesInNvim, changed: str
) -> None:
    marked = []
    for name in ("folded.txt", "flat.txt"):
        opened(live, name)
        if name == "flat.txt":
            live.editor.lua("vim.cmd('windo normal! zE')")
        live.editor.lua(MARKS)
        live.write(name, text(LINES).replace("line 11", changed))
        marked.append(sorted(live.editor.lua(MARKED)))
        folded = live.editor.lua("return vim.fn.foldlevel(11)")
        assert folded == (name == "folded.txt")
    assert marked[0] == marked[1]


def test_special_characters_at_a_fold_are_written_unchanged(live: AgentFilesInNvim) -> None:
    name = opened(live)
    content = text([*LINES[:10], "a\0b", "\xe9", *LINES[11:]])
    live.write(name, content)
    assert live.read(name) == content
    assert live.bytes(name) == content.encode()
