"""The end of a chat: in a window that gets fewer rows, and below long text."""

from __future__ import annotations

import json

from acp_nvim.nvim.frames import MANY_LINES
from tests.support.editor import Editor
from tests.support.lua import lua_call
from tests.support.waiting import until

SHOWS_END = lua_call(__file__, "shows_last_line")
WORDS = " ".join(f"word{n}" for n in range(40))


def test_a_chat_of_a_few_wrapped_lines_shows_its_end_above_a_composer(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(f"say '{WORDS}\\n\\n{WORDS}'")
    editor.wait(SHOWS_END)
    rows = "vim.fn.winheight(vim.fn.bufwinid('acp://chat/1'))"
    before = editor.lua(f"return {rows}")
    assert editor.lua("return vim.fn.line('w0', vim.fn.bufwinid('acp://chat/1'))") == 1
    editor.cmd("AcpPrompt")
    editor.wait(f"{rows} < ...", before)
    editor.wait(SHOWS_END)


def test_a_chat_that_is_scrolled_up_stays_where_it_is(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(f"say '{WORDS}\\n\\n{WORDS}'")
    editor.cmd("wincmd l | normal! gg")
    editor.cmd("wincmd p | botright 15new")
    top = "return vim.fn.line('w0', vim.fn.bufwinid('acp://chat/1'))"
    editor.wait("vim.fn.winheight(vim.fn.bufwinid('acp://chat/1')) < 25")
    assert editor.lua(top) == 1


def test_long_text_continues_a_row_as_short_text_does(editor: Editor) -> None:
    """Neovim inserts many lines without Lua: into a fold, at the end, and below a reader."""

    def chunk(kind: str, *lines: str) -> str:
        content = {"type": "text", "text": "\n".join(lines)}
        return "update " + json.dumps({"sessionUpdate": kind, "content": content})

    def shows(last: str) -> bool:
        return last in editor.chat(1)[-2:]

    many = [f"{number} é" for number in range(MANY_LINES)]
    gates = [editor.home / name for name in ("thought", "answer", "end")]
    waits = [f"until_there '{gate}'" for gate in gates]
    editor.agent("script")
    script = (
        chunk("agent_thought_chunk", "first "),
        waits[0],
        chunk("agent_thought_chunk", "thought", *many),
        chunk("agent_message_chunk", "then "),
        waits[1],
        chunk("agent_message_chunk", "answer", *many, ""),
        "chunks 1 9000",
        chunk("agent_message_chunk", "", "**last**"),
        waits[2],
        chunk("agent_message_chunk", "", *many, "end"),
    )
    editor.prompt("\n".join(script))
    editor.wait_event("AcpTurnStart")
    until(lambda: shows("first "))
    gates[0].touch()
    until(lambda: shows("then "))
    gates[1].touch()
    until(lambda: shows("**last**"))
    chat = editor.chat(1)
    head = chat.index("▸ Thought") + 1
    thought = ["first thought", *many, "", ""]
    long = "word 0 ".ljust(9000, ".")
    assert chat[head:] == [*thought, "then answer", *many, long, "**last**"]
    editor.wait(SHOWS_END)
    editor.cmd("wincmd l")
    assert editor.lua("return vim.wo.linebreak") is False, "it is slow in a long row"
    assert editor.lua("return vim.fn.foldclosedend(...)", head) == head + len(thought) - 1
    editor.cmd("normal! gg")
    gates[2].touch()
    editor.wait_event("AcpTurnEnd")
    assert editor.chat(1) == [*chat, *many, "end"]
    assert editor.lua("return { vim.fn.line('.'), vim.fn.line('w0') }") == [1, 1]
    assert editor.lua("return vim.g.acp_lines") is None
