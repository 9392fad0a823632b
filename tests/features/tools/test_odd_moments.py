"""Tool calls while Neovim is busy with something else, and calls for files under another name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.pending_edits import wait_count
from tests.support.processes import is_alive
from tests.support.served_language import serve, wait_attached
from tests.support.tool_caller import Caller
from tests.support.waiting import until

TEXT = "def one\none error: bad\n"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("nvim_read", {"path": "b.txt"}),
    ("nvim_references", {"path": "b.txt", "line": 1, "symbol": "two"}),
    ("nvim_diagnostics", {"path": "a.txt", "wait_ms": 20_000}),
    ("nvim_buffers", {}),
    ("nvim_search", {"pattern": "one"}),
    ("nvim_show", {"path": "a.txt", "line": 2, "text": "here"}),
]
EDIT = {"path": "a.txt", "edits": [{"old": "one error", "new": "1 error"}]}


@pytest.fixture
def caller(editor: Editor) -> Caller:
    editor.write("a.txt", TEXT)
    editor.write("b.txt", "def two\nand two\n")
    serve(editor)
    editor.open("a.txt")
    wait_attached(editor, "a.txt")
    caller = Caller(editor)
    editor.turn("say hello")
    return caller


def call_all(caller: Caller) -> dict[str, dict[str, Any]]:
    """Start all calls and wait for their results."""
    caller.editor.lua("require('acp').prompt(...)", f"mcp_together {json.dumps(CALLS)}")
    return results(caller)


def results(caller: Caller) -> dict[str, dict[str, Any]]:
    names = [str(tool).removeprefix("nvim_") for tool, _ in CALLS]
    until(lambda: all(caller.results(name) for name in names))
    return {name: caller.results(name)[-1] for name in names}


def assert_all_succeed(found: dict[str, dict[str, Any]]) -> None:
    assert not [name for name, one in found.items() if one.get("isError")], found
    assert "and two" in found["references"]["content"][0]["text"]
    assert "a.txt:2:5 error: bad" in found["diagnostics"]["content"][0]["text"]


@pytest.mark.parametrize(
    ("keys", "mode", "way_out"),
    [("GA", "i", "<Esc>"), ("q:", "n", "<C-c>"), (":let x = 1", "c", "<Esc>"), ("v", "v", "<Esc>")],
)
def test_calls_work_while_the_user_types(
    caller: Caller, keys: str, mode: str, way_out: str
) -> None:
    editor = caller.editor
    editor.keys(keys)
    window = editor.lua("return vim.api.nvim_get_current_win()")
    assert_all_succeed(call_all(caller))
    assert editor.lua("return vim.api.nvim_get_mode().mode") == mode
    assert editor.lua("return vim.api.nvim_get_current_win()") == window
    editor.lua("require('acp').prompt(...)", f"mcp nvim_edit {json.dumps(EDIT)}")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    editor.lua(
        "local one = require('acp').state().sessions[1].permissions[1]\n"
        "require('acp').answer(one.id, 'allow_once')"
    )
    until(lambda: caller.results("edit"))
    assert not caller.results("edit")[0].get("isError"), caller.results("edit")
    assert editor.lua("return vim.api.nvim_get_mode().mode") == mode
    editor.keys(way_out)
    wait_count(editor, 1)
    assert editor.lines(str(editor.work / "a.txt"))[1] == "1 error: bad"


def test_a_call_waits_for_the_key_at_a_hit_enter_prompt(caller: Caller) -> None:
    editor = caller.editor
    go = editor.work.parent / "go"
    arguments = {"path": "a.txt", "wait_ms": 20_000, "_wait": str(go)}
    editor.prompt(f"mcp_announced nvim_diagnostics {json.dumps(arguments)}")
    editor.wait_screen("mcp__neovim__nvim_diagnostics")
    editor.rpc.request("nvim_input", ':echo "a\\nb\\nc"<CR>')
    until(lambda: editor.rpc.mode()["blocking"])
    go.touch()
    until(lambda: caller.agent.notes()[-1].startswith("mcp process"))
    assert not caller.results("diagnostics")
    editor.rpc.request("nvim_input", "<CR>")
    until(lambda: caller.results("diagnostics"))
    assert "a.txt:2:5 error: bad" in caller.results("diagnostics")[0]["content"][0]["text"]
    editor.wait_event("AcpTurnEnd", 2)


def test_a_file_behind_a_link_and_a_renamed_buffer_are_found(caller: Caller) -> None:
    editor = caller.editor
    Path(editor.work / "link.txt").symlink_to("a.txt")
    editor.keys("ggOunsaved<Esc>")
    assert caller.text("read", path="link.txt").startswith("unsaved\n")
    assert "a.txt:3:5 error: bad" in caller.text("diagnostics", path="link.txt", wait_ms=20_000)
    editor.cmd("file c.txt")
    assert caller.text("read", path="c.txt").startswith("unsaved\n")
    editor.cmd("write")
    assert caller.text("read", path="a.txt") == TEXT
    outside = editor.work.parent / "outside.txt"
    outside.write_text("secret\n")
    Path(editor.work / "out.txt").symlink_to(outside)
    editor.setup({"files": {"outside": "deny"}})
    assert "secret" not in caller.error("read", path="out.txt")
    assert "out" in caller.error("diagnostics", path="out.txt", wait_ms=1)
    assert caller.text("search", pattern="secret") == "no line contains 'secret'"


def test_a_call_in_progress_when_neovim_quits_ends(editor: Editor) -> None:
    editor.write("a.txt", TEXT)
    serve(editor, never=["textDocument/hover"])
    editor.open("a.txt")
    wait_attached(editor, "a.txt")
    agent = editor.agent("script")
    arguments = {"path": "a.txt", "line": 1, "symbol": "one"}
    editor.prompt(f"mcp nvim_hover {json.dumps(arguments)}")
    until(lambda: any(note.startswith("mcp process") for note in agent.notes()))
    editor.wait("#vim.tbl_keys(vim.lsp.get_clients({ bufnr = 0 })[1].requests) > 0")
    relay = int(next(it for it in agent.notes() if it.startswith("mcp process")).split()[-1])
    editor.quit()
    until(lambda: not is_alive(relay))
