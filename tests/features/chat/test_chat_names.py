"""File names from agents: opening one never runs a command."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

ENTER = lua_chunk(__file__, "press_enter_on_line")


def send_call(editor: Editor, path: str) -> None:
    """Send a tool call with this path as its location and in a diff."""
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": path,
        "title": "odd",
        "kind": "read",
        "status": "completed",
        "locations": [{"path": path, "line": 1}],
        "content": [{"type": "diff", "path": path, "oldText": "a\n", "newText": "changed\n"}],
    }
    editor.turn(f"update {json.dumps(call)}")


@pytest.mark.parametrize("follow", [False, True])
def test_a_path_that_looks_like_a_command_runs_nothing(editor: Editor, follow: bool) -> None:
    editor.agent("script")
    editor.setup({"follow": follow})
    editor.write("a.txt", "one\n")
    editor.open("a.txt")
    # As a relative path, the name is a file that exists.
    editor.write("term:/touch ran", "text\n")
    send_call(editor, "term://touch ran")
    editor.wait("require('acp').state().sessions[1].status == 'idle'")
    opened = editor.lua(ENTER, " +1 -1")
    assert opened == f"{editor.work}/term:/touch ran"
    assert editor.lua("return vim.bo.buftype") == ""
    assert (
        editor.lua(
            "return #vim.tbl_filter(function(b) return vim.bo[b].buftype == 'terminal' end, "
            "vim.api.nvim_list_bufs())"
        )
        == 0
    )
    assert not (editor.work / "ran").exists()


@pytest.mark.parametrize("path", ["", "/a\0b"])
def test_a_path_that_is_not_a_path_is_refused(editor: Editor, path: str) -> None:
    editor.agent("script")
    send_call(editor, path)
    editor.lua(ENTER, " +1 -1")
    editor.wait(
        "vim.api.nvim_exec2('messages', { output = true }).output:find('is not a file path')"
    )


def test_a_relative_path_is_below_the_directory_of_its_session(editor: Editor) -> None:
    editor.agent("script")
    path = editor.write("deep/a.txt", "one\n")
    send_call(editor, "deep/a.txt")
    editor.cmd("cd /")
    assert editor.lua(ENTER, " +1 -1") == str(path)
