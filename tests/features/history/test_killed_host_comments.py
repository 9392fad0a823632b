"""Review comments after the host is killed: they are sent with the next prompt."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.killed_host import (
    HOST_PID,
    is_written,
    kill_host,
    kill_host_once_written,
    wait_host,
)
from tests.support.waiting import until

LINES = [f"line {n}" for n in range(1, 13)]
TEXT = "\n".join(LINES) + "\n"
HUNK = "(require('acp').state().sessions[1].edits[1] or {}).hunks == 1"


@pytest.fixture
def project(editor: Editor) -> Editor:
    """Return an editor that shows `a.txt`; the agent has changed its lines 3 and 4."""
    path = editor.write("a.txt", TEXT)
    editor.agent("script")
    editor.open("a.txt")
    editor.turn(f"replace {path} 'line 3' three\nreplace {path} 'line 4' four")
    editor.wait(HUNK)
    until(lambda: is_written(editor), what="the journal is written")
    return editor


def comment(editor: Editor, line: int, text: str) -> None:
    """Comment on a line, and wait until the chat shows it."""
    editor.cmd(str(line))
    editor.cmd(f"Acp comment {text}")
    wait_in_chat(editor, text)


def wait_in_chat(editor: Editor, text: str) -> None:
    until(lambda: any(text in line for line in editor.chat(1)), what=text)


def prompt_blocks(editor: Editor, text: str = "say ok") -> list[dict[str, Any]]:
    """Send a prompt and return its blocks."""
    editor.turn(text)
    blocks: list[dict[str, Any]] = editor.traffic[0].received("session/prompt")[-1]["params"][
        "prompt"
    ]
    return blocks


def is_marked(editor: Editor, text: str) -> bool:
    return any(f"» {text}" in row for row in editor.screen())


def test_comments_are_sent_with_the_next_prompt(project: Editor) -> None:
    comment(project, 4, "why?")
    comment(project, 7, "odd")
    kill_host_once_written(project)
    project.wait_screen("» why?")
    words, *rest = prompt_blocks(project)
    assert words["text"] == "say ok\n\nComments on your edits:\n- a.txt:3-4: why?\n- a.txt:7: odd\n"
    assert [block["resource"]["text"] for block in rest] == ["three\nfour", "line 7"]
    assert not is_marked(project, "why?")
    assert len(prompt_blocks(project)) == 1


def test_a_comment_may_be_the_first_command(project: Editor) -> None:
    comment(project, 4, "why?")
    kill_host_once_written(project)
    comment(project, 7, "odd")
    comment(project, 8, "too")
    words, *_ = prompt_blocks(project)
    assert words["text"].rstrip().endswith("\n- a.txt:3-4: why?\n- a.txt:7: odd\n- a.txt:8: too")


def test_a_comment_that_the_host_never_read_is_sent(project: Editor) -> None:
    host = project.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    project.cmd("4")
    project.cmd("Acp comment why?")
    kill_host(project)
    words, block = prompt_blocks(project)
    assert words["text"].rstrip().endswith("- a.txt:3-4: why?")
    assert block["resource"]["text"] == "three\nfour"


def test_comments_quote_the_lines_as_they_were(project: Editor) -> None:
    project.setup({"files": {"unsaved": "ignore"}})
    comment(project, 4, "why?")
    kill_host_once_written(project)
    project.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, {'mine', 'too'})")
    words, block = prompt_blocks(project)
    assert words["text"].rstrip().endswith("- a.txt:3-4: why?")
    assert block["resource"]["text"] == "three\nfour"


def test_comments_outlive_several_hosts(project: Editor) -> None:
    comment(project, 7, "odd")
    kill_host_once_written(project)
    project.cmd("Acp edits")
    wait_host(project)
    kill_host_once_written(project)
    words, *_ = prompt_blocks(project)
    assert words["text"].rstrip().endswith("\n- a.txt:7: odd")


def test_sent_comments_are_not_sent_again(project: Editor) -> None:
    comment(project, 7, "odd")
    prompt_blocks(project)
    kill_host_once_written(project)
    assert [block["text"] for block in prompt_blocks(project)] == ["say ok"]


@pytest.mark.parametrize(
    "prompt", ["'wait_for_cancel'", "{ { type = 'text', text = 'wait_for_cancel' } }"]
)
def test_comments_of_a_prompt_that_was_cut_return_with_it(project: Editor, prompt: str) -> None:
    comment(project, 7, "odd")
    project.lua(f"require('acp').prompt({prompt})")
    project.wait("require('acp').state().sessions[1].status == 'running'")
    kill_host(project)
    back = project.lines("acp://composer/1")
    assert back == ["wait_for_cancel", "", "Comments on your edits:", "- a.txt:7: odd"]
    assert [block["text"] for block in prompt_blocks(project)] == ["say ok"]


def test_a_slash_command_does_not_send_comments(project: Editor) -> None:
    comment(project, 7, "odd")
    assert len(prompt_blocks(project, "/say ok")) == 1
    assert is_marked(project, "odd")
    kill_host_once_written(project)
    words, *_ = prompt_blocks(project)
    assert words["text"].rstrip().endswith("\n- a.txt:7: odd")


def test_an_amendment_that_the_agent_did_not_write_is_sent(project: Editor) -> None:
    path = project.work / "a.txt"
    project.prompt(f"propose none {path} 'line 9' nine")
    project.wait("#require('acp').state().sessions[1].permissions > 0")
    project.cmd("Acp permissions")
    project.wait("require('acp.features.permissions.float').is_current()")
    project.keys("d")
    project.wait("#vim.api.nvim_list_tabpages() == 2")
    project.keys("9GA!<Esc>")
    project.press("\\A")
    project.wait_event("AcpTurnEnd", 2)
    wait_in_chat(project, "the agent will be told in your next prompt")
    kill_host(project)
    words, *_ = prompt_blocks(project)
    assert "my changes could not be written to the file. Please make them" in words["text"]
    assert "-nine\n+nine!\n" in words["text"]
