"""Agents: state, options, restart, providers.

The observers publish the state of agents, fail the sessions of an agent that exits, and reconnect
remote agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from acp_nvim.agent import agent_state
from acp_nvim.agent.agents import Agents
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.restarts import Reconnects
from acp_nvim.host.sessions import Sessions
from acp_nvim.nvim.screen import Screen

if TYPE_CHECKING:
    from acp_nvim.app import Host


class AgentEvents:
    """Observer of all connections of a host."""

    def __init__(self, agents: Agents, sessions: Sessions, screen: Screen) -> None:
        self._agents = agents
        self._sessions = sessions
        self._screen = screen
        self._reconnects = Reconnects(agents, sessions.open_with)
        self._announced: WeakSet[Connection] = WeakSet()
        self._reported_failures: WeakSet[Connection] = WeakSet()
        """Connections whose sessions have reported that the first attempt failed."""

    def on_changed(self, connection: Connection) -> None:
        """Publish an agent's state, unless a newer process has replaced this one.

        Report a failed first attempt in the agent's sessions. Announce an agent that is ready.
        """
        if self._agents.connections.get(connection.name) is connection:
            self._screen.state(["agents", connection.name], agent_state.snapshot(connection))
        if (
            connection.unreached_reason
            and connection.is_first
            and connection not in self._reported_failures
        ):
            self._reported_failures.add(connection)
            for conversation in self._sessions.open_with(connection.name):
                conversation.on_agent_unreached(connection.unreached_reason)
        if connection.status == "ready" and connection not in self._announced:
            self._announced.add(connection)
            self._screen.event("AcpAgentReady", agent=connection.name)

    def on_ended(self, connection: Connection) -> None:
        """Fail the sessions of an agent that has exited or whose connection broke.

        Start to reconnect if that is possible, otherwise announce the exit.
        """
        for conversation in self._sessions.conversations.values():
            conversation.on_agent_ended(connection)
        self.on_changed(connection)
        if connection.will_reconnect:
            self._reconnects.reconnect(connection)
            return
        end = connection.exit
        self._screen.event(
            "AcpAgentExit",
            agent=connection.name,
            code=end.code if end else None,
            signal=end.signal if end else None,
            stderr="\n".join(connection.stderr(20)),
        )


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.agents.verbs", "agent", "restart", "stop")
    app.verbs.add("acp_nvim.features.agents.providers", "provider")
    app.verbs.add("acp_nvim.features.agents.stopping", "terminal_stop", "stop_target")
    events = AgentEvents(app.agents, app.sessions, app.screen)
    app.connection_observers.on_changed.append(events.on_changed)
    app.connection_observers.on_ended.append(events.on_ended)
