"""The agents of a host by name: each has at most one living connection."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import acp_nvim
from acp_nvim import wording
from acp_nvim.agent import registry
from acp_nvim.agent.agent_env import AgentVariables
from acp_nvim.agent.connection import Connection
from acp_nvim.agent.settings import AgentSettings, Settings
from acp_nvim.agent.surroundings import Surroundings
from acp_nvim.agent.wire.secret_names import secret_values


class UnknownAgent(Exception):
    """No agent of that name is configured."""


def spec_of(options: Settings, name: str) -> AgentSettings | None:
    """Return how an agent is started; the tutor is part of the package. Raises `UnknownAgent` when
    only `agents_file` may know it and cannot be used.
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


def _start(spec: AgentSettings) -> tuple[object, ...]:
    """What only another start of an agent changes."""
    return spec.command, spec.env, spec.cwd, spec.url, spec.headers, spec.protocol


class Agents:
    """Starts connections on demand and replaces dead ones."""

    def __init__(
        self, around: Surroundings[Connection], spec: Callable[[str], AgentSettings | None]
    ) -> None:
        """`spec` looks an agent up in the configuration."""
        self._around = around
        self._spec = spec
        self.variables = AgentVariables()
        self.connections: dict[str, Connection] = {}
        self._started: dict[str, AgentSettings] = {}
        """How the agents were configured when they were started, or when `is_outdated` told."""

    def secrets(self, env: Mapping[str, str]) -> list[str]:
        """Return the values of variables that are secret, the user's and those of all agents."""
        known = dict.fromkeys(secret_values(env))
        for connection in self.connections.values():
            known.update(dict.fromkeys(secret_values(connection.spec.env)))
        return list(known)

    def unreached(self, name: str) -> str | None:
        """Return why an agent elsewhere is not reached yet, None for any other."""
        connection = self.connections.get(name)
        return connection.unreached if connection is not None else None

    def is_outdated(self, name: str) -> bool:
        """Whether a running agent would be started otherwise by now. True once for each change."""
        before, now = self._started.get(name), self._spec(name)
        if before is None or now is None or _start(before) == _start(now):
            return False
        self._started[name] = now
        return True

    async def get(self, name: str) -> Connection:
        """Return a living connection, started now if need be. One that could not be started is not
        alive, and its `error` says why. Raises `UnknownAgent`.
        """
        connection = self.connections.get(name)
        if connection is None or not connection.alive:
            if connection is not None:
                await connection.stop()
            connection = self.start(name)
        await connection.ready()
        return connection

    def start(self, name: str, pauses: Iterator[float] | None = None) -> Connection:
        """Start a new connection, unless there is a living one. With ``pauses`` it is tried for as
        long as there are such, each before an attempt, in seconds.
        """
        current = self.connections.get(name)
        if current is not None and current.alive:
            return current
        spec = self._spec(name)
        if spec is None or not (spec.command or spec.url):
            raise UnknownAgent(wording.NO_SUCH_AGENT.format(agent=name))
        filled = self.variables.filled(name, spec, self._around.env())
        connection = Connection(name, filled.spec, self._around, pauses)
        connection.traffic.hide(filled.secrets)
        for variable in filled.missing:
            connection.warnings.count("env", wording.WHY_MCP_VARIABLE.format(name=variable))
        self.connections[name], self._started[name] = connection, spec
        self._around.changed(connection)
        connection.start()
        return connection

    async def stop(self, name: str) -> bool:
        """End an agent's process tree and wait until it is gone; False when none ran."""
        connection = self.connections.get(name)
        if connection is None:
            return False
        ran = connection.alive
        await connection.stop()
        return ran
