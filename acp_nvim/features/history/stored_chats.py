"""Chats of stored sessions: read-only ones, and new ones that continue a stored session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acp_nvim import wording
from acp_nvim.agent.agents import UnknownAgent
from acp_nvim.agent.notify import notify
from acp_nvim.agent.opening.origin import NEW, Origin
from acp_nvim.agent.prompts.conversation import Conversation
from acp_nvim.features.history.history import History
from acp_nvim.host.transcripts import Transcripts
from acp_nvim.protocol import schema
from acp_nvim.session.session import Session
from acp_nvim.session.transcript.entries import Entry

if TYPE_CHECKING:
    from acp_nvim.app import Host
    from acp_nvim.history.search import StoredSession


class StoredChats(Transcripts):
    """Access to the transcripts in the history, and the chats of this host that show them."""

    def __init__(self, host: Host, history: History) -> None:
        super().__init__(host.echo)
        self.history = history
        self._host = host
        self._shown: dict[int, StoredSession] = {}
        """Stored sessions of the read-only chats, by session number."""

    @property
    def enabled(self) -> bool:
        return self.history.enabled

    async def read(self, query: str, *args: Any) -> Any:
        return await self.history.read(query, *args)

    def follow(self, session: Session, recorded: int) -> None:
        self.history.follow(session, None, recorded)

    def stored_of(self, session: Session) -> StoredSession | None:
        return self._shown.get(session.n)

    def open_conversation(self, stored: StoredSession) -> Conversation | None:
        """Return the session of a record if it is open in this Neovim."""
        for conversation in self._host.sessions.conversations.values():
            session = conversation.session
            is_same = bool(stored.agent_id) and (session.agent, session.id) == (
                stored.agent,
                stored.agent_id,
            )
            if session.status != "closed" and (self.history.uid(session) == stored.uid or is_same):
                return conversation
        return None

    async def open(self, stored: StoredSession) -> Conversation | None:
        conversation = self.open_conversation(stored)
        if conversation is not None:
            self._host.sessions.show(conversation)
            return conversation
        entries: Sequence[Entry] | None = await self.ask("entries", stored.id)
        return self._show_read_only(stored, entries) if entries else None

    async def open_child(self, stored: StoredSession, session_id: str) -> None:
        children: Sequence[StoredSession] = await self.read("children", stored.id) or ()
        child = next((session for session in children if session.agent_id == session_id), None)
        if child is None:
            self._host.echo("info", wording.SUBAGENT_UNKNOWN)
        else:
            self._show_read_only(child, await self.read("entries", child.id) or ())

    def _show_read_only(self, stored: StoredSession, entries: Sequence[Entry]) -> Conversation:
        """Show a stored session in a read-only chat, unless a chat already shows all of it."""
        sessions, n = self._host.sessions, self._chat_of(stored)
        if n is None or self._shown[n].updated != stored.updated:
            session = sessions.new_closed(stored.agent, stored.cwd, stored.title)
            n = session.n
            self._shown[n] = stored
            self.history.ignore(session)
            sessions.add(session, NEW, None)
            session.id = stored.agent_id
            _restore(session, stored, entries)
        sessions.show(sessions.conversations[n])
        return sessions.conversations[n]

    def _chat_of(self, stored: StoredSession) -> int | None:
        """Return the number of the newest read-only chat of a stored session."""
        return next((n for n in reversed(self._shown) if self._shown[n].id == stored.id), None)

    def continue_chat(self, chat: Conversation) -> Conversation | None:
        stored = self._shown.get(chat.session.n)
        if stored is None:
            return None
        return self.continue_session(stored, list(chat.session.transcript.entries))

    def continue_session(self, stored: StoredSession, entries: Sequence[Entry]) -> Conversation:
        """Continue a stored session in a chat that begins with its transcript.

        The agent resumes or loads it if possible. Otherwise a new session gets the transcript.
        """
        host, agent = self._host, self._configured_agent(stored)
        origin = Origin("reopen", hands_over=True)
        preset = host.sessions.preset_of(stored.agent, stored.agent_id) if agent else None
        title = stored.title or None
        conversation = host.sessions.new(stored.cwd, agent, origin, title, preset=preset)
        session = conversation.session
        session.id = stored.agent_id if agent is not None else ""
        _restore(session, stored, entries)
        notify(host.observers.on_continued, session, stored.agent_id, stored.uid)
        self.history.follow(session, stored.id, len(session.transcript.entries))
        host.screen.push("choose_chat", session.n, self._chat_of(stored))
        conversation.open()
        return conversation

    def _configured_agent(self, stored: StoredSession) -> str | None:
        """Return the agent of a session, or None if it is no longer configured."""
        try:
            return stored.agent if self._host.options.spec(stored.agent) is not None else None
        except UnknownAgent:
            return None


def _restore(session: Session, stored: StoredSession, entries: Sequence[Entry]) -> None:
    """Put stored entries and usage into an empty session."""
    from acp_nvim.session.transcript.restored import restore

    restore(session, entries)
    if stored.used is not None and stored.size is not None:
        cost = None
        if stored.cost is not None and stored.currency:
            cost = schema.Cost(stored.cost, stored.currency)
        session.usage = schema.UsageUpdate(stored.used, stored.size, cost)
        session.change("usage")
