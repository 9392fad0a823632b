"""Verbs: notifications from Lua that make the host do something.

Each notification contains everything that its function needs. The functions are in the features.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from acp_nvim import wording
from acp_nvim.app import Host

Args = dict[str, Any]
Verb = Callable[[Host, Args], Awaitable[None] | None]
F = TypeVar("F", bound=Verb)

VERBS: dict[str, Verb] = {}

MODULES = (
    "acp_nvim.features.agents.verbs",
    "acp_nvim.features.prompts.verbs",
    "acp_nvim.features.agents.providers",
    "acp_nvim.features.agents.stopping",
    "acp_nvim.features.blame.verbs",
    "acp_nvim.features.chat.verbs",
    "acp_nvim.features.checkpoints.verbs",
    "acp_nvim.features.extensions.verbs",
    "acp_nvim.features.forms.verbs",
    "acp_nvim.features.history.verbs",
    "acp_nvim.features.login.verbs",
    "acp_nvim.features.permissions.verbs",
    "acp_nvim.features.prompts.attach",
    "acp_nvim.features.review.verbs",
    "acp_nvim.features.sessions.options",
    "acp_nvim.features.sessions.verbs",
    "acp_nvim.features.terminals.verbs",
    "acp_nvim.features.tools.verbs",
)
"""Modules with verbs, in the order of import. Those that the first prompt needs come first."""


def verb(name: str) -> Callable[[F], F]:
    """Register a function under a verb's name."""

    def register(function: F) -> F:
        VERBS[name] = function
        return function

    return register


def _load(name: str) -> None:
    """Import modules, which register their functions, until one has registered the verb."""
    for module in MODULES:
        importlib.import_module(module)
        if name in VERBS:
            break
    gc.freeze()  # modules are never freed


def run(host: Host, name: str, args: Args) -> None:
    """Run a verb.

    Synchronous functions run in the order of the verbs. A coroutine gets its own task.
    """
    if name not in VERBS:
        _load(name)
    function = VERBS.get(name)
    if function is None:
        host.problem(f"unknown verb {name}")
        host.echo("error", wording.UNKNOWN_VERB.format(verb=name))
        return
    try:
        waiting = function(host, args)
    except msgspec.ValidationError as error:
        host.echo("error", wording.FAILED.format(what=name, reason=error))
        return
    except Exception as error:
        _failed(host, name, error)
        return
    if waiting is not None:
        spawn(host, name, waiting)


def spawn(host: Host, name: str, waiting: Awaitable[None]) -> None:
    """Run a coroutine in a new task. Report its errors under the name of the verb."""
    host.tasks.start_soon(_finish, host, name, waiting)


async def _finish(host: Host, name: str, waiting: Awaitable[None]) -> None:
    try:
        await waiting
    except Exception as error:
        _failed(host, name, error)


def _failed(host: Host, name: str, error: Exception) -> None:
    """Report a failed verb to the user. It must not end the host."""
    kind = type(error).__name__
    host.problem(f"{name}: {kind}: {error}")
    host.echo("error", wording.FAILED.format(what=name, reason=str(error) or kind))
