"""Pending edits as frames of the host, and their display in Neovim.

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
from tests.support.lua import lua_chunk

MARKS = lua_chunk(__file__, "hunk_marks")
WORDS = lua_chunk(__file__, "changed_words")


def apply(editor: Editor, *ops: list[Any]) -> int:
    """Apply a frame as the host sends it; return its duration in microseconds. Fail on any
    error.
    """
    answer = editor.lua("return require('acp.frame').apply(...)", list(ops))
    assert answer["errors"] == [], answer["errors"]
    return int(answer["us"])


def hunks(base: list[str], live: list[str]) -> list[dict[str, Any]]:
    """Return hunks as the host computes them."""
    found = []
    for tag, a, a_end, b, b_end in difflib.SequenceMatcher(None, base, live, False).get_opcodes():
        if tag != "equal":
            kind = {"insert": "added", "delete": "removed", "replace": "changed"}[tag]
            found.append({"first": b, "last": b_end, "removed": base[a:a_end], "kind": kind})
    return found


def pend(editor: Editor, path: Path, base: list[str], **meta: Any) -> int:
    """Send the pending hunks of a file: its present text against `base`."""
    live = path.read_text().splitlines()
    shown = {"kind": "modified", "conflict": False, **meta}
    return apply(editor, ["hunks", str(path.resolve()), hunks(base, live), shown])


def marks(editor: Editor, buffer: int = 0) -> list[dict[str, Any]]:
    """Return the marks of a buffer's hunks by rows."""
    found: list[dict[str, Any]] = editor.lua(MARKS, buffer)
    return found


COUNT = lua_chunk(__file__, "count_marks")


def count_marks(editor: Editor) -> None:
    """Count from now on how many marks of hunks are set or set again."""
    editor.lua(COUNT)


def marks_set(editor: Editor) -> int:
    """Return their number since the last call."""
    count: int = editor.lua("local n = _G.marks_set _G.marks_set = 0 return n")
    return count


def words(editor: Editor, buffer: int = 0) -> list[str]:
    found: list[str] = editor.lua(WORDS, buffer)
    return found


def content(path: Path) -> list[str]:
    return path.read_text().splitlines()


LINES = [f"line {number}" for number in range(40)]


def changed(editor: Editor, name: str = "a.txt") -> Path:
    """Write a file of 40 lines: line 3 is changed, two are new after 9, and 20 and 21 are
    deleted.
    """
    live = [*LINES[:3], "line three", *LINES[4:10], "new 1", "new 2", *LINES[10:20], *LINES[22:]]
    return editor.write(name, "\n".join(live) + "\n")


BUFFERS = "return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"
TABS = "return #vim.api.nvim_list_tabpages()"
DIFFS = lua_chunk(__file__, "windows_with_diff_options")
SIDES = lua_chunk(__file__, "windows_of_tab")


def entry(path: Path, base: list[str], kind: str = "modified", **more: Any) -> dict[str, Any]:
    """Return a file of the operation `review`."""
    real = str(path.resolve())
    counts = {"hunks": 3, "added": 3, "removed": 3, "conflict": False, "theirs": None}
    return (
        {"path": real, "base": base, "base_eol": True, "live": None, "kind": kind} | counts | more
    )


def edits(editor: Editor, *entries: dict[str, Any]) -> None:
    """Set the snapshot's pending edits, as they come with the operation."""
    names = ("path", "hunks", "added", "removed", "kind", "conflict")
    found = [{name: one[name] for name in names} for one in entries]
    state = {"agent": "a", "status": "idle", "cwd": "/", "edits": found}
    apply(editor, ["state", ["sessions", 1], state], ["state", ["current"], 1])


def review(editor: Editor, *entries: dict[str, Any]) -> None:
    """Run `:Acp review`, and send the host's answer."""
    edits(editor, *entries)
    editor.cmd("Acp review")
    apply(editor, ["review", list(entries)])


def opened(editor: Editor, name: str = "a.txt") -> Path:
    """Open the review of one file with three hunks."""
    path = changed(editor, name)
    editor.open(path)
    pend(editor, path, LINES)
    review(editor, entry(path, LINES))
    return path
