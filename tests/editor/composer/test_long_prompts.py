"""A prompt of one very long line: it is sent whole, and shown so that Neovim can draw it."""

from __future__ import annotations

import pytest

from acp_nvim.session.prompts import LINE, shown
from tests.support.editor import Editor


@pytest.mark.parametrize("text", ["", "a\nb", "x" * LINE, "\n" * (2 * LINE), "é" * LINE + "\nb"])
def test_what_is_short_is_shown_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_of_a_long_line_the_beginning_is_shown() -> None:
    assert shown(f"a\n{'x' * (LINE + 1)}\nb") == f"a\n{'x' * LINE}… (of {LINE + 1} characters)\nb"


@pytest.mark.parametrize("later", [False, True])
def test_a_prompt_of_ten_megabytes_in_a_line(editor: Editor, later: bool) -> None:
    agent = editor.agent("hello")
    if later:
        editor.turn("first")
    size = 10 * 1024 * 1024
    before = len(editor.events("AcpTurnStart"))
    editor.lua("require('acp').prompt(('x'):rep(...))", size)
    editor.wait_event("AcpTurnStart", before + 1)
    [row] = [line for line in editor.chat() if line.endswith(f"… (of {size} characters)")]
    assert row.startswith("x" * LINE)
    assert len(agent.wait("session/prompt", before + 1)["params"]["prompt"][0]["text"]) == size
