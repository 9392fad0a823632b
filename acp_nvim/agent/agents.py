"""Agents of a host by name. Each has at most one live connection."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import anyio

import acp_nvim
from acp_nvim import wording
from acp_nvim.agent import registry
from acp_nvim.agent.agent_env import AgentVariables
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.notify import notify
from acp_nvim.agent.settings import AgentSettings, Settings
from acp_nvim.agent.surroundings import Surroundings
from acp_nvim.agent.wire.secret_names import secret_values
from acp_nvim.agent.wire.traffic import Traffic


class UnknownAgent(Exception):
    """No agent of that name is configured."""


def spec_of(options: Settings, name: str) -> AgentSettings | None:
    """Return the settings of an agent, or of the tutor, which is part of the package.

    Raise `UnknownAgent` if only an unusable `agents_file` could define it.
    """
    spec = options.agents.get(name)
    if name == "tutor" and (spec is None or not (spec.command or spec.url)):
        return AgentSettings(
            command=[sys.executable, "-P", "-m", "acp_nvim.tutor"],
            env={
                "PYTHONPATH": str(Path(acp_nvim.__file__).parents[1]),
                "PYTHONPYCACHEPREFIX": sys.pycache_prefix or "",
            },
            title="Tutor",
            tools=spec.tools if spec else None,
            meta=spec.meta if spec else {},
        )
    try:
        return registry.lookup(options, name)
    except registry.RegistryError as error:
        raise UnknownAgent(wording.AGENTS_FILE.format(reason=error)) from error


def is_agent(options: Settings, name: str) -> bool:
    """Return whether an agent of that name is configured."""
    try:
        return spec_of(options, name) is not None
    except UnknownAgent:
        return False


def _start_settings(spec: AgentSettings) -> tuple[object, ...]:
    """Return the settings that require a restart to change."""
    return (
        (spec.command, spec.env, spec.cwd, spec.url, spec.headers, spec.protocol),
        (spec.via, spec.host, spec.container, spec.pod, spec.paths),
    )


class Agents:
    """Connections of a host, started on demand. Ended ones are replaced."""

    def __init__(
        self, around: Surroundings[Connection], spec: Callable[[str], AgentSettings | None]
    ) -> None:
        """`spec` looks an agent up in the configuration."""
        self._around = around
        self._spec = spec
        self.variables = AgentVariables()
        self.connections: dict[str, Connection] = {}
        self._started: dict[str, AgentSettings] = {}
        """Settings of each agent at its start, or at its last reported change."""

    def secrets(self, env: Mapping[str, str]) -> list[str]:
        """Return the secret values in the user's environment and in those of all agents."""
        known = dict.fromkeys(secret_values(env))
        for connection in self.connections.values():
            known.update(dict.fromkeys(secret_values(connection.spec.env)))
        return list(known)

    def logs(self) -> list[Traffic]:
        return [connection.traffic for connection in self.connections.values()]

    def unreached_reason(self, name: str) -> str | None:
        """Return why a remote agent is not connected yet, or None."""
        connection = self.connections.get(name)
        return connection.unreached_reason if connection is not None else None

    def consume_settings_change(self, name: str) -> bool:
        """Return whether a running agent's start settings have changed. Report each change once."""
        before, now = self._started.get(name), self._spec(name)
        if before is None or now is None or _start_settings(before) == _start_settings(now):
            return False
        self._started[name] = now
        return True

    async def get(self, name: str) -> Connection:
        """Return a live connection, started if necessary.

        If the start fails, the connection is not alive, and its `error` gives the reason. Raise
        `UnknownAgent`.
        """
        connection = self.connections.get(name)
        if connection is None or not connection.is_alive:
            if connection is not None:
                await connection.stop()
            connection = self.start(name)
        await connection.ready()
        return connection

    def start(self, name: str, pauses: Iterator[float] | None = None) -> Connection:
        """Start a new connection unless one is alive.

        `pauses` are the seconds to wait before each attempt.
        """
        current = self.connections.get(name)
        if current is not None and current.is_alive:
            return current
        spec = self._spec(name)
        if spec is None or not (spec.command or spec.url):
            raise UnknownAgent(wording.NO_SUCH_AGENT.format(agent=name))
        expanded = self.variables.expand(name, spec, self._around.launch.env())
        connection = Connection(name, expanded.spec, self._around, pauses)
        connection.traffic.add_secrets(expanded.secrets)
        for variable in expanded.missing:
            connection.warnings.count("env", wording.WHY_MCP_VARIABLE.format(name=variable))
        self.connections[name], self._started[name] = connection, spec
        notify(self._around.observers.on_changed, connection)
        connection.start()
        return connection

    async def end(self) -> None:
        """End all process trees, including those of terminals. Do not wait for the cleanup."""
        async with anyio.create_task_group() as group:
            for connection in self.connections.values():
                group.start_soon(connection.end)
                group.start_soon(connection.terminals.close)

    async def stop(self, name: str) -> bool:
        """End an agent's process tree and wait for it. Return False if it was not running."""
        connection = self.connections.get(name)
        if connection is None:
            return False
        ran = connection.is_alive
        await connection.stop()
        return ran
