"""Prompts that an agent gets while it works on another one (v2/prompt-lifecycle): it inserts them
into the running turn, or begins another one with them.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import anyio

from acp_nvim.agent.connection import Connection
from acp_nvim.agent.wire.calls import OutgoingCall
from acp_nvim.agent.wire.endpoint import ConnectionClosed
from acp_nvim.session import queue
from acp_nvim.session.prompts import Prompt
from acp_nvim.session.session import Session


class Sender(Protocol):
    """The conversation whose prompts they are."""

    session: Session
    connection: Connection | None

    @property
    def is_open(self) -> bool:
        """Whether the session exists at a living agent."""

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
    """Those of one conversation that are not over."""

    def __init__(self, conversation: Sender) -> None:
        """None yet."""
        self._conversation = conversation
        self.prompts: list[Prompt] = []
        self._calls: dict[int, OutgoingCall] = {}
        self._over = anyio.Event()

    async def send(self, prompt: Prompt) -> None:
        """Give the agent a prompt now; it waits there until it is inserted."""
        conversation = self._conversation
        session, connection = conversation.session, conversation.connection
        await prompt.complete()
        if connection is None or not conversation.is_open:
            queue.put_first(session, prompt)
            return
        blocks = conversation.prepare(prompt, connection)
        if not blocks:
            return
        self.prompts.append(prompt)
        queue.wait_at_agent(session, prompt)
        self._calls[id(prompt)] = connection.agent.begin_prompt(
            session.id,
            blocks,
            partial(self._answered, prompt),
            conversation.meta(prompt),
            partial(conversation.inserted, prompt),
        )

    def take_back(self, prompt: Prompt) -> None:
        """Ask for one back that the agent has not inserted."""
        call, connection = self._calls.get(id(prompt)), self._conversation.connection
        if call is not None and connection is not None:
            connection.agent.take_back(call)

    async def finish(self) -> None:
        """Wait for the turns that begin with what was added after the last one."""
        conversation = self._conversation
        while self.prompts:
            await conversation.follow(self.prompts[0], self._over)

    def _answered(self, prompt: Prompt, result: Any, error: Exception | None) -> None:
        self.prompts.remove(prompt)
        self._calls.pop(id(prompt))
        if isinstance(error, ConnectionClosed):
            if queue.leave_agent(self._conversation.session, prompt):
                queue.put_held(self._conversation.session, [prompt])
        else:
            self._conversation.answered(prompt, result, error)
        over, self._over = self._over, anyio.Event()
        over.set()
