"""Restarts of agents by the user, and reconnects to remote agents."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Final

from acp_nvim import wording
from acp_nvim.agent.agents import Agents, UnknownAgent
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.prompts.conversation import Conversation

PAUSES: Final = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
LAST_S, LAST_TIMES = 30.0, 20
"""Length of the last pauses in seconds, and their number. They add up to ten minutes."""
STEADY_S: Final = 30.0
"""Duration in seconds after which a connection counts as stable.

A stable connection that breaks is restored at once, with fresh pauses. For others the pauses
continue, to limit the load on a server that ends each connection.
"""


class Restarts:
    """Running restarts, at most one per agent. `stop` ends one."""

    def __init__(
        self,
        agents: Agents,
        served: Callable[[str], list[Conversation]],
        on_restarted: Callable[[str], None],
    ) -> None:
        """`served` returns the conversations of an agent's open sessions.

        `on_restarted` is called with the name of an agent that is ready again.
        """
        self._agents = agents
        self._served = served
        self._on_restarted = on_restarted
        self._restarting: set[str] = set()

    async def restart(self, name: str) -> None:
        """End an agent's process tree, start it again and reopen its sessions.

        Do nothing if a restart is running already. Raise `UnknownAgent`.
        """
        if name in self._restarting:
            return
        self._restarting.add(name)
        try:
            for conversation in self._served(name):
                conversation.prepare_restart()
            await self._agents.stop(name)
            if name not in self._restarting:  # the user has stopped the agent
                self._report_stopped(name)
                return
            connection = self._start(name)
        finally:
            self._restarting.discard(name)
        if await connection.ready():
            self._on_restarted(name)

    def _start(self, name: str) -> Connection:
        try:
            return self._agents.start(name)
        finally:  # the sessions report the error
            for conversation in self._served(name):
                conversation.open()

    def _report_stopped(self, name: str) -> None:
        for conversation in self._served(name):
            conversation.on_restart_failed(wording.AGENT_STOPPED.format(agent=name))

    async def stop(self, name: str) -> bool:
        """End an agent's process tree. Return False if the agent was not running."""
        was_restarting = name in self._restarting
        self._restarting.discard(name)
        return await self._agents.stop(name) or was_restarting


class Reconnects:
    """Remote agents whose connections broke."""

    def __init__(
        self,
        agents: Agents,
        served: Callable[[str], list[Conversation]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`served` returns the conversations of an agent's open sessions."""
        self._agents = agents
        self._served = served
        self._clock = clock
        self._pauses: dict[str, Iterator[float]] = {}

    def reconnect(self, connection: Connection) -> None:
        """Reconnect in the background and reopen the sessions. Until then, their prompts wait."""
        name, since = connection.name, connection.up_since
        if since is None or self._clock() - since >= STEADY_S or name not in self._pauses:
            self._pauses[name] = chain(PAUSES, repeat(LAST_S, LAST_TIMES))
        served = [
            conversation
            for conversation in self._served(name)
            if conversation.connection is connection
        ]
        try:
            self._agents.start(name, self._pauses[name])
        except UnknownAgent:
            pass  # the sessions report it
        finally:
            for conversation in served:
                conversation.open()
