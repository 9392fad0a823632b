"""Neovim's answers to the writing tools about loaded files, formatters and server commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST
from tests.support.lua import lua_chunk
from tests.support.served_language import LuaError, call, received, serve, wait_attached

CONFORM = lua_chunk(__file__, "fake_conform")
OBSTACLES = "return require('acp.buffers.live').obstacles(...)"


@pytest.fixture
def front(edit: Callable[..., Editor]) -> Editor:
    return edit(init=HOST)


def loaded(editor: Editor) -> dict[str, Any]:
    """Return the loaded files by name."""
    found = editor.lua("return require('acp.buffers.language.documents').loaded()")
    return {Path(path).name: it for path, it in found.items()}


def test_loaded_files_have_the_versions_known_to_servers(front: Editor) -> None:
    log = front.home / "server.jsonl"
    front.write("a.txt", "one\n")
    front.write("b.py", "\n")
    serve(front, log=str(log))
    front.open("b.py")
    front.open("a.txt")
    wait_attached(front, "a.txt")
    front.keys("ggOabove<Esc>")
    front.cmd("write")
    found = loaded(front)
    assert "version" not in found["b.py"]
    assert found["b.py"]["clients"] == []
    assert len(found["a.txt"]["clients"]) == 1
    call(front, "acp.buffers.language.lsp", "ask", question(front))
    versions = [it["params"]["textDocument"]["version"] for it in received(log, CHANGED)]
    assert found["a.txt"]["version"] == versions[-1]
    assert found["a.txt"]["tick"] > versions[-1], "a save counts for Neovim alone"


CHANGED = "textDocument/didChange"


def question(editor: Editor, **more: Any) -> dict[str, Any]:
    path = str(editor.work / "a.txt")
    arguments = {"path": path, "session": 1, "method": "textDocument/hover", "params": {}}
    return {**arguments, "at": [[0, 0]], "wait_ms": 20_000, **more}


def test_formatters_get_a_text_and_leave_the_buffer_unchanged(front: Editor) -> None:
    front.lua(CONFORM)
    front.write("a.txt", "  one\n")
    front.open("a.txt")
    front.cmd("setlocal shiftwidth=3 expandtab")
    path = str(front.work / "a.txt")
    arguments = {"path": path, "session": 1, "lines": ["  x", " y"], "range": [0, 1]}
    about = {"path": path, "session": 1}
    assert call(front, "acp.buffers.language.documents", "formatters", about) == {
        "options": {"tabSize": 3, "insertSpaces": True},
        "conform": ["trim"],
        "option": "",
    }
    assert front.lua("return _G.formatted") is None, "nothing runs before the question"
    assert call(front, "acp.buffers.language.documents", "format", arguments) == {
        "lines": ["x", "y"],
        "ranged": False,
    }
    assert front.lua("return _G.formatted.range") == {"start": [1, 0], "end": [2, 2]}
    assert front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)") == ["  one"]
    front.lua("_G.fails = true")
    with pytest.raises(LuaError, match="broken: line 1"):
        call(front, "acp.buffers.language.documents", "format", arguments)


def test_without_formatters_the_users_option_is_used(front: Editor) -> None:
    front.write("a.txt", "one\n")
    about = {"path": str(front.work / "a.txt"), "session": 1}
    assert call(front, "acp.buffers.language.documents", "format", {**about, "lines": []}) == {}
    for option, found in (
        ("equalprg=fmt", "equalprg:fmt"),
        ("formatexpr=Mine()", "formatexpr:Mine()"),
        ("formatexpr=v:lua.vim.lsp.formatexpr()", "equalprg:fmt"),
    ):
        front.open("a.txt")
        front.cmd(f"setlocal {option}")
        formatters = call(front, "acp.buffers.language.documents", "formatters", about)
        assert (formatters["conform"], formatters["option"]) == ([], found)


def test_the_edit_of_a_command_is_returned_and_not_applied(front: Editor) -> None:
    front.write("a.txt", "one\n")
    place = {"line": 0, "character": 0}
    edit = {"range": {"start": place, "end": place}, "newText": "x"}
    change = {"changes": {f"file://{front.work}/a.txt": [edit]}}
    serve(front, commands={"words.fix": change})
    front.open("a.txt")
    wait_attached(front, "a.txt")
    path = str(front.work / "a.txt")
    client = front.lua("return vim.lsp.get_clients()[1].id")
    arguments = {"client": client, "path": path, "session": 1, "command": {"command": "words.fix"}}
    assert call(front, "acp.buffers.language.commands", "run", arguments) == [change]
    assert front.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)") == ["one"]
    assert front.lua("return vim.lsp.get_clients()[1].handlers['workspace/applyEdit']") is None
    with pytest.raises(LuaError, match=r"words has no command words\.no"):
        call(
            front,
            "acp.buffers.language.commands",
            "run",
            arguments | {"command": {"command": "words.no"}},
        )


def test_obstacles_to_a_write_are_reported(front: Editor) -> None:
    for name in ("a", "b", "c", "d"):
        front.write(name, "one\n")
    front.open("b")
    front.cmd("setlocal nomodifiable")
    front.open("c")
    front.cmd("setlocal readonly")
    (front.work / "d").chmod(0o444)
    paths = [str(front.work / name) for name in ("a", "b", "c", "d", "new", "a/below")]
    found = front.lua(OBSTACLES, paths, "auto")
    assert {Path(path).name: why for path, why in found.items()} == {
        "b": "the buffer is not 'modifiable'",
        "c": "the buffer is 'readonly'",
        "d": "the file is write-protected",
        "below": f"{front.work}/a is not a directory",
    }
    found = front.lua(OBSTACLES, paths[:4], "never")
    assert {Path(path).name for path in found} == {"b"}
