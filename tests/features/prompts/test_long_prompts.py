"""A prompt with one very long line: it is sent whole, and drawn in a form that Neovim can show."""

from __future__ import annotations

import pytest

from acp_nvim.session.prompts import MAX_LINE
from tests.support.editor import Editor


@pytest.mark.parametrize("later", [False, True])
def test_a_prompt_of_ten_megabytes_in_one_line_is_sent_whole(editor: Editor, later: bool) -> None:
    agent = editor.agent("hello")
    if later:
        editor.turn("first")
    size = 10 * 1024 * 1024
    before = len(editor.events("AcpTurnStart"))
    editor.lua("require('acp').prompt(('x'):rep(...))", size)
    editor.wait_event("AcpTurnStart", before + 1)
    [row] = [line for line in editor.chat() if line.endswith(f"… (of {size} characters)")]
    assert row.startswith("x" * MAX_LINE)
    assert len(agent.wait("session/prompt", before + 1)["params"]["prompt"][0]["text"]) == size
