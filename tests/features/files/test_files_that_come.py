"""Files that appear, or return, while a buffer with their name is shown."""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.pending_edits import wait_edits
from tests.support.stepwise_agent import StepwiseAgent

LATIN1 = "café\nthé\n".encode("latin1")
HOW = "return { vim.bo.fileencoding, vim.bo.modified, vim.api.nvim_buf_get_lines(0, 0, -1, true) }"
SHOWN = ["latin1", False, ["café", "thé"]]


def test_a_new_file_in_another_encoding_is_shown_as_neovim_reads_it(editor: Editor) -> None:
    """`:edit` afterwards confirms it."""
    path = editor.work / "new.txt"
    editor.agent("script")
    editor.cmd(f"edit {path}")
    (editor.home / "new").write_bytes(LATIN1)
    agent = StepwiseAgent.at_work(editor)
    agent.ask("runs", f"cp {editor.home}/new new.txt")
    agent.end()
    editor.wait("vim.api.nvim_buf_get_lines(0, 0, 1, true)[1]:find('caf') ~= nil")
    editor.wait("vim.bo.fileencoding ~= ''")
    assert editor.lua(HOW) == SHOWN
    editor.cmd("silent write")
    assert path.read_bytes() == LATIN1


def test_a_restored_file_is_read_in_its_own_format(editor: Editor) -> None:
    path = editor.write("old.txt", LATIN1)
    editor.agent("script")
    agent = StepwiseAgent.at_work(editor)
    agent.ask("runs", "rm old.txt")
    agent.end()
    wait_edits(editor, old="deleted")
    editor.cmd(f"edit {path}")
    editor.cmd("Acp restore 1")
    editor.wait_message("restored to before prompt 1")
    assert editor.lua(HOW) == SHOWN
    editor.cmd("silent write!")
    assert path.read_bytes() == LATIN1
