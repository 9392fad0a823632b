"""Recovery of a prompt whose session the agent has lost.

The session is opened again and the prompt is sent again, in the same turn.
"""

from __future__ import annotations

from typing import Any, Protocol

from acp_nvim import wording
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify
from acp_nvim.agent.observers import ConversationObservers
from acp_nvim.agent.opening.session_link import SessionLink
from acp_nvim.protocol.refusals import lost_session
from acp_nvim.session import queue, turns
from acp_nvim.session.prompts import Prompt


class Asks(Protocol):
    """Sender of the session's prompts."""

    def prepare(self, prompt: Prompt, connection: Connection) -> list[Any]:
        """Return the blocks of a prompt to send now. They are empty if it was given back."""
        ...

    async def ask(self, prompt: Prompt, connection: Connection, blocks: list[Any]) -> None:
        """Send a prompt to the agent and wait for the answer."""
        ...


class LostSession:
    """Recovery for one session."""

    def __init__(self, link: SessionLink, asks: Asks, observers: ConversationObservers) -> None:
        self._link = link
        self._asks = asks
        self._observers = observers
        self._asked_again: Prompt | None = None
        """The last prompt for which the session was opened again."""
        self._calls = 0
        """The number of tool calls before the running prompt."""

    def begin(self) -> None:
        """Note that a prompt is about to be sent."""
        self._calls = len(self._link.session.tool_calls)

    def is_meant(self, error: Exception, prompt: Prompt | None) -> bool:
        """Return whether an error means that the session is lost and its prompt should be sent
        again.

        A prompt is never sent again if it was sent twice, if the agent has inserted it by its id,
        or if it started a tool call.
        """
        session = self._link.session
        fresh = session.prompted is not None and self._asked_again is not prompt
        idle = len(session.tool_calls) == self._calls
        return lost_session(error) and fresh and idle and session.status == "running"

    async def ask_again(self, prompt: Prompt) -> None:
        """Open the session again and send it the prompt.

        Meanwhile the prompt is in the queue. It stays there if the session cannot be opened.
        """
        link, session = self._link, self._link.session
        self._asked_again = prompt
        queue.put_first(session, prompt)
        notify(self._observers.on_prompt_requeued, session, prompt)
        opened = await link.open_now()
        connection = link.connection
        if opened and connection is not None and queue.claim(session, prompt):
            turns.settle(session)
            blocks = self._asks.prepare(prompt, connection)
            if blocks:
                await self._asks.ask(prompt, connection, blocks)
        if session.in_turn:
            waits = wording.PROMPT_WAITS_FOR_LOGIN if link.login.awaited else None
            turns.end(session, None if waits else "cancelled", waits)
