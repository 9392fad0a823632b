"""Output of the terminals that are shown in windows, sent with the frames.

A new window first gets the earlier output. If a window cannot keep up, output in the middle is
omitted, never the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from acp_nvim.features.terminals import words
from acp_nvim.render.batch import Op
from acp_nvim.session.output.terminal import Terminal

SLOWNESS: Final = 8
"""Factor by which Neovim's terminal is slower than a chat."""
CLEARED: Final = "\x1b[0m\x1b[H\x1b[2J\x1b[3J"
"""Sequence that clears a terminal whose output was replaced."""
ENDED: Final = "ended"
MIN_BYTES: Final = 2 << 10
MAX_BYTES: Final = 32 << 10
"""Minimum and maximum number of bytes that one terminal may send in one frame."""
MAX_LAG: Final = 64 << 10
TAIL: Final = 16 << 10
"""A window that is more than `MAX_LAG` bytes behind continues `TAIL` bytes before the end."""


class _View(Struct):
    terminal: Terminal
    sent: int = 0
    is_shown: bool = True
    has_ended: bool = False
    resets: int = 0


class TerminalViews:
    """Terminal buffers in Neovim, by session number and terminal id."""

    def __init__(self, find: Callable[[int, str], Terminal | None]) -> None:
        self._find = find
        self._views: dict[tuple[int, str], _View] = {}

    def show(self, n: int, id: str, *, fresh: bool) -> bool:
        """Start sending a terminal's output. Return False if there is no such terminal.

        `fresh` means that the buffer is new and empty.
        """
        terminal = self._find(n, id)
        if terminal is None:
            return False
        view = self._views.get((n, id))
        if fresh or view is None:
            view = self._views[n, id] = _View(terminal)
        view.is_shown = True
        return True

    def hide(self, n: int, id: str) -> None:
        """Stop sending output, because no window shows the terminal's buffer."""
        view = self._views.get((n, id))
        if view is not None:
            view.is_shown = False

    def forget(self, n: int, id: str) -> None:
        """Remove a terminal whose buffer was deleted."""
        self._views.pop((n, id), None)

    def collect(self, budget: int) -> tuple[list[Op], bool]:
        """Return the operations for the next frame, and whether there is more output.

        `budget` is the size of the frame in chat characters. Terminal output costs `SLOWNESS` times
        as much.
        """
        ops: list[Op] = []
        has_more = False
        limit = min(max(budget // SLOWNESS, MIN_BYTES), MAX_BYTES)
        for (n, id), view in self._views.items():
            if not view.is_shown:
                continue
            text = _next_output(view, limit)
            if text:
                ops.append(["terminal", n, id, text])
            has_more = has_more or view.sent < view.terminal.replay.end
        return ops, has_more


def _next_output(view: _View, limit: int) -> str:
    """Return the next output for a view, with notes on omitted output and on the end."""
    terminal, replay = view.terminal, view.terminal.replay
    text = ""
    if view.has_ended and terminal.running:
        view.has_ended = False
    if view.resets != terminal.resets:
        view.resets, view.has_ended = terminal.resets, False
        text += CLEARED if view.sent else ""
        view.sent = max(view.sent, replay.start)
    if replay.end - view.sent > MAX_LAG and view.sent > 0:
        tail = replay.line_after(replay.end - TAIL)
        text += _note(words.PART_BYTES_LEFT_OUT.format(count=tail - view.sent))
        view.sent = tail
    if view.sent < replay.end:
        part, view.sent = replay.since(view.sent, limit)
        text += part
    if not terminal.running and not view.has_ended and view.sent == replay.end:
        view.has_ended = True
        text += _note(terminal.ended or ENDED)
    return text


def _note(text: str) -> str:
    return f"\x1b[0m\r\n\x1b[2m[{text}]\x1b[0m\r\n"
