"""A decision on files of which maybe none is in view says what it did."""

from __future__ import annotations

import pytest

from tests.editor import Editor
from tests.until import until


@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_all_is_said_in_numbers(editor: Editor, verdict: str) -> None:
    editor.agent("script")
    one = editor.write("one.txt", "a\nsame\nb\n")
    two = editor.write("two.txt", "a\n")
    editor.turn(f'write {one} "A\\nsame\\nB\\n"\nwrite {two} "A\\n"')
    editor.wait("#require('acp').state().sessions[1].edits == 2")
    editor.cmd("messages clear")
    editor.cmd(f"Acp {verdict} all")
    until(lambda: f"acp: {verdict}ed 3 hunks in 2 files" in editor.messages())
    editor.turn(f'write {one} "A\\nSAME\\nB\\n"')
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    editor.open(one)
    editor.cmd(f"Acp {verdict} file")
    until(lambda: f"acp: {verdict}ed 1 hunk in one.txt" in editor.messages())
