"""Limits for the lists that agents send.

Agents may send any number of items, and each costs memory here and in Neovim.
"""

from __future__ import annotations

from typing import Final

LISTED: Final = 1000
"""Maximum number of entries in a plan or in a list of commands, modes, options or values."""
ITEMS: Final = 200
"""Maximum number of drawn parts of one tool call: content blocks, locations."""
OPTIONS: Final = 50
"""Maximum number of options shown for a question."""
NEWEST: Final = 200
"""Number of newest tool calls, terminals and subagents in the state, or up to `STEP` more.

The same number of subagents have their own chats.
"""
STEP: Final = 50


def count_dropped(count: int) -> int:
    """Return how many of `count` items, the oldest ones, are no longer in the state."""
    return max(count - NEWEST, 0) // STEP * STEP


def more(hidden_count: int) -> str:
    """Return the row below a list that has been cut."""
    return f"… and {hidden_count:,} more"
