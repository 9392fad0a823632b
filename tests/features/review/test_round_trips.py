"""A decision by key costs at most one round trip to Neovim."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until

COUNT = lua_chunk(__file__, "note_requests")
TEXT = "".join(f"line {n}\n" for n in range(1, 21))
NEW = TEXT.replace("line 3\n", "three\n").replace("line 15\n", "fifteen\n")


@pytest.fixture
def reviewed(editor: Editor) -> Editor:
    """Return two hunks in a file that a window shows, with the cursor on the first."""
    editor.write("a.txt", TEXT)
    editor.cmd("edit a.txt")
    editor.agent("script")
    editor.turn("edits_disk a.txt " + json.dumps(NEW))
    editor.wait("#(require('acp').state().sessions[1].edits or {}) == 1")
    editor.wait("not require('acp.buffers.watch').at_work(...)", str(editor.work / "a.txt"))
    editor.cmd("3")
    editor.lua(COUNT)
    return editor


def requests(editor: Editor, verb: str) -> list[str]:
    """Return the host's requests to Neovim since this verb, up to the next scan of all files."""
    found: list[str] = editor.lua("return _G.asked")
    since = found[found.index(verb) + 1 :]
    return since[: since.index("refresh")] if "refresh" in since else since


@pytest.mark.parametrize(("verb", "most"), [("accept", []), ("reject", ["write"])])
def test_a_hunk_is_decided_in_one_round_trip(reviewed: Editor, verb: str, most: list[str]) -> None:
    reviewed.cmd(f"Acp {verb}")
    reviewed.wait("require('acp').state().sessions[1].edits[1].hunks == 1")
    verbs = ("edited", "saved", "opened", "at_work", "journal_changed")
    assert [name for name in requests(reviewed, verb) if name not in verbs] == most
    expected = NEW if verb == "accept" else NEW.replace("three\n", "line 3\n")
    until(lambda: (reviewed.work / "a.txt").read_text() == expected)


def test_a_file_that_another_program_has_written_is_read_first(reviewed: Editor) -> None:
    (reviewed.work / "a.txt").write_text(NEW.replace("line 20\n", "twenty\n"))
    reviewed.cmd("Acp reject")
    expected = NEW.replace("line 20\n", "twenty\n").replace("three\n", "line 3\n")
    until(lambda: (reviewed.work / "a.txt").read_text() == expected)


def test_text_typed_just_before_is_known(reviewed: Editor) -> None:
    reviewed.keys("ggOmine<Esc>4G")
    reviewed.cmd("Acp reject")
    expected = "mine\n" + NEW.replace("three\n", "line 3\n")
    reviewed.wait("vim.api.nvim_buf_get_lines(0, 0, -1, false)[4] == 'line 3'")
    lines = reviewed.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    assert "\n".join(lines) + "\n" == expected
