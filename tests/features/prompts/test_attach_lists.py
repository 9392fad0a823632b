"""`:Acp attach` without arguments in lists of files, and `require('acp').attach()`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk
from tests.support.plugins import add_plugins
from tests.support.traffic import Traffic

ALL = {"promptCapabilities": {"embeddedContext": True}}
FILE_MANAGERS = lua_chunk(__file__, "file_managers")


@pytest.fixture
def agent(editor: Editor) -> Traffic:
    for name in ("a.py", "b.py", "sub/c.py"):
        editor.write(name, "".join(f"{name} {n}\n" for n in range(1, 5)))
    return editor.agent("hello", capabilities=ALL)


def sent(editor: Editor, agent: Traffic) -> list[tuple[str, str]]:
    """Send a prompt. Return names and texts of its attachments; a link has no text."""
    editor.turn("hi")
    blocks: list[dict[str, Any]] = agent.received("session/prompt")[-1]["params"]["prompt"][1:]
    found = [block.get("resource") or block for block in blocks]
    return [(it["uri"].partition("/work/")[2], it.get("text", "")) for it in found]


def names(editor: Editor, agent: Traffic) -> list[str]:
    return [name.partition("#")[0].rstrip("/") for name, _ in sent(editor, agent)]


def test_lua_attaches_files_and_lines(editor: Editor, agent: Traffic) -> None:
    editor.open("b.py")
    editor.keys("ggOnew<Esc>:w<CR>")
    editor.lua(
        "require('acp').attach({ 'a.py', { path = 'b.py', first = 1, last = 2 },"
        " { path = 'sub/c.py', first = 3 } })"
    )
    editor.wait_message("With your next prompt: a.py, b.py:1-2, sub/c.py:3")
    found = sent(editor, agent)
    assert sorted(text.rstrip("\n") for _, text in found) == [
        "".join(f"a.py {n}\n" for n in range(1, 5)).rstrip("\n"),
        "new\nb.py 1",
        "sub/c.py 3",
    ]
    assert sent(editor, agent) == [], "attachments are sent once"


def test_missing_files_are_named_and_the_rest_attached(editor: Editor, agent: Traffic) -> None:
    editor.lua("require('acp').attach({ 'gone.py', { path = 'a.py', first = 99 }, 'b.py' })")
    editor.wait_message("Not attached, no such file or line: gone.py, a.py")
    assert names(editor, agent) == ["b.py"]
    # Picker entries that are not files. Telescope uses the whole entry of a mapping as its path.
    no_files = "{ { first = 1 }, { path = { lhs = 'gx' } } }"
    editor.cmd(f"inoremap <F2> <Cmd>stopinsert<Bar>lua require('acp').attach({no_files})<CR>")
    editor.keys("i<F2>")
    editor.wait_screen("There is no file to attach")


def test_attached_lines_follow_the_edits_of_their_buffer(editor: Editor, agent: Traffic) -> None:
    editor.open("a.py")
    editor.lua("require('acp').attach({ { path = 'a.py', first = 2, last = 2 } })")
    editor.keys("ggOone<CR>two<Esc>:w<CR>")
    assert [text for _, text in sent(editor, agent)] == ["a.py 2"]


def test_an_entry_of_the_quickfix_list(editor: Editor, agent: Traffic) -> None:
    editor.lua(
        "vim.fn.setqflist({ { filename = 'a.py', lnum = 2 },"
        " { filename = 'b.py', lnum = 1, end_lnum = 3 }, { text = 'no file' } })"
    )
    editor.cmd("copen")
    editor.keys("2G")
    assert "With your next prompt: b.py:1-3" in editor.cmd("Acp attach")
    editor.keys("3G")
    assert "There is no file to attach" in editor.cmd("Acp attach")
    editor.keys("ggVG:Acp attach<CR>")
    editor.wait_message("With your next prompt: a.py:2, b.py:1-3")


def test_an_entry_of_the_location_list(editor: Editor, agent: Traffic) -> None:
    editor.lua("vim.fn.setloclist(0, { { filename = 'a.py' } })")
    editor.cmd("lopen")
    editor.cmd("Acp attach")
    assert names(editor, agent) == ["a.py"]


@pytest.mark.parametrize("style", [0, 1, 2, 3])
def test_a_file_in_netrw(editor: Editor, agent: Traffic, style: int) -> None:
    editor.cmd(f"let g:netrw_liststyle = {style}")
    editor.cmd("edit .")
    editor.wait("vim.bo.filetype == 'netrw'")
    editor.wait("vim.fn.search('b.py') > 0")
    at = editor.lua("return vim.api.nvim_win_get_cursor(0)")
    editor.cmd("Acp attach")
    assert editor.lua("return vim.api.nvim_win_get_cursor(0)") == at
    assert names(editor, agent) == ["b.py"]


def test_the_marked_files_of_netrw(editor: Editor, agent: Traffic) -> None:
    editor.cmd("edit .")
    editor.wait("vim.bo.filetype == 'netrw'")
    for name in ("a.py", "sub"):
        editor.wait("vim.fn.search(...) > 0", name)
        editor.keys("mf")
    editor.cmd("Acp attach")
    assert sorted(names(editor, agent)) == ["a.py", "sub"]


def test_a_file_in_mini_files(editor: Editor, agent: Traffic) -> None:
    add_plugins(editor, "mini.nvim")
    editor.lua("require('mini.files').setup() require('mini.files').open(vim.fn.getcwd())")
    editor.wait("vim.fn.search('b.py') > 0")
    assert "With your next prompt: b.py" in editor.cmd("Acp attach")
    editor.cmd("lua MiniFiles.close()")
    assert names(editor, agent) == ["b.py"]


def test_a_file_in_neo_tree(editor: Editor, agent: Traffic) -> None:
    add_plugins(editor, "plenary.nvim", "nui.nvim", "neo-tree.nvim")
    editor.cmd("Neotree")
    editor.wait_screen("b.py")
    editor.wait("vim.bo.filetype == 'neo-tree'")
    editor.wait("vim.fn.search('b.py') > 0")
    assert "With your next prompt: b.py" in editor.cmd("Acp attach")
    editor.cmd("Neotree close")
    assert names(editor, agent) == ["b.py"]


def test_files_in_the_explorer_of_snacks(editor: Editor, agent: Traffic) -> None:
    add_plugins(editor, "snacks.nvim")
    editor.lua("require('snacks').setup({ explorer = {} }) Snacks.explorer()")
    editor.wait_screen("b.py")
    editor.wait("vim.bo.filetype == 'snacks_picker_list'")
    at_b = "vim.fn.search('b.py', 'c') > 0 and Snacks.picker.get()[1]:current().file:find('b.py')"
    editor.wait(at_b)  # the list is filled and drawn in steps
    assert "With your next prompt: b.py" in editor.cmd("Acp attach")
    assert names(editor, agent) == ["b.py"]


def test_files_in_nvim_tree(editor: Editor, agent: Traffic) -> None:
    add_plugins(editor, "nvim-tree.lua")
    editor.write("deep/only/d.py", "d\n")
    editor.write("c.py", "c\n")
    editor.write("README", "r\n")
    editor.lua("require('nvim-tree').setup({ renderer = { group_empty = true } })")
    editor.cmd("NvimTreeOpen")
    editor.wait_screen("b.py")
    editor.cmd("call search('deep')")
    editor.keys("<CR>V:Acp attach<CR>")
    editor.wait_message("With your next prompt: deep/only")
    for name in ("c.py", "a.py", "b.py"):
        editor.cmd(f"call search('{name}')")
        editor.keys("m")
    assert "With your next prompt: a.py, b.py, c.py" in editor.cmd("Acp attach")
    editor.lua("require('nvim-tree.api').marks.clear()")
    editor.cmd("split | call search('README')")
    assert "With your next prompt: README" in editor.cmd("Acp attach")
    editor.cmd("close | NvimTreeClose")
    assert names(editor, agent) == ["deep/only", "a.py", "b.py", "c.py", "README"]


def test_files_in_oil(editor: Editor, agent: Traffic) -> None:
    add_plugins(editor, "oil.nvim")
    editor.lua("require('oil').setup({ view_options = { show_hidden = true } })")
    (editor.work / "link.py").symlink_to("a.py")
    editor.cmd("Oil .")
    editor.wait("vim.b.oil_ready and vim.fn.search('link.py') > 0")
    editor.keys("ggVG:Acp attach<CR>")  # the first line is `..`
    editor.wait_message("With your next prompt: sub, a.py, b.py, link.py")
    editor.wait("vim.fn.search('b.py') > 0")
    editor.cmd("Acp attach")
    editor.cmd("enew")
    found = [*dict.fromkeys(names(editor, agent))]
    assert found == ["sub", "a.py", "b.py", "link.py"]


@pytest.mark.parametrize("filetype", ["oil", "neo-tree", "NvimTree"])
def test_the_lines_of_a_file_manager(editor: Editor, agent: Traffic, filetype: str) -> None:
    """The functions have the names, arguments and results of the real plugins."""
    editor.lua(FILE_MANAGERS, str(editor.work))
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a.py', 'b.py', 'c.py' })")
    editor.cmd(f"set nomodified filetype={filetype}")
    editor.keys("ggVj:Acp attach<CR>")
    editor.wait_message("With your next prompt: a.py, b.py")
    assert names(editor, agent) == ["a.py", "b.py"]


def test_elsewhere_it_removes_attachments_as_before(editor: Editor) -> None:
    editor.open(editor.write("a.py", "one\n"))
    with pytest.raises(Exception, match="needs a file"):
        editor.cmd("Acp attach")
    editor.errors_expected = True
