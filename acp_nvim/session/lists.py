"""How much of what is listed is kept and shown. An agent may list any number of things; nobody
reads more, and each costs memory here and in Neovim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from acp_nvim.session.session import Session

T = TypeVar("T")

LISTED: Final = 1000
"""Entries of a list that are kept: of a plan, commands, modes, options and their values."""
ITEMS: Final = 200
"""Parts of one tool call that are drawn: blocks of its content, its locations."""
OPTIONS: Final = 50
"""Options of a question that are shown."""
NEWEST: Final = 200
"""Of tool calls and terminals so many are in the state, the newest ones; `STEP` more at times."""
STEP: Final = 50


def kept(session: Session, name: str, items: Sequence[T], most: int = LISTED) -> tuple[T, ...]:
    """Return what is kept of a list of the session's state. How much is left out stands in `more`;
    that there is too much is told when it begins.
    """
    left = max(len(items) - most, 0)
    before = session.cut.get(name, 0)
    if left != before:
        session.cut[name] = left
        session.change("more")
    if left and not before:
        title = f"{name}: the first {most:,} of {len(items):,} are shown"
        session.notice("warning", title)
        session.event("AcpNotice", severity="warning", title=title)
    return tuple(items[:most])


def dropped(count: int) -> int:
    """How many of so many things that come one after the other are no longer in the state."""
    return max(count - NEWEST, 0) // STEP * STEP


def more(left: int) -> str:
    """What stands below a list that is cut."""
    return f"… and {left:,} more"
