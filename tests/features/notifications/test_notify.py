"""Option `notify`: ways to notify a user whose Neovim does not have the focus."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.outer_terminal import NAME_QUERY, Terminal
from tests.support.waiting import until


def leave(editor: Editor) -> None:
    """Put another program in front of Neovim."""
    editor.lua("vim.api.nvim_exec_autocmds('FocusLost', {})")


def set_ways(editor: Editor, ways: str) -> None:
    """Set the option `notify` to a Lua expression."""
    code = f"local options = ... options.notify = {ways} require('acp').setup(options)"
    editor.lua(code, editor.options)


def test_true_means_a_message_and_a_notification_of_the_desktop(editor: Editor) -> None:
    terminal = Terminal(editor, "kitty(0.40.1)")
    editor.agent("hello")
    leave(editor)
    editor.turn("hi")
    terminal.answer()
    terminal.wait("\x1b]99;i=acp:d=0:p=title;work\x1b\\")
    terminal.wait("\x1b]99;i=acp:p=body;Scripted has finished\x1b\\")
    editor.wait_message("acp: Scripted has finished")


@pytest.mark.parametrize(
    ("name", "sequence"),
    [
        ("ghostty 1.2.0", "\x1b]777;notify;work;Scripted has finished\x1b\\"),
        ("WezTerm 20240203-110809-5046fc22", "\x1b]777;notify;work;Scripted has finished\x1b\\"),
        ("Konsole 23.08.4", "\x1b]777;notify;work;Scripted has finished\x1b\\"),
        ("VTE(7802)", "\x1b]777;notify;work;Scripted has finished\x1b\\"),
        ("foot(1.16.2)", "\x1b]777;notify;work;Scripted has finished\x1b\\"),
        ("iTerm2 3.5.0", "\x1b]9;work: Scripted has finished\x1b\\"),
    ],
)
def test_the_sequence_is_the_one_that_the_terminal_knows(
    editor: Editor, name: str, sequence: str
) -> None:
    terminal = Terminal(editor, name)
    editor.agent("hello")
    editor.setup({"notify": ["osc"]})
    leave(editor)
    editor.turn("hi")
    terminal.answer()
    terminal.wait(sequence)
    assert "has finished" not in editor.messages()


@pytest.mark.parametrize(("passes", "is_sent"), [("on", True), ("1", True), ("off", False)])
def test_tmux_passes_it_on_if_it_may(
    edit: Callable[..., Editor], tmp_path: Path, passes: str, is_sent: bool
) -> None:
    tmux = tmp_path / "bin/tmux"
    tmux.parent.mkdir()
    tmux.write_text(f"#!/bin/sh\n: > {tmp_path}/asked\necho '{passes} ghostty 1.2.0'\n")
    tmux.chmod(0o755)
    editor = edit(env={"PATH": f"{tmux.parent}:{os.environ['PATH']}", "TMUX_PANE": "%1"})
    terminal = Terminal(editor, "tmux 3.4")
    editor.lua(
        "require('acp.features.notifications.ways').notify({ kind = 'turn', message = 'ended' })"
    )
    terminal.answer()
    if is_sent:
        terminal.wait("\x1bPtmux;\x1b\x1b]777;notify;work;ended\x1b\x1b\\\x1b\\")
    else:
        until((tmp_path / "asked").exists)
        assert "777" not in terminal.written()


def test_a_terminal_of_an_unknown_name_gets_no_notification(editor: Editor) -> None:
    terminal = Terminal(editor, "XTerm(390)")
    editor.agent("hello")
    leave(editor)
    editor.turn("hi")
    terminal.answer()
    editor.wait_message("acp: Scripted has finished")
    assert "\x1b]" not in terminal.written()


def test_nothing_is_sent_while_neovim_has_the_focus(editor: Editor) -> None:
    terminal = Terminal(editor)
    editor.agent("hello")
    editor.turn("hi")
    leave(editor)
    editor.lua("vim.api.nvim_exec_autocmds('FocusGained', {})")
    editor.turn("hi")
    assert NAME_QUERY not in terminal.written()
    assert "has finished" not in editor.messages()


@pytest.mark.parametrize("notify", [False, []])
def test_without_ways_nothing_is_sent(editor: Editor, notify: object) -> None:
    terminal = Terminal(editor)
    editor.agent("hello")
    editor.setup({"notify": notify})
    leave(editor)
    editor.turn("hi")
    assert NAME_QUERY not in terminal.written()
    assert "has finished" not in editor.messages()


def test_without_a_terminal_nothing_is_written(editor: Editor) -> None:
    editor.agent("hello")
    editor.setup({"notify": ["osc", "bell"]})
    leave(editor)
    editor.turn("hi")
    assert (editor.home / "nvim.stderr").read_text() == ""


def test_the_bell_rings(editor: Editor) -> None:
    terminal = Terminal(editor)
    editor.agent("hello")
    editor.setup({"notify": ["bell"]})
    leave(editor)
    editor.turn("hi")
    terminal.wait("\x07")
    assert NAME_QUERY not in terminal.written()


def test_a_function_gets_the_event(editor: Editor) -> None:
    editor.agent("permission")
    set_ways(
        editor,
        "{ 'vim', function(event) _G.got = event end, function() error('no such sound', 0) end }",
    )
    leave(editor)
    editor.prompt("ask")
    editor.wait("_G.got")
    got = editor.lua("return _G.got")
    assert (got["kind"], got["session"]) == ("question", 1)
    assert got["message"] == "Scripted wants to run p1"
    editor.wait_message("A function of option 'notify' failed: no such sound")


def test_a_function_alone_is_a_way(editor: Editor) -> None:
    editor.agent("hello")
    set_ways(editor, "function(event) _G.got = event.message end")
    leave(editor)
    editor.turn("hi")
    assert editor.lua("return _G.got") == "Scripted has finished"


def test_a_wrong_way_is_reported(editor: Editor) -> None:
    editor.setup({"notify": ["vim", "ocs"]})
    editor.wait_message(
        "Option 'notify' should be a boolean or a list of 'vim', 'osc', 'bell' and functions"
    )


def test_a_message_of_the_agent_cannot_end_the_sequence(editor: Editor) -> None:
    terminal = Terminal(editor, "kitty(0.40.1)")
    editor.lua(
        "require('acp.features.notifications.ways').notify({ kind = 'turn', message = ... })",
        "a\x1b\\b\x07c;d\nnext",
    )
    terminal.answer()
    terminal.wait("\x1b]99;i=acp:p=body;a^[\\b^Gc,d next\x1b\\")
