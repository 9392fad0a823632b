"""Markdown of an agent's message on the screen."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.support.editor import ROOT, Editor
from tests.support.waiting import until


def test_emphasis_marks_are_shown_in_the_cursor_line_only(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say 'so **very bold** and *leaning* here `**code**`'\nsay '\\nthe end'")
    until(lambda: "the end" in editor.chat()[-1])
    text = "so **very bold** and *leaning* here `**code**`"
    assert text in editor.chat()
    editor.wait_screen("so very bold and leaning here **code**")
    editor.cmd("wincmd l")
    editor.lua("vim.fn.search('^so ..very')")
    editor.wait_screen(text)
    bold = "return vim.api.nvim_get_hl(0, { name = 'AcpStrong', link = false }).bold"
    assert editor.lua(bold) is True
    editor.keys("i")
    editor.wait_screen("so very bold and leaning here **code**")


def test_every_highlight_group_in_use_is_defined() -> None:
    defined = set(re.findall(r"(\bAcp\w+) = ", (ROOT / "lua/acp/ui/highlights.lua").read_text()))
    drawn: set[str] = set()
    for path in Path(ROOT / "acp_nvim/render").glob("**/*.py"):
        drawn |= set(re.findall(r'"(Acp\w+)"|P<(Acp\w+)>', path.read_text()))
    groups = {name for pair in drawn for name in pair if name}
    assert "AcpStrong" in groups
    assert groups <= defined


def test_wrapped_rows_are_indented_below_the_text(editor: Editor) -> None:
    editor.agent("script")
    title = "word " * 12 + "end-of-title"
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": title, "status": "completed"}
    editor.turn(f"update {json.dumps(call)}\nsay '> {'quoted ' * 12}\\n- {'listed ' * 12}'")
    until(lambda: any(line.startswith("- listed") for line in editor.chat()))
    left = editor.lua("return vim.fn.win_screenpos(vim.fn.bufwinid('acp://chat/1'))[2] - 1")
    editor.wait_screen("end-of-title")
    rows = [line[left + 2 :] for line in editor.screen()]
    for first in ("✓ word", "▎ quoted", "• listed"):
        at = next(n for n, row in enumerate(rows) if row.startswith(first))
        assert re.match(r" {2,4}\S", rows[at + 1]), rows  # 0.10 counts the bytes of the mark
