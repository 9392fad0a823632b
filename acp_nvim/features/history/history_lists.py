"""Sessions of the history: list them, show them as chats, continue them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from acp_nvim.render.text import one_line

if TYPE_CHECKING:
    from acp_nvim.history.search import Kept, Used

MINUTE, HOUR, DAY = 60, 3600, 86_400
DAYS: Final = 30
"""Largest age in days that is not shown as a date."""


def name(kept: Kept) -> str:
    """Return the title of a session."""
    return one_line(kept.title, 100) or f"untitled {kept.id}"


def label(kept: Kept, cwd: str, now: float) -> str:
    """Return the line of a session in a list: title, agent, directory, age and matching line."""
    facts = [kept.agent, _place(kept.cwd, cwd), age(now - kept.updated, kept.updated)]
    line = one_line(kept.line, 120)
    known = name(kept)
    said = f"  {line}" if line and line not in known else ""
    return f"{known}  ({', '.join(fact for fact in facts if fact)}){said}"


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


def statistics(used: Sequence[Used]) -> list[str]:
    """Return the table of tokens and cost by day and agent, newest first, then sums by agent."""
    rows = [("day", "agent", "prompts", "tokens", "cost")]
    for day, agent in dict.fromkeys((it.day, it.agent) for it in used):
        of_day = [it for it in used if (it.day, it.agent) == (day, agent)]
        rows += [(day, agent, *sums) for sums in _by_currency(of_day)]
    for agent in sorted({it.agent for it in used}):
        mine = [it for it in used if it.agent == agent]
        rows += [("all", agent, *sums) for sums in _by_currency(mine)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(_cells(row, widths)).rstrip() for row in rows]


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Align texts to the left and numbers to the right."""
    aligned = zip(row, widths, strict=True)
    return [
        cell.ljust(width) if at < 2 else cell.rjust(width)
        for at, (cell, width) in enumerate(aligned)
    ]


def _by_currency(used: Sequence[Used]) -> list[tuple[str, str, str]]:
    """Return the sums for each currency. Use without a cost counts with the first currency."""
    currencies = sorted({it.currency for it in used} - {""}) or [""]
    parts = [[it for it in used if it.currency == currency] for currency in currencies]
    if currencies[0]:
        parts[0] += [it for it in used if not it.currency]
    return [_sums(part, currency) for part, currency in zip(parts, currencies, strict=True)]


def _sums(used: Sequence[Used], currency: str) -> tuple[str, str, str]:
    cost = sum(it.cost for it in used)
    price = f"{cost:.2f} {currency}" if currency else ""
    tokens = sum(it.tokens for it in used)
    return f"{sum(it.prompts for it in used):,}", f"{tokens:,}" if tokens else "", price


def item(kept: Kept, cwd: str, now: float) -> dict[str, Any]:
    """Return a session for Lua: `{id, label, title, agent, cwd, updated, line, preview}`."""
    return {
        "id": kept.id,
        "label": label(kept, cwd, now),
        "title": name(kept),
        "agent": kept.agent,
        "cwd": kept.cwd,
        "updated": kept.updated,
        "line": kept.line,
        "preview": [
            f"{name(kept)}  ({kept.agent})",
            f"{kept.cwd}  {time.strftime('%Y-%m-%d %H:%M', time.localtime(kept.updated))}",
            "",
            *kept.excerpt.split("\n"),
        ],
    }
