"""The window of the traffic log: its content by level, and its view."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor

LAST = "return { vim.fn.line('.'), vim.fn.line('$'), vim.fn.line('w$') }"


def open_log(editor: Editor) -> None:
    editor.cmd("Acp log")
    editor.wait("vim.bo.filetype == 'acplog'")


def test_the_log_opens_at_its_end_and_follows(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("chunks 30\nhello")
    open_log(editor)
    line, last, bottom = editor.lua(LAST)
    assert line == last == bottom
    assert "stopReason" in editor.lua("return vim.fn.getline('$')")
    editor.turn("chunks 5\nhello")
    editor.cmd("Acp log")
    editor.wait("vim.fn.line('$') > ...", last)
    line, last, _ = editor.lua(LAST)
    assert line == last


def test_the_log_does_not_scroll_under_a_reader(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("chunks 30\nhello")
    open_log(editor)
    editor.cmd("normal! 3G")
    editor.turn("hello")
    last = editor.lua("return vim.fn.line('$')")
    editor.cmd("Acp log")
    editor.wait("vim.fn.line('$') > ...", last)
    assert editor.lua("return vim.fn.line('.')") == 3


def test_a_log_that_records_nothing_says_so(editor: Editor) -> None:
    editor.setup({"log": {"level": "off"}})
    editor.agent("echo")
    editor.turn("hi")
    editor.cmd("Acp log")
    editor.wait_message("log.level is off")


@pytest.mark.parametrize("redact", [False, True])
def test_the_content_of_the_log_depends_on_its_level(editor: Editor, redact: bool) -> None:
    long = "x" * 1000
    editor.setup({"log": {"redact": redact}})
    editor.agent("say", long)
    editor.turn("hi")
    for level, prompts, whole in (("info", True, False), ("debug", True, True)):
        editor.setup({"log": {"level": level}})
        editor.cmd("Acp log")
        content = (
            "table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://log/say'), 0, -1, false))"
        )
        text = editor.wait(f"vim.fn.bufexists('acp://log/say') == 1 and {content}")
        assert ("session/prompt" in text) is prompts
        editor.wait(f"({content}:find(..., 1, true) ~= nil) == {str(whole).lower()}", long)
    editor.setup({"log": {"level": "error"}})
    editor.cmd("Acp log")
    editor.wait_message("log.level is error")
