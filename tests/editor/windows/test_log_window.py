"""The window of the traffic log: what has just happened is in view."""

from __future__ import annotations

from tests.support.editor import Editor

LAST = "return { vim.fn.line('.'), vim.fn.line('$'), vim.fn.line('w$') }"


def shown(editor: Editor) -> None:
    editor.cmd("Acp log")
    editor.wait("vim.bo.filetype == 'acplog'")


def test_the_log_opens_at_its_end_and_follows_it(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("chunks 30\nhello")
    shown(editor)
    line, last, bottom = editor.lua(LAST)
    assert line == last == bottom
    assert "stopReason" in editor.lua("return vim.fn.getline('$')")
    editor.turn("chunks 5\nhello")
    editor.cmd("Acp log")
    editor.wait("vim.fn.line('$') > ...", last)
    line, last, _ = editor.lua(LAST)
    assert line == last


def test_a_reader_of_the_log_stays_where_he_reads(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("chunks 30\nhello")
    shown(editor)
    editor.cmd("normal! 3G")
    editor.turn("hello")
    last = editor.lua("return vim.fn.line('$')")
    editor.cmd("Acp log")
    editor.wait("vim.fn.line('$') > ...", last)
    assert editor.lua("return vim.fn.line('.')") == 3
