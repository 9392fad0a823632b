"""Verbs for the history: search it, and open, continue, export or delete its sessions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from acp_nvim import wording
from acp_nvim.app import Host
from acp_nvim.features.history import words
from acp_nvim.features.history.statistics import statistics
from acp_nvim.features.history.stored_chats import StoredChats
from acp_nvim.host.exports import write_lines
from acp_nvim.protocol.text import clean_text
from acp_nvim.render.in_full import markdown_of
from acp_nvim.render.text import home_path, one_line
from acp_nvim.session.transcript.entries import Entry
from acp_nvim.verbs import Args, verb

if TYPE_CHECKING:
    from acp_nvim.history.search import StoredSession


ACTIONS = ("open", "continue", "export", "delete")
MINUTE, HOUR, DAY = 60, 3600, 86_400
DAYS: Final = 30
"""Sessions that are at least this many days old are listed with their date."""


@verb("history")
async def history(host: Host, args: Args) -> None:
    """Search the history, let the user pick a session and, without `action`, an action."""
    cwd, terms = clean_text(args["cwd"]), str(args.get("words") or "").strip()
    matches = await host.transcripts.ask("search", terms, cwd)
    if matches is None:
        return
    if not matches:
        message = words.HISTORY_NOT_FOUND if terms else wording.HISTORY_EMPTY
        host.echo("info", message.format(words=terms))
        return
    items = _items(matches, cwd)
    at = await host.choose("History", items, "history")
    if at is None:
        return
    action = args.get("action")
    if action is None:
        chosen = await host.choose(_title(matches[at]), ACTIONS, "history_action")
        action = None if chosen is None else ACTIONS[chosen]
    if action is not None:
        await _run_action(host, matches[at], str(action))


@verb("history_stats")
async def stats(host: Host, args: Args) -> None:
    """Show tokens and cost by agent and day."""
    used = await host.transcripts.ask("usage")
    if used is None:
        return
    if not used:
        host.echo("info", words.HISTORY_UNUSED)
        return
    host.screen.push("show", "acp://history-stats", "acpinfo", statistics(used))


@verb("history_ask")
async def ask(host: Host, args: Args) -> None:
    """Reply to the user's picker: sessions for `search`, lines for `preview`."""
    reply: object = []
    if "preview" in args:
        entries = await host.transcripts.ask("entries", int(args["preview"])) or []
        reply = markdown_of(entries)
    else:
        cwd = clean_text(args["cwd"])
        matches = await host.transcripts.ask("search", str(args.get("search") or ""), cwd) or []
        reply = _items(matches, cwd)
    host.screen.push("reply", args["id"], reply)


@verb("history_do")
async def do(host: Host, args: Args) -> None:
    """Run an action on the session of a record."""
    stored = await host.transcripts.ask("session", int(args["record"]))
    if stored is None:
        host.echo("info", wording.HISTORY_SESSION_MISSING)
    else:
        await _run_action(host, stored, str(args["action"]))


@verb("last_chat")
async def last_chat(host: Host, args: Args) -> None:
    """Offer the last stored session of a directory if no session is current."""
    cwd = clean_text(args["cwd"])
    chats = await host.transcripts.ask("search", "", cwd, silent=True) or ()
    last = next((stored for stored in chats[:1] if stored.cwd == cwd), None)
    if last is None:
        host.echo("info", wording.NO_SESSION)
        return
    items = _items([last], cwd)
    if await host.choose(words.LAST_CHAT, items, "last_chat") is not None:
        await host.transcripts.open(last)


async def _run_action(host: Host, stored: StoredSession, action: str) -> None:
    """Run the action that the user has chosen for a stored session."""
    chats = host.parts.get(StoredChats)
    conversation = chats.open_conversation(stored)
    if action == "delete":
        uid = chats.history.uid(conversation.session) if conversation is not None else None
        prompts = await host.transcripts.ask("own_prompts", stored.id)
        chats.history.delete(stored.id, uid)
        host.screen.push("forget_prompts", prompts or [])
        host.echo("info", words.HISTORY_DELETED.format(session=_title(stored)))
        return
    if action == "open":
        await chats.open(stored)
        return
    if conversation is not None and action == "continue":
        host.sessions.show(conversation)
        return
    entries: Sequence[Entry] | None = await host.transcripts.ask("entries", stored.id)
    if entries is None:
        return
    match action:
        case "continue":
            chats.continue_session(stored, entries)
        case "export":
            await _export(host, stored, entries)


async def _export(host: Host, stored: StoredSession, entries: Sequence[Entry]) -> None:
    """Write a session as Markdown to a file that the user names, or show it in a window."""
    lines = markdown_of(entries)
    name = await host.ask_text(words.HISTORY_EXPORT_TO)
    if name is None:
        return
    if not name.strip():
        host.screen.push("show", f"acp://export/history-{stored.id}", "markdown", lines)
        return
    path = _export_path(host, name.strip())
    if write_lines(host, path, lines):
        host.echo("info", wording.EXPORTED.format(path=path))


def _export_path(host: Host, name: str) -> Path:
    return Path(host.session_list.cwd) / Path(name).expanduser()


# -- stored sessions as lines of a list ------------------------------------------------------------


def _title(stored: StoredSession) -> str:
    """Return the title of a session."""
    return one_line(stored.title, 100) or f"untitled {stored.id}"


def _label(stored: StoredSession, cwd: str, now: float) -> str:
    """Return the line of a session in a list: title, agent, directory, age and matching line."""
    parts = [
        stored.agent,
        "" if stored.cwd == cwd else home_path(stored.cwd),
        _age_text(now - stored.updated, stored.updated),
    ]
    line = one_line(stored.line, 120)
    title = _title(stored)
    match = f"  {line}" if line and line not in title else ""
    return f"{title}  ({', '.join(part for part in parts if part)}){match}"


def _age_text(seconds: float, then: float) -> str:
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


def _items(sessions: Sequence[StoredSession], cwd: str) -> list[dict[str, Any]]:
    """Return sessions in the form that Lua expects."""
    return [
        _item(stored, label)
        for stored, label in zip(sessions, unique_labels(sessions, cwd), strict=True)
    ]


def unique_labels(sessions: Sequence[StoredSession], cwd: str) -> list[str]:
    """Return the lines of sessions in a list.

    Equal lines, for example after a rewind, get the start times. If those are equal too, for
    example after a race, they also get the session numbers.
    """
    now = time.time()
    labels = [_label(stored, cwd, now) for stored in sessions]
    for addition in (_start_text, lambda stored: f"#{stored.id}"):
        labels = [
            f"{label}  {addition(stored)}" if labels.count(label) > 1 else label
            for stored, label in zip(sessions, labels, strict=True)
        ]
    return labels


def _start_text(stored: StoredSession) -> str:
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(stored.started))
    return words.PART_STARTED.format(time=started)


def _item(stored: StoredSession, label: str) -> dict[str, Any]:
    """Return a session for Lua: `{id, label, title, agent, cwd, updated, line, preview}`."""
    return {
        "id": stored.id,
        "label": label,
        "title": _title(stored),
        "agent": stored.agent,
        "cwd": stored.cwd,
        "updated": stored.updated,
        "line": stored.line,
        "preview": [
            f"{_title(stored)}  ({stored.agent})",
            f"{stored.cwd}  {time.strftime('%Y-%m-%d %H:%M', time.localtime(stored.updated))}",
            "",
            *stored.excerpt.split("\n"),
        ],
    }
