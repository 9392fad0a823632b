"""Chats beside Markdown rendering plugins, with their real code."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.editor import Editor, has_parser
from tests.support.lua import lua_call
from tests.support.plugins import plugin
from tests.support.script_lines import say, update
from tests.support.waiting import until

SETUP = {
    "render-markdown": "{ file_types = { 'markdown', 'acpchat' } }",
    "markview": "{ preview = { filetypes = { 'markdown', 'acpchat' }, ignore_buftypes = {} } }",
}
MARKDOWN = """# Heading

```lua
local x = 1 -- one
```

| Name | What |
|---|---|
| a | it |
| longer | x |

> said

- item
"""
MARKS = """
local bufnr, name = vim.fn.bufnr('acp://chat/1'), ...
local ns = vim.api.nvim_get_namespaces()[name]
return ns and #vim.api.nvim_buf_get_extmarks(bufnr, ns, 0, -1, {}) or 0
"""
DRAWN = {"render-markdown": "render-markdown.nvim", "markview": "markview/markdown"}
TO_CHAT = "vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1'))"

Start = Callable[..., Editor]


def start(edit: Start, name: str, register: str = "true") -> Editor:
    """Return an editor with the plugin, set up for chats as its manual says."""
    folder = plugin(f"{name}.nvim")
    init = lua_call(__file__, "set_up_plugin", f"[[{folder}]]", f"'{name}'", SETUP[name], register)
    editor = edit(init=init, screen=(120, 60))
    if not (has_parser(editor, "markdown") and has_parser(editor, "lua")):
        pytest.skip("both plugins need parsers of Markdown and Lua")
    return editor


def long_prompt(editor: Editor) -> str:
    """Return a prompt that makes the agent send text, a read, and an edit with its diff."""
    path = str(editor.work / "a.lua")
    call = {"sessionUpdate": "tool_call", "status": "completed"}
    change = {"type": "diff", "path": path, "oldText": "local b = 1\n", "newText": "local b = 2\n"}
    return "\n".join(
        [
            say(MARKDOWN),
            update(**call, toolCallId="1", title="Read a.lua", kind="read"),
            update(**call, toolCallId="2", title="Edit a.lua", kind="edit", content=[change]),
            say("the end"),
        ]
    )


def rows(editor: Editor) -> list[str]:
    """Return the screen rows of the chat's window."""
    left = editor.lua("return vim.fn.win_screenpos(vim.fn.bufwinid('acp://chat/1'))[2] - 1")
    return [line[left:].rstrip() for line in editor.screen()]


def wait_rows(editor: Editor, *texts: str) -> None:
    """Wait until the chat's rows contain each text."""
    until(lambda: all(any(t in row for row in rows(editor)) for t in texts), what=f"{texts}")


@pytest.mark.parametrize("name", SETUP)
def test_the_plugin_draws_the_chat_once_and_leaves_its_text_alone(edit: Start, name: str) -> None:
    editor = start(edit, name)
    editor.agent("script")
    editor.turn(long_prompt(editor))
    until(lambda: "the end" in editor.chat())
    wait_rows(editor, "✓ Edited a.lua +1 -1", "the end")
    editor.lua(TO_CHAT)
    until(lambda: editor.lua(MARKS, DRAWN[name]) > 10, what=f"{name} draws")
    until(lambda: editor.lua(MARKS, "acp.chat.tables") == 0, what="our columns are gone")
    wait_rows(editor, "Heading", "local x = 1 -- one", "item")
    shown = rows(editor)
    shown = shown[next(n for n, row in enumerate(shown) if row.endswith("Scripted")) :]
    assert not any("▎ said" in row or "• item" in row or "###" in row for row in shown), shown
    assert sum("longer" in row for row in shown) == 1
    assert "✓ Read a.lua" in "\n".join(shown)
    text = "\n".join(editor.chat())
    assert MARKDOWN.rstrip() in text
    # Text that arrives while another window is current is drawn too.
    editor.cmd("wincmd p")
    editor.turn(say("> later\n\n- last\n"))
    until(lambda: "- last" in editor.chat())
    wait_rows(editor, "later", "last")
    assert not any(row.rstrip().endswith(("> later", "- last")) for row in rows(editor))
    send_from_composer(editor)


def send_from_composer(editor: Editor) -> None:
    """Type a prompt into the composer under the chat and send it."""
    editor.cmd("AcpPrompt")
    editor.wait("vim.bo.filetype == 'acpcomposer' and vim.fn.mode() == 'i'")
    editor.keys("say 'from the | composer'<C-s>")
    until(lambda: any(line == "from the | composer" for line in editor.chat()))
    assert "rror" not in editor.messages()


@pytest.mark.parametrize("name", SETUP)
def test_the_acp_plugin_draws_a_question_about_an_edit(edit: Start, name: str) -> None:
    editor = start(edit, name)
    editor.agent("script")
    path = editor.write("a.lua", "local b = 1\n")
    editor.prompt(f"propose fs {path} 'local b = 1' 'local b = 2'")
    editor.wait_event("AcpPermission")
    wait_rows(editor, "- local b = 1", "+ local b = 2", "1. Allow", "4. Always reject")
    editor.lua(TO_CHAT)
    wait_rows(editor, "y allow")
    editor.answer("Acp allow")
    editor.wait_event("AcpTurnEnd")
    assert "rror" not in editor.messages()


@pytest.mark.parametrize("name", SETUP)
def test_marks_that_a_plugin_without_a_parser_hides_are_drawn_by_the_acp_plugin(
    edit: Start, name: str
) -> None:
    """Without a parser it sets 'conceallevel' to 3 and draws nothing."""
    editor = start(edit, name, register="false")
    editor.agent("script")
    editor.turn(long_prompt(editor))
    wait_rows(editor, "the end")
    editor.wait("vim.wo[vim.fn.bufwinid('acp://chat/1')].conceallevel == 3")
    wait_rows(editor, "▎ said", "• item", "| longer | x    |")
    editor.lua(TO_CHAT)
    editor.lua("vim.fn.search('^- item')")
    wait_rows(editor, "• item" if name == "markview" else "- item")
    assert "rror" not in editor.messages()
