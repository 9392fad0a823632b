"""Functions of Lua that answer later (`lua/acp/base/async_calls.lua`), as awaitables."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable
from typing import Any, Protocol

from acp_nvim.nvim.bridge import NvimError

MODULE = "acp.base.async_calls"


class Caller(Protocol):
    """The part of the bridge that is needed here."""

    def call(self, module: str, function: str, *args: Any) -> Awaitable[Any]:
        """Run ``require(module)[function](...)`` in Neovim."""
        ...

    def tell(self, module: str, function: str, *args: Any) -> None:
        """Run the same, where nobody waits for the outcome."""
        ...


class AsyncCalls:
    """Calls that wait for their answer, by number."""

    def __init__(self, bridge: Caller) -> None:
        self._bridge = bridge
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}

    async def call(self, module: str, function: str, *args: Any) -> Any:
        """Run ``require(module)[function](reply, ...)`` and return what ``reply`` is given.

        NvimError with the message that it is given instead. Cancelled in Lua with its waiter.
        """
        number = next(self._numbers)
        future = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            await self._bridge.call(MODULE, "begin", number, module, function, *args)
            return await future
        except asyncio.CancelledError:
            self._bridge.tell(MODULE, "cancel", number)
            raise
        finally:
            del self._open[number]

    def replied(self, number: int, value: Any, error: str | None) -> None:
        """Take an answer; one that nobody waits for is nothing."""
        future = self._open.get(number)
        if future is None or future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(NvimError(error))
