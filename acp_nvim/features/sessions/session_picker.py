"""Open sessions and sessions that agents have stored, in one list, and their actions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import cast

import anyio

from acp_nvim.agent.agents import UnknownAgent
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify
from acp_nvim.agent.opening.origin import Origin, OriginKind
from acp_nvim.agent.opening.stored import SESSIONS, Stored, list_stored, merge_lists
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.app import Host
from acp_nvim.features.sessions import words
from acp_nvim.host.transcripts import UnreadableError
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError
from acp_nvim.protocol.refusals import needs_login
from acp_nvim.render.calls.tools import Style
from acp_nvim.render.entry_rows import fork_history
from acp_nvim.render.text import home_path, one_line
from acp_nvim.session import options
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Entry as TranscriptEntry
from acp_nvim.session.transcript.restored import hidden_session

START_S = 15.0
"""Seconds that an agent may take to start and list its sessions."""
LIST_S = 3.0
"""Seconds that a running agent may take to list its sessions. It may be busy with a prompt."""
STATUS_S = 2.0

Entry = Conversation | Stored


# -- open and stored sessions --------------------------------------------------------------------


def open_conversations(host: Host) -> list[Conversation]:
    """Return the open sessions, the most recently used first."""
    conversations = host.sessions.conversations.values()
    is_open = (c for c in conversations if c.session.status != "closed")
    return sorted(is_open, key=lambda c: c.used, reverse=True)


async def stored_sessions(host: Host, cwd: str) -> list[Stored]:
    """Return the sessions that agents have stored or that are in the index, except open ones.

    Give open sessions without a title the titles in the agents' lists.
    """
    lists: list[list[Stored]] = []
    async with anyio.create_task_group() as group:
        for agent in _agents_to_ask(host):
            group.start_soon(_list_sessions_of, host, agent, lists)
    remembered = host.sessions.index.read().entries() if host.sessions.index is not None else []
    known = {(c.session.agent, _agent_id(c)) for c in open_conversations(host)}
    merged = merge_lists(lists, remembered, cwd)
    _set_titles(host, lists)
    return [
        stored
        for stored in merged
        if (stored.agent, stored.id) not in known and _is_configured(host, stored)
    ]


def _agent_id(conversation: Conversation) -> str:
    """Return the agent's id of a session, even if it is still being loaded or resumed."""
    session = conversation.session
    return session.id or (session.opening_id if session.status == "starting" else "")


def _set_titles(host: Host, lists: Sequence[list[Stored]]) -> None:
    """Give open sessions without a title the title under which their agents list them."""
    titles = {(stored.agent, stored.id): stored.title for sessions in lists for stored in sessions}
    for conversation in open_conversations(host):
        session = conversation.session
        title = titles.get((session.agent, session.id))
        if title and not session.title:
            session.title = title
            session.change("title")


def _is_configured(host: Host, stored: Stored) -> bool:
    try:
        return host.options.spec(stored.agent) is not None
    except UnknownAgent:
        return False


def _agents_to_ask(host: Host) -> list[str]:
    """Return the agents to ask: the running ones, and the default one, which is started."""
    running = [name for name, agent in host.agents.connections.items() if agent.is_alive]
    return list(dict.fromkeys([host.sessions.agent_name(None), *running]))


async def _list_sessions_of(host: Host, agent: str, lists: list[list[Stored]]) -> None:
    """Add the sessions of an agent. Report its errors, so that other agents are still listed."""
    running = host.agents.connections.get(agent)
    limit = LIST_S if running is not None and running.status == "ready" else START_S
    try:
        with anyio.fail_after(limit):
            lists.append(await _list_agent_sessions(host, agent))
    except (RequestError, ConnectionClosed, RemoteProtocolError, UnknownAgent) as error:
        host.echo("warn", words.SESSIONS_NOT_LISTED.format(agent=agent, reason=error))
    except TimeoutError:
        host.echo("warn", words.SESSIONS_LATE.format(agent=agent, seconds=limit))


async def _list_agent_sessions(host: Host, agent: str) -> list[Stored]:
    """Return an agent's stored sessions. Log in as configured if it requires that."""
    connection = await host.agents.get(agent)
    if not connection.is_alive:
        host.echo("warn", connection.error or connection.exit_summary())
        return []
    if not connection.agent.session_capabilities.list:
        return []
    try:
        sessions = await list_stored(agent, connection.agent)
        if len(sessions) >= SESSIONS:
            host.echo("info", words.SESSIONS_MANY.format(agent=agent, count=SESSIONS))
        return sessions
    except RequestError as error:
        if not needs_login(error):
            raise
        if await connection.login.try_configured():
            return await list_stored(agent, connection.agent)
        notify(host.observers.on_login_needed, connection, None)
        return []


def waits_for_login(host: Host) -> bool:
    """Return whether the default agent requires a login."""
    connection = host.agents.connections.get(host.sessions.agent_name(None))
    return connection is not None and connection.status == "auth_required"


# -- lists ---------------------------------------------------------------------------------------


def display_title(entry: Entry) -> str:
    """Return the title of a session for display."""
    if isinstance(entry, Stored):
        return one_line(entry.title, 100) or f"untitled {entry.id[-8:]}"
    session = entry.session
    return one_line(session.title or session.topic, 100) or f"session {session.n}"


def label(entry: Entry, cwd: str) -> str:
    """Return the line of a session in a list: title, agent, directory, and time or status."""
    if isinstance(entry, Stored):
        facts = [entry.agent, _directory_text(entry.cwd, cwd), _format_time(entry.time)]
        facts += ["archived"] if entry.archived else []
    else:
        session = entry.session
        facts = [session.agent, _directory_text(session.cwd, cwd), _state(session)]
    return f"{display_title(entry)}  ({', '.join(fact for fact in facts if fact)})"


_BUSY = ("starting", "running", "cancelling")


def _state(session: Session) -> str:
    """Return the status of an open session with its questions: `● running · 1 question`."""
    parts = [f"{'●' if session.status in _BUSY else '○'} {session.status}"]
    questions = len(list(session.decisions))
    if questions:
        parts.append(f"{questions} question{'' if questions == 1 else 's'}")
    if session.queue:
        parts.append(f"{len(session.queue)} queued")
    return " · ".join(parts)


def _directory_text(path: str, cwd: str) -> str:
    """Return a directory for display, or an empty string for the current one."""
    return "" if path == cwd else home_path(path)


def _format_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds)) if seconds > 0 else ""


# -- actions -------------------------------------------------------------------------------------


async def _connection(host: Host, entry: Entry) -> Connection | None:
    """Return the connection of an entry's agent. The agent of a stored session is started."""
    if isinstance(entry, Conversation):
        return entry.connection if entry.is_open else None
    connection = await host.agents.get(entry.agent)
    if not connection.is_alive:
        host.echo("error", connection.error or connection.exit_summary())
        return None
    return connection


async def actions(host: Host, entry: Entry) -> list[str]:
    """Return the names of the possible actions, the most likely first."""
    connection = await _connection(host, entry)
    if isinstance(entry, Conversation):
        first, last = ["open"], ["rename", "close"]
    else:
        first, last = _open_actions(connection), []
    if connection is None:
        return first + last
    offered = connection.agent.session_capabilities
    more = [*(["fork"] if offered.fork else []), *last]
    if isinstance(entry, Stored) and offered.title:
        more.append("rename")
    if offered.delete:
        more.append("delete")
    if offered.archive:
        more.append("unarchive" if isinstance(entry, Stored) and entry.archived else "archive")
    return first + more


def _open_actions(connection: Connection | None) -> list[str]:
    if connection is None:
        return []
    agent = connection.agent
    actions = ["load"] if agent.capabilities.load_session is True else []
    return [*actions, "resume"] if agent.session_capabilities.resume else actions


async def status(host: Host, entry: Entry) -> str:
    """Return the status of a session (`open`, `saved`), with the model of a stored one.

    Either is omitted if the agent does not report it (rfds/session-status, rfds/session-options).
    """
    connection = await _connection(host, entry)
    if connection is None:
        return ""
    parts = [await _status(connection, entry)]
    if isinstance(entry, Stored):
        parts.append(await _model(connection, entry))
    return ", ".join(filter(None, parts))


async def _model(connection: Connection, entry: Stored) -> str:
    if not connection.agent.session_capabilities.options:
        return ""
    try:
        with anyio.move_on_after(STATUS_S):
            response = await connection.agent.session_options(entry.cwd, entry.id)
            return one_line(options.model_name_in(response.config_options or ()), 40)
    except (RequestError, RemoteProtocolError, ConnectionClosed) as error:
        connection.warnings.count("session/options failed", str(error))
    return ""


async def _status(connection: Connection, entry: Entry) -> str:
    if not connection.agent.session_capabilities.status:
        return ""
    try:
        with anyio.move_on_after(STATUS_S):
            return one_line(await connection.agent.session_status(_session_id(entry)), 20)
    except (RequestError, RemoteProtocolError, ConnectionClosed) as error:
        connection.warnings.count("session/status failed", str(error))
    return ""


def _session_id(entry: Entry) -> str:
    return entry.id if isinstance(entry, Stored) else entry.session.id


async def run_action(host: Host, entry: Entry, action: str) -> None:
    """Run the chosen action. Raise the agent's errors."""
    match action:
        case "open" if isinstance(entry, Conversation):
            host.sessions.show(entry)
        case "load" | "resume" | "fork":
            await _reopen(host, entry, cast("OriginKind", action))
        case "rename":
            await _rename(host, entry)
        case "close" if isinstance(entry, Conversation):
            await _close(host, entry)
        case "delete":
            await _delete(host, entry)
        case "archive" | "unarchive":
            await _archive(host, entry, action == "archive")


async def _reopen(host: Host, entry: Entry, kind: OriginKind) -> None:
    """Create a session that loads, resumes or forks a session of the agent."""
    entries = () if kind == "load" else await _stored_entries(host, entry)
    title = display_title(entry) if isinstance(entry, Conversation) else entry.title or None
    cwd = entry.cwd if isinstance(entry, Stored) else entry.session.cwd
    agent = entry.agent if isinstance(entry, Stored) else entry.session.agent
    origin = Origin(
        kind, _session_id(entry), entries=partial(_known_transcript, host, entry, entries)
    )
    conversation = host.sessions.new(cwd, agent, origin, title, preset=_preset(host, entry))
    conversation.session.opening_id = "" if kind == "fork" else origin.id
    host.sessions.show(conversation)
    conversation.open()


def _preset(host: Host, entry: Entry) -> str | None:
    if isinstance(entry, Stored):
        return host.sessions.preset_of(entry.agent, entry.id)
    return entry.session.preset


async def _stored_entries(host: Host, entry: Entry) -> Sequence[TranscriptEntry]:
    """Return the entries of a stored session in the history, if it was not open here."""
    if isinstance(entry, Conversation) or _last_closed(host, entry) is not None:
        return ()
    try:
        stored = await host.transcripts.read("session_of", "", entry.agent, entry.id)
        return () if stored is None else await host.transcripts.read("entries", stored.id) or ()
    except UnreadableError as error:
        host.echo("warn", str(error))
        return ()


def _known_transcript(
    host: Host, entry: Entry, entries: Sequence[TranscriptEntry]
) -> Sequence[TranscriptEntry]:
    """Return the known transcript of a session that is forked or reopened.

    It comes from the session itself if that is or was open here, else from `entries`.
    """
    known = entry if isinstance(entry, Conversation) else _last_closed(host, entry)
    if known is not None:
        source = known.session
    else:
        assert isinstance(entry, Stored)
        source = hidden_session(entry.agent, entry.cwd, entries)
    return fork_history(source, Style(host.settings().chat.tool_lines, source.cwd))


def _last_closed(host: Host, entry: Stored) -> Conversation | None:
    """Return the most recently used closed session with this id."""
    key = (entry.agent, entry.id)
    closed = [c for c in host.sessions.conversations.values() if c.session.status == "closed"]
    same = [c for c in closed if (c.session.agent, c.session.id) == key]
    return max(same, key=lambda c: c.used, default=None)


async def _rename(host: Host, entry: Entry) -> None:
    """Ask for a title and set it.

    An agent that supports titles stores the title, and may change it. Otherwise, only this plugin
    stores it.
    """
    text = await host.ask_text("Title: ", display_title(entry))
    if not text:
        return
    connection = await _connection(host, entry)
    if connection is not None and connection.agent.session_capabilities.title:
        text = await _set_title(connection, entry, text)
    if isinstance(entry, Conversation):
        entry.session.title = text
        entry.session.change("title")
        entry.store()
    elif host.sessions.index is not None:
        host.sessions.index.remember(entry.agent, entry.id, entry.cwd, text)


async def _set_title(connection: Connection, entry: Entry, text: str) -> str:
    if isinstance(entry, Stored):
        return await connection.agent.set_title(entry.id, text)
    session = entry.session
    return await entry.call(lambda agent: agent.set_title(session.id, text))


async def _close(host: Host, conversation: Conversation) -> None:
    host.sessions.leave(conversation.session.n)
    await conversation.close()


async def _delete(host: Host, entry: Entry) -> None:
    """Close a session and delete it at its agent, even if the agent refuses to close it."""
    connection = await _connection(host, entry)
    if connection is None:
        return
    if isinstance(entry, Conversation):
        try:
            await _close(host, entry)
        except RequestError as error:
            connection.warnings.count("session/close refused", str(error))
    await connection.agent.delete_session(_session_id(entry))
    if host.sessions.index is not None:
        host.sessions.index.forget(connection.name, _session_id(entry))
    host.echo("info", words.SESSION_DELETED.format(session=display_title(entry)))


async def _archive(host: Host, entry: Entry, archived: bool) -> None:
    connection = await _connection(host, entry)
    if connection is not None:
        await connection.agent.archive_session(_session_id(entry), archived)
        done = words.SESSION_ARCHIVED if archived else words.SESSION_UNARCHIVED
        host.echo("info", done.format(session=display_title(entry)))
