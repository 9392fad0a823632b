"""A prompt whose session the agent turns out to have lost: it is put to the agent once more, in the
same turn, after the session was opened again.
"""

from __future__ import annotations

from typing import Any, Protocol

from acp_nvim import wording
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.opening.session_link import SessionLink
from acp_nvim.agent.prompts.conversation_delegate import ConversationDelegate
from acp_nvim.protocol.refusals import lost_session
from acp_nvim.session import queue, turns
from acp_nvim.session.prompts import Prompt


class Asks(Protocol):
    """Who puts the prompts of the session to its agent."""

    def prepare(self, prompt: Prompt, connection: Connection) -> list[Any]:
        """Return the blocks of a prompt that leaves now; none where it was given back."""
        ...

    async def ask(self, prompt: Prompt, connection: Connection, blocks: list[Any]) -> None:
        """Put a prompt to the agent and wait for the answer."""
        ...


class LostSession:
    """Of one session."""

    def __init__(self, link: SessionLink, asks: Asks, delegate: ConversationDelegate) -> None:
        """Nothing is lost."""
        self._link = link
        self._asks = asks
        self._delegate = delegate
        self._asked_again: Prompt | None = None
        """The last prompt for which the session was opened again."""
        self._calls = 0
        """The number of tool calls before the running prompt."""

    def begin(self) -> None:
        """A prompt goes to the agent now."""
        self._calls = len(self._link.session.tool_calls)

    def is_meant(self, error: Exception, prompt: Prompt | None) -> bool:
        """Whether an answer means that the session is lost, and its prompt goes once more: never
        one that has been sent twice, that is in the session by its id, or has set something going.
        """
        session = self._link.session
        fresh = session.prompted is not None and self._asked_again is not prompt
        idle = len(session.tool_calls) == self._calls
        return lost_session(error) and fresh and idle and session.status == "running"

    async def ask_again(self, prompt: Prompt) -> None:
        """Open the session again and put the prompt to it. Meanwhile the prompt waits in the queue,
        where it stays if that does not work out.
        """
        link, session = self._link, self._link.session
        self._asked_again = prompt
        queue.put_first(session, prompt)
        self._delegate.waits_again(prompt)
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
