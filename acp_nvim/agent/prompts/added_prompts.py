"""Prompts sent to an agent during a turn (v2/prompt-lifecycle).

The agent inserts them into the running turn, or begins another one with them.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import anyio

from acp_nvim.agent.connection import Connection
from acp_nvim.agent.opening.session_link import SessionLink
from acp_nvim.agent.wire.calls import OutgoingCall
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.session import queue
from acp_nvim.session.prompts import Prompt


class Sender(Protocol):
    """Sender of the session's prompts."""

    def prepare(self, prompt: Prompt, connection: Connection) -> list[Any]:
        """Return the blocks of a prompt to send now. They are empty if it was given back."""

    def meta(self, prompt: Prompt) -> dict[str, Any]:
        """Return the `_meta` of a prompt."""

    def inserted(self, prompt: Prompt, message_id: str) -> None:
        """Handle the insertion of a prompt into the session."""

    def answered(self, prompt: Prompt | None, result: Any, error: Exception | None) -> None:
        """End the turn of a prompt, or handle the agent's refusal."""

    async def follow(self, prompt: Prompt, over: anyio.Event) -> None:
        """Wait for a turn that begins with a prompt already sent."""


class AddedPrompts:
    """Added prompts of one session whose turns have not ended."""

    def __init__(self, link: SessionLink, sender: Sender) -> None:
        self._link = link
        self._sender = sender
        self.prompts: list[Prompt] = []
        self._calls: dict[int, OutgoingCall] = {}
        self._over = anyio.Event()

    async def send(self, prompt: Prompt) -> None:
        """Send a prompt to the agent now, which holds it until it inserts it."""
        sender, session, connection = self._sender, self._link.session, self._link.connection
        await prompt.complete()
        if connection is None or not self._link.is_open:
            queue.put_first(session, prompt)
            return
        blocks = sender.prepare(prompt, connection)
        if not blocks:
            return
        self.prompts.append(prompt)
        queue.wait_at_agent(session, prompt)
        self._calls[id(prompt)] = connection.agent.begin_prompt(
            session.id,
            blocks,
            partial(self._answered, prompt),
            sender.meta(prompt),
            partial(sender.inserted, prompt),
        )

    def take_back(self, prompt: Prompt) -> None:
        """Ask the agent to return a prompt that it has not inserted."""
        call, connection = self._calls.get(id(prompt)), self._link.connection
        if call is not None and connection is not None:
            connection.agent.take_back(call)

    async def finish(self) -> None:
        """Wait for the turns that begin with prompts added after the last insertion."""
        while self.prompts:
            await self._sender.follow(self.prompts[0], self._over)

    def _answered(self, prompt: Prompt, result: Any, error: Exception | None) -> None:
        self.prompts.remove(prompt)
        self._calls.pop(id(prompt))
        if isinstance(error, ConnectionClosed):
            if queue.leave_agent(self._link.session, prompt):
                queue.put_held(self._link.session, [prompt])
        else:
            self._sender.answered(prompt, result, error)
        over, self._over = self._over, anyio.Event()
        over.set()
