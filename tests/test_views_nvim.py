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


def test_the_tutor_takes_a_tour_on_a_copy_of_its_sample(editor: Editor) -> None:
    mine = editor.open(editor.write("mine.txt", "mine\n"))
    editor.agent("say", "not asked")
    editor.cmd("Acp tutor")
    permission = editor.wait_event("AcpPermission", timeout=20)
    session = editor.session()
    assert session["agent"] == "tutor"
    assert editor.lua("return vim.fn.expand('%:p:h')") == session["cwd"]
    assert editor.lua("return vim.fn.fnamemodify(vim.fn.bufname(), ':t')") == "till.py"
    editor.cmd("Acp allow")
    editor.wait_event("AcpTurnEnd", timeout=20)
    assert permission["title"]
    editor.cmd("tabclose")
    assert editor.lua("return { vim.api.nvim_get_current_buf(), vim.fn.getcwd() }") == [
        mine,
        str(editor.work),
    ]
