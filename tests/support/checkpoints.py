"""Turns that change files, and the files on disk afterwards, for tests of checkpoints and restores.

Write `FIRST` into files, `run(editor, "rm a.txt")`, `editor.cmd("Acp restore 1")`, and compare
`contents(editor)`.
"""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.script_lines import shell

FIRST = "one\ntwo\nthree\n"
LIST = "acp://checkpoints/1"
"""Buffer that lists the checkpoints of session 1."""
COMPLETED = "return vim.fn.getcompletion('Acp restore ' .. ..., 'cmdline')"
"""Lua: completions of the argument of `:Acp restore`."""


def run(editor: Editor, command: str) -> None:
    """Run a turn in which the agent runs a command on disk."""
    editor.turn(shell(command))


def contents(editor: Editor) -> dict[str, str]:
    """Return the text files of the project on disk by name."""
    return {path.name: path.read_text() for path in sorted(editor.work.glob("*.txt"))}
