"""Text of a closed fold in the chat."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.editor import Editor
from tests.support.lua import lua_chunk


def thought(text: str) -> str:
    """Return a script line that sends a piece of a thought."""
    content = {"type": "text", "text": text}
    return f"update {json.dumps({'sessionUpdate': 'agent_thought_chunk', 'content': content})}"


def call(title: str, status: str = "completed") -> str:
    """Return a script line that sends a tool call with content to fold."""
    text = {"type": "content", "content": {"type": "text", "text": "what it found"}}
    update = {
        "sessionUpdate": "tool_call",
        "toolCallId": title,
        "title": title,
        "kind": "execute",
        "status": status,
        "content": [text],
    }
    return f"update {json.dumps(update)}"


def chat_rows(editor: Editor) -> list[str]:
    """Return the screen rows of the chat's window."""
    column = editor.lua(
        "return vim.fn.win_screenpos(vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1'))[1])[2]"
    )
    return [row[column - 1 :].rstrip().removeprefix("  ") for row in editor.screen()]


@pytest.mark.parametrize("columns", [80, 200])
def test_a_closed_thought_shows_its_beginning(edit: Callable[..., Editor], columns: int) -> None:
    editor = edit(screen=(columns, 24))
    editor.agent("script")
    editor.turn(thought("**The cause**\n\nNobody flushes the buffer.") + "\nsay .that was it")
    editor.wait_screen("▸ Thought · The cause")
    assert "Nobody flushes the buffer." in editor.chat()
    assert not any(row.startswith("Nobody") for row in chat_rows(editor))


def test_a_fold_has_the_background_of_the_chat(editor: Editor) -> None:
    """The first window of a chat, and one whose chat was replaced."""
    editor.cmd("set termguicolors | highlight Normal guibg=#202020 guifg=#ffffff")
    editor.cmd("highlight Folded guibg=#ff0000 | highlight SignColumn guibg=#ff0000")
    editor.agent("script")
    for number in (1, 2):
        if number == 2:
            editor.cmd("wincmd l | Acp new")
            editor.wait("vim.fn.bufname() == 'acp://chat/2'")
        editor.turn(thought(f"Thought {number}") + "\nsay .that was it")
        head = f"▸ Thought · Thought {number}"
        editor.wait_screen(head)
        row, text = next(each for each in enumerate(editor.screen()) if head in each[1])
        column = text.index(head)
        assert "·" not in text[column + len(head) :], "no filler behind it"
        for at in (column - 1, column, column + 2):
            look = editor.lua("return vim.api.nvim__inspect_cell(1, ...)", row, at)[1]
            assert look.get("background") != 0xFF0000, at


def test_the_beginning_of_a_thought_is_shown_as_it_arrives(editor: Editor) -> None:
    gate, last = editor.home / "go on", editor.home / "end"
    editor.agent("script")
    steps = [thought("First"), f"until_there '{gate}'", thought(" of all"), f"until_there '{last}'"]
    editor.prompt("\n".join(steps))
    editor.wait_screen("▸ Thought · First")
    gate.touch()
    editor.wait_screen("▸ Thought · First of all")
    last.touch()
    editor.wait_event("AcpTurnEnd")


@pytest.mark.parametrize(
    "title",
    ["x" * 100, "日本語" * 20, "mcp__server__a_rather_long_name_of_a_tool_that_has_no_blank"],
)
def test_a_title_without_spaces_is_cut_and_not_dropped(
    edit: Callable[..., Editor], title: str
) -> None:
    editor = edit(screen=(80, 24))
    editor.agent("script")
    editor.turn(call(title))
    editor.wait_screen(f"✓ {title[:4]}")
    (row,) = [row for row in chat_rows(editor) if row.startswith("✓")]
    assert row.endswith("…"), row
    assert len(row) > len("✓ ") + 6


def test_a_title_that_fits_looks_as_in_an_open_fold(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(call("make it", "failed"))
    editor.wait_screen("✗ make it · failed")
    groups = editor.lua(
        "return vim.api.nvim_win_call(vim.fn.win_findbuf(vim.fn.bufnr('acp://chat/1'))[1],"
        "function() local row = vim.fn.search('^. make it')"
        " return require('acp.features.chat.foldtext').of(row) end)"
    )
    assert groups[0] == ["✗ ", "AcpToolFailed"]
    assert ["make it", "AcpToolTitle"] in groups
    assert groups[-1] == [" · failed", "AcpToolFailed"]


def test_a_fold_is_cut_to_the_width_of_its_window(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(call("one two three four five six seven eight nine ten"))
    editor.wait_screen("✓ one two three")
    editor.cmd("wincmd l")
    editor.cmd("vertical resize 24")
    editor.wait_screen("✓ one two three four…")
    editor.cmd("vertical resize 20")
    editor.wait_screen("✓ one two three…")


def test_a_small_fold_closes_whatever_fold_options_the_user_has_set(
    edit: Callable[..., Editor],
) -> None:
    editor = edit(init="vim.o.foldminlines = 9 vim.o.foldtext = 'getline(1)' vim.o.wrap = false")
    editor.agent("script")
    editor.turn(thought("Just a word") + "\n" + call("make it"))
    editor.wait_screen("▸ Thought · Just a word")
    editor.wait_screen("✓ make it")
    rows = chat_rows(editor)
    assert not any(row.startswith("  what it found") for row in rows), rows


def test_no_width_cuts_a_wide_character_in_two(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(thought("日本 words") + "\n" + call("日本 a b c d e f g"))
    editor.wait_screen("✓ 日本 a b c d e f g")
    cut = lua_chunk(__file__, "fold_text_widths")
    assert editor.lua(cut) == [True] * 2 * 57


def test_a_status_that_does_not_fit_is_shown_by_its_sign_alone(edit: Callable[..., Editor]) -> None:
    editor = edit(screen=(80, 24))
    editor.agent("script")
    editor.turn(call("a title of 19 cells"))
    editor.wait_screen("✓ a title of 19 cells")
    (row,) = [row for row in chat_rows(editor) if row.startswith("✓")]
    assert row == "✓ a title of 19 cells"


def test_a_title_is_cut_before_the_file_and_its_change_counts(
    edit: Callable[..., Editor],
) -> None:
    editor = edit(screen=(80, 24))
    editor.agent("script")
    diff = {
        "type": "diff",
        "path": str(editor.work / "till.py"),
        "oldText": "a\n",
        "newText": "b\n",
    }
    update = {"toolCallId": "e", "kind": "edit", "status": "completed", "content": [diff]}
    title = "Charge for the whole basket"
    raw = {"sessionUpdate": "tool_call", "title": title, **update}
    editor.turn(f"update {json.dumps(raw)}")
    editor.wait_screen("✓ Charge for")
    (row,) = [row for row in chat_rows(editor) if row.startswith("✓")]
    assert row.endswith("… · till.py +1 -1"), row
    editor.cmd("wincmd l | vertical resize 20")
    editor.wait_screen("✓ Charge for the…")


def test_a_closed_refused_call_shows_the_reason(editor: Editor) -> None:
    editor.agent("script")
    editor.prompt(
        "permission a_rather_long_name_of_a_call_that_no_chat_has_room_for_beside_a_reason"
    )
    editor.answer("Acp refuse say nothing")
    editor.wait_screen("… · refused: say nothing")
    editor.cmd("wincmd l")
    editor.cmd("vertical resize 24")
    editor.wait_screen("✗ Run… · refused:…")
