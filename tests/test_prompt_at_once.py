"""A prompt is shown and sent at once, however long it takes to look at the files before it."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editor import Editor
from tests.test_snapshots import repository

SLOW_S = 1.5
GIT = """#!/bin/sh
case " $* " in *" diff-files "*) sleep {seconds};; esac
exec {git} "$@"
"""


@pytest.fixture
def slow(edit: Callable[..., Editor], tmp_path: Path) -> Editor:
    """An editor in a work tree that git takes long to look at."""
    git = shutil.which("git")
    assert git is not None
    work, bin_ = tmp_path / "work", tmp_path / "bin"
    bin_.mkdir()
    work.mkdir()
    (work / "a.txt").write_text("one\ntwo\n")
    (work / "b.txt").write_text("one\ntwo\n")
    repository(work)
    (bin_ / "git").write_text(GIT.format(seconds=SLOW_S, git=git))
    (bin_ / "git").chmod(0o755)
    editor = edit(work=work, env={"PATH": f"{bin_}:{os.environ['PATH']}"})
    editor.agent("script")
    return editor


def turn(editor: Editor, text: str) -> float:
    """Seconds that a turn takes."""
    started = time.monotonic()
    editor.turn(text)
    return time.monotonic() - started


def test_it_does_not_wait_for_the_look_at_the_files(slow: Editor) -> None:
    assert turn(slow, "say one") < SLOW_S
    assert turn(slow, "say two") < SLOW_S / 3
    assert turn(slow, "say three") < SLOW_S / 3


def test_a_file_that_is_named_meanwhile_is_reviewed(slow: Editor) -> None:
    path = slow.work / "a.txt"
    slow.turn("runs " + str(path) + " " + json.dumps(f"sleep 0.2; sed -i s/two/TWO/ {path}"))
    slow.wait("#require('acp').state().sessions[1].edits == 1", timeout=20.0)
    edit = slow.session()["edits"][0]
    assert (edit["path"], edit["hunks"], edit["kind"]) == (str(path), 1, "modified")
    slow.cmd("Acp reject all")
    slow.wait("#require('acp').state().sessions[1].edits == 0")
    assert path.read_text() == "one\ntwo\n"


def test_what_changed_before_and_what_after_the_prompt_went(slow: Editor) -> None:
    slow.turn("say first")
    slow.cmd("Acp checkpoints")  # waits for the look
    slow.wait("vim.fn.bufnr('acp://checkpoints/1') > 0", timeout=20.0)
    (slow.work / "a.txt").write_text("one\nmine\n")
    slow.wait("vim.uv.now() > ...", slow.lua("return vim.uv.now()") + 100)
    slow.turn("silently " + json.dumps("sed -i s/two/TWO/ b.txt"))
    slow.wait("#require('acp').state().sessions[1].edits == 1", timeout=20.0)
    assert slow.session()["edits"][0]["path"] == str(slow.work / "b.txt")


def test_it_is_shown_while_the_agent_starts(editor: Editor) -> None:
    editor.agent("slow_start", "1")
    editor.cmd("AcpPrompt hello there")
    editor.wait("(require('acp').state().sessions[1] or {}).chat_bufnr")
    editor.wait(
        "vim.list_contains(vim.api.nvim_buf_get_lines("
        "require('acp').state().sessions[1].chat_bufnr, 0, -1, false), 'hello there')"
    )
    assert editor.session()["status"] == "starting"
    editor.wait_event("AcpTurnEnd")
    assert editor.chat().count("hello there") == 1


def test_one_that_is_held_back_says_so(editor: Editor) -> None:
    editor.agent("slow_start", "0.5")
    editor.cmd("AcpPrompt hello there")
    editor.cmd("AcpCancel")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
    assert "not sent" in "\n".join(editor.chat())
    editor.cmd("Acp queue run")
    editor.wait_event("AcpTurnEnd")
    assert editor.chat().count("hello there") == 2
