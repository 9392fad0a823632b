"""The Lua front end without a host; all verbs that it would send are recorded.

Example:

    editor = edit(init=HOST + RECORD_NOTIFY)
    session(editor)  # a session, as a frame would add it
    editor.cmd("Acp cancel")
    assert last(editor) == ["cancel", {"clear": False}]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.editor import Editor
from tests.support.lua import lua_chunk

HOST = lua_chunk(__file__, "fake_host")

RECORD_NOTIFY = (
    "vim.notify = function(text, level) table.insert(_G.notified, { text, level }) end\n"
)

SESSION = {
    "agent": "claude",
    "status": "idle",
    "cwd": "/",
    "modes": {
        "current": "ask",
        "available": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
    },
    "options": [
        {
            "id": "llm",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": "big",
            "options": [
                {"group": "g", "name": "G", "options": [{"value": "big", "name": "Big"}]},
                {"value": "small", "name": "Small"},
            ],
        },
        {"id": "think", "name": "Think", "type": "boolean", "currentValue": False},
    ],
    "model": {"option": "llm", "value": "big", "name": "Big"},
    "commands": [
        {"name": "init", "description": "d", "hint": "path"},
        {"name": "review", "description": "d"},
    ],
    "usage": {"used": 34_000, "size": 200_000},
}
OPTIONS = [
    {"id": "yes", "name": "Yes", "kind": "allow_once"},
    {"id": "ever", "name": "Always", "kind": "allow_always"},
    {"id": "no", "name": "No", "kind": "reject_once"},
]
Start = Callable[..., Editor]


def sent(editor: Editor) -> list[list[Any]]:
    """Return all verbs that were sent so far, `[name, arguments]` each."""
    found: list[list[Any]] = editor.lua("return _G.sent")
    return found


def last(editor: Editor) -> list[Any]:
    return sent(editor)[-1]


def notifications(editor: Editor) -> list[str]:
    return [text for text, _ in editor.lua("return _G.notified")]


def session(editor: Editor, n: int = 1, **more: Any) -> None:
    """Put a session into the snapshot and make it current, as a frame would."""
    editor.lua(
        "local n, s = ... require('acp.base.state').set({'sessions', n}, s)"
        " require('acp.base.state').set({'current'}, n)",
        n,
        {**SESSION, **more},
    )
    if "permissions" in more:
        show_cards(editor, more["permissions"], n)


def permission(number: int | str) -> dict[str, Any]:
    return {"id": number, "tool_call": "t", "title": "run", "options": OPTIONS}


def cards(editor: Editor, *ids: int | str, n: int = 1, behind: int = 0) -> None:
    """Show cards of these permissions, three lines each, with this number of others behind them."""
    show_cards(editor, [permission(i) for i in ids], n, behind)


def show_cards(editor: Editor, permissions: list[dict[str, Any]], n: int, behind: int = 0) -> None:
    found = [
        {
            "id": one["id"],
            "lines": [f"decision {one['id']}", "  rm file", "  [1] Yes"],
            "spans": [[0, 0, 8, "AcpKey"]],
            "head": 2,
            "options": one["options"],
        }
        for one in permissions
    ]
    editor.lua("require('acp.features.permissions.float').set(...)", n, found, behind)


def float_lines(editor: Editor) -> list[str] | None:
    """Return the lines of the permission float in the current tab page, or None without one."""
    lines: list[str] | None = editor.lua(lua_chunk(__file__, "card_lines"))
    return lines


def error_of(editor: Editor, command: str) -> str:
    """Run a wrong command and return its one line of error."""
    before = len(notifications(editor))
    editor.cmd(command)
    lines = notifications(editor)[before:]
    assert len(lines) == 1, lines
    assert "\n" not in lines[0]
    return lines[0]


def composer(editor: Editor, n: int = 1) -> list[str]:
    return editor.lines(f"acp://composer/{n}")
