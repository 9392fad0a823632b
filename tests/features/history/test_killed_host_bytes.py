"""Rejects under the next host restore the file byte for byte."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.killed_host import kill_host_once_written
from tests.support.waiting import until


@pytest.mark.parametrize(
    "content",
    [
        b"one\r\ntwo\r\n",
        b"\xef\xbb\xbfone\ntwo\n",
        b"one\rtwo\r",
        "één\ntwee\n".encode("latin1"),
        b"one\ntwo",
        b"one\n\ntwo\n\n",
    ],
    ids=["dos", "bom", "mac", "latin1", "noeol", "empty lines"],
)
@pytest.mark.parametrize("change", ["rm f.txt", "printf 'new\\n' > f.txt"])
def test_a_reject_restores_the_bytes(editor: Editor, content: bytes, change: str) -> None:
    editor.lua("vim.opt.fileformats:append('mac')")
    path = editor.write("f.txt", content)
    editor.agent("script")
    editor.turn("hello")
    editor.turn(f"runs {json.dumps(change)}")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    kill_host_once_written(editor)
    editor.cmd("Acp reject all")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    until(path.exists)
    until(lambda: path.read_bytes() == content)


@pytest.mark.parametrize("text", ["one\\ntwo\\n", "one\\nTWO\\n"])
def test_a_reject_restores_the_format_that_the_agent_changed(editor: Editor, text: str) -> None:
    was = b"one\r\ntwo\r\n"
    path = editor.write("f.txt", was)
    editor.agent("script")
    editor.turn("hello")
    command = f"printf '{text}' > f.txt"
    editor.turn(f"runs {json.dumps(command)}")
    editor.wait("#require('acp').state().sessions[1].edits == 1")
    now = path.read_bytes()
    assert now == text.replace("\\n", "\n").encode()
    kill_host_once_written(editor)
    editor.cmd("Acp reject all")
    until(lambda: path.read_bytes() == was)
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    kill_host_once_written(editor)
    editor.cmd("Acp unreject")
    until(lambda: path.read_bytes() == now)
    editor.wait("#require('acp').state().sessions[1].edits == 1")
