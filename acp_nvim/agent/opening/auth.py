"""Authentication methods: agent, terminal, environment variables (v1/authentication)."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from acp_nvim.agent.opening.shown_values import shown_value, shown_words
from acp_nvim.agent.settings import AgentSettings
from acp_nvim.protocol import schema
from acp_nvim.render.text import path_line


class TerminalLogin(Struct, frozen=True):
    """Login program to run in a new terminal.

    Exit code 0 means that the user is logged in. `env` is added to the environment and never passed
    to `authenticate`.
    """

    title: str
    command: list[str]
    env: dict[str, str]
    agent_env: dict[str, str] | None = None
    """Variables set by the agent, if it named a program other than its own."""

    @property
    def line(self) -> str:
        """Return the command for display, preceded by the variables that the agent sets."""
        words = [
            f"{name}={shown_value(name, value)}" for name, value in (self.agent_env or {}).items()
        ]
        return path_line(" ".join([*words, shlex.join(shown_words(self.command))]))


def terminal_login(spec: AgentSettings, method: schema.AuthMethod) -> TerminalLogin | None:
    """Return the login program of a terminal method, or None for other methods.

    It is the agent's own command with the method's `args` and `env` added. Agents older than the
    type `terminal` describe a whole command in `_meta`.
    """
    if isinstance(method, schema.AuthMethodTerminal):
        args = list(method.args or ())
        env = {**spec.env, **(method.env or {})}
        return TerminalLogin(method.name, [*spec.command, *args], env)
    described = (getattr(method, "meta", None) or {}).get("terminal-auth")
    if isinstance(described, dict):
        return _terminal_login(spec, method, described)
    return None


def usable_methods(
    spec: AgentSettings, methods: Iterable[schema.AuthMethod]
) -> list[schema.AuthMethod]:
    """Return the usable methods: all but the terminal methods of a remote agent."""
    if not spec.url:
        return list(methods)
    return [method for method in methods if not isinstance(method, schema.AuthMethodTerminal)]


def _terminal_login(
    spec: AgentSettings, method: schema.AuthMethod, described: Mapping[str, Any]
) -> TerminalLogin | None:
    command, args, env = (described.get(key) for key in ("command", "args", "env"))
    if not isinstance(command, str) or not command:
        return None
    label = described.get("label")
    title = label if isinstance(label, str) else name(method)
    words = [str(arg) for arg in args] if isinstance(args, list) else []
    variables = _strings(env)
    return TerminalLogin(title, [command, *words], {**spec.env, **variables}, variables)


def _strings(env: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in env.items()} if isinstance(env, dict) else {}


def variables(method: schema.AuthMethod) -> list[schema.AuthEnvVar]:
    """Return the environment variables that a method requires."""
    if not isinstance(method, schema.AuthMethodEnvVar):
        return []
    if method.var_name:
        return [schema.AuthEnvVar(method.var_name)]
    return [variable for variable in method.vars or () if variable.optional is not True]


def missing(method: schema.AuthMethod, env: Mapping[str, str]) -> list[schema.AuthEnvVar]:
    """Return the required variables without a value in `env`."""
    return [variable for variable in variables(method) if not env.get(variable.name)]


def name(method: schema.AuthMethod) -> str:
    """Return the display name of the method, or else its id."""
    return str(getattr(method, "name", "")) or identity(method)


def identity(method: schema.AuthMethod) -> str:
    """Return the id of the method for `authenticate`."""
    return str(getattr(method, "id", ""))


def find(methods: Iterable[schema.AuthMethod], method_id: str) -> schema.AuthMethod | None:
    return next((method for method in methods if identity(method) == method_id), None)
