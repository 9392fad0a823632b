"""Requests to the language servers of a file, without blocking Neovim."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST
from tests.support.served_language import (
    LuaError,
    answer,
    begin,
    call,
    received,
    serve,
    wait_attached,
)
from tests.support.waiting import until

MODULE = "acp.buffers.language.lsp"
TEXT = "def one\none two\n"
WIDE = "def naïve\n🦆🦆 naïve end\n"


@pytest.fixture
def front(edit: Callable[..., Editor]) -> Editor:
    return edit(init=HOST)


def question(editor: Editor, method: str, **more: Any) -> dict[str, Any]:
    """Return a question about a.txt, which may be loaded for session 1."""
    path = str(editor.work / "a.txt")
    given = {"path": path, "session": 1, "method": method, "params": {}, "wait_ms": 20_000}
    return {key: value for key, value in (given | more).items() if value is not None}


def ask(editor: Editor, method: str, **more: Any) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = call(editor, MODULE, "ask", question(editor, method, **more))
    return answers


def loaded(editor: Editor, name: str = "a.txt") -> bool:
    found = editor.lua("return vim.fn.bufloaded(...)", str(editor.work / name))
    return bool(found == 1)


def test_a_server_is_asked_about_a_position_in_the_live_text(front: Editor) -> None:
    front.write("a.txt", TEXT)
    serve(front)
    front.open("a.txt")
    front.keys("ggOabove<Esc>")
    (found,) = ask(front, "textDocument/definition", at=[[2, 0]])
    assert found["name"] == "words"
    assert found["encoding"] == "utf-16"
    assert found["result"][0]["range"]["start"] == {"line": 1, "character": 4}
    assert found["version"] == front.lua("return vim.b.changedtick")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_are_in_the_encoding_of_the_server(front: Editor, encoding: str) -> None:
    front.write("a.txt", WIDE)
    serve(front, encoding=encoding)
    for column, there in [(2, False), (3, True), (7, True), (8, False)]:
        (found,) = ask(front, "textDocument/references", at=[[1, column]])
        assert bool(found.get("result")) is there, column


def test_two_servers_of_one_buffer_are_asked_each_in_its_encoding(front: Editor) -> None:
    front.write("a.txt", WIDE)
    serve(front, name="eight", encoding="utf-8")
    serve(front, name="sixteen", encoding="utf-16")
    front.open("a.txt")
    wait_attached(front, "a.txt", 2)
    answers = ask(front, "textDocument/definition", at=[[1, 3]])
    assert {one["name"]: one["encoding"] for one in answers} == {
        "eight": "utf-8",
        "sixteen": "utf-16",
    }
    assert all(one["result"] for one in answers)
    eight = next(one["client"] for one in answers if one["name"] == "eight")
    (only,) = ask(front, "textDocument/definition", at=[[1, 3]], client=eight)
    assert only["name"] == "eight"


def test_a_range_is_converted_at_both_ends(front: Editor, tmp_path: Path) -> None:
    front.write("a.txt", WIDE)
    serve(front, log=str(tmp_path / "log"))
    ask(front, "textDocument/rangeFormatting", at=[[0, 0], [1, 8]], params={"options": {}})
    (sent,) = received(tmp_path / "log", "textDocument/rangeFormatting")
    assert sent["params"]["range"]["end"] == {"line": 1, "character": 10}
    assert sent["params"]["options"] == {}


def test_a_file_that_is_not_open_is_loaded_hidden_and_released(front: Editor) -> None:
    front.write("a.txt", TEXT)
    front.write("b.txt", "other\n")
    serve(front)
    front.open("b.txt")
    before = front.lua("return vim.api.nvim_list_wins()")
    assert ask(front, "textDocument/hover", at=[[1, 0]])[0]["result"]
    assert loaded(front)
    name = str(front.work / "a.txt")
    assert front.lua("return vim.bo[vim.fn.bufnr(...)].buflisted", name) is False
    assert front.lua("return vim.fn.swapname(vim.fn.bufnr(...))", name) == ""
    assert front.lua("return vim.api.nvim_list_wins()") == before
    front.lua("require('acp.buffers.language.hidden').unload(2)")
    assert loaded(front)
    front.lua("require('acp.buffers.language.hidden').unload(1)")
    assert not loaded(front)
    assert front.lua("return vim.fn.bufexists(...)", name) == 0


@pytest.mark.parametrize("act", ["split a.txt", "call setbufline('a.txt', 1, 'mine')"])
def test_a_hidden_file_stays_when_the_user_opens_it(front: Editor, act: str) -> None:
    front.write("a.txt", TEXT)
    serve(front)
    ask(front, "textDocument/hover", at=[[1, 0]])
    front.cmd(act)
    front.lua("require('acp.buffers.language.hidden').unload(1)")
    assert loaded(front)


def test_a_file_outside_is_not_loaded(front: Editor) -> None:
    front.write("a.txt", TEXT)
    serve(front)
    with pytest.raises(LuaError, match="the file is not open"):
        ask(front, "textDocument/hover", at=[[1, 0]], session=None)
    assert not loaded(front)


def test_a_missing_file_and_a_missing_server_are_reported(front: Editor) -> None:
    with pytest.raises(LuaError, match="no such file"):
        ask(front, "textDocument/hover", at=[[1, 0]])
    front.write("a.txt", TEXT)
    with pytest.raises(LuaError, match=r"^no language server for a\.txt$"):
        ask(front, "textDocument/hover", at=[[1, 0]], wait_ms=1)


def test_a_path_that_is_not_a_file_is_reported_without_a_traceback(front: Editor) -> None:
    os.mkfifo(front.work / "pipe.txt")
    for name in ("pipe.txt", "."):
        with pytest.raises(LuaError, match=r"^is not a regular file$"):
            ask(front, "textDocument/hover", path=str((front.work / name).resolve()))


def test_a_server_without_the_capability_is_named(front: Editor) -> None:
    front.write("a.txt", TEXT)
    serve(front, capabilities={"hoverProvider": None})
    front.open("a.txt")
    wait_attached(front, "a.txt")
    with pytest.raises(LuaError, match="words does not know textDocument/hover"):
        ask(front, "textDocument/hover", at=[[1, 0]], wait_ms=1)


def test_a_starting_server_is_waited_for(front: Editor, tmp_path: Path) -> None:
    front.write("a.txt", TEXT)
    serve(front, hold={"initialize": str(tmp_path / "go")})
    front.open("a.txt")
    number = begin(front, MODULE, "ask", question(front, "textDocument/hover", at=[[1, 0]]))
    front.lua("assert(#_G.sent == 0)")
    (tmp_path / "go").touch()
    assert answer(front, number)[0]["result"]


def test_the_message_of_an_error_is_on_one_line(front: Editor) -> None:
    front.write("a.txt", TEXT)
    serve(front, errors={"textDocument/hover": {"code": -32603, "message": "it\n  broke"}})
    with pytest.raises(LuaError, match=r"^words: it broke$"):
        ask(front, "textDocument/hover", at=[[1, 0]])


def test_one_servers_error_is_ignored_if_another_answers(front: Editor) -> None:
    front.write("a.txt", TEXT)
    serve(front, errors={"textDocument/hover": {"code": -32603, "message": "broken"}})
    serve(front, name="other")
    front.open("a.txt")
    wait_attached(front, "a.txt", 2)
    answers = ask(front, "textDocument/hover", at=[[1, 0]])
    assert [one["name"] for one in answers] == ["other"]


def test_a_server_that_dies_is_not_waited_for(front: Editor) -> None:
    front.write("a.txt", TEXT)
    serve(front, dead=["textDocument/hover"])
    with pytest.raises(LuaError, match="words: has stopped"):
        ask(front, "textDocument/hover", at=[[1, 0]])


def test_a_silent_server_is_given_up_and_reported(front: Editor, tmp_path: Path) -> None:
    front.write("a.txt", TEXT)
    serve(front, never=["textDocument/hover"], log=str(tmp_path / "log"))
    with pytest.raises(LuaError, match="words: gave no answer within 5 s"):
        ask(front, "textDocument/hover", at=[[1, 0]])
    until(lambda: bool(received(tmp_path / "log", "$/cancelRequest")))


def test_a_caller_that_gives_up_cancels_the_request(front: Editor, tmp_path: Path) -> None:
    front.write("a.txt", TEXT)
    serve(front, never=["textDocument/hover"], log=str(tmp_path / "log"))
    number = begin(front, MODULE, "ask", question(front, "textDocument/hover", at=[[1, 0]]))
    until(lambda: bool(received(tmp_path / "log", "textDocument/hover")))
    front.lua("require('acp.base.host.async_calls').cancel(...)", number)
    until(lambda: bool(received(tmp_path / "log", "$/cancelRequest")))
    assert front.lua("return #_G.sent") == 0


def test_a_host_that_dies_leaves_nothing_behind(front: Editor, tmp_path: Path) -> None:
    front.write("a.txt", TEXT)
    serve(front, never=["textDocument/hover"], log=str(tmp_path / "log"))
    begin(front, MODULE, "ask", question(front, "textDocument/hover", at=[[1, 0]]))
    until(lambda: bool(received(tmp_path / "log", "textDocument/hover")))
    front.lua(
        "require('acp.base.host.async_calls').on_host_exit()"
        " require('acp.buffers.language.hidden').unload()"
    )
    until(lambda: bool(received(tmp_path / "log", "$/cancelRequest")))
    assert not loaded(front)


def test_a_file_that_changed_on_disk_is_reloaded_first(front: Editor) -> None:
    path = front.write("a.txt", TEXT)
    serve(front)
    front.open("a.txt")
    wait_attached(front, "a.txt")
    path.write_text("above\n" + TEXT)
    (found,) = ask(front, "textDocument/definition", at=[[2, 0]])
    assert found["result"][0]["range"]["start"]["line"] == 1


def test_an_action_is_resolved_by_its_server(front: Editor) -> None:
    front.write("a.txt", "error: bad\n")
    serve(front)
    params: dict[str, Any] = {"context": {"diagnostics": []}}
    (found,) = ask(front, "textDocument/codeAction", at=[[0, 0], [0, 1]], params=params)
    (action,) = found["result"]
    arguments = {
        "client": found["client"],
        "path": str(front.work / "a.txt"),
        "method": "codeAction/resolve",
        "params": action,
    }
    assert call(front, MODULE, "resolve", arguments)["edit"]["changes"]
    with pytest.raises(LuaError, match="has stopped"):
        call(front, MODULE, "resolve", arguments | {"client": 99})


def test_without_a_path_all_servers_of_the_directories_are_asked(front: Editor) -> None:
    front.write("a.txt", TEXT)
    serve(front)
    roots = [str(front.work)]
    arguments = {
        "roots": roots,
        "method": "workspace/symbol",
        "params": {"query": "on"},
        "wait_ms": 1,
    }
    with pytest.raises(LuaError, match="is running here: give a path"):
        call(front, MODULE, "ask", arguments)
    front.open("a.txt")
    wait_attached(front, "a.txt")
    (found,) = call(front, MODULE, "ask", arguments)
    assert [symbol["name"] for symbol in found["result"]] == ["one"]


def test_a_swap_file_of_another_editor_causes_no_prompt(
    front: Editor, edit: Callable[..., Editor]
) -> None:
    front.write("a.txt", TEXT)
    swaps = front.home / "swaps"
    swaps.mkdir()
    other = edit(work=front.work)
    for editor in (front, other):
        editor.cmd(f"set swapfile updatecount=200 directory={swaps}//")
    other.open("a.txt")
    other.keys("ggOunsaved<Esc>")
    other.cmd("preserve")
    serve(front)
    assert ask(front, "textDocument/hover", at=[[1, 0]])[0]["result"]
    other.cmd("set nomodified")


@pytest.mark.parametrize("is_running", [True, False])
def test_a_request_does_not_wait_for_text_typed_after_it(front: Editor, is_running: bool) -> None:
    """Otherwise continuous typing would delay it to its timeout. A server has published diagnostics
    of one change once those of the next one arrive.
    """
    front.write("a.txt", "one\n")
    watch = "require('acp.buffers.language.publications').watch()"
    if not is_running:
        front.lua(watch)
        assert front.lua("return package.loaded['vim.lsp']") is None
    serve(front, behind=True)
    bufnr = front.open("a.txt")
    wait_attached(front, "a.txt")
    front.lua(watch)
    change = "vim.api.nvim_buf_set_lines(..., 0, 0, true, { 'typed' })"
    front.lua(change, bufnr)
    front.lua(
        "require('acp.buffers.language.publications')"
        ".wait({ ... }, 60000, function() _G.answered = true end)",
        bufnr,
    )
    assert front.lua("return _G.answered") is None
    front.lua(change, bufnr)
    front.wait("_G.answered")


def test_a_server_that_still_reads_the_project_is_asked_afterwards(
    front: Editor,
) -> None:
    front.write("a.txt", TEXT)
    front.write("b.txt", "one more\n")
    read = front.work / "read"
    serve(front, works=str(read))
    front.open("a.txt")
    front.wait("(vim.lsp.get_clients({ bufnr = 0 })[1] or {}).initialized")
    front.wait("next(vim.lsp.get_clients({ bufnr = 0 })[1].progress.pending)")
    (found,) = ask(front, "textDocument/definition", at=[[1, 0]])
    assert len(found["result"]) == 1
    number = begin(front, MODULE, "ask", question(front, "textDocument/references", at=[[1, 0]]))
    read.touch()
    (found,) = answer(front, number)
    assert {Path(one["uri"]).name for one in found["result"]} == {"a.txt", "b.txt"}
