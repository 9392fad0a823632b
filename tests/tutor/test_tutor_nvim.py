"""The tour in a real Neovim, by keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.support.days import Days
from tests.support.editor import ROOT, Editor
from tests.support.fake_picker import pick
from tests.support.waiting import PATIENCE_S, until


def sample(editor: Editor) -> Path:
    """The sample is open, and `,` is the local leader."""
    editor.lua("vim.g.maplocalleader = ','")
    for file in (ROOT / "acp_nvim/tutor/sample").iterdir():
        if file.is_file():
            editor.write(file.name, file.read_text())
    path = editor.work / "till.py"
    editor.open(path)
    return path


def reads(editor: Editor, *words: str, timeout: float = PATIENCE_S) -> None:
    """Wait until the screen says these words, however code is marked and lines are broken."""

    def seen() -> bool:
        editor.rpc.mode()
        rows = (re.split("[│┃]", row)[-1].strip() for row in editor.grid.lines())
        text = re.sub(r"\s+", " ", " ".join(rows).replace("`", ""))
        return all(word in text for word in words)

    try:
        until(seen, timeout)
    except AssertionError as error:
        raise AssertionError(editor.report(f"not on the screen: {words!r}")) from error


def test_the_tour_by_keys_and_what_the_screen_says(editor: Editor) -> None:
    path = sample(editor)
    before = path.read_text()
    editor.keys(":AcpPrompt hello<CR>")
    reads(editor, "1 of 8 · Talk")
    reads(editor, "Open the composer with :AcpPrompt, write anything, and send it with <C-s>.")
    editor.keys(":AcpPrompt<CR>")
    reads(editor, "Message Tutor")
    editor.keys("Who are you?<C-s>")
    reads(editor, "2 of 8 · Read")
    reads(editor, "Send anything, and I'll propose a")
    editor.keys("please do<C-s><Esc>")
    reads(editor, "waiting for you")
    editor.press(":Acp allow<CR>")
    reads(editor, "4 of 8 · Review")
    reads(editor, "]h, then ,a: keep the fix")
    reads(editor, "Undo them: ,r")
    editor.keys("<C-w>hgg]h")
    editor.keys(",a")
    editor.wait("vim.api.nvim_get_current_line():find('~', 1, true) ~= nil")
    editor.keys(",r")
    reads(editor, "5 of 8 · Undo")
    assert path.read_text() == before.replace("basket[:-1]", "basket", 1)
    editor.keys(":Acp unreject<CR>")
    reads(editor, "6 of 8 · Follow")
    reads(editor, "In the window of till.py: :Acp follow. Then send anything.")
    editor.keys(":Acp follow<CR>:AcpPrompt look<CR>")
    reads(editor, "7 of 8 · Stop")
    reads(editor, "3. You could be typing")
    editor.keys(":AcpCancel<CR>")
    reads(editor, "8 of 8 · Queue")
    editor.wait("require('acp').state().sessions[1].status == 'idle'")
    editor.keys(":AcpPrompt first<CR>")
    reads(editor, "I'm busy. Send another prompt now;")
    editor.keys(":AcpPrompt second<CR>")
    reads(editor, "1 queued")
    reads(editor, "Your prompt waited its turn.")
    reads(editor, "That's the tour")
    reads(editor, "g? lists the keys")
    editor.keys(":AcpPrompt /check<CR>")
    reads(editor, "goes to them, ,r")


def test_the_keys_it_names_are_those_that_the_user_has(editor: Editor) -> None:
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


def test_a_step_that_waits_is_left_by_a_cancel_and_by_the_end(editor: Editor) -> None:
    sample(editor)
    editor.turn("hello")
    editor.turn("/skip")
    editor.prompt("/skip")
    editor.wait_event("AcpPermission")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd", 3)
    reads(editor, "4 of 8 · Review")
    editor.cmd("AcpCancel")
    editor.wait_message("Nothing to cancel")
    editor.quit()


def test_its_copy_of_the_sample_is_served_and_it_connects_when_it_needs_a_tool(
    editor: Editor,
) -> None:
    editor.cmd("Acp tutor")
    editor.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
    editor.wait("#vim.lsp.get_clients({ name = 'till', bufnr = vim.fn.bufnr('till.py') }) == 1")
    assert editor.session()["tools"]["connected"] == 0


def test_modules_in_the_users_directory_are_not_the_tutors(editor: Editor) -> None:
    ran = editor.work / "ran"
    for name in ("acp_nvim/__init__.py", "acp_nvim/tutor/__main__.py", "msgspec.py", "json.py"):
        editor.write(name, f"open({str(ran)!r}, 'w').close()\n")
    editor.turn("/keys")
    assert not ran.exists()


def test_the_tour_asks_the_language_server_of_the_sample(editor: Editor) -> None:
    path = sample(editor)
    before = path.read_text()
    editor.lua("require('acp.command.tutor_server').serve(...)", str(editor.work))
    editor.wait("#vim.lsp.get_clients({ name = 'till', bufnr = 0 }) == 1")
    editor.cmd("AcpPrompt /tour 2")
    for step in ("Plan", "Terminals", "Modes", "Comments"):
        reads(editor, f"of 12 · {step}")
        editor.cmd("AcpCancel")
        editor.cmd("AcpPrompt /skip")
    reads(editor, "5 of 12 · Language servers")
    editor.cmd("AcpPrompt on")
    reads(editor, "Nothing is wrong in till.py")
    editor.keys("/return amount<CR>:s/amount/amout/<CR>")
    editor.cmd("AcpPrompt on")
    reads(editor, "6 of 12 · Rename", "waiting for you")
    assert "till.py:16:12 error: `amout` is not defined" in "\n".join(editor.chat())
    assert path.read_text() == before, "nothing is saved"
    editor.answer("Acp allow")
    reads(editor, "Every place is a hunk of till.py")
    text = "\n".join(editor.lines(str(path)))
    assert "def render_receipt(basket):" in text
    assert "print(render_receipt(BASKET))" in text
    assert "amout" in text


def test_the_end_of_the_tour_goes_on_in_the_next_neovim(
    edit: Callable[..., Editor], tmp_path: Path
) -> None:
    days = Days(edit, tmp_path)
    first = days.start()
    first.setup({"agent": "tutor", "blame": True})
    first.cmd("Acp tutor")
    first.wait("(require('acp').state().sessions[1] or {}).status == 'idle'")
    path = first.lua("return vim.api.nvim_buf_get_name(vim.fn.bufnr('till.py'))")
    first.cmd("AcpPrompt /tour 2")
    for step in ("Plan", "Terminals", "Modes", "Comments", "Language servers"):
        reads(first, f"of 12 · {step}")
        first.cmd("AcpCancel")
        first.cmd("AcpPrompt /skip")
    reads(first, "Nothing is wrong in till.py")
    first.cmd("AcpPrompt /skip")
    reads(first, "6 of 12 · Rename", "waiting for you")
    first.answer("Acp deny")
    reads(first, "7 of 12 · Blame", ":Acp blame. <CR> there opens")
    first.cmd("AcpPrompt on")
    reads(first, "8 of 12 · Checkpoints")
    first.cmd("AcpPrompt make it dear")
    reads(first, "9 of 12 · Rewind", "waiting for you")
    first.answer("Acp allow")
    reads(first, "choose the newest")
    first.wait("require('acp').state().sessions[1].status == 'idle'")
    assert "52.00" in "\n".join(first.lines(path))
    (question,) = pick(first, "Acp rewind", "nothing")
    assert "make it dear" in question["items"][0]
    pick(first, "Acp rewind", question["items"][0])
    first.wait("require('acp').state().current == 2")
    assert "52.00" not in "\n".join(first.lines(path))
    first.cmd("AcpPrompt done")
    reads(first, "The honey has its old price")
    reads(first, "10 of 12 · Sessions")
    first.cmd("AcpPrompt on")
    reads(first, "11 of 12 · History")
    assert pick(first, "Acp history honey", "nothing")[0]["items"]
    first.cmd("AcpPrompt on")
    reads(first, "12 of 12 · Come back", "waiting for you")
    first.answer("Acp allow")
    reads(first, "and type :Acp tutor")
    first.quit()

    second = days.start()
    second.cmd("Acp tutor")
    reads(second, "You are back, and my line in till.py is still waiting")
    assert second.lua("return vim.api.nvim_buf_get_name(vim.fn.bufnr('till.py'))") == path
    edits = "vim.iter(require('acp').state().sessions):map(function(s) return #s.edits end)"
    second.wait(f"{edits}:any(function(n) return n > 0 end)")
    second.cmd("AcpPrompt on")
    reads(second, "That was part two")
    second.cmd("Acp accept all")
    second.wait(f"{edits}:all(function(n) return n == 0 end)")
    second.cmd("Acp tutor")
    second.wait("vim.api.nvim_buf_get_name(0):find('till.py', 1, true) ~= nil")
    assert second.lua("return vim.api.nvim_buf_get_name(0)") != path, "the next tour begins anew"
