"""Stored sessions as lines of a list."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from acp_nvim.render.text import one_line

if TYPE_CHECKING:
    from acp_nvim.history.search import StoredSession

MINUTE, HOUR, DAY = 60, 3600, 86_400
DAYS: Final = 30
"""Largest age in days that is not shown as a date."""


def name(stored: StoredSession) -> str:
    """Return the title of a session."""
    return one_line(stored.title, 100) or f"untitled {stored.id}"


def label(stored: StoredSession, cwd: str, now: float) -> str:
    """Return the line of a session in a list: title, agent, directory, age and matching line."""
    facts = [stored.agent, _place(stored.cwd, cwd), age(now - stored.updated, stored.updated)]
    line = one_line(stored.line, 120)
    known = name(stored)
    match = f"  {line}" if line and line not in known else ""
    return f"{known}  ({', '.join(fact for fact in facts if fact)}){match}"


def age(seconds: float, then: float) -> str:
    """Return an age as a text. It may be negative if the clock was set back."""
    if seconds < MINUTE:
        return "now"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min ago"
    if seconds < DAY:
        return f"{seconds // HOUR:.0f} h ago"
    if seconds < DAYS * DAY:
        return f"{seconds // DAY:.0f} d ago"
    return time.strftime("%Y-%m-%d", time.localtime(then))


def _place(path: str, cwd: str) -> str:
    """Return a directory for display, or an empty text for the current one."""
    home = str(Path.home())
    if path == cwd:
        return ""
    return "~" + path[len(home) :] if path.startswith(home + "/") else path


def item(stored: StoredSession, cwd: str, now: float) -> dict[str, Any]:
    """Return a session for Lua: `{id, label, title, agent, cwd, updated, line, preview}`."""
    return {
        "id": stored.id,
        "label": label(stored, cwd, now),
        "title": name(stored),
        "agent": stored.agent,
        "cwd": stored.cwd,
        "updated": stored.updated,
        "line": stored.line,
        "preview": [
            f"{name(stored)}  ({stored.agent})",
            f"{stored.cwd}  {time.strftime('%Y-%m-%d %H:%M', time.localtime(stored.updated))}",
            "",
            *stored.excerpt.split("\n"),
        ],
    }
