"""Highlights, rules and signs of a chat on the screen, and the plain text of its buffer."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.editor import Editor, has_parser
from tests.support.lua import lua_chunk
from tests.support.script_lines import say, update
from tests.support.waiting import until

CODE = """Look:

```lua
local x = 1 -- one
```

```python
import os
```

| Name | What |
|---|---|
| a | **bold** it |
| longer | x |

> said

- item, see [the manual](https://x.org) or [http://a.b](https://c.d)
"""
COLOURS = lua_chunk(__file__, "code_colours")
TO = "vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1')) return vim.fn.search(...)"
SYNTAX = {"@keyword": "luaStatement", "@keyword.return": "luaStatement", "@comment": "luaComment"}


def lua_group(editor: Editor, capture: str) -> str:
    """Return the highlight group for Lua code, from the parser or from the syntax file."""
    return f"{capture}.lua" if has_parser(editor, "lua") else SYNTAX[capture]


def call(n: int, title: str, kind: str = "read", status: str = "completed", **more: Any) -> str:
    fields = {"toolCallId": f"c{n}", "title": title, "kind": kind, "status": status}
    return update(sessionUpdate="tool_call", **fields, **more)


def diff(path: str, old: str, new: str) -> list[dict[str, Any]]:
    return [{"type": "diff", "path": path, "oldText": old, "newText": new}]


def rows(editor: Editor) -> list[str]:
    """Return the screen rows of the chat's window."""
    left = editor.lua("return vim.fn.win_screenpos(vim.fn.bufwinid('acp://chat/1'))[2] - 1")
    return [line[left:].rstrip() for line in editor.screen()]


def test_a_rule_marks_the_users_rows_and_the_agents_name_is_shown_once(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("say one\nthink why\nsay two")
    until(lambda: editor.chat()[-1].startswith("two"))
    editor.cmd("redraw")
    shown = rows(editor)
    assert re.search(r"^┃ You +\d\d:\d\d$", "\n".join(shown), re.MULTILINE), shown
    assert "┃ say one" in shown
    assert "┃ say two" in shown
    assert shown.count("  Scripted") == 1
    assert "  one" in shown
    assert "## You" in editor.chat()
    assert "## Scripted" in editor.chat()
    editor.lua(TO, "^## You")
    until(lambda: any(row.startswith("┃ ## You") for row in rows(editor)))


SCROLL = lua_chunk(__file__, "scroll_chat")
COLUMN = "return vim.wo[vim.fn.bufwinid('acp://chat/1')].statuscolumn"


def test_the_rule_shows_only_beside_the_users_rows_and_text_does_not_move(
    editor: Editor,
) -> None:
    editor.agent("script")
    editor.turn(say("\n".join(f"line {n}" for n in range(90))))
    until(
        lambda: "  line 89" in rows(editor) and editor.lua(COLUMN) == ""
    )  # all rows are redrawn together
    assert not any("┃" in row for row in rows(editor))
    editor.lua(SCROLL, 1)
    until(lambda: sum(row.startswith("┃ ") for row in rows(editor)) > 4)  # wrapped rows, too
    assert "  line 5" in rows(editor)
    editor.lua(SCROLL, 50)
    until(lambda: editor.lua(COLUMN) == "")
    assert "  line 60" in rows(editor)
    editor.lua("vim.wo[vim.fn.bufwinid('acp://chat/1')].statuscolumn = '>> '")
    editor.lua(SCROLL, 1)
    assert ">> line 5" in rows(editor)
    editor.lua(SCROLL, 50)
    assert ">> line 60" in rows(editor)


def test_markdown_marks_are_concealed_and_tables_aligned(editor: Editor) -> None:
    editor.agent("script")
    editor.turn(say(CODE) + "\n" + say("end"))
    for text in ("│ a      │ bold it │", "│ longer │ x       │", "▎ said"):
        editor.wait_screen(text)
    editor.wait_screen("• item, see the manual or")
    editor.wait_screen("[http://a.b](https://c.d)")
    assert not any("```" in row for row in rows(editor))
    assert "```lua" in editor.chat()
    assert "| a | **bold** it |" in editor.chat()
    editor.lua("vim.wo[vim.fn.bufwinid('acp://chat/1')].conceallevel = 0")
    editor.wait_screen("```lua")
    editor.cmd("Acp chat")
    editor.cmd("Acp chat")
    assert "| longer | x |" in editor.chat()


def test_plans_have_signs_like_tool_calls_and_wide_tables_a_cut_rule(
    editor: Editor,
) -> None:
    editor.agent("script")
    wide = f"| {'long ' * 12}| b |\n|---|---|\n| c | d |\n\n"
    editor.turn("plan 1\n" + say(wide) + "\n" + say("end"))
    for text in ("  Plan · 1 of 3", "  ✓ Look (high)", "  ◐ Think", "  ○ Act (low)", "│ c │ d │"):
        editor.wait_screen(text)
    assert "- [x] Look (high)" in editor.chat()
    room = editor.lua("return vim.fn.winwidth(vim.fn.bufwinid('acp://chat/1'))")
    until(lambda: f"  ┼───┼{'─' * (room - 8)}┼" in rows(editor))


def test_code_is_highlighted_once_its_block_is_complete(editor: Editor) -> None:
    editor.agent("script")
    gate = editor.home / "go on"
    editor.prompt("\n".join([say(CODE[:30]), f"until_there '{gate}'", say(CODE[30:])]))
    editor.wait_screen("local x")
    gate.touch()
    editor.wait_event("AcpTurnEnd")
    until(lambda: ["import", "pythonInclude"] in editor.lua(COLOURS))
    found = editor.lua(COLOURS)
    assert ["local", lua_group(editor, "@keyword")] in found
    assert ["-- one", lua_group(editor, "@comment")] in found


def test_a_diff_shows_context_syntax_colours_and_the_words_that_differ(editor: Editor) -> None:
    path = str(editor.work / "a.lua")
    editor.cmd("set termguicolors")
    editor.agent("script")
    old, new = "-- a\nlocal b = 1\nreturn b\n", "-- a\nlocal b = 22\nreturn b\n"
    content = diff(path, old, new)
    editor.turn(call(1, "Edit a.lua", "edit", content=content) + "\nsay .end")
    editor.wait_screen("✓ Edited a.lua +1 -1")
    editor.lua(TO, "Edited a.lua")
    editor.keys("zo")
    until(lambda: ["22", "AcpHunkWord"] in editor.lua(COLOURS))
    found = editor.lua(COLOURS)
    assert ["local", lua_group(editor, "@keyword")] in found
    assert ["1", "AcpHunkRemoveWord"] in found
    row = [group for text, group in found if text == "1"]
    assert row[-1] == "AcpHunkRemoveWord", "above the syntax colour, which is hard to read on it"
    assert ["return", lua_group(editor, "@keyword.return")] in found
    assert "    -- a" in editor.chat()
    editor.lua(TO, "- local b")
    editor.keys("<CR>")
    editor.wait("vim.wo.diff and vim.fn.bufname():find('acp://compare', 1, true) == 1")
    assert editor.lua("return #vim.api.nvim_tabpage_list_wins(0)") >= 2

    # Without tints, only red and green tell changed lines.
    editor.keys("q")
    editor.wait("vim.fn.tabpagenr('$') == 1")
    editor.cmd("set notermguicolors")
    editor.turn(
        call(2, "Edit b.lua", "edit", content=diff(path.replace("a.lua", "b.lua"), old, new))
        + "\nsay .end"
    )
    editor.wait_screen("✓ Edited b.lua +1 -1")
    editor.lua(TO, "Edited b.lua")
    editor.keys("zo")
    until(lambda: editor.lua(COLOURS).count(["22", "AcpHunkWord"]) == 2)
    now = editor.lua(COLOURS)
    assert now.count(["local", lua_group(editor, "@keyword")]) == 2, "those of the first diff"
    assert now.count(["return", lua_group(editor, "@keyword.return")]) == 2


PATCH = "--- a/a.lua\n+++ b/a.lua\n@@ -1,2 +1,2 @@\n -- a\n-local b = 1\n+local b = 22\n"


@pytest.mark.parametrize("where", ["content", "rawInput"])
def test_a_patch_opens_in_diff_mode_too(editor: Editor, where: str) -> None:
    editor.agent("script")
    text = {"type": "text", "text": f"```diff\n{PATCH}```"}
    of: dict[str, Any] = {
        "content": [{"type": "content", "content": text}],
        "rawInput": {"patch": PATCH},
    }
    editor.turn(call(1, "Edit a.lua", "edit", **{where: of[where]}) + "\nsay .end")
    editor.lua(TO, "Edited a.lua")
    editor.keys("zo")
    editor.lua(TO, "+ local b")
    editor.keys("<CR>")
    editor.wait("vim.wo.diff and vim.fn.bufname():find('acp://compare', 1, true) == 1")
    shown = "vim.iter(vim.api.nvim_tabpage_list_wins(0)):map(vim.api.nvim_win_get_buf)"
    lines = f"{shown}:map(function(b) return vim.fn.getbufline(b, 2)[1] end):totable()"
    assert {"local b = 1", "local b = 22"} <= set(editor.lua(f"return {lines}"))


def test_calls_of_one_kind_are_grouped_in_one_line_that_opens(editor: Editor) -> None:
    editor.agent("script")
    calls = [call(n, f"Read {n}.py") for n in range(3)]
    failed = call(3, "make test", "execute", "failed", rawOutput={"exitCode": 2})
    more = [call(n, f"Read {n}.py") for n in (4, 5)]
    running = call(6, "Read 6.py", status="in_progress")
    editor.turn("\n".join([*calls, failed, *more, running, "say .end"]))
    editor.wait_screen("✓ Read 3 files · 0.py, 1.py, 2.py")
    shown = "\n".join(rows(editor))
    assert "✗ make test · exit 2" in shown
    assert "✓ Read 2 files · 4.py, 5.py" in shown
    assert "6.py" in shown
    assert "✓ Read 0.py" not in shown
    editor.lua(TO, "^. Read 0.py")
    editor.keys("<CR>")
    editor.wait_screen("✓ Read 1.py")
    editor.keys("zc")
    editor.wait_screen("✓ Read 3 files")


def test_a_grouped_call_that_changes_leaves_its_group(editor: Editor) -> None:
    editor.agent("script")
    editor.turn("\n".join([*(call(n, f"Read {n}.py") for n in range(3)), "say .end"]))
    editor.wait_screen("✓ Read 3 files")
    again = update(sessionUpdate="tool_call_update", toolCallId="c1", status="failed")
    editor.turn(again + "\nsay .more")
    until(lambda: "✗ Read 1.py · failed" in "\n".join(editor.chat()))
    editor.lua(TO, "^. Read 0.py")
    editor.wait("vim.fn.foldclosed('.') == -1")


def test_code_in_a_tool_call_is_highlighted_and_leads_to_its_line(editor: Editor) -> None:
    editor.write("a.lua", "-- a\nlocal b = 1\n")
    path = str(editor.work / "a.lua")
    read = [{"type": "content", "content": {"type": "text", "text": "1→-- a\n2→local b = 1"}}]
    found = [{"type": "content", "content": {"type": "text", "text": "So:\n```lua\nreturn\n```"}}]
    editor.agent("script")
    editor.turn(
        "\n".join(
            [
                call(1, "Read a.lua", locations=[{"path": path}], content=read),
                call(2, "Look", kind="other", content=found),
            ]
        )
    )
    editor.lua(
        "vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://chat/1')) vim.cmd('normal! zR')"
    )
    keyword, result = lua_group(editor, "@keyword"), lua_group(editor, "@keyword.return")
    until(lambda: ["local", keyword] in editor.lua(COLOURS))
    until(lambda: ["return", result] in editor.lua(COLOURS))
    assert ["-- a", lua_group(editor, "@comment")] in editor.lua(COLOURS)
    assert not any("→" in text for text, _ in editor.lua(COLOURS))
    editor.lua(TO, "local b = 1$")
    editor.cmd("filetype plugin off")  # the plugin fails without a matching parser
    editor.keys("<CR>")
    editor.wait("vim.fn.bufname():find('a.lua', 1, true) ~= nil")
    assert editor.lua("return vim.fn.line('.')") == 2
