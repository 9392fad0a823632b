"""A composer whose session number was given to a session that has ended."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from tests.support.editor import Editor
from tests.support.fake_picker import install_picker, pick, picker_questions
from tests.support.git import repository
from tests.support.waiting import until


def test_the_draft_continues_in_the_composer_of_a_new_session(editor: Editor) -> None:
    install_picker(editor)
    agent = editor.agent("script")
    editor.turn("say first")
    pick(editor, "Acp sessions", "say first", "close")
    editor.wait("require('acp').state().sessions[1].status == 'closed'")
    editor.lua("require('acp.features.prompts.composer').open({ session = 1 })")
    editor.keys("isay dra")
    editor.lua("require('acp.base.host').notify('begin', { n = 1, cwd = vim.fn.getcwd() })")
    editor.wait("vim.api.nvim_buf_get_name(0):match('composer/2$')")
    editor.keys("ft<C-s>")
    editor.wait_event("AcpTurnEnd", 2)
    assert agent.prompts() == ["say first", "say draft"]
    assert editor.events("AcpTurnEnd")[-1]["data"]["session"] == 2
    assert editor.lines("acp://composer/1") == [""]


def test_a_draft_before_a_walk_through_the_history_moves_too(editor: Editor) -> None:
    install_picker(editor)
    editor.agent("script")
    editor.turn("say first")
    pick(editor, "Acp sessions", "say first", "close")
    editor.wait("require('acp').state().sessions[1].status == 'closed'")
    editor.lua("require('acp.features.prompts.composer').open({ session = 1 })")
    editor.keys("idraft<Esc><C-p>")
    until(lambda: editor.lines("acp://composer/1") == ["say first"], what="the earlier prompt")
    editor.lua("require('acp.base.host').notify('begin', { n = 1, cwd = vim.fn.getcwd() })")
    editor.wait("vim.api.nvim_buf_get_name(0):match('composer/2$')")
    assert editor.lines("acp://composer/2") == ["say first"]
    editor.keys("<C-n>")
    assert editor.lines("acp://composer/2") == ["draft"]


HELD_GIT = """#!/bin/sh
case " $* " in *" worktree add "*) read line <"{home}/go";; esac
exec {git} "$@"
"""


def test_a_draft_stays_in_a_composer_that_got_its_own_session(edit: Any, tmp_path: Path) -> None:
    git, held = shutil.which("git"), tmp_path / "bin/git"
    held.parent.mkdir()
    held.write_text(HELD_GIT.format(home=tmp_path, git=git))
    held.chmod(0o755)
    os.mkfifo(tmp_path / "go")
    editor: Editor = edit(env={"PATH": f"{held.parent}:{os.environ['PATH']}"})
    editor.write("a.txt", "one\n")
    repository(editor.work)
    editor.agent("script")
    editor.cmd("Acp new!")
    editor.cmd("Acp prompt")
    editor.cmd("Acp new")
    editor.wait("require('acp').state().sessions[1]")
    editor.lua("require('acp.features.prompts.composer').open({ session = 1 })")
    editor.wait("vim.fn.bufname() == 'acp://composer/1'")
    editor.keys("<C-\\><C-n>Sdraft")
    (tmp_path / "go").write_text("\n")
    editor.wait("(require('acp').state().sessions[2] or {}).status == 'idle'")
    assert editor.lines("acp://composer/1") == ["draft"]
    assert editor.lua("return vim.fn.bufname()") == "acp://composer/1"


def test_a_secret_in_a_text_that_returned_needs_a_confirmation_there_too(editor: Editor) -> None:
    install_picker(editor)
    editor.write(".env", "TOKEN=secret\n")
    agent = editor.agent("script")
    editor.turn("say first")
    pick(editor, "Acp sessions", "say first", "close")
    editor.wait("require('acp').state().sessions[1].status == 'closed'")
    editor.lua("require('acp.features.prompts.composer').open({ session = 1 })")
    editor.lua("require('acp.frame').apply(...)", [["composer", 1, "say @.env"]])
    editor.lua("require('acp.base.host').notify('begin', { n = 1, cwd = vim.fn.getcwd() })")
    editor.wait("vim.api.nvim_buf_get_name(0):match('composer/2$')")
    asked = len(picker_questions(editor))
    editor.lua("_G.acp_answers = { 'Do not send it' }")
    editor.keys("<C-s>")
    until(lambda: len(picker_questions(editor)) > asked, what="the question")
    assert agent.prompts() == ["say first"]
