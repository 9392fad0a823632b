"""Prompts that are sent before the scan: changes are attributed as if the prompt had waited."""

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
    """Return a session that has had turns, so that the next turn can begin without a scan."""
    project.setup({"files": {"unsaved": "ignore"}})
    project.open("a.txt")
    project.turn("say one")
    project.turn("say two")
    wait_scanned(project)
    yield project
    assert not project.events("AcpNotice")


def wait_scanned(editor: Editor) -> None:
    """Wait until the last scan of the last turn is done."""
    path = str(editor.work / "a.txt")
    editor.wait("not require('acp.buffers.watch').at_work(...)", path)


def turn(editor: Editor, code: str, text: str, prompt: str) -> None:
    """Change the file in Neovim's main loop and send a prompt in the same iteration."""
    count = len(editor.events("AcpTurnEnd"))
    editor.lua(code, str(editor.work / "a.txt"), text, prompt)
    editor.wait_event("AcpTurnEnd", count + 1)


@pytest.mark.parametrize("code", [CHANGED, SAVED], ids=["another program", "saved here"])
def test_a_change_in_the_same_millisecond_is_the_users(warm: Editor, code: str) -> None:
    """The agent changes the same file as soon as it has the prompt. Rejected, only the user's
    change remains.
    """
    path = warm.work / "a.txt"
    for n in range(6):
        users, both = lines(l2=f"user {n}"), lines(l2=f"user {n}", l19=f"agent {n}")
        turn(warm, code, users, f"write_disk {path} {json.dumps(both)}")
        wait_hunks(warm, 1)
        reject_all(warm)
        wait_edits(warm)
        assert path.read_text(encoding="utf-8") == users
        warm.turn("say nothing")
        wait_scanned(warm)  # otherwise the change may be part of the turn that has just ended


def test_a_change_between_turns_is_the_users(warm: Editor) -> None:
    (warm.work / "b.txt").write_text("of the user\n", encoding="utf-8")
    (warm.work / "new").mkdir()
    (warm.work / "new/c.txt").write_text("of the user\n", encoding="utf-8")
    warm.turn("say three")
    wait_edits(warm)
    (warm.work / "new/d.txt").write_text("of the user\n", encoding="utf-8")
    warm.turn(f"write_disk {warm.work}/new/c.txt {json.dumps('of both' + chr(10))}")
    wait_edits(warm, c="modified")


def test_a_prompt_after_a_scan_sends_no_request_to_neovim(warm: Editor) -> None:
    warm.lua(RECORD)
    warm.turn("say three")
    warm.wait("#_G.calls == 2")
    assert warm.lua("return _G.calls") == ["unsaved", "set_turns"], (
        "before the prompt, after the turn"
    )
    warm.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'unsaved' }) _G.calls = {}")
    warm.turn("say four")
    warm.wait("#_G.calls == 2")
    assert warm.lua("return _G.calls") == ["unsaved", "set_turns"]
    choose_first(warm)
    warm.cmd("Acp restore 4")
    assert warm.lines(str(warm.work / "a.txt"))[0] == "unsaved", "the checkpoint has it"
    wait_scanned(warm)
    warm.lua("_G.calls = {}")
    ended = len(warm.events("AcpTurnEnd"))
    warm.lua("require('acp').prompt('say five', { new = true })")
    warm.wait_event("AcpTurnEnd", ended + 1)
    assert warm.lua("return _G.calls[1]") == "unsaved", "a new session's prompt carries it too"


def test_large_unsaved_text_is_requested(warm: Editor) -> None:
    warm.lua(RECORD)
    warm.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { ('unsaved '):rep(10000) })")
    warm.turn("say three")
    warm.wait("#_G.calls == 3")
    assert warm.lua("return _G.calls") == ["unsaved", "unsaved", "set_turns"]


def test_a_save_just_after_the_prompt_is_the_users(warm: Editor) -> None:
    """The host has not reported the turn to Neovim yet."""
    path = warm.work / "a.txt"
    mine = lines(l5="mine")
    turn(warm, f"{ARGUMENTS} {PROMPT} {SAVE}", mine, "say three")
    warm.turn("say four")
    wait_edits(warm)
    assert path.read_text(encoding="utf-8") == mine
