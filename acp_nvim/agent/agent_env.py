"""Variables added to the user's environment for an agent.

They come from the option `agents.*.env`, and from values that the user entered for a login, which
are kept until the host exits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct, field

from acp_nvim.agent.settings import AgentSettings
from acp_nvim.patterns import late

PLACEHOLDER: Final = late(r"\$ENV\{(\w+)\}")


class LoginValues(Struct):
    """Values that the user entered to log in to an agent, and their authentication method."""

    method: str
    values: dict[str, str]


class ExpandedSettings(Struct):
    """Settings for starting an agent.

    `secrets` must not be logged. `missing` are names of variables that the environment lacks.
    """

    spec: AgentSettings
    secrets: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


class AgentVariables:
    """Login values of all agents, by agent name."""

    def __init__(self) -> None:
        self._logins: dict[str, LoginValues] = {}

    def store(self, agent: str, method: str, values: Mapping[str, str]) -> None:
        """Store values for a login with that method.

        The agent's next process receives them and is logged in with the method.
        """
        before = self._logins.get(agent)
        self._logins[agent] = LoginValues(method, {**(before.values if before else {}), **values})

    def names(self, agent: str) -> frozenset[str]:
        """Return the names of the values stored for an agent."""
        login = self._logins.get(agent)
        return frozenset(login.values if login else ())

    def forget(self, agent: str) -> bool:
        """Drop the values of an agent. Return False if there are none."""
        return self._logins.pop(agent, None) is not None

    def expand(self, agent: str, spec: AgentSettings, env: Mapping[str, str]) -> ExpandedSettings:
        """Return the settings for starting an agent, with `$ENV{NAME}` expanded from `env`.

        A variable whose value is missing is left out.
        """
        result = ExpandedSettings(spec)
        values: dict[str, str] = {}
        for name, text in spec.env.items():
            names = PLACEHOLDER.findall(text)
            missing = [name for name in names if name not in env]
            result.missing += missing
            result.secrets += [env[name] for name in names if name in env]
            if not missing:
                values[name] = PLACEHOLDER.sub(lambda match: env[match[1]], text)
        login = self._logins.get(agent)
        method = spec.auth_method
        if login is not None:
            values |= login.values
            result.secrets += login.values.values()
            method = login.method
        result.spec = msgspec.structs.replace(spec, env=values, auth_method=method)
        return result
