"""Comments on pending edits, sent with the next prompt."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor
from tests.support.pending_edits import two_changed_lines


@pytest.fixture
def changed(editor: Editor) -> Editor:
    return two_changed_lines(editor)


def test_a_comment_is_sent_with_a_prompt_that_is_sent_at_once(changed: Editor) -> None:
    code = "vim.cmd('3') vim.cmd('Acp comment why?') vim.cmd('7') vim.cmd('Acp comment odd') "
    changed.lua(code + "vim.cmd('AcpPrompt say ok')")
    changed.wait_event("AcpTurnEnd", 2)
    [words, *rest] = changed.traffic[0].received("session/prompt")[-1]["params"]["prompt"]
    assert "- a.txt:3: why?\n- a.txt:7: odd" in words["text"]
    assert [block["resource"]["text"] for block in rest] == ["three", "line 7"]


def test_a_comment_without_text_asks_for_it(changed: Editor) -> None:
    changed.keys("]h:Acp comment<CR>")
    changed.wait_screen("Comment on a.txt:3:")
    changed.keys("<CR>:Acp comment<CR>")
    changed.keys("better names<CR>")
    changed.wait_screen("» better names")
    changed.keys(":Acp comment" + " and another" * 12 + " at the end<CR>")
    changed.wait_screen(" at the end ")
    assert "Acp:" not in changed.messages()


def test_a_comment_is_sent_with_the_next_prompt(changed: Editor) -> None:
    changed.cmd("10")
    changed.cmd("Acp comment why ten?")
    changed.wait(
        "vim.iter(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://chat/1'), 0, -1, true))"
        ":any(function(line) return line:find('why ten?', 1, true) end)"
    )
    changed.turn("hello")
    blocks = changed.traffic[0].received("session/prompt")[-1]["params"]["prompt"]
    assert "a.txt:10: why ten?" in blocks[0]["text"]
    resource = blocks[1]["resource"]
    assert resource["text"] == "ten"
    assert resource["uri"].endswith("a.txt#L10-L10")
    changed.turn("hello")
    assert len(changed.traffic[0].received("session/prompt")[-1]["params"]["prompt"]) == 1


def test_a_comment_is_marked_until_it_is_sent(changed: Editor) -> None:
    changed.keys("]h")
    changed.cmd("Acp comment better names, please")
    changed.wait_screen("» better names, please")
    chat = "vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://chat/1'), 0, -1, false)"
    changed.wait(f"table.concat({chat}, ' '):find('Comment on')")
    changed.turn("think again")
    assert "better names, please" in str(changed.traffic[0].entries()[-40:])
    assert not any("» better names" in row for row in changed.screen())
