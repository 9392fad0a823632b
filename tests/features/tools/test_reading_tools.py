"""The reading tools, called by an agent through the relay, with a scripted language server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.served_language import received, serve, wait_attached
from tests.support.tool_caller import Caller
from tests.support.waiting import until

TEXT = "def one\n\none two\n  one 🦆 one\ndef two\none\n"


@pytest.fixture
def caller(editor: Editor) -> Caller:
    editor.write("a.txt", TEXT)
    return Caller(editor)


def test_results_are_lines_and_structured_data(editor: Editor, caller: Caller) -> None:
    serve(editor)
    found = caller.call("references", path="a.txt", line=3, symbol="one")
    assert found["content"][0]["text"].split("\n") == [
        "a.txt:1:5 def one",
        "a.txt:3:1 one two",
        "a.txt:4:3 one 🦆 one",
        "a.txt:4:9 one 🦆 one",
        "a.txt:6:1 one",
    ]
    assert found["structuredContent"]["places"][3] == {
        "path": "a.txt",
        "line": 4,
        "column": 9,
        "text": "one 🦆 one",
    }


def test_servers_are_asked_about_the_unsaved_text(editor: Editor, caller: Caller) -> None:
    serve(editor)
    editor.open("a.txt")
    wait_attached(editor, "a.txt")
    editor.keys("ggOdef new<CR>new<Esc>")
    assert caller.text("definition", path="a.txt", line=2, symbol="new") == "a.txt:1:5 def new"


def test_a_hidden_file_is_unloaded_after_the_turn(editor: Editor, caller: Caller) -> None:
    serve(editor)
    assert "def one" in caller.text("hover", path="a.txt", line=1, symbol="one")
    editor.wait("vim.fn.bufexists(...) == 0", str(editor.work / "a.txt"))


def test_a_limit_counts_the_rest(editor: Editor, caller: Caller) -> None:
    serve(editor)
    found = caller.call("references", path="a.txt", line=1, symbol="one", limit=2)
    assert found["content"][0]["text"].endswith("\n… 3 more")
    assert found["structuredContent"]["more"] == 3


def test_a_symbol_that_is_not_on_the_line_is_reported(editor: Editor, caller: Caller) -> None:
    error = caller.error("hover", path="a.txt", line=3, symbol="three")
    assert error == "'three' is not on that line: a.txt:3 is 'one two'"
    error = caller.error("hover", path="a.txt", line=9, symbol="three")
    assert error == "a.txt has 6 lines; there is no line 9"


def test_a_missing_server_is_reported(editor: Editor, caller: Caller) -> None:
    assert caller.error("hover", path="a.txt", line=1, symbol="one") == (
        "no language server for a.txt"
    )


def test_outline_and_workspace_symbols_are_returned(editor: Editor, caller: Caller) -> None:
    editor.write("b.txt", "class Box\n  def inner\n")
    serve(editor)
    editor.open("a.txt")
    wait_attached(editor, "a.txt")
    assert caller.text("symbols", path="b.txt").split("\n") == [
        "b.txt:1:7 class Box: class Box",
        "b.txt:2:7 function inner of Box: def inner",
    ]
    assert caller.text("symbols", query="one") == "a.txt:1:5 function one: def one"
    assert caller.text("symbols", path="b.txt", kinds=["class"]).startswith("b.txt:1:7 class Box")
    assert "unknown kind 'klass'" in caller.error("symbols", path="b.txt", kinds=["klass"])


def test_incoming_and_outgoing_calls_are_returned(editor: Editor, caller: Caller) -> None:
    serve(editor)
    into = caller.text("calls", path="a.txt", line=1, symbol="one")
    assert into == "a.txt:6:1 in two: one"
    out = caller.text("calls", path="a.txt", line=5, symbol="two", direction="out")
    assert out == "a.txt:6:1 calls one: one"


def test_paths_outside_need_a_permission(editor: Editor, caller: Caller) -> None:
    outside = editor.home / "outside.txt"
    outside.write_text("def secret\n")
    (editor.work / "link.txt").symlink_to(outside)
    editor.setup({"files": {"outside": "deny"}})
    for path in (str(outside), "../outside.txt", "link.txt"):
        error = caller.error("hover", path=path, line=1, symbol="secret")
        assert error.endswith("outside of the session's directories")


def test_lines_of_secrets_are_in_no_answer(editor: Editor, caller: Caller) -> None:
    editor.write(".env.txt", "one = 1\n")
    (editor.home / "b.txt").write_text("one\n")
    serve(editor)
    editor.setup({"files": {"secret": [".env*"]}})
    found = caller.text("references", path="a.txt", line=1, symbol="one")
    assert ".env.txt:1:1" in found
    assert "one = 1" not in found
    assert caller.text("search", pattern="one = 1") == "no line contains 'one = 1'"


# -- diagnostics ----------------------------------------------------------------------------------


def test_diagnostics_are_those_of_the_last_change(editor: Editor, caller: Caller) -> None:
    editor.write("b.txt", "error: old\n")
    serve(editor)
    editor.open("b.txt")
    wait_attached(editor, "b.txt")
    editor.keys("ccwarning: näw<Esc>")
    found = caller.call("diagnostics")
    assert found["content"][0]["text"] == "b.txt:1:1 warning: näw [words W1]"
    assert found["structuredContent"]["diagnostics"][0]["severity"] == "warning"


def test_diagnostics_of_a_closed_file_are_returned(editor: Editor, caller: Caller) -> None:
    editor.write("b.txt", "fine\nhint: a hint\n  error: bad\n")
    serve(editor)
    assert caller.text("diagnostics", path="b.txt", wait_ms=20_000).split("\n") == [
        "b.txt:3:3 error: bad [words E1]",
        "b.txt:2:1 hint: a hint [words H1]",
    ]
    text = caller.text("diagnostics", path="b.txt", wait_ms=20_000, severity="error")
    assert text == "b.txt:3:3 error: bad [words E1]"


def test_diagnostics_can_be_limited_to_the_turn(editor: Editor, caller: Caller) -> None:
    path = editor.write("b.txt", "error: old\nerror: stays\n")
    serve(editor)
    editor.open("b.txt")
    wait_attached(editor, "b.txt")
    editor.wait("#vim.diagnostic.get(0) == 2")
    caller.text("diagnostics")  # otherwise the tool may be asked before it has seen any diagnostics
    arguments = json.dumps({"since": "turn", "wait_ms": 20_000})
    text = json.dumps("one\nerror: stays\nerror: new\n")
    editor.turn(f"write {path} {text}\nmcp nvim_diagnostics {arguments}")
    assert caller.results("diagnostics")[-1]["content"][0]["text"].split("\n") == [
        "+ b.txt:3:1 error: new [words E1]",
        "- b.txt error: old [words]",
    ]


def test_a_late_server_is_named(editor: Editor, caller: Caller, tmp_path: Path) -> None:
    serve(editor, hold={"publish": str(tmp_path / "go")})
    editor.open("a.txt")
    wait_attached(editor, "a.txt")
    caller.text("diagnostics", path="a.txt", wait_ms=1)
    editor.keys("Achanged<Esc>")
    text = caller.text("diagnostics", path="a.txt", wait_ms=1)
    assert "(words has not reported on the last change yet" in text


def test_diagnostics_of_an_earlier_text_do_not_count(editor: Editor, caller: Caller) -> None:
    serve(editor, behind=True)
    editor.open("a.txt")
    wait_attached(editor, "a.txt")
    caller.text("diagnostics", path="a.txt", wait_ms=1)
    editor.lua(
        "vim.api.nvim_create_autocmd('DiagnosticChanged',"
        "{ callback = function() _G.said = (_G.said or 0) + 1 end })"
    )
    editor.keys("Achanged<Esc>")
    editor.wait("_G.said")
    text = caller.text("diagnostics", path="a.txt", wait_ms=1)
    assert "(words has not reported on the last change yet" in text


def test_a_silent_server_is_not_waited_for_again(editor: Editor, caller: Caller) -> None:
    serve(editor, publish=False, capabilities={"diagnosticProvider": None})
    editor.open("a.txt")
    wait_attached(editor, "a.txt")
    caller.text("diagnostics", path="a.txt", wait_ms=0)
    late = []
    for _ in range(3):
        editor.keys("Achanged<Esc>")
        text = caller.text("diagnostics", path="a.txt", wait_ms=1000)
        late.append("has not reported" in text)
    assert late == [True, False, False]


def test_diagnostics_can_be_pulled(editor: Editor, caller: Caller) -> None:
    editor.write("b.txt", "error: bad\n")
    serve(editor, publish=False)
    text = caller.text("diagnostics", path="b.txt", wait_ms=20_000)
    assert text == "b.txt:1:1 error: bad [words E1]"


def test_a_request_that_was_cancelled_is_sent_again(editor: Editor, caller: Caller) -> None:
    """Neovim cancels pending requests of a method when it sends its own, and drops the answer."""
    editor.write("b.txt", "error: bad\n")
    serve(editor, publish=False, cancels=["textDocument/diagnostic", "textDocument/hover"])
    text = caller.text("diagnostics", path="b.txt", wait_ms=20_000)
    assert text == "b.txt:1:1 error: bad [words E1]"
    assert "def one" in caller.text("hover", path="a.txt", line=1, symbol="one")


def test_many_diagnostics_are_cut(editor: Editor, caller: Caller) -> None:
    serve(editor, many=10_000)
    found = caller.call("diagnostics", path="a.txt", wait_ms=30_000, limit=3)
    lines = found["content"][0]["text"].split("\n")
    assert lines[0] == "a.txt:1:1 error: no. 0"
    assert lines[3] == "… 9997 more"


MANY = lua_chunk(__file__, "set_many_diagnostics")


def test_the_first_of_many_diagnostics_are_returned_by_position_and_unchanged(
    editor: Editor, caller: Caller
) -> None:
    editor.open("a.txt")
    editor.lua(MANY)
    diagnostics = editor.lua("return vim.diagnostic.get(0)")
    found = caller.call("diagnostics", path="a.txt", wait_ms=1, limit=3)["content"][0]["text"]
    first = [f"a.txt:{line}:1 error: no. {3001 - line}" for line in (1, 3, 5)]
    assert found.split("\n") == [*first, "… 2997 more"]
    assert editor.lua("return vim.diagnostic.get(0)") == diagnostics
    assert editor.lua("local a = {{}} return vim.deepcopy(a)[1] ~= a[1]")


def test_diagnostics_of_linters_count_without_a_server(editor: Editor, caller: Caller) -> None:
    editor.open("a.txt")
    editor.lua(
        "local ns = vim.api.nvim_create_namespace('lint')"
        "vim.diagnostic.set(ns, 0, {{ lnum = 3, col = 11, message = 'odd', severity = 2 }})"
    )
    assert caller.text("diagnostics", path="a.txt", wait_ms=1) == "a.txt:4:9 warning: odd"


# -- views for the user


def test_open_buffers_are_listed(editor: Editor, caller: Caller) -> None:
    editor.write("b.txt", "1\n2\n")
    editor.open("b.txt")
    editor.open("a.txt")
    editor.keys("4GAunsaved<Esc>")
    found = caller.call("buffers")
    lines = found["content"][0]["text"].split("\n")
    assert "b.txt" in lines
    assert "a.txt (current, modified, cursor 4:18, visible 1-6)" in lines
    by_path = {one["path"]: one for one in found["structuredContent"]["buffers"]}
    assert by_path["a.txt"]["modified"] is True
    assert by_path["a.txt"]["cursor"] == {"line": 4, "column": 18}
    first = caller.call("buffers", limit=1)["structuredContent"]
    assert (len(first["buffers"]), first["more"]) == (1, len(by_path) - 1)


def test_a_selection_in_visual_mode_is_returned(editor: Editor, caller: Caller) -> None:
    caller.call("buffers")  # opens the chat before the user selects
    editor.open("a.txt")
    editor.keys("3Gvj$")
    editor.lua("require('acp').prompt('mcp nvim_buffers {}')")
    until(lambda: len(caller.results("buffers")) == 2)
    found = caller.results("buffers")[1]["structuredContent"]["buffers"]
    selection = next(one["selection"] for one in found if one["path"] == "a.txt")
    assert (selection["line"], selection["end_line"]) == (3, 4)


def test_the_quickfix_list_is_set_and_read(editor: Editor, caller: Caller) -> None:
    editor.open("a.txt")
    windows = editor.lua("return #vim.api.nvim_list_wins()")
    items = [{"path": "a.txt", "line": 4, "column": 9, "text": "here"}, {"path": "b.txt"}]
    given = caller.call("quickfix", items=items, title="Look")
    assert given["structuredContent"] == {
        "title": "Look",
        "places": [items[0], {"path": "b.txt", "line": 1, "column": 1, "text": ""}],
    }
    assert editor.lua("return vim.fn.getqflist({ title = 0 }).title") == "Look"
    assert editor.lua("return vim.fn.getqflist()[1].col") == 12
    assert caller.text("quickfix") == "a.txt:4:9 here\nb.txt:1:1"
    assert editor.lua("return #vim.api.nvim_list_wins()") == windows + 1  # the chat


def marks(editor: Editor) -> list[Any]:
    found: list[Any] = editor.lua(
        "local ns = vim.api.nvim_get_namespaces()['acp.shown']"
        "return vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('a.txt'), ns, 0, -1, {details = true})"
    )
    return found


def test_marked_lines_are_shown_until_the_next_turn(editor: Editor, caller: Caller) -> None:
    editor.open("a.txt")
    editor.cmd("Acp follow")
    editor.cmd("new")
    shown = caller.call("show", path="a.txt", line=3, end_line=4, text="look\nhere")
    assert shown["structuredContent"] == {
        "path": "a.txt",
        "line": 3,
        "end_line": 4,
        "text": "look here",
    }
    assert [mark[1] for mark in marks(editor)] == [2, 2, 3]
    editor.wait_screen("look here")
    where = "vim.api.nvim_win_get_cursor(vim.fn.bufwinid('a.txt'))[1] == 3"
    editor.wait(where)
    assert editor.lua("return vim.api.nvim_buf_get_name(0)") == ""
    editor.turn("say hello")
    assert not marks(editor)


def test_a_file_that_is_opened_later_has_its_marks(editor: Editor, caller: Caller) -> None:
    caller.text("show", path="a.txt", line=2)
    editor.open("a.txt")
    assert [mark[1] for mark in marks(editor)] == [1]


# -- search ---------------------------------------------------------------------------------------


def test_search_includes_unsaved_text(editor: Editor, caller: Caller) -> None:
    editor.write("b.txt", "old needle\n")
    editor.write("c.md", "a needle (x)\n")
    editor.open("b.txt")
    editor.keys("ccnew<CR>  Needle (x)<Esc>")
    assert caller.text("search", pattern="needle (x)") == "c.md:1:3 a needle (x)"
    assert caller.text("search", pattern="needle (x)", ignore_case=True).split("\n") == [
        "b.txt:2:3 Needle (x)",
        "c.md:1:3 a needle (x)",
    ]
    assert caller.text("search", pattern="N.edle", regex=True, path="*.txt") == (
        "b.txt:2:3 Needle (x)"
    )
    assert "not a regular expression" in caller.error("search", pattern="(", regex=True)


def test_a_cancelled_turn_ends_the_request(editor: Editor, caller: Caller, tmp_path: Path) -> None:
    log = tmp_path / "log"
    serve(editor, never=["textDocument/hover"], log=str(log))
    editor.prompt('mcp nvim_hover {"path": "a.txt", "line": 1, "symbol": "one"}')
    until(lambda: bool(received(log, "textDocument/hover")))
    editor.cmd("AcpCancel")
    until(lambda: bool(received(log, "$/cancelRequest")))
    editor.wait_event("AcpTurnEnd")


def test_follow_mode_gets_the_place_of_each_call(editor: Editor, caller: Caller) -> None:
    serve(editor)
    before = len(editor.events("AcpLocation"))
    caller.call("diagnostics", path="a.txt", wait_ms=20_000)
    caller.call("hover", path="a.txt", line=1, symbol="a.txt")
    caller.call("read", path="a.txt", line=2)
    locations = [it["data"] for it in editor.events("AcpLocation")[before:]]
    assert {it["path"] for it in locations} == {str(editor.work / "a.txt")}
    assert len(locations) == 2, "a call that fails is about nothing"
    found = caller.text(
        "hover", path="a.txt", line=1, symbol=TEXT.split("\n", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    )
    assert found
    assert editor.events("AcpLocation")[-1]["data"]["line"] == 1
