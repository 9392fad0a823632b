"""Pending edits as frames of the host tell them, and what Neovim then shows.

Example:

    path = changed(editor)  # a file with three hunks against LINES
    pend(editor, path, LINES)
    assert marks(editor)[0]["first"] == 3
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from tests.support.editor import Editor

MARKS = """
local ns = vim.api.nvim_create_namespace('acp.hunks')
local lines = vim.api.nvim_create_namespace('acp.hunks.lines')
local washes = {}
for _, m in ipairs(vim.api.nvim_buf_get_extmarks(..., lines, 0, -1, { details = true })) do
  washes[m[2]] = m[4].hl_group
end
return vim.tbl_map(function(m)
  local d = m[4]
  return {
    first = m[2], last = d.end_row or m[2], line = d.line_hl_group or washes[m[2]],
    sign = d.sign_hl_group,
    removed = vim.tbl_map(function(chunks)
      return vim.trim(table.concat(vim.tbl_map(function(c) return c[1] end, chunks)))
    end, d.virt_lines or {}),
    above = d.virt_lines_above, id = m[1],
  }
end, vim.api.nvim_buf_get_extmarks(..., ns, 0, -1, { details = true }))
"""

WORDS = """
local buffer = ...
local ns = vim.api.nvim_create_namespace('acp.hunks.words')
return vim.tbl_map(function(m)
  return vim.api.nvim_buf_get_text(buffer, m[2], m[3], m[4].end_row, m[4].end_col, {})[1]
end, vim.api.nvim_buf_get_extmarks(buffer, ns, 0, -1, { details = true }))
"""


def apply(editor: Editor, *ops: list[Any]) -> int:
    """Apply a frame as the host sends it; microseconds that it took. Fails on any error."""
    answer = editor.lua("return require('acp.frame').apply(...)", list(ops))
    assert answer["errors"] == [], answer["errors"]
    return int(answer["us"])


def hunks(base: list[str], live: list[str]) -> list[dict[str, Any]]:
    """Hunks as the host computes them."""
    found = []
    for tag, a, a_end, b, b_end in difflib.SequenceMatcher(None, base, live, False).get_opcodes():
        if tag != "equal":
            kind = {"insert": "added", "delete": "removed", "replace": "changed"}[tag]
            found.append({"first": b, "last": b_end, "removed": base[a:a_end], "kind": kind})
    return found


def pend(editor: Editor, path: Path, base: list[str], **meta: Any) -> int:
    """Tell the editor what is pending in a file: its present text against `base`."""
    live = path.read_text().splitlines()
    shown = {"kind": "modified", "conflict": False, **meta}
    return apply(editor, ["hunks", str(path.resolve()), hunks(base, live), shown])


def marks(editor: Editor, buffer: int = 0) -> list[dict[str, Any]]:
    """The marks of a buffer's hunks, by rows."""
    found: list[dict[str, Any]] = editor.lua(MARKS, buffer)
    return found


COUNT = """
_G.marks_set = 0
local set, ours = vim.api.nvim_buf_set_extmark, {}
local function is_ours(ns)
  if ours[ns] == nil then
    for name, number in pairs(vim.api.nvim_get_namespaces()) do
      ours[number] = vim.startswith(name, 'acp.hunks')
    end
  end
  return ours[ns]
end
vim.api.nvim_buf_set_extmark = function(bufnr, ns, ...)
  _G.marks_set = _G.marks_set + (is_ours(ns) and 1 or 0)
  return set(bufnr, ns, ...)
end
"""


def count_marks(editor: Editor) -> None:
    """Count from now on how many marks of hunks are set, or set again."""
    editor.lua(COUNT)


def marks_set(editor: Editor) -> int:
    """How many have been since this was asked last."""
    count: int = editor.lua("local n = _G.marks_set _G.marks_set = 0 return n")
    return count


def words(editor: Editor, buffer: int = 0) -> list[str]:
    found: list[str] = editor.lua(WORDS, buffer)
    return found


def content(path: Path) -> list[str]:
    return path.read_text().splitlines()


LINES = [f"line {number}" for number in range(40)]


def changed(editor: Editor, name: str = "a.txt") -> Path:
    """A file of 40 lines: 3 is changed, two are new after 9, 20 and 21 are gone."""
    live = [*LINES[:3], "line three", *LINES[4:10], "new 1", "new 2", *LINES[10:20], *LINES[22:]]
    return editor.write(name, "\n".join(live) + "\n")


BUFFERS = "return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"
TABS = "return #vim.api.nvim_list_tabpages()"
DIFFS = """
return vim.tbl_filter(function(w)
  local o = vim.wo[w]
  return o.diff or o.scrollbind or o.cursorbind or o.foldmethod == 'diff' or o.winbar ~= ''
end, vim.api.nvim_list_wins())
"""
SIDES = """
local t = vim.api.nvim_tabpage_list_wins(0)
return vim.tbl_map(function(w)
  return { vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(w)), vim.wo[w].diff }
end, t)
"""


def entry(path: Path, base: list[str], kind: str = "modified", **more: Any) -> dict[str, Any]:
    """A file of the operation `review`."""
    real = str(path.resolve())
    counts = {"hunks": 3, "added": 3, "removed": 3, "conflict": False, "theirs": None}
    return (
        {"path": real, "base": base, "base_eol": True, "live": None, "kind": kind} | counts | more
    )


def edits(editor: Editor, *entries: dict[str, Any]) -> None:
    """The snapshot's pending edits, as they come along with the operation."""
    names = ("path", "hunks", "added", "removed", "kind", "conflict")
    found = [{name: one[name] for name in names} for one in entries]
    state = {"agent": "a", "status": "idle", "cwd": "/", "edits": found}
    apply(editor, ["state", ["sessions", 1], state], ["state", ["current"], 1])


def review(editor: Editor, *entries: dict[str, Any]) -> None:
    """`:Acp review`, and the host's answer."""
    edits(editor, *entries)
    editor.cmd("Acp review")
    apply(editor, ["review", list(entries)])


def opened(editor: Editor, name: str = "a.txt") -> Path:
    """The review of one file with three hunks."""
    path = changed(editor, name)
    editor.open(path)
    pend(editor, path, LINES)
    review(editor, entry(path, LINES))
    return path
