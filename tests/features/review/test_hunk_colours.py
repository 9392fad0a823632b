"""Backgrounds of pending hunks in several colour schemes."""

from __future__ import annotations

import math

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

DEFINE = lua_chunk(__file__, "set_colorscheme")
COLOURS = lua_chunk(__file__, "hunk_backgrounds")


def rgb(colour: int) -> tuple[int, int, int]:
    return colour >> 16, colour >> 8 & 255, colour & 255


def distance(a: int, b: int) -> float:
    pairs = zip(rgb(a), rgb(b), strict=True)
    return math.sqrt(sum((x - y) ** 2 for x, y in pairs))


def luminance(colour: int) -> float:
    red, green, blue = (float((part / 255) ** 2.2) for part in rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: int, b: int) -> float:
    """Return the contrast of two colours, as WCAG defines it."""
    least, most = sorted(map(luminance, (a, b)))
    return (most + 0.05) / (least + 0.05)


@pytest.mark.parametrize(
    ("scheme", "background"),
    [("default", "dark"), ("default", "light"), ("habamax", "dark"), ("retrobox", "light")],
)
def test_backgrounds_are_light_tints_that_differ_for_lines_words_and_sides(
    editor: Editor, scheme: str, background: str
) -> None:
    editor.lua(DEFINE, scheme, background, True)
    normal, added, word, removed, removed_word, changed = editor.lua(COLOURS)
    assert changed == added
    assert 30 < distance(normal, added) < 50
    assert 30 < distance(normal, removed) < 50
    assert distance(word, added) > 30
    assert distance(removed_word, removed) > 30
    assert distance(added, removed) > 35
    assert rgb(word)[1] > rgb(word)[2]
    assert rgb(removed_word)[0] == max(rgb(removed_word))


def test_an_olive_green_is_not_yellow_on_a_yellow_background(editor: Editor) -> None:
    """gruvbox with a light background is such a case."""
    editor.cmd("set termguicolors background=light")
    editor.cmd("highlight Normal guifg=#3c3836 guibg=#fbf1c7 | highlight DiffAdd guibg=#d5d39b")
    editor.lua("require('acp.ui.highlights').define()")
    normal, added, *_ = editor.lua(COLOURS)
    assert rgb(added)[1] > rgb(added)[0] + 15
    assert distance(normal, added) > 30


SCHEMES = {
    "catppuccin-latte": ("light", "4c4f69", "eff1f5", "d0e2d1", "eac8d3"),
    "gruvbox": ("dark", "ebdbb2", "282828", "34381b", "402120"),
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_changed_word_is_readable_whatever_its_syntax_colour(editor: Editor, scheme: str) -> None:
    background, text, ground, added, removed = SCHEMES[scheme]
    editor.cmd(f"set termguicolors background={background}")
    editor.cmd(f"highlight Normal guifg=#{text} guibg=#{ground}")
    editor.cmd(f"highlight DiffAdd guibg=#{added} | highlight DiffDelete guibg=#{removed}")
    editor.lua("require('acp.ui.highlights').define()")
    for group in ("AcpHunkWord", "AcpHunkRemoveWord"):
        look = editor.lua("return vim.api.nvim_get_hl(0, { name = ... })", group)
        assert look["fg"] == int(text, 16)
        assert contrast(look["fg"], look["bg"]) >= 4.5, group


def test_text_is_readable_in_a_light_terminal_of_few_colours(editor: Editor) -> None:
    """Neovim's own scheme has yellow text there, and white text on green and cyan."""
    look = "return vim.api.nvim_get_hl(0, { name = ..., link = false })"
    editor.lua(DEFINE, "default", "light", False)
    assert editor.lua(look, "AcpPermission")["ctermfg"] == 5
    assert editor.lua(look, "AcpHunkWord")["ctermfg"] == 0
    editor.cmd("set background=dark")
    for group, link in (("AcpPermission", "DiagnosticWarn"), ("AcpHunkWord", "DiffText")):
        assert editor.lua("return vim.api.nvim_get_hl(0, { name = ... }).link", group) == link
    editor.cmd("set background=light")
    editor.cmd("highlight AcpPermission ctermfg=3")
    editor.cmd("set termguicolors | set notermguicolors")
    assert editor.lua(look, "AcpPermission")["ctermfg"] == 3, "the user's own"


def test_backgrounds_follow_the_colour_scheme(editor: Editor) -> None:
    editor.lua(DEFINE, "default", "dark", True)
    dark = editor.lua(COLOURS)
    editor.cmd("set background=light")
    light = editor.lua(COLOURS)
    assert sum(rgb(light[1])) > sum(rgb(dark[1])) + 300
    for command in ("colorscheme habamax", "set notermguicolors background=light"):
        editor.cmd(command)
    editor.cmd("set termguicolors | colorscheme default | set background=dark")
    assert editor.lua(COLOURS) == dark


def test_a_group_that_the_user_has_set_stays(editor: Editor) -> None:
    editor.cmd("highlight AcpHunkAdd guibg=#123456")
    editor.cmd("highlight link AcpHunkRemove Search")
    editor.lua(DEFINE, "default", "dark", True)
    editor.cmd("highlight AcpHunkAdd guibg=#123456")
    editor.cmd("highlight! link AcpHunkRemove Search")
    editor.cmd("set notermguicolors")
    editor.cmd("set termguicolors")
    assert editor.lua("return vim.api.nvim_get_hl(0, { name = 'AcpHunkAdd' }).bg") == 0x123456
    link = "return vim.api.nvim_get_hl(0, { name = 'AcpHunkRemove' }).link"
    assert editor.lua(link) == "Search"


def test_a_screen_with_few_colours_uses_the_groups_of_diff_mode(editor: Editor) -> None:
    editor.lua(DEFINE, "default", "dark", False)
    link = "return vim.api.nvim_get_hl(0, { name = 'AcpHunkAdd' }).link"
    assert editor.lua(link) == "DiffAdd"
    assert editor.lua("return vim.api.nvim_get_hl(0, { name = 'AcpHunkAdd' }).default") is True
    editor.cmd("set termguicolors")
    assert editor.lua(link) is None
    editor.cmd("set notermguicolors")
    assert editor.lua(link) == "DiffAdd"


@pytest.mark.parametrize("full", [False, True])
def test_every_group_is_linked_again_after_the_colours_are_cleared(
    editor: Editor, full: bool
) -> None:
    editor.lua(DEFINE, "habamax", "dark", full)
    editor.cmd("highlight clear")
    links = editor.lua(lua_chunk(__file__, "changed_links"))
    assert links == []
