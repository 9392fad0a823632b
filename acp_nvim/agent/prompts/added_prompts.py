"""Prompts that an agent gets while it works on another one (v2/prompt-lifecycle): it inserts them
into the running turn, or begins another one with them.
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
    """Who sends the prompts of the session, and ends their turns."""

    def prepare(self, prompt: Prompt, connection: Connection) -> list[Any]:
        """Return the blocks of a prompt that leaves now; none where it was given back."""

    def meta(self, prompt: Prompt) -> dict[str, Any]:
        """Return `_meta` of a prompt."""

    def inserted(self, prompt: Prompt, message_id: str) -> None:
        """The agent has put a prompt into the session."""

    def answered(self, prompt: Prompt | None, result: Any, error: Exception | None) -> None:
        """The turn of a prompt is over, or the agent refuses it."""

    async def follow(self, prompt: Prompt, over: anyio.Event) -> None:
        """Wait for a turn that begins with a prompt which the agent has already."""


class AddedPrompts:
    """Those of one session that are not over."""

    def __init__(self, link: SessionLink, sender: Sender) -> None:
        """None yet."""
        self._link = link
        self._sender = sender
        self.prompts: list[Prompt] = []
        self._calls: dict[int, OutgoingCall] = {}
        self._over = anyio.Event()

    async def send(self, prompt: Prompt) -> None:
        """Give the agent a prompt now; it waits there until it is inserted."""
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
        """Ask for one back that the agent has not inserted."""
        call, connection = self._calls.get(id(prompt)), self._link.connection
        if call is not None and connection is not None:
            connection.agent.take_back(call)

    async def finish(self) -> None:
        """Wait for the turns that begin with what was added after the last one."""
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
