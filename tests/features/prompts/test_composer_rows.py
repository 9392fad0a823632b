"""Height of a composer when other windows open and close."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start, session

HEIGHT = "vim.fn.winheight(vim.fn.bufwinid('acp://composer/1'))"


@pytest.fixture
def front(edit: Start) -> Editor:
    """Return an editor without a host, with a chat beside a file and its composer below it."""
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(120, 40))
    session(editor)
    editor.lua("require('acp.features.chat.view').open(1)")
    editor.lua("require('acp.features.prompts.composer').open({ session = 1 })")
    editor.wait(f"{HEIGHT} == 6")
    editor.wait("require('acp.ui.window.rows').of(vim.fn.bufwinid('acp://composer/1')) ~= nil")
    return editor


@pytest.mark.parametrize("focus", ["file", "composer"])
def test_a_composer_keeps_its_height_when_a_window_below_opens_and_closes(
    front: Editor, focus: str
) -> None:
    if focus == "file":
        front.cmd("wincmd h")
    for opening, closing in (("botright copen", "cclose"), ("botright new", "quit")):
        front.cmd(opening)
        front.wait(f"vim.fn.winnr('$') == 4 and {HEIGHT} == 6")
        front.cmd(closing)
        front.wait(f"vim.fn.winnr('$') == 3 and {HEIGHT} == 6")
    assert front.lua("return vim.o.cmdheight") == 1


@pytest.mark.parametrize("focus", ["file", "composer"])
def test_a_composer_keeps_its_height_when_the_queue_opens_and_closes(
    front: Editor, focus: str
) -> None:
    session(front, queue=["one", "two"])
    if focus == "file":
        front.cmd("wincmd h")
    for _ in range(2):
        front.cmd("Acp queue")
        front.wait(f"vim.fn.winnr('$') == 4 and {HEIGHT} == 6")
        front.cmd("quit")
        front.wait(f"vim.fn.winnr('$') == 3 and {HEIGHT} == 6")


def test_a_composer_keeps_its_height_when_a_pane_below_shows_a_longer_list(front: Editor) -> None:
    """The changes since a checkpoint replace the list of checkpoints in its window."""
    show = "require('acp.ui.report').open(unpack(...))"
    for name, filetype, rows in (
        ("checkpoints/1", "acpcheckpoints", 9),
        ("changes/1/2", "diff", 3),
    ):
        front.lua(show, [name, filetype, ["a row"] * rows])
        front.wait(f"vim.fn.winheight(vim.fn.bufwinid('acp://{name}')) == ...", rows)
        front.wait(f"{HEIGHT} == 6")
    front.lua(show, ["checkpoints/1", "acpcheckpoints", ["a row"] * 9])
    front.wait("vim.fn.winheight(vim.fn.bufwinid('acp://checkpoints/1')) == 9")
    front.lua("vim.api.nvim_win_close(vim.fn.bufwinid('acp://checkpoints/1'), true)")
    front.wait(f"vim.fn.winnr('$') == 3 and {HEIGHT} == 6")


def test_a_composer_keeps_the_height_that_the_user_sets(front: Editor) -> None:
    front.lua(
        f"""vim.api.nvim_create_autocmd('WinResized', {{
          callback = function() vim.g.told = {HEIGHT} end,
        }})"""
    )
    front.cmd("resize 15")
    front.wait("vim.g.told == 14")
    front.cmd("botright 5new")
    front.wait(f"{HEIGHT} == 14")
    front.cmd("quit")
    front.wait(f"vim.fn.winnr('$') == 3 and {HEIGHT} == 14")


def test_a_composer_gets_its_height_back_when_the_screen_grows_again(front: Editor) -> None:
    front.rpc.request("nvim_ui_try_resize", 40, 10)
    front.wait(f"vim.o.lines == 10 and {HEIGHT} < 6")
    front.rpc.request("nvim_ui_try_resize", 120, 40)
    front.wait(f"vim.o.lines == 40 and {HEIGHT} == 6")
    for columns, rows in ((40, 10), (120, 40)):  # one after the other, without a redraw between
        front.rpc.send("nvim_ui_try_resize", columns, rows)
    front.wait(f"vim.o.lines == 40 and {HEIGHT} == 6")
    front.cmd("botright copen")  # above it, Neovim 0.11 would draw the composer below the screen
    for elsewhere, back in (("redraw", "redraw"), ("tabnew", "tabprevious | redraw")):
        front.cmd(elsewhere)
        front.rpc.request("nvim_ui_try_resize", 120, 20)
        front.cmd(back)
        front.rpc.request("nvim_ui_try_resize", 120, 40)
        front.wait(f"vim.o.lines == 40 and {HEIGHT} == 6")


def test_a_composer_takes_rows_that_no_other_window_can(front: Editor) -> None:
    front.lua("vim.api.nvim_win_close(vim.fn.bufwinid('acp://chat/1'), true)")
    front.wait(f"{HEIGHT} > 30")
    front.cmd("wincmd h | quit")
    front.wait(f"vim.fn.winnr('$') == 1 and {HEIGHT} > 30")
    assert front.lua("return vim.o.cmdheight") == 1


def test_the_next_composer_has_the_height_that_the_user_gave_the_last(front: Editor) -> None:
    front.cmd("close")
    front.cmd("AcpPrompt")
    front.wait(f"{HEIGHT} == 6")
    front.keys("<Esc>:resize 12<CR>")
    front.wait(f"{HEIGHT} == 11")
    front.cmd("botright copen")
    front.cmd("cclose")
    front.cmd("wincmd p")
    front.lua("vim.api.nvim_win_close(vim.fn.bufwinid('acp://composer/1'), true)")
    front.cmd("AcpPrompt")
    front.wait(f"{HEIGHT} == 11")


def test_an_option_sets_the_height(front: Editor) -> None:
    front.cmd("close")
    front.setup({"composer": {"height": 4}})
    front.cmd("AcpPrompt")
    front.wait(f"{HEIGHT} == 3")
