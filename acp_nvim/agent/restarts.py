"""Restarts of agents, as often and as quickly as the user asks for them."""

from __future__ import annotations

from collections.abc import Callable

from acp_nvim import wording
from acp_nvim.agent.agents import Agents
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.conversation import Conversation


class Restarts:
    """The restarts that are under way. There is one for each agent at most; a stop ends it."""

    def __init__(self, agents: Agents, served: Callable[[str], list[Conversation]]) -> None:
        """`served` are the sessions of an agent that are not closed."""
        self._agents = agents
        self._served = served
        self._under_way: set[str] = set()

    async def restart(self, name: str) -> Connection | None:
        """End an agent's process tree, start it again and reopen its sessions. None where that is
        under way, or the user has stopped the agent meanwhile.

        Raises `UnknownAgent`.
        """
        if name in self._under_way:
            return None
        self._under_way.add(name)
        try:
            for conversation in self._served(name):
                conversation.will_restart()
            await self._agents.stop(name)
            if name in self._under_way:
                return self._start(name)
            self._stay(name)
            return None
        finally:
            self._under_way.discard(name)

    def _start(self, name: str) -> Connection:
        try:
            return self._agents.start(name)
        finally:  # they tell the user what is wrong
            for conversation in self._served(name):
                conversation.open()

    def _stay(self, name: str) -> None:
        for conversation in self._served(name):
            conversation.will_not_restart(wording.AGENT_STOPPED.format(agent=name))

    async def stop(self, name: str) -> bool:
        """End an agent's process tree; False when none ran."""
        restarts = name in self._under_way
        self._under_way.discard(name)
        return await self._agents.stop(name) or restarts
