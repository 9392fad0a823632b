"""Contents of `state().agents[name]` for a connection."""

from __future__ import annotations

from acp_nvim.agent.connection import Connection
from acp_nvim.agent.opening import auth
from acp_nvim.agent.settings import AgentSettings


def snapshot(connection: Connection) -> dict[str, object]:
    """Return the state of a connection. Most values are None before the agent has sent them."""
    agent = connection.agent if connection.is_started else None
    methods = auth.usable_methods(connection.spec, agent.auth_methods) if agent else []
    left = agent.methods_left if agent else 0
    return {
        "status": connection.status,
        "error": connection.error,
        "pid": connection.pid,
        "url": _shown_url(connection.spec),
        "protocol": agent.protocol if agent else None,
        "info": agent.info if agent else None,
        "capabilities": agent.capabilities if agent else None,
        "auth_methods": methods,
        "more": {"auth_methods": left} if left else None,
        "auth": connection.login.state,
        "dialect": connection.dialect,
    }


def _shown_url(spec: AgentSettings) -> str | None:
    """Return the address of a remote agent for display."""
    if not spec.url:
        return None
    from acp_nvim.agent.transport.addresses import display_address

    return display_address(spec.url)
