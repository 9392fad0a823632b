"""Chats of stored sessions: query the history, show and continue its sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acp_nvim import wording
from acp_nvim.agent.agents import UnknownAgent
from acp_nvim.agent.opening.origin import NEW, Origin
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.app import Host
from acp_nvim.host.history import UnreadableError
from acp_nvim.protocol import schema
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Entry
from acp_nvim.session.transcript.restored import restore

if TYPE_CHECKING:
    from acp_nvim.history.search import StoredSession


async def read(host: Host, name: str, *args: object, silent: bool = False) -> Any:
    """Return the result of a history query, or None. Report errors unless `silent`."""
    try:
        found = await host.history.read(name, *args)
    except UnreadableError as error:
        if not silent:
            host.echo("warn", str(error))
        return None
    if found is None and not silent and name not in ("session", "author"):
        host.echo("info", wording.HISTORY_EMPTY if host.history.enabled else wording.HISTORY_OFF)
    return found


def opened(host: Host, stored: StoredSession) -> Conversation | None:
    """Return the session of a record if it is open in this Neovim."""
    for conversation in host.sessions.conversations.values():
        session = conversation.session
        same = bool(stored.agent_id) and (session.agent, session.id) == (
            stored.agent,
            stored.agent_id,
        )
        if session.status != "closed" and (host.history.uid(session) == stored.uid or same):
            return conversation
    return None


async def open_stored(host: Host, stored: StoredSession) -> None:
    """Show the open chat of a stored session, or a read-only one."""
    live = opened(host, stored)
    if live is not None:
        host.sessions.show(live)
        return
    entries: Sequence[Entry] | None = await read(host, "entries", stored.id)
    if entries is not None:
        read_only(host, stored, entries)


def read_only(host: Host, stored: StoredSession, entries: Sequence[Entry]) -> Conversation:
    """Show a stored session as a read-only chat, and return it. A prompt there continues it."""
    there = host.history.chat_of(stored)
    if there is not None and host.history.is_shown_whole(there, stored):
        host.sessions.show(host.sessions.conversations[there])
        return host.sessions.conversations[there]
    session = host.sessions.closed(stored.agent, stored.cwd, stored.title)
    host.history.show(session, stored)
    host.sessions.add(session, NEW, None)
    session.id = stored.agent_id
    _restore(session, stored, entries)
    host.sessions.show(host.sessions.conversations[session.n])
    return host.sessions.conversations[session.n]


async def open_stored_child(host: Host, stored: StoredSession, session_id: str) -> None:
    """Show the read-only chat of a subagent of a stored session."""
    children: Sequence[StoredSession] = await host.history.read("children", stored.id) or ()
    child = next((one for one in children if one.agent_id == session_id), None)
    if child is None:
        host.echo("info", wording.SUBAGENT_UNKNOWN)
    else:
        read_only(host, child, await host.history.read("entries", child.id))


def continue_session(host: Host, stored: StoredSession, entries: Sequence[Entry]) -> Conversation:
    """Continue a stored session in a chat that begins with its transcript.

    The agent resumes or loads it if possible. Otherwise a new session gets the transcript.
    """
    agent = _agent(host, stored)
    origin = Origin("reopen", hands_over=True)
    preset = host.sessions.preset_of(stored.agent, stored.agent_id) if agent else None
    conversation = host.sessions.new(stored.cwd, agent, origin, stored.title or None, preset=preset)
    session = conversation.session
    session.id = stored.agent_id if agent is not None else ""
    _restore(session, stored, entries)
    host.earlier_prompts.number_prompts(session, stored.agent_id, stored.uid)
    host.history.follow(session, stored.id, len(session.transcript.entries))
    host.screen.push("open_chat", session.n, host.history.chat_of(stored))
    conversation.open()
    return conversation


def _restore(session: Session, stored: StoredSession, entries: Sequence[Entry]) -> None:
    """Put stored entries and usage into an empty session."""
    restore(session, entries)
    if stored.used is not None and stored.size is not None:
        cost = None
        if stored.cost is not None and stored.currency:
            cost = schema.Cost(stored.cost, stored.currency)
        session.usage = schema.UsageUpdate(stored.used, stored.size, cost)
        session.change("usage")


def _agent(host: Host, stored: StoredSession) -> str | None:
    """Return the agent of a session, or None if it is no longer configured."""
    try:
        return stored.agent if host.options.spec(stored.agent) is not None else None
    except UnknownAgent:
        return None
