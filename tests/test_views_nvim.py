"""Views and reports in a real Neovim: what the user does to their buffers takes nothing away."""

from __future__ import annotations

import pytest

from tests.editor import Editor


@pytest.mark.parametrize("command", ["export", "log save"])
def test_a_file_that_cannot_be_written_is_told_and_ends_nothing(
    editor: Editor, command: str
) -> None:
    editor.errors_expected = True
    editor.agent("say", "hello")
    editor.turn("hi")
    editor.cmd(f"Acp {command} {editor.work}/none/such/file")
    editor.wait("vim.fn.execute('messages'):find('No such file', 1, true)")
    assert editor.state()["host"] == "running"
    editor.turn("once more")
