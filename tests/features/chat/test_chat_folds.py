"""Folds of the chat in a real window."""

from __future__ import annotations

import json

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.waiting import until

CALL = {
    "sessionUpdate": "tool_call",
    "toolCallId": "c1",
    "title": "Read a file",
    "kind": "read",
    "status": "pending",
    "locations": [{"path": "/tmp/a.txt", "line": 3}],
}
FOLD = lua_chunk(__file__, "fold_of_call")


def content(count: int) -> list[dict[str, object]]:
    """Return tool call content with this number of lines."""
    text = "\n".join(f"line {number}" for number in range(count))
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def update(**fields: object) -> str:
    """Return a script line that updates the call."""
    given = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", **fields}
    return f"update {json.dumps(given)}"


@pytest.mark.parametrize(
    ("first", "then"),
    [(0, 5), (5, 1), (2, 6)],
    ids=["content comes", "content shrinks", "content grows"],
)
def test_a_fold_includes_content_that_its_tool_call_gets_later(
    editor: Editor, first: int, then: int
) -> None:
    gate = editor.home / "go on"
    call = f"update {json.dumps(CALL | {'content': content(first) if first else []})}"
    last = update(status="completed", content=content(then))
    editor.agent("script")
    editor.prompt(f"{call}\nuntil_there '{gate}'\n{last}\nsay the end")
    editor.wait_event("AcpToolCall")
    until(lambda: "  /tmp/a.txt:3" in editor.chat())
    head, start, end = editor.lua(FOLD, "Read a file")
    assert (start, end) == (head, head + first + 2)
    gate.touch()
    editor.wait_event("AcpTurnEnd")
    until(lambda: "the end" in editor.chat()[-1])
    head, start, end = editor.lua(FOLD, "Read a file")
    assert (start, end) == (head, head + then + 2), editor.chat()


def test_the_chat_does_not_scroll_under_a_reader(editor: Editor) -> None:
    editor.agent("script")
    gate = editor.home / "go on"
    below = "chunks 600"
    last = update(status="completed", content=content(7))
    editor.prompt(f"update {json.dumps(CALL)}\n{below}\nuntil_there '{gate}'\n{last}\nsay .the end")
    editor.wait_event("AcpToolCall")
    until(lambda: any("word 599" in line for line in editor.chat()))
    editor.cmd("wincmd l")
    editor.lua("vim.fn.search('word 300') vim.cmd('normal! zt3j')")
    place = "return { vim.fn.getline('.'), vim.fn.winline() }"
    before = editor.lua(place)
    gate.touch()
    editor.wait_event("AcpTurnEnd")
    until(lambda: "the end" in editor.chat()[-1])
    assert editor.lua(place) == before


def test_a_fold_that_the_user_opened_stays_open(editor: Editor) -> None:
    editor.agent("script")
    gate = editor.home / "go on"
    editor.prompt(
        f"update {json.dumps(CALL)}\nuntil_there '{gate}'\n"
        f"{update(status='completed', content=content(4))}\nsay the end"
    )
    editor.wait_event("AcpToolCall")
    until(lambda: "  /tmp/a.txt:3" in editor.chat())
    editor.cmd("wincmd l")
    editor.lua("vim.fn.search('^[^u].*Read a file', 'cw') vim.cmd('foldopen')")
    gate.touch()
    editor.wait_event("AcpTurnEnd")
    until(lambda: "the end" in editor.chat()[-1])
    head = editor.lua(FOLD, "Read a file")[0]
    assert editor.lua("return vim.fn.foldclosed(...)", head) == -1
    levels = editor.lua("return vim.tbl_map(vim.fn.foldlevel, vim.fn.range(...))", head, head + 7)
    assert levels == [1, 1, 1, 1, 1, 1, 1, 0]


def test_enter_acts_on_a_line_of_a_closed_fold_too(editor: Editor) -> None:
    path = editor.write("a.txt", "one\ntwo\nthree\nfour\n")
    call = CALL | {"status": "completed", "locations": [{"path": str(path), "line": 3}]}
    editor.agent("script")
    editor.turn(f"update {json.dumps(call | {'content': content(3)})}\nsay the end")
    until(lambda: "the end" in editor.chat()[-1])
    chat = editor.lua("return vim.fn.bufwinid('acp://chat/1')")
    row = next(at for at, line in enumerate(editor.chat(), 1) if "a.txt:3" in line)
    editor.lua("vim.api.nvim_set_current_win(...)", chat)
    assert editor.lua("return vim.fn.foldclosed(...)", row) > 0
    editor.lua("local win, row = ... vim.api.nvim_win_set_cursor(win, { row, 0 })", chat, row)
    editor.keys("<CR>")
    editor.wait("vim.fn.expand('%:t') == 'a.txt' and vim.fn.line('.') == 3")


def test_enter_on_the_head_of_a_closed_fold_opens_it_first(editor: Editor) -> None:
    call = CALL | {"status": "completed", "content": content(3)}
    editor.agent("script")
    editor.turn(f"update {json.dumps(call)}\nsay the end")
    until(lambda: "the end" in editor.chat()[-1])
    head, closed, _ = editor.lua(FOLD, "Read a file")
    assert closed == head
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))")
    editor.cmd(f"{head}")
    editor.keys("<CR>")
    editor.wait("vim.fn.foldclosed('.') == -1")
    assert editor.lua("return vim.fn.bufname()") == "acp://chat/1"


def test_a_chat_that_follows_fills_its_window_after_its_last_lines_fold(
    editor: Editor,
) -> None:
    editor.agent("script")
    calls = [
        f"update {json.dumps(CALL | {'toolCallId': f'c{n}', 'content': content(20)})}"
        for n in range(6)
    ]
    editor.prompt("\n".join(["chunks 600", *calls, "say the end"]))
    editor.wait_event("AcpTurnEnd")
    until(lambda: "the end" in editor.chat()[-1])
    bottom = lua_chunk(__file__, "cursor_row_and_height")
    line, height = editor.lua(bottom)
    assert line >= height - 2  # the winbar and the head of the fold take two rows


def test_an_answered_question_folds_with_its_call_in_a_reopened_chat(
    editor: Editor,
) -> None:
    editor.agent("script")
    path = editor.write("a.txt", "old\n")
    editor.prompt(f"propose none {path} old new\nchunks 60")
    editor.wait_event("AcpPermission")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    until(lambda: any("word 59" in line for line in editor.chat()))
    editor.cmd("Acp chat")
    editor.wait("#vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1')) == 0")
    editor.cmd("Acp chat")
    head, start, end = editor.lua(FOLD, "Edited ")
    assert start == head
    assert editor.chat()[end - 1] == ""
    assert any("word 0" in line for line in editor.chat()[end:])


def test_the_last_row_of_a_chat_that_follows_is_visible(editor: Editor) -> None:
    """The winbar takes one of the window's rows."""
    editor.agent("script")
    call = f"update {json.dumps(CALL | {'content': content(20)})}"
    done = update(status="completed", content=content(2))
    editor.turn(f"chunks 600\n{call}\n{done}\nthink so\nsay 'the end'")
    until(lambda: "the end" in editor.chat())
    editor.wait(
        "(function() vim.cmd.redraw() local win = vim.fn.bufwinid('acp://chat/1') "
        "return vim.fn.line('w$', win) == vim.fn.line('$', win) end)()"
    )


@pytest.mark.parametrize(("lines", "whole"), [(7, True), (60, False)], ids=["short", "long"])
def test_content_that_a_key_unfolds_is_scrolled_into_view(
    editor: Editor, lines: int, whole: bool
) -> None:
    editor.setup({"chat": {"tool_lines": 100}})
    editor.agent("script")
    call = CALL | {"content": content(lines)}
    editor.turn(f"chunks 400\nupdate {json.dumps(call)}\nsay .the end")
    editor.cmd("wincmd l")
    head, _, _ = editor.lua(FOLD, "Read a file")
    last = editor.lua("vim.fn.cursor(..., 1) return vim.fn.foldclosedend('.')", head)
    editor.keys("<CR>")
    line, top, bottom = editor.lua(
        "return { vim.fn.line('.'), vim.fn.line('w0'), vim.fn.line('w$') }"
    )
    assert line == head
    assert (bottom >= last) is whole
    assert whole or top == head
