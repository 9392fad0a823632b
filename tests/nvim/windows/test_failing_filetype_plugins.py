"""Filetype plugins that fail: Neovim 0.10 without tree-sitter parsers has some of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

FAILS = lua_chunk(__file__, "failing_filetype")
LEFT_SIDE = "vim.fn.bufexists(...) == 1 and vim.bo[vim.fn.bufnr(...)].filetype == 'acpsample'"


@pytest.fixture
def changed(edit: Callable[..., Editor]) -> Editor:
    """Return an editor in which an agent has changed a file without a buffer."""
    editor = edit(init=FAILS)
    editor.agent("script")
    path = editor.write("a.sample", "one\ntwo\n")
    end = editor.turn(f"read {path}\nreplace {path} two due")
    assert end["stop_reason"] == "end_turn"
    return editor


def test_the_change_is_made_in_a_buffer(changed: Editor) -> None:
    path = str(changed.work / "a.sample")
    assert changed.lines(path) == ["one", "due"]
    assert (changed.work / "a.sample").read_text() == "one\ndue\n"


def test_the_review_shows_no_error(changed: Editor) -> None:
    real = (changed.work / "a.sample").resolve()
    changed.cmd("Acp review a.sample")
    changed.wait(LEFT_SIDE, f"acp://base/1//{real}")
    changed.wait("vim.wo.diff")
    assert "no parser" not in changed.messages()


def test_a_file_that_the_user_jumps_to_is_shown_at_its_line(changed: Editor) -> None:
    path = str(changed.work / "a.sample")
    changed.cmd(f"bwipeout! {path}")
    changed.lua("require('acp.ui.jump').to(...)", path, 2)
    assert changed.lua("return { vim.api.nvim_buf_get_name(0), vim.fn.line('.') }") == [path, 2]
    assert changed.messages().splitlines() == ["acp: no parser of this language"]
