"""With 'cmdheight' 0, messages of commands and `:w` wait for no key."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor


@pytest.fixture
def flat(editor: Editor) -> Editor:
    editor.cmd("set cmdheight=0")
    editor.agent("script")
    return editor


def write(editor: Editor, message: str, command: str = "w") -> None:
    """Type `:w`, and check that the message appears without a prompt."""
    editor.keys(f":{command}<CR>")
    editor.wait_message(message)
    assert editor.lua("return vim.api.nvim_get_mode().blocking") is False


COMMANDS = [
    ("AcpCancel", "acp: Nothing to cancel"),
    ("Acp plan", "acp: No session yet"),
    ("Acp queue", "acp: The queue is empty"),
    ("Acp foo", "acp: Unknown subcommand 'foo'"),
    ("Acp queue foo", "acp: Unknown argument of :Acp queue 'foo'"),
    ("Acp agent foo", "acp: Unknown agent 'foo'. See :Acp agent"),
]


def test_commands_wait_for_no_key(flat: Editor) -> None:
    flat.errors_expected = True
    for command, message in COMMANDS:
        write(flat, message, command)


def test_an_empty_composer_waits_for_no_key(flat: Editor) -> None:
    flat.cmd("AcpPrompt")
    flat.keys("<Esc>")
    write(flat, "acp: Nothing to send")


def test_the_queue_waits_for_no_key(flat: Editor) -> None:
    flat.prompt("wait_for_cancel")
    flat.wait("require('acp').state().sessions[1].status == 'running'")
    flat.prompt("say a")
    flat.wait("#require('acp').state().sessions[1].queue == 1")
    flat.cmd("Acp queue")
    write(flat, "acp: 1 prompt waiting")
    flat.cmd("AcpCancel!")
    flat.wait_event("AcpTurnEnd")


def test_a_proposal_waits_for_no_key(flat: Editor) -> None:
    path = flat.write("a.txt", "old\n")
    flat.prompt(f"propose none {path} old new")
    flat.wait_event("AcpPermission")
    flat.cmd("Acp permissions")
    flat.cmd("Acp review")
    flat.wait("vim.fn.tabpagenr('$') == 2")
    write(flat, "acp: Your changes go with your answer")
    flat.answer("Acp deny")
    flat.wait_event("AcpTurnEnd")
