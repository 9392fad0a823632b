"""The Lua front end without a host, with a clock that is set forward by hand.

Example:

    front = start(edit)
    cards(front, "p1")
    wait_drawn(front, "p1")
    advance(front, 400)
    press(front, "gy")
    assert last(front) == ["allow", {"id": "p1"}]
"""

from __future__ import annotations

from tests.support.editor import Editor
from tests.support.front_without_host import HOST, RECORD_NOTIFY, Start, last, sent, session
from tests.support.lua import lua_chunk

NEW = "acp: New question: press again"
OVER = "acp: That question is over"
STOPPED = """
_G.ms = 0
package.loaded['acp.features.permissions.clock'] = { ms = function() return _G.ms end }
"""
CHAT = """
require('acp.features.chat.view').begin(1)
require('acp.features.chat.view').open(1)
vim.cmd.wincmd('l')
"""
ROWS = lua_chunk(__file__, "draw_cards")


def start(edit: Start, screen: tuple[int, int] | None = (100, 30)) -> Editor:
    """Start an editor with session 1 and the maps gy, gY, gn, gN and g:."""
    editor = edit(init=STOPPED + HOST + RECORD_NOTIFY, screen=screen)
    editor.cmd("nmap gy <Plug>(acp-allow)")
    editor.cmd("nmap gY <Plug>(acp-allow-always)")
    editor.cmd("nmap gn <Plug>(acp-deny)")
    editor.cmd("nmap gN <Plug>(acp-deny-always)")
    editor.cmd("nmap g: :Acp allow<CR>")
    session(editor)
    return editor


def advance(front: Editor, ms: int) -> None:
    """Set the clock forward."""
    front.lua("_G.ms = _G.ms + ...", ms)


def shown_ms(front: Editor, id: int | str) -> int | None:
    """Return the milliseconds that a question has been on the screen."""
    found: int | None = front.lua(
        "return require('acp.features.permissions.answer_rule').shown_ms(...)", id
    )
    return found


def wait_drawn(front: Editor, id: int | str) -> None:
    """Wait until a question is on the screen."""
    front.wait("require('acp.features.permissions.answer_rule').shown_ms(...) ~= nil", id)


def wait_message(front: Editor, text: str) -> None:
    """Wait until this is the last message."""
    front.wait("(_G.notified[#_G.notified] or {})[1] == ...", text)


def assert_refused(front: Editor, text: str = NEW) -> None:
    """Wait until this is the last message, and check that nothing has been answered."""
    wait_message(front, text)
    assert sent(front) == []
    front.lua("_G.notified = {}")


def press(front: Editor, keys: str) -> None:
    """Run a command, or type keys."""
    if keys.startswith("Acp "):
        front.cmd(keys)
    else:
        front.keys(keys)


def assert_answers_at_second_press(front: Editor, keys: str, id: str = "p1") -> None:
    """Check that a question that was not seen is shown by a press, and answered 400 ms later."""
    press(front, keys)
    assert_refused(front)
    front.wait_screen(f"decision {id}")
    wait_drawn(front, id)
    advance(front, 400)
    press(front, keys)
    assert last(front)[1]["id"] == id


def assert_answers_after_400_ms(front: Editor, keys: str, id: str = "p1") -> None:
    """Check that a press answers a question once it has been on the screen for 400 ms."""
    wait_drawn(front, id)
    advance(front, 399)
    press(front, keys)
    assert_refused(front)
    advance(front, 400)
    press(front, keys)
    assert last(front)[1]["id"] == id


def draw_rows(front: Editor, first: int, end: int, *ids: str) -> None:
    """Replace rows of the chat with cards of one row each, or text."""
    front.lua(ROWS, first, end, ids)
