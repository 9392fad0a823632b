"""The tutor's walk in a real Neovim: one hunk accepted, one rejected, and it notices."""

from __future__ import annotations

from tests.support.editor import ROOT, Editor


def test_the_walk_ends_with_one_hunk_accepted_and_one_rejected(editor: Editor) -> None:
    editor.lua("vim.g.maplocalleader = ','")
    path = editor.write("till.py", (ROOT / "acp_nvim/tutor/sample/till.py").read_text())
    before = path.read_text()
    editor.open(path)
    editor.prompt("hello")
    editor.wait_event("AcpPermission", timeout=20)
    editor.cmd("Acp allow")
    editor.wait_event("AcpTurnEnd", timeout=30)
    editor.wait("(require('acp').state().sessions[1].edits[1] or {}).hunks == 2")
    editor.keys("gg]h")
    assert "in basket:" in editor.lua("return vim.api.nvim_get_current_line()")
    editor.keys(",a")
    editor.wait("require('acp').state().sessions[1].edits[1].hunks == 1")
    editor.wait("vim.api.nvim_get_current_line():find('~', 1, true) ~= nil")
    editor.keys(",r")
    editor.wait("#require('acp').state().sessions[1].edits == 0")
    editor.wait("not vim.bo.modified")
    assert path.read_text() == before.replace("basket[:-1]", "basket", 1)
    editor.turn("/check")
    chat = " ".join(editor.chat())
    assert "charges for the whole basket, and the dashes are back" in chat


def test_modules_in_the_users_directory_are_not_the_tutors(editor: Editor) -> None:
    ran = editor.work / "ran"
    for name in ("acp_nvim/__init__.py", "acp_nvim/tutor/__main__.py", "msgspec.py", "json.py"):
        editor.write(name, f"open({str(ran)!r}, 'w').close()\n")
    editor.prompt("hello")
    editor.wait_event("AcpTurnStart", timeout=20)
    editor.wait("#require('acp').state().sessions[1].tool_calls > 0", timeout=20)
    assert not ran.exists()
