"""How the text of an agent looks on the screen."""

from __future__ import annotations

import re
from pathlib import Path

from tests.editor import ROOT, Editor
from tests.until import until


def test_marks_of_emphasis_are_not_shown_but_in_the_cursors_line(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say 'so **very bold** and *leaning* here `**code**`'\nsay '\\nthe end'")
    until(lambda: "the end" in editor.chat()[-1])
    text = "so **very bold** and *leaning* here `**code**`"
    assert text in editor.chat()
    editor.wait_screen("so very bold and leaning here `**code**`")
    editor.cmd("wincmd l")
    editor.lua("vim.fn.search('^so ..very')")
    editor.wait_screen(text)
    bold = "return vim.api.nvim_get_hl(0, { name = 'AcpStrong', link = false }).bold"
    assert editor.lua(bold) is True


def test_every_group_that_is_drawn_with_is_defined() -> None:
    defined = set(re.findall(r"(\bAcp\w+) = ", (ROOT / "lua/acp/highlights.lua").read_text()))
    drawn: set[str] = set()
    for path in Path(ROOT / "acp_nvim/render").glob("*.py"):
        drawn |= set(re.findall(r'"(Acp\w+)"|P<(Acp\w+)>', path.read_text()))
    groups = {name for pair in drawn for name in pair if name}
    assert "AcpStrong" in groups
    assert groups <= defined
