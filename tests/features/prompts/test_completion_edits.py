"""Completion of `:Acp review`."""

from __future__ import annotations

from tests.support.editor import Editor

COMPLETION = "return vim.fn.getcompletion(..., 'cmdline')"


def test_only_files_with_pending_edits_are_completed(editor: Editor) -> None:
    editor.agent("script")
    one, two = editor.write("one.txt", "one\n"), editor.write("two.txt", "two\n")
    assert editor.lua(COMPLETION, "Acp review ") == ["one.txt", "two.txt"]
    editor.turn(f"write {two} TWO")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    assert editor.lua(COMPLETION, "Acp review ") == ["two.txt"]
    assert editor.lua(COMPLETION, "Acp review o") == ["one.txt"]
    assert editor.lua(COMPLETION, f"Acp review {two.parent}/t") == [str(two)]
    assert one.exists()
