"""A prompt that waits for nothing: whose changes are whose is as if it had waited for a look."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_call, lua_chunk
from tests.support.pending_edits import choose_first, lines, reject_all, wait_edits, wait_hunks

RECORD = lua_chunk(__file__, "note_reads")
ARGUMENTS = "local path, text, prompt = ... "
PROMPT = "require('acp').prompt(prompt) "
CHANGE = lua_call(__file__, "write_file", "path", "text")
SAVE = lua_call(__file__, "write_buffer", "path", "text")
CHANGED, SAVED = f"{ARGUMENTS} {CHANGE} {PROMPT}", f"{ARGUMENTS} {SAVE} {PROMPT}"


@pytest.fixture
def warm(project: Editor) -> Iterator[Editor]:
    """A session that has had turns, so that the next one could begin without a look."""
    project.setup({"files": {"unsaved": "ignore"}})
    project.open("a.txt")
    project.turn("say one")
    project.turn("say two")
    rests(project)
    yield project
    assert not project.events("AcpNotice")


def rests(editor: Editor) -> None:
    """Wait until the last look of the last turn is done."""
    path = str(editor.work / "a.txt")
    editor.wait("not require('acp.buffers.watch').at_work(...)", path)


def turn(editor: Editor, code: str, text: str, prompt: str) -> None:
    """Change the file in Neovim's main loop, and in the same breath send a prompt."""
    count = len(editor.events("AcpTurnEnd"))
    editor.lua(code, str(editor.work / "a.txt"), text, prompt)
    editor.wait_event("AcpTurnEnd", count + 1)


@pytest.mark.parametrize("way", [CHANGED, SAVED], ids=["another program", "saved here"])
def test_what_changed_in_the_same_millisecond_is_the_users(warm: Editor, way: str) -> None:
    """The agent changes the same file as soon as it has the prompt: undone, the user's is left."""
    path = warm.work / "a.txt"
    for n in range(6):
        users, both = lines(l2=f"user {n}"), lines(l2=f"user {n}", l19=f"agent {n}")
        turn(warm, way, users, f"write_disk {path} {json.dumps(both)}")
        wait_hunks(warm, 1)
        reject_all(warm)
        wait_edits(warm)
        assert path.read_text(encoding="utf-8") == users
        warm.turn("say nothing")
        rests(warm)  # else the change may be one of the turn that has just ended


def test_what_changed_when_nobody_looked_is_the_users(warm: Editor) -> None:
    (warm.work / "b.txt").write_text("of the user\n", encoding="utf-8")
    (warm.work / "new").mkdir()
    (warm.work / "new/c.txt").write_text("of the user\n", encoding="utf-8")
    warm.turn("say three")
    wait_edits(warm)
    (warm.work / "new/d.txt").write_text("of the user\n", encoding="utf-8")
    warm.turn(f"write_disk {warm.work}/new/c.txt {json.dumps('of both' + chr(10))}")
    wait_edits(warm, c="modified")


def test_a_warm_prompt_asks_neovim_nothing(warm: Editor) -> None:
    warm.lua(RECORD)
    warm.turn("say three")
    warm.wait("#_G.calls == 2")
    assert warm.lua("return _G.calls") == ["unsaved", "turns"], "before the prompt, after the turn"
    warm.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'unsaved' }) _G.calls = {}")
    warm.turn("say four")
    warm.wait("#_G.calls == 2")
    assert warm.lua("return _G.calls") == ["unsaved", "turns"]
    choose_first(warm)
    warm.cmd("Acp restore 4")
    assert warm.lines(str(warm.work / "a.txt"))[0] == "unsaved", "the checkpoint has it"


def test_much_unsaved_text_is_asked_for(warm: Editor) -> None:
    warm.lua(RECORD)
    warm.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { ('unsaved '):rep(10000) })")
    warm.turn("say three")
    warm.wait("#_G.calls == 3")
    assert warm.lua("return _G.calls") == ["unsaved", "unsaved", "turns"]


def test_a_save_while_the_prompt_is_under_way_is_told(warm: Editor) -> None:
    """Right after the prompt, before the host can have said that a turn runs."""
    path = warm.work / "a.txt"
    mine = lines(l5="mine")
    turn(warm, f"{ARGUMENTS} {PROMPT} {SAVE}", mine, "say three")
    warm.turn("say four")
    wait_edits(warm)
    assert path.read_text(encoding="utf-8") == mine
