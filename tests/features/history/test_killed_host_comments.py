"""Comments that wait for the next prompt outlive the host."""

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
    """`a.txt`, open; the agent has changed its lines 3 and 4."""
    path = editor.write("a.txt", TEXT)
    editor.agent("script")
    editor.open("a.txt")
    editor.turn(f"replace {path} 'line 3' three\nreplace {path} 'line 4' four")
    editor.wait(HUNK)
    until(lambda: is_written(editor), what="the journal is written")
    return editor


def remark(editor: Editor, line: int, text: str) -> None:
    """Make one, and wait until the host has it and Neovim knows how it was understood."""
    editor.cmd(str(line))
    editor.cmd(f"Acp comment {text}")
    in_chat(editor, text)


def in_chat(editor: Editor, text: str) -> None:
    until(lambda: any(text in line for line in editor.chat(1)), what=text)


def prompted(editor: Editor, text: str = "say ok") -> list[dict[str, Any]]:
    """The blocks that the agent gets with the next prompt."""
    editor.turn(text)
    blocks: list[dict[str, Any]] = editor.traffic[0].received("session/prompt")[-1]["params"][
        "prompt"
    ]
    return blocks


def is_marked(editor: Editor, text: str) -> bool:
    return any(f"» {text}" in row for row in editor.screen())


def test_they_go_with_the_next_prompt_as_if_nothing_had_been(project: Editor) -> None:
    remark(project, 4, "why?")
    remark(project, 7, "odd")
    kill_host_once_written(project)
    project.wait_screen("» why?")
    words, *rest = prompted(project)
    assert words["text"] == "say ok\n\nRemarks on your edits:\n- a.txt:3-4: why?\n- a.txt:7: odd\n"
    assert [block["resource"]["text"] for block in rest] == ["three\nfour", "line 7"]
    assert not is_marked(project, "why?")
    assert len(prompted(project)) == 1


def test_one_may_be_the_command_that_starts_the_next_host(project: Editor) -> None:
    remark(project, 4, "why?")
    kill_host_once_written(project)
    remark(project, 7, "odd")
    remark(project, 8, "too")
    words, *_ = prompted(project)
    assert words["text"].rstrip().endswith("\n- a.txt:3-4: why?\n- a.txt:7: odd\n- a.txt:8: too")


def test_one_that_the_host_never_took_goes_all_the_same(project: Editor) -> None:
    host = project.lua(HOST_PID)
    os.kill(host, signal.SIGSTOP)
    project.cmd("4")
    project.cmd("Acp comment why?")
    kill_host(project)
    words, block = prompted(project)
    assert words["text"].rstrip().endswith("- a.txt:3-4: why?")
    assert block["resource"]["text"] == "three\nfour"


def test_they_are_about_what_was_there_when_they_were_made(project: Editor) -> None:
    project.setup({"files": {"unsaved": "ignore"}})
    remark(project, 4, "why?")
    kill_host_once_written(project)
    project.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, {'mine', 'too'})")
    words, block = prompted(project)
    assert words["text"].rstrip().endswith("- a.txt:3-4: why?")
    assert block["resource"]["text"] == "three\nfour"


def test_any_number_of_hosts(project: Editor) -> None:
    remark(project, 7, "odd")
    kill_host_once_written(project)
    project.cmd("Acp edits")
    wait_host(project)
    kill_host_once_written(project)
    words, *_ = prompted(project)
    assert words["text"].rstrip().endswith("\n- a.txt:7: odd")


def test_those_that_have_gone_are_gone(project: Editor) -> None:
    remark(project, 7, "odd")
    prompted(project)
    kill_host_once_written(project)
    assert [block["text"] for block in prompted(project)] == ["say ok"]


@pytest.mark.parametrize(
    "prompt", ["'wait_for_cancel'", "{ { type = 'text', text = 'wait_for_cancel' } }"]
)
def test_those_of_a_prompt_that_is_cut_come_back_with_it(project: Editor, prompt: str) -> None:
    remark(project, 7, "odd")
    project.lua(f"require('acp').prompt({prompt})")
    project.wait("require('acp').state().sessions[1].status == 'running'")
    kill_host(project)
    back = project.lines("acp://composer/1")
    assert back == ["wait_for_cancel", "", "Remarks on your edits:", "- a.txt:7: odd"]
    assert [block["text"] for block in prompted(project)] == ["say ok"]


def test_a_slash_command_leaves_them_where_they_are(project: Editor) -> None:
    remark(project, 7, "odd")
    assert len(prompted(project, "/say ok")) == 1
    assert is_marked(project, "odd")
    kill_host_once_written(project)
    words, *_ = prompted(project)
    assert words["text"].rstrip().endswith("\n- a.txt:7: odd")


def test_what_the_user_amended_and_the_agent_did_not_write_is_told(project: Editor) -> None:
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
    in_chat(project, "the agent will be told in your next prompt")
    kill_host(project)
    words, *_ = prompted(project)
    assert "my changes could not be put into the file. Please make them" in words["text"]
    assert "-nine\n+nine!\n" in words["text"]
