"""Sessions of the history: list them, show them as chats, continue them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from acp_nvim import wording
from acp_nvim.agent.agents import UnknownAgent
from acp_nvim.agent.opening.session_setup import NEW, Origin
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.app import Host
from acp_nvim.features.sessions.session_picker import show
from acp_nvim.protocol import schema
from acp_nvim.render.text import one_line
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Entry
from acp_nvim.session.transcript.restored import restore

if TYPE_CHECKING:
    from acp_nvim.history.search import Kept, Used

MINUTE, HOUR, DAY = 60, 3600, 86_400
DAYS: Final = 30
"""Largest age in days that is not shown as a date."""


# -- lists ---------------------------------------------------------------------------------------


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


# -- chats ----------------------------------------------------------------------------------------


def opened(host: Host, kept: Kept) -> Conversation | None:
    """Return the session of a record if it is open in this Neovim."""
    for conversation in host.sessions.conversations.values():
        session = conversation.session
        same = bool(kept.agent_id) and (session.agent, session.id) == (kept.agent, kept.agent_id)
        if session.status != "closed" and (host.history.uid(session) == kept.uid or same):
            return conversation
    return None


def read_only(host: Host, kept: Kept, entries: Sequence[Entry]) -> Conversation:
    """Show a stored session as a read-only chat, and return it. A prompt there continues it."""
    there = host.history.chat_of(kept)
    if there is not None and host.history.is_shown_whole(there, kept):
        show(host, host.sessions.conversations[there])
        return host.sessions.conversations[there]
    session = host.sessions.closed(kept.agent, kept.cwd, kept.title)
    host.history.show(session, kept)
    host.sessions.take_up(session, NEW, None)
    session.id = kept.agent_id
    _restore(session, kept, entries)
    show(host, host.sessions.conversations[session.n])
    return host.sessions.conversations[session.n]


async def open_kept_child(host: Host, kept: Kept, session_id: str) -> None:
    """Show the read-only chat of a subagent of a stored session."""
    children: Sequence[Kept] = await host.history.read("children", kept.id) or ()
    child = next((one for one in children if one.agent_id == session_id), None)
    if child is None:
        host.echo("info", wording.SUBAGENT_UNKNOWN)
    else:
        read_only(host, child, await host.history.read("entries", child.id))


def go_on(host: Host, kept: Kept, entries: Sequence[Entry]) -> Conversation:
    """Continue a stored session in a chat that begins with its transcript.

    The agent resumes or loads it if possible. Otherwise a new session gets the transcript.
    """
    agent = _agent(host, kept)
    origin = Origin("again", tells=True)
    conversation = host.sessions.new(kept.cwd, agent, origin, kept.title or None)
    session = conversation.session
    session.id = kept.agent_id if agent is not None else ""
    _restore(session, kept, entries)
    host.earlier_prompts.take_up(session, kept.agent_id, kept.uid)
    host.history.follow(session, kept.id, len(session.transcript.entries))
    host.screen.push("open_chat", session.n, host.history.chat_of(kept))
    conversation.open()
    return conversation


def _restore(session: Session, kept: Kept, entries: Sequence[Entry]) -> None:
    """Put stored entries and usage into an empty session."""
    restore(session, entries)
    if kept.used is not None and kept.size is not None:
        cost = None
        if kept.cost is not None and kept.currency:
            cost = schema.Cost(kept.cost, kept.currency)
        session.usage = schema.UsageUpdate(kept.used, kept.size, cost)
        session.change("usage")


def _agent(host: Host, kept: Kept) -> str | None:
    """Return the agent of a session, or None if it is no longer configured."""
    try:
        return kept.agent if host.options.spec(kept.agent) is not None else None
    except UnknownAgent:
        return None


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
