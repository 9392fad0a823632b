"""Turns that change files, and what is on disk after: for tests of checkpoints and restores.

Write `FIRST` into files, `run(editor, "rm a.txt")`, `editor.cmd("Acp restore 1")`, and compare
`contents(editor)`.
"""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.script_lines import shell

FIRST = "one\ntwo\nthree\n"
LIST = "acp://checkpoints/1"
"""The buffer that lists the checkpoints of session 1."""
COMPLETED = "return vim.fn.getcompletion('Acp restore ' .. ..., 'cmdline')"
"""Lua: what completes the argument of `:Acp restore`."""


def run(editor: Editor, command: str) -> None:
    """A turn in which the agent runs a command by itself."""
    editor.turn(shell(command))


def contents(editor: Editor) -> dict[str, str]:
    """The text files of the project: name -> text on disk."""
    return {path.name: path.read_text() for path in sorted(editor.work.glob("*.txt"))}
