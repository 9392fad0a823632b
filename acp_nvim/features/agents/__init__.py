"""Agents: state, options, restart, providers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_nvim.features.agents.agent_events import AgentEvents

if TYPE_CHECKING:
    from acp_nvim.app import Host


def install(app: Host) -> None:
    app.verbs.add("acp_nvim.features.agents.verbs", "agent", "restart", "stop")
    app.verbs.add("acp_nvim.features.agents.providers", "provider")
    app.verbs.add("acp_nvim.features.agents.stopping", "terminal_stop", "stop_target")
    events = AgentEvents(app.agents, app.sessions, app.screen)
    app.connection_observers.on_changed.append(events.on_changed)
    app.connection_observers.on_ended.append(events.on_ended)
