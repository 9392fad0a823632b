"""Messages about decisions on several files."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_call
from tests.support.waiting import until


@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_a_decision_on_all_reports_its_numbers(editor: Editor, verdict: str) -> None:
    editor.agent("script")
    one = editor.write("one.txt", "a\nsame\nb\n")
    two = editor.write("two.txt", "a\n")
    editor.turn(f'write {one} "A\\nsame\\nB\\n"\nwrite {two} "A\\n"')
    editor.wait("#require('acp').state().sessions[1].edits == 2")
    editor.cmd("messages clear")
    editor.cmd(f"Acp {verdict} all")
    until(lambda: f"acp: {verdict.capitalize()}ed 3 hunks in 2 files" in editor.messages())
    editor.turn(f'write {one} "A\\nSAME\\nB\\n"')
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    editor.open(one)
    editor.cmd(f"Acp {verdict} file")
    until(lambda: f"acp: {verdict.capitalize()}ed 1 hunk in one.txt" in editor.messages())


def test_an_undone_reject_is_reported(editor: Editor) -> None:
    editor.agent("script")
    one = editor.write("one.txt", "a\n")
    editor.turn(f'write {one} "A\\n"')
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    editor.cmd("Acp reject all")
    until(lambda: one.read_text() == "a\n")
    editor.cmd("Acp unreject")
    until(lambda: "acp: The last reject is undone in one.txt" in editor.messages())
    assert one.read_text() == "A\n"
    editor.cmd("Acp unreject")
    until(lambda: "acp: Nothing was rejected" in editor.messages())


FIRST_FILE = lua_call(__file__, "first_file_in_review")


@pytest.mark.parametrize("keys", [",A", ",a"])
def test_after_a_decision_the_review_shows_the_next_file(editor: Editor, keys: str) -> None:
    editor.lua("vim.g.maplocalleader = ','")
    editor.agent("script")
    paths = [editor.write(f"{name}.txt", "a\n") for name in ("one", "two", "three")]
    editor.turn("\n".join(f'write {path} "A\\n"' for path in paths))
    editor.wait("#require('acp').state().sessions[1].edits == 3")
    editor.cmd("Acp review")
    editor.wait(f"{FIRST_FILE} == 'one.txt'")
    editor.keys("]f")
    editor.wait(f"{FIRST_FILE} == 'two.txt'")
    editor.keys(keys)
    editor.wait(f"{FIRST_FILE} == 'three.txt'")
    editor.keys(keys)
    editor.wait(f"{FIRST_FILE} == 'one.txt'")
