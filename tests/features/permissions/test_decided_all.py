"""A decision on files of which maybe none is in view says what it did."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_call
from tests.support.waiting import until


@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_all_is_said_in_numbers(editor: Editor, verdict: str) -> None:
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


def test_what_was_taken_back_is_said(editor: Editor) -> None:
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


SHOWN = lua_call(__file__, "first_file_in_review")


@pytest.mark.parametrize("keys", [",A", ",a"])
def test_after_a_file_the_review_goes_on_with_the_next_one(editor: Editor, keys: str) -> None:
    editor.lua("vim.g.maplocalleader = ','")
    editor.agent("script")
    paths = [editor.write(f"{name}.txt", "a\n") for name in ("one", "two", "three")]
    editor.turn("\n".join(f'write {path} "A\\n"' for path in paths))
    editor.wait("#require('acp').state().sessions[1].edits == 3")
    editor.cmd("Acp review")
    editor.wait(f"{SHOWN} == 'one.txt'")
    editor.keys("]f")
    editor.wait(f"{SHOWN} == 'two.txt'")
    editor.keys(keys)
    editor.wait(f"{SHOWN} == 'three.txt'")
    editor.keys(keys)
    editor.wait(f"{SHOWN} == 'one.txt'")
