"""Verbs: notifications from Lua that make the host do something.

Each notification contains everything that its function needs. The functions are in the features,
whose modules are imported when one of their verbs is first called.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from acp_nvim import wording
from acp_nvim.nvim.notices import Notices
from acp_nvim.tasks import Tasks

Args = dict[str, Any]
Verb = Callable[[Any, Args], Awaitable[None] | None]
"""Function that implements a verb. Its first argument is the host."""
F = TypeVar("F", bound=Verb)

_FUNCTIONS: dict[str, Verb] = {}


def verb(name: str) -> Callable[[F], F]:
    """Register a function under a verb's name."""

    def register(function: F) -> F:
        _FUNCTIONS[name] = function
        return function

    return register


class Verbs:
    """Verbs of a host by name."""

    def __init__(self, notices: Notices, tasks: Tasks) -> None:
        self.modules: dict[str, str] = {}
        """Module of each verb's function."""
        self._notices = notices
        self._tasks = tasks

    def add(self, module: str, *names: str) -> None:
        """Add verbs with their module, which is imported on the first call of one of them."""
        self.modules.update(dict.fromkeys(names, module))

    def run(self, host: Any, name: str, args: Args) -> None:
        """Run a verb.

        A coroutine gets its own task. Other functions run at once, in the order of calls.
        """
        if name not in self.modules:
            self._notices.fault(f"{name}: unknown", wording.UNKNOWN_VERB.format(verb=name))
            return
        try:
            waiting = self._function(name)(host, args)
        except msgspec.ValidationError as error:
            self._notices.echo("error", wording.FAILED.format(what=name, reason=error))
            return
        except Exception as error:
            self._on_failure(name, error)
            return
        if waiting is not None:
            self.spawn(name, waiting)

    def spawn(self, name: str, waiting: Awaitable[None]) -> None:
        """Run a coroutine in its own task. Report its errors under the verb's name."""
        self._tasks.start_soon(self._finish, name, waiting)

    def _function(self, name: str) -> Verb:
        if name not in _FUNCTIONS:
            importlib.import_module(self.modules[name])
            gc.freeze()  # modules are never freed
        return _FUNCTIONS[name]

    async def _finish(self, name: str, waiting: Awaitable[None]) -> None:
        try:
            await waiting
        except Exception as error:
            self._on_failure(name, error)

    def _on_failure(self, name: str, error: Exception) -> None:
        """Report the error of a verb to the user."""
        kind = type(error).__name__
        reason = str(error) or kind
        self._notices.fault(
            f"{name}: {kind}: {error}", wording.FAILED.format(what=name, reason=reason)
        )
