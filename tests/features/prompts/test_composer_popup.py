"""The line above a composer, what an empty one says, and the completion that pops up in it."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.front_without_host import (
    HOST,
    RECORD_NOTIFY,
    Start,
    composer,
    last,
    session,
)
from tests.support.waiting import until

SHOWN = "vim.fn.pumvisible() == 1"


@pytest.fixture
def front(edit: Start) -> Editor:
    """An editor with a file, and a session."""
    editor = edit(init=HOST + RECORD_NOTIFY, screen=(120, 40))
    editor.write("alpha.py", "")
    session(editor)
    return editor


def type_one_by_one(front: Editor, text: str) -> None:
    """As a person types: the editor has time for each key."""
    for key in text:
        front.keys(key)


def test_an_empty_composer_says_what_can_be_typed(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.wait_screen("Ask anything. @ file  / command  { context")
    front.wait_screen("<C-s> send · g? keys")
    front.cmd("vertical resize 36")
    front.wait_screen("@ file  / command  { context")
    front.keys("x")
    until(lambda: not any("/ command" in row for row in front.screen()))


def test_a_line_that_is_too_narrow_leaves_out_keys_first(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.cmd("vertical resize 30")
    front.wait_screen(" Message Claude · Ask")
    assert not any("g? keys" in row for row in front.screen())


def test_a_prompt_for_a_running_session_is_queued(front: Editor) -> None:
    session(front, status="running")
    front.cmd("AcpPrompt")
    front.wait_screen("<C-s> queue · g? keys")


def test_the_line_is_there_with_one_statusline_for_all(front: Editor) -> None:
    front.cmd("set laststatus=3")
    front.cmd("AcpPrompt")
    front.wait_screen(" Message Claude · Ask")


def test_commands_pop_up_and_are_filtered(front: Editor) -> None:
    front.cmd("AcpPrompt")
    type_one_by_one(front, "/")
    front.wait(SHOWN)
    type_one_by_one(front, "in")
    front.wait("#vim.fn.complete_info({ 'items' }).items == 1")
    front.keys("<C-n>")
    assert composer(front) == ["/init "]


def test_files_pop_up_after_a_sign_that_starts_a_word(front: Editor) -> None:
    front.cmd("AcpPrompt")
    front.wait("#require('acp.features.prompts.composer.files').list(vim.fn.getcwd()) == 1")
    type_one_by_one(front, "me@")
    assert not front.lua("return " + SHOWN)
    type_one_by_one(front, " @")
    front.wait(SHOWN)
    type_one_by_one(front, "al")
    front.keys("<C-n>")
    assert composer(front) == ["me@ @alpha.py"]


@pytest.mark.parametrize(
    ("key", "text"), [("<CR>", ["/", ""]), ("<Esc>", ["/"]), ("<Space>", ["/ "])]
)
def test_no_key_chooses_by_itself(front: Editor, key: str, text: list[str]) -> None:
    before = front.lua("return { vim.o.completeopt, vim.o.shortmess }")
    front.cmd("AcpPrompt")
    type_one_by_one(front, "/")
    front.wait(SHOWN)
    front.keys(key)
    front.wait("not (" + SHOWN + ")")
    assert composer(front) == text
    assert front.lua("return { vim.o.completeopt, vim.o.shortmess }") == before


def test_a_prompt_is_sent_while_it_is_up(front: Editor) -> None:
    front.cmd("AcpPrompt")
    type_one_by_one(front, "/rev")
    front.wait(SHOWN)
    front.keys("<C-s>")
    assert last(front)[1]["text"] == "/rev"
    type_one_by_one(front, "next")
    assert composer(front) == ["next"]


def test_commands_that_are_told_later_pop_up_then(front: Editor) -> None:
    session(front, commands=[])
    front.cmd("AcpPrompt")
    type_one_by_one(front, "/")
    assert not front.lua("return " + SHOWN)
    session(front)
    front.lua("require('acp.base.state').changed()")
    front.wait(SHOWN)


@pytest.mark.parametrize(
    "off",
    [
        "require('acp').setup({ composer = { popup = false } })",
        "package.loaded['cmp'] = {}",
        "package.loaded['blink.cmp'] = {}",
    ],
)
def test_it_leaves_the_composer_to_a_plugin_of_the_users(front: Editor, off: str) -> None:
    front.cmd("AcpPrompt")
    front.lua(off)
    type_one_by_one(front, "/")
    assert not front.lua("return " + SHOWN)
    front.keys("<C-x><C-o>")
    front.wait(SHOWN)
