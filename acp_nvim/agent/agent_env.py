"""The variables that an agent is started with beside the user's environment: those of option
`agents.*.env`, and the values that the user has given for a login, which live as long as this
process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct, field

from acp_nvim.agent.settings import AgentSettings

PLACEHOLDER: Final = re.compile(r"\$ENV\{(\w+)\}")


class Given(Struct):
    """Values for a login of one agent, and the method that they are for."""

    method: str
    values: dict[str, str]


class Filled(Struct):
    """How an agent is started. `secrets` must not stand in a log; `missing` are names of variables
    that the environment lacks.
    """

    spec: AgentSettings
    secrets: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


class AgentVariables:
    """Those of all agents, by name."""

    def __init__(self) -> None:
        """Nothing is given yet."""
        self._given: dict[str, Given] = {}

    def give(self, agent: str, method: str, values: Mapping[str, str]) -> None:
        """The user has given these values for a login by that method; its next process gets them
        and is logged in by it.
        """
        before = self._given.get(agent)
        self._given[agent] = Given(method, {**(before.values if before else {}), **values})

    def names(self, agent: str) -> frozenset[str]:
        """Return the names of the values that were given for an agent."""
        given = self._given.get(agent)
        return frozenset(given.values if given else ())

    def forget(self, agent: str) -> bool:
        """Drop what was given; False where there is nothing."""
        return self._given.pop(agent, None) is not None

    def filled(self, agent: str, spec: AgentSettings, env: Mapping[str, str]) -> Filled:
        """Return how an agent is started: `$ENV{NAME}` is replaced by the value in `env`; a
        variable whose value is not there is left out.
        """
        found = Filled(spec)
        values: dict[str, str] = {}
        for name, text in spec.env.items():
            wanted = PLACEHOLDER.findall(text)
            missing = [one for one in wanted if one not in env]
            found.missing += missing
            found.secrets += [env[one] for one in wanted if one in env]
            if not missing:
                values[name] = PLACEHOLDER.sub(lambda match: env[match[1]], text)
        given = self._given.get(agent)
        method = spec.auth_method
        if given is not None:
            values |= given.values
            found.secrets += given.values.values()
            method = given.method
        found.spec = msgspec.structs.replace(spec, env=values, auth_method=method)
        return found
