"""Pending edits in Neovim's state: `wait_edits(editor, a="modified", b="deleted")`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.stepwise_agent import StepwiseAgent

LINES = "".join(f"line {n}\n" for n in range(1, 21))
"""A file of twenty lines, for agents to change."""


def lines(**changed: str) -> str:
    """Return the twenty lines with some of them changed: `lines(l4="four")`."""
    numbers = {int(key[1:]): value for key, value in changed.items()}
    return "".join(f"{numbers.get(n, f'line {n}')}\n" for n in range(1, 21))


def two_changed_lines(editor: Editor) -> Editor:
    """Open `a.txt`, and let the agent change its lines 3 and 10."""
    path = editor.write("a.txt", LINES)
    editor.agent("script")
    editor.open("a.txt")
    editor.turn(f"replace {path} 'line 3' three\nreplace {path} 'line 10' ten")
    wait_hunks(editor, 2)
    return editor


def reject_all(editor: Editor) -> None:
    """Reject everything, including files that the agent did not name."""
    choose_first(editor)
    editor.cmd("Acp reject all")


def choose_first(editor: Editor) -> None:
    """Answer each later `vim.ui.select` with its first item."""
    editor.lua("vim.ui.select = function(items, _, on_choice) on_choice(items[1], 1) end")


def edits(editor: Editor, n: int = 1) -> list[dict[str, Any]]:
    """Return `state().sessions[n].edits`."""
    found: list[dict[str, Any]] = editor.session(n).get("edits", [])
    return found


def edits_by_name(editor: Editor) -> dict[str, dict[str, Any]]:
    """Return the edits of the current session by file name."""
    return {Path(edit["path"]).name: edit for edit in editor.session().get("edits", [])}


def counts(editor: Editor, n: int = 1) -> list[tuple[int, int, int]]:
    """Return hunks, added and removed lines of each file with pending edits."""
    return [(edit["hunks"], edit["added"], edit["removed"]) for edit in edits(editor, n)]


def wait_count(editor: Editor, count: int) -> dict[str, dict[str, Any]]:
    """Wait until this number of files have pending edits, and return the edits by file name."""
    editor.wait("#require('acp').state().sessions[1].edits == ...", count)
    return edits_by_name(editor)


def wait_edits(editor: Editor, **kinds: str) -> None:
    """Wait until exactly these files, by name without `.txt`, have edits of these kinds."""
    editor.wait(lua_chunk(__file__, "has_kinds"), kinds)


def marked_changes(editor: Editor, agent: StepwiseAgent, script: str, count: int) -> None:
    """Open a.txt, let the agent run `sed` on it, and wait until so many hunks are marked."""
    editor.open("a.txt")
    agent.ask("runs", f"sed -i '{script}' a.txt")
    editor.wait("#require('acp.features.review.inline').rows(0) == ...", count)


def wait_hunks(editor: Editor, *counts: int) -> None:
    """Wait until the files with pending edits have these numbers of hunks."""
    code = (
        "(function(list) local found = vim.tbl_map(function(e) return e.hunks end, list) "
        "return vim.deep_equal(found, {%s}) end)(require('acp').state().sessions[1].edits)"
    )
    editor.wait(code % ", ".join(map(str, counts)))
