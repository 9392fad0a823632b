"""Verbs: what Lua asks the host to do. Each is one notification that carries all that is needed.

The functions stand in the modules beside this one, by subject.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from acp_nvim import wording
from acp_nvim.editor.host import Host

Args = dict[str, Any]
Verb = Callable[[Host, Args], Awaitable[None] | None]
F = TypeVar("F", bound=Verb)

VERBS: dict[str, Verb] = {}

FIRST = ("agents", "prompt")


def verb(name: str) -> Callable[[F], F]:
    """Register a function under a verb's name."""

    def register(function: F) -> F:
        VERBS[name] = function
        return function

    return register


def _load(name: str) -> None:
    """Import the modules beside this one, which register their functions, until the verb is known:
    first those that a first prompt needs, since it waits for nothing else here.
    """
    for module in _beside():
        if module != "table":
            importlib.import_module(f"{__package__}.{module}")
        if name in VERBS:
            break
    gc.freeze()  # modules stay: see `main`


def _beside() -> Iterator[str]:
    yield from FIRST
    import pkgutil

    yield from sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))


def run(host: Host, name: str, args: Args) -> None:
    """Run a verb; what it does at once is done in the order of the verbs, what waits gets a
    task.
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
    """Go on in a task of its own; what goes wrong is told under the verb's name."""
    host.tasks.start_soon(_finish, host, name, waiting)


async def _finish(host: Host, name: str, waiting: Awaitable[None]) -> None:
    try:
        await waiting
    except Exception as error:
        _failed(host, name, error)


def _failed(host: Host, name: str, error: Exception) -> None:
    """A verb that fails is told to the user; it must not end the host."""
    kind = type(error).__name__
    host.problem(f"{name}: {kind}: {error}")
    host.echo("error", wording.FAILED.format(what=name, reason=str(error) or kind))
