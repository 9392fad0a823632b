"""Format of files that an agent creates, and of files that are open as binary."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.support.front_without_host import Start
from tests.support.pending_edits import wait_count

DOS = "vim.o.fileformats = 'dos,unix' vim.go.bomb = true vim.go.fileencoding = 'utf-16le'"


def test_a_file_that_an_agent_creates_has_no_special_format(edit: Start) -> None:
    editor = edit(init=DOS)
    editor.agent("script")
    editor.turn(f"write {editor.work}/new.txt 'one\u00e9 two'")
    wait_count(editor, 1)
    assert (editor.work / "new.txt").read_bytes() == "one\u00e9 two".encode()
    editor.open("new.txt")
    assert editor.lua("return { vim.bo.fileformat, vim.bo.bomb, vim.bo.fileencoding }") == [
        "unix",
        False,
        "utf-8",
    ]
    assert editor.lua("return { vim.o.fileformats, vim.go.bomb, vim.go.fileencoding }") == [
        "dos,unix",
        True,
        "utf-16le",
    ]


def test_editorconfig_sets_the_format(edit: Start) -> None:
    editor = edit()
    editor.write(".editorconfig", "root = true\n[*]\nend_of_line = crlf\ncharset = utf-8-bom\n")
    editor.agent("script")
    editor.turn(f"write {editor.work}/new.txt 'one'")
    wait_count(editor, 1)
    editor.open("new.txt")
    assert editor.lua("return vim.bo.fileformat") == "dos"
    assert (editor.work / "new.txt").read_bytes().startswith(b"\xef\xbb\xbfone")


@pytest.mark.parametrize("opened", ["before", "between", "never"])
def test_a_file_with_crlf_takes_an_agents_write_in_nvim_b(edit: Start, opened: str) -> None:
    editor = edit(args=("-b",))
    path = editor.write("dos.txt", "one\r\ntwo\r\nthree\r\n")
    agent = editor.agent("script")
    if opened == "before":
        editor.open("dos.txt")
    editor.turn(f"read {path}")
    if opened == "between":
        editor.open("dos.txt")
    read = agent.answers("fs/read_text_file")[0]["result"]["content"]
    editor.turn(f"write {path} {shlex.quote(json.dumps(read.replace('two', 'zwei')))}")
    wait_count(editor, 1)
    assert path.read_bytes() == b"one\r\nzwei\r\nthree\r\n"
