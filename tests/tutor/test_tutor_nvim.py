"""The tour in a real Neovim, by keys."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.editor import ROOT, Editor
from tests.support.waiting import PATIENCE_S, until


def sample(editor: Editor) -> Path:
    """Open the sample, with `,` as the local leader."""
    editor.lua("vim.g.maplocalleader = ','")
    for file in (ROOT / "acp_nvim/tutor/sample").iterdir():
        if file.is_file():
            editor.write(file.name, file.read_text())
    path = editor.work / "till.py"
    editor.open(path)
    return path


def reads(editor: Editor, *words: str, timeout: float = PATIENCE_S) -> None:
    """Wait until the screen shows these words, whatever the highlights and line breaks."""

    def seen() -> bool:
        editor.rpc.mode()
        rows = (re.split("[│┃]", row)[-1].strip() for row in editor.grid.lines())
        text = re.sub(r"\s+", " ", " ".join(rows).replace("`", ""))
        return all(word in text for word in words)

    try:
        until(seen, timeout)
    except AssertionError as error:
        raise AssertionError(editor.report(f"not on the screen: {words!r}")) from error


def test_the_tour_by_keys_shows_each_step(editor: Editor) -> None:
    path = sample(editor)
    before = path.read_text()
    editor.keys(":AcpPrompt hello<CR>")
    reads(editor, "1 of 10 · Talk")
    reads(editor, "Open the composer with :AcpPrompt, write anything, and send it with <C-s>.")
    editor.keys(":AcpPrompt<CR>")
    reads(editor, "Message Tutor")
    editor.keys("Who are you?<C-s>")
    reads(editor, "2 of 10 · Read")
    reads(editor, "Send anything, and I'll propose a")
    editor.keys("please do<C-s><Esc>")
    reads(editor, "waiting for you")
    editor.press(":Acp allow<CR>")
    reads(editor, "4 of 10 · Review")
    reads(editor, "]h, then ,a: keep the fix")
    reads(editor, "Undo them: ,r")
    editor.keys("<C-w>hgg]h")
    editor.keys(",a")
    editor.wait("vim.api.nvim_get_current_line():find('~', 1, true) ~= nil")
    editor.keys(",r")
    editor.keys(":AcpPrompt rejected<CR>")
    reads(editor, "5 of 10 · Undo")
    assert path.read_text() == before.replace("basket[:-1]", "basket", 1)
    editor.keys(":Acp unreject<CR>:AcpPrompt back<CR>")
    reads(editor, "6 of 10 · Follow")
    reads(editor, "In the window of till.py: :Acp follow. Then send anything.")
    editor.keys(":Acp follow<CR>:AcpPrompt look<CR>")
    reads(editor, "7 of 10 · Stop")
    reads(editor, "3. You could be typing")
    editor.keys(":AcpCancel<CR>")
    reads(editor, "8 of 10 · Queue")
    editor.wait("require('acp').state().sessions[1].status == 'idle'")
    editor.keys(":AcpPrompt first<CR>")
    reads(editor, "I'm busy. Send another prompt now;")
    editor.keys(":AcpPrompt second<CR>")
    reads(editor, "1 queued")
    reads(editor, "Your prompt waited its turn.")
    reads(editor, "9 of 10 · Checkpoints")
    editor.keys(":AcpPrompt on<CR>")
    reads(editor, "10 of 10 · Sessions")
    editor.keys(":AcpPrompt on<CR>")
    reads(editor, "That's the tour")
    reads(editor, "g? lists the keys")


def test_a_rewind_forks_the_session_of_the_tutor(editor: Editor) -> None:
    sample(editor)
    editor.turn("/help")
    editor.turn("/skip")
    editor.cmd("Acp rewind 2")
    editor.wait("require('acp').state().current == 2")
    editor.wait("require('acp').state().sessions[2].status == 'idle'")
    assert "Forked. The agent remembers the conversation" in "\n".join(editor.chat(2))
    editor.turn("/plan")


def test_the_tutor_names_the_users_keys(editor: Editor) -> None:
    sample(editor)
    editor.lua("vim.g.mapleader = ' '")
    editor.setup({"keymaps": {"preset": True, "composer": {"<C-s>": False, "<C-g>": "send"}}})
    editor.prompt("hello")
    reads(editor, "Open the composer with <Space>aa")
    editor.wait_event("AcpTurnEnd")
    editor.turn("/skip")
    editor.prompt("/skip")
    editor.wait_event("AcpPermission")
    reads(editor, "From anywhere: <Space>ay")


def test_a_waiting_step_ends_by_a_cancel_or_the_exit(editor: Editor) -> None:
    sample(editor)
    editor.turn("hello")
    editor.turn("/skip")
    editor.prompt("/skip")
    editor.wait_event("AcpPermission")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 3)
    reads(editor, "4 of 10 · Review")
    editor.cmd("AcpCancel")
    editor.wait_message("Nothing to cancel")
    editor.quit()


def test_the_tutor_imports_no_module_of_the_users_directory(editor: Editor) -> None:
    ran = editor.work / "ran"
    for name in ("acp_nvim/__init__.py", "acp_nvim/tutor/__main__.py", "msgspec.py", "json.py"):
        editor.write(name, f"open({str(ran)!r}, 'w').close()\n")
    editor.turn("/help")
    assert not ran.exists()


def test_an_edit_in_place_is_a_proposal_and_no_tour(editor: Editor) -> None:
    path = sample(editor)
    before = path.read_text()
    editor.keys(":11,16Acp edit fix the loop<CR>")
    reads(editor, "Tutor wants to edit till.py (+2 -2)")
    editor.press(":Acp allow<CR>")
    editor.wait("#(require('acp').state().sessions[1].edits or {}) == 1")
    assert path.read_text() != before
