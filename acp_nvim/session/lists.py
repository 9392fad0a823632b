"""Bounds of the lists that agents send. Agents may list any number of things; nobody reads more,
and each costs memory here and in Neovim.
"""

from __future__ import annotations

from typing import Final

LISTED: Final = 1000
"""The most entries kept of a list: of a plan, commands, modes, options and their values."""
ITEMS: Final = 200
"""The most parts drawn of one tool call: blocks of its content, its locations."""
OPTIONS: Final = 50
"""The most options shown of a question."""
NEWEST: Final = 200
"""Number of the newest tool calls, terminals and subagents in the state; at times `STEP` more. So
many subagents have chats of their own.
"""
STEP: Final = 50


def dropped(count: int) -> int:
    """Return how many of `count` items, the oldest ones, are no longer in the state."""
    return max(count - NEWEST, 0) // STEP * STEP


def more(left: int) -> str:
    """Return the row below a list that is cut."""
    return f"… and {left:,} more"
